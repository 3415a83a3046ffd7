define i32 @"axisfold.main"(ptr noalias readonly %A, ptr noalias %B, i64 %n, i64 %m, i64 %stride, i64 %stride.1, i64 %stride.2) nounwind {
entry:
  %v.0 = add nsw i64 0, %n
  br label %loop.b
loop.b:
  %i = phi i64 [ 0, %entry ], [ %i.next, %after.b.1 ]
  %v.1 = icmp slt i64 %i, %v.0
  br i1 %v.1, label %body.b, label %after.b
body.b:
  %v.2 = mul i64 %i, %stride.2
  %v.3 = getelementptr float, ptr %B, i64 %v.2
  store float 0x0000000000000000, ptr %v.3, align 4
  %v.4 = add nsw i64 0, %m
  br label %loop.b.1
loop.b.1:
  %k = phi i64 [ 0, %body.b ], [ %k.next, %body.b.1 ]
  %v.5 = icmp slt i64 %k, %v.4
  br i1 %v.5, label %body.b.1, label %after.b.1
body.b.1:
  %v.6 = load float, ptr %v.3, align 4
  %v.7 = mul i64 %i, %stride
  %v.8 = mul i64 %k, %stride.1
  %v.9 = add i64 %v.7, %v.8
  %v.10 = getelementptr float, ptr %A, i64 %v.9
  %v.11 = load float, ptr %v.10, align 4
  %v.12 = fadd float %v.6, %v.11
  store float %v.12, ptr %v.3, align 4
  %k.next = add nsw i64 %k, 1
  br label %loop.b.1
after.b.1:
  %i.next = add nsw i64 %i, 1
  br label %loop.b
after.b:
  ret i32 0
}


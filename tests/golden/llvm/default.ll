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
  %v.5 = mul i64 %i, %stride
  %v.6 = getelementptr float, ptr %A, i64 %v.5
  br label %loop.b.1
loop.b.1:
  %k = phi i64 [ 0, %body.b ], [ %k.next, %body.b.1 ]
  %at = phi ptr [ %v.6, %body.b ], [ %at.next, %body.b.1 ]
  %v.7 = icmp slt i64 %k, %v.4
  br i1 %v.7, label %body.b.1, label %after.b.1
body.b.1:
  %v.8 = call ptr asm "", "=r,0"(ptr %at)
  %v.9 = load float, ptr %v.3, align 4
  %v.10 = load float, ptr %v.8, align 4
  %v.11 = fadd float %v.9, %v.10
  store float %v.11, ptr %v.3, align 4
  %at.next = getelementptr float, ptr %v.8, i64 %stride.1
  %k.next = add nsw i64 %k, 1
  br label %loop.b.1
after.b.1:
  %i.next = add nsw i64 %i, 1
  br label %loop.b
after.b:
  ret i32 0
}


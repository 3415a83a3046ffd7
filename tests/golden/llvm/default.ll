define i32 @"axisfold.main"(ptr noalias readonly %A, ptr noalias %B, i64 %n, i64 %m, i64 %stride, i64 %stride.1, i64 %stride.2) nounwind {
entry:
  br label %loop.b
loop.b:
  %i = phi i64 [ 0, %entry ], [ %i.next, %after.b.1 ]
  %v.0 = icmp slt i64 %i, %n
  br i1 %v.0, label %body.b, label %after.b
body.b:
  %v.1 = mul i64 %i, %stride.2
  %v.2 = getelementptr float, ptr %B, i64 %v.1
  store float 0x0000000000000000, ptr %v.2, align 4
  %v.3 = mul i64 %i, %stride
  %v.4 = getelementptr float, ptr %A, i64 %v.3
  br label %loop.b.1
loop.b.1:
  %k = phi i64 [ 0, %body.b ], [ %k.next, %body.b.1 ]
  %at = phi ptr [ %v.4, %body.b ], [ %at.next, %body.b.1 ]
  %v.5 = icmp slt i64 %k, %m
  br i1 %v.5, label %body.b.1, label %after.b.1
body.b.1:
  %v.6 = call ptr asm "", "=r,0"(ptr %at)
  %v.7 = load float, ptr %v.2, align 4
  %v.8 = load float, ptr %v.6, align 4
  %v.9 = fadd float %v.7, %v.8
  store float %v.9, ptr %v.2, align 4
  %at.next = getelementptr float, ptr %v.6, i64 %stride.1
  %k.next = add nsw i64 %k, 1
  br label %loop.b.1
after.b.1:
  %i.next = add nsw i64 %i, 1
  br label %loop.b
after.b:
  ret i32 0
}


define i32 @"axisfold.main"(ptr noalias readonly %idx, ptr noalias readonly %val, ptr noalias %T.v0, ptr noalias %T.v1, i64 %m, i64 %n, i64 %stride, i64 %stride.1, i64 %stride.2, i64 %stride.3, i64 %stride.4, i64 %stride.5) nounwind {
entry:
  br label %loop.b
loop.b:
  %i = phi i64 [ 0, %entry ], [ %i.next, %after.b.1 ]
  %v.0 = icmp slt i64 %i, %m
  br i1 %v.0, label %body.b, label %after.b
body.b:
  %v.1 = mul i64 %i, %stride.4
  %v.2 = getelementptr i32, ptr %T.v0, i64 %v.1
  store i32 -1, ptr %v.2, align 4
  %v.3 = mul i64 %i, %stride.5
  %v.4 = getelementptr i32, ptr %T.v1, i64 %v.3
  store i32 -2147483648, ptr %v.4, align 4
  %v.5 = mul i64 %i, %stride.2
  %v.6 = getelementptr i32, ptr %val, i64 %v.5
  %v.7 = mul i64 %i, %stride
  %v.8 = getelementptr i32, ptr %idx, i64 %v.7
  br label %loop.b.1
loop.b.1:
  %k = phi i64 [ 0, %body.b ], [ %k.next, %body.b.1 ]
  %at = phi ptr [ %v.6, %body.b ], [ %at.next, %body.b.1 ]
  %at.1 = phi ptr [ %v.8, %body.b ], [ %at.next.1, %body.b.1 ]
  %v.9 = icmp slt i64 %k, %n
  br i1 %v.9, label %body.b.1, label %after.b.1
body.b.1:
  %v.10 = call ptr asm "", "=r,0"(ptr %at)
  %v.11 = call ptr asm "", "=r,0"(ptr %at.1)
  %v.12 = load i32, ptr %v.4, align 4
  %v.13 = load i32, ptr %v.10, align 4
  %v.14 = icmp sge i32 %v.12, %v.13
  %v.15 = load i32, ptr %v.2, align 4
  %v.16 = load i32, ptr %v.11, align 4
  %v.17 = select i1 %v.14, i32 %v.15, i32 %v.16
  %v.18 = select i1 %v.14, i32 %v.12, i32 %v.13
  store i32 %v.17, ptr %v.2, align 4
  store i32 %v.18, ptr %v.4, align 4
  %at.next = getelementptr i32, ptr %v.10, i64 %stride.3
  %at.next.1 = getelementptr i32, ptr %v.11, i64 %stride.1
  %k.next = add nsw i64 %k, 1
  br label %loop.b.1
after.b.1:
  %i.next = add nsw i64 %i, 1
  br label %loop.b
after.b:
  ret i32 0
}


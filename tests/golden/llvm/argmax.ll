define i32 @"axisfold.main"(ptr noalias readonly %idx, ptr noalias readonly %val, ptr noalias %T.v0, ptr noalias %T.v1, i64 %m, i64 %n, i64 %stride, i64 %stride.1, i64 %stride.2, i64 %stride.3, i64 %stride.4, i64 %stride.5) nounwind {
entry:
  %v.0 = add nsw i64 0, %m
  br label %loop.b
loop.b:
  %i = phi i64 [ 0, %entry ], [ %i.next, %after.b.1 ]
  %v.1 = icmp slt i64 %i, %v.0
  br i1 %v.1, label %body.b, label %after.b
body.b:
  %v.2 = mul i64 %i, %stride.4
  %v.3 = getelementptr i32, ptr %T.v0, i64 %v.2
  store i32 -1, ptr %v.3, align 4
  %v.4 = mul i64 %i, %stride.5
  %v.5 = getelementptr i32, ptr %T.v1, i64 %v.4
  store i32 -2147483648, ptr %v.5, align 4
  %v.6 = add nsw i64 0, %n
  %v.7 = mul i64 %i, %stride.2
  %v.8 = getelementptr i32, ptr %val, i64 %v.7
  %v.9 = mul i64 %i, %stride
  %v.10 = getelementptr i32, ptr %idx, i64 %v.9
  br label %loop.b.1
loop.b.1:
  %k = phi i64 [ 0, %body.b ], [ %k.next, %body.b.1 ]
  %at = phi ptr [ %v.8, %body.b ], [ %at.next, %body.b.1 ]
  %at.1 = phi ptr [ %v.10, %body.b ], [ %at.next.1, %body.b.1 ]
  %v.11 = icmp slt i64 %k, %v.6
  br i1 %v.11, label %body.b.1, label %after.b.1
body.b.1:
  %v.12 = call ptr asm "", "=r,0"(ptr %at)
  %v.13 = call ptr asm "", "=r,0"(ptr %at.1)
  %v.14 = load i32, ptr %v.5, align 4
  %v.15 = load i32, ptr %v.12, align 4
  %v.16 = icmp sge i32 %v.14, %v.15
  %v.17 = load i32, ptr %v.3, align 4
  %v.18 = load i32, ptr %v.13, align 4
  %v.19 = select i1 %v.16, i32 %v.17, i32 %v.18
  %v.20 = select i1 %v.16, i32 %v.14, i32 %v.15
  store i32 %v.19, ptr %v.3, align 4
  store i32 %v.20, ptr %v.5, align 4
  %at.next = getelementptr i32, ptr %v.12, i64 %stride.3
  %at.next.1 = getelementptr i32, ptr %v.13, i64 %stride.1
  %k.next = add nsw i64 %k, 1
  br label %loop.b.1
after.b.1:
  %i.next = add nsw i64 %i, 1
  br label %loop.b
after.b:
  ret i32 0
}


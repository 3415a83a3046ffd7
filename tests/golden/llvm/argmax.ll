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
  br label %loop.b.1
loop.b.1:
  %k = phi i64 [ 0, %body.b ], [ %k.next, %body.b.1 ]
  %v.7 = icmp slt i64 %k, %v.6
  br i1 %v.7, label %body.b.1, label %after.b.1
body.b.1:
  %v.8 = mul i64 %i, %stride.5
  %v.9 = getelementptr i32, ptr %T.v1, i64 %v.8
  %v.10 = load i32, ptr %v.9, align 4
  %v.11 = mul i64 %i, %stride.2
  %v.12 = mul i64 %k, %stride.3
  %v.13 = add i64 %v.11, %v.12
  %v.14 = getelementptr i32, ptr %val, i64 %v.13
  %v.15 = load i32, ptr %v.14, align 4
  %v.16 = icmp sge i32 %v.10, %v.15
  %v.17 = mul i64 %i, %stride.4
  %v.18 = getelementptr i32, ptr %T.v0, i64 %v.17
  %v.19 = load i32, ptr %v.18, align 4
  %v.20 = mul i64 %i, %stride
  %v.21 = mul i64 %k, %stride.1
  %v.22 = add i64 %v.20, %v.21
  %v.23 = getelementptr i32, ptr %idx, i64 %v.22
  %v.24 = load i32, ptr %v.23, align 4
  %v.25 = select i1 %v.16, i32 %v.19, i32 %v.24
  %v.26 = mul i64 %i, %stride.5
  %v.27 = getelementptr i32, ptr %T.v1, i64 %v.26
  %v.28 = load i32, ptr %v.27, align 4
  %v.29 = mul i64 %i, %stride.2
  %v.30 = mul i64 %k, %stride.3
  %v.31 = add i64 %v.29, %v.30
  %v.32 = getelementptr i32, ptr %val, i64 %v.31
  %v.33 = load i32, ptr %v.32, align 4
  %v.34 = icmp sge i32 %v.28, %v.33
  %v.35 = select i1 %v.34, i32 %v.28, i32 %v.33
  %v.36 = mul i64 %i, %stride.4
  %v.37 = getelementptr i32, ptr %T.v0, i64 %v.36
  store i32 %v.25, ptr %v.37, align 4
  %v.38 = mul i64 %i, %stride.5
  %v.39 = getelementptr i32, ptr %T.v1, i64 %v.38
  store i32 %v.35, ptr %v.39, align 4
  %k.next = add nsw i64 %k, 1
  br label %loop.b.1
after.b.1:
  %i.next = add nsw i64 %i, 1
  br label %loop.b
after.b:
  ret i32 0
}


define i32 @"axisfold.main"(ptr noalias readonly %A, ptr noalias %B, i64 %n, i64 %m, i64 %stride, i64 %stride.1, i64 %stride.2) nounwind {
entry:
  %B.rf = alloca [8 x float], align 64
  %v.0 = add nsw i64 0, %n
  br label %loop.b
loop.b:
  %ax0 = phi i64 [ 0, %entry ], [ %ax0.next, %after.b.5 ]
  %v.1 = icmp slt i64 %ax0, %v.0
  br i1 %v.1, label %body.b, label %after.b
body.b:
  %v.2 = insertelement <8 x float> poison, float 0x0000000000000000, i64 0
  %v.3 = shufflevector <8 x float> %v.2, <8 x float> poison, <8 x i32> zeroinitializer
  %v.4 = getelementptr float, ptr %B.rf, i64 0
  store <8 x float> %v.3, ptr %v.4, align 4
  %v.5 = ashr i64 %m, 4
  %v.6 = call i64 @llvm.smax.i64(i64 %v.5, i64 0)
  %v.7 = add nsw i64 0, %v.6
  br label %loop.b.1
loop.b.1:
  %k.outer = phi i64 [ 0, %body.b ], [ %k.outer.next, %body.b.1 ]
  %v.8 = icmp slt i64 %k.outer, %v.7
  br i1 %v.8, label %body.b.1, label %after.b.1
body.b.1:
  %v.9 = getelementptr float, ptr %B.rf, i64 0
  %v.10 = load <8 x float>, ptr %v.9, align 4
  %v.11 = mul i64 %k.outer, 16
  %v.12 = mul i64 %v.11, %stride.1
  %v.13 = mul i64 %ax0, %stride
  %v.14 = add i64 %v.12, %v.13
  %v.15 = insertelement <8 x i64> poison, i64 %stride.1, i64 0
  %v.16 = shufflevector <8 x i64> %v.15, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.17 = mul <8 x i64> %v.16, <i64 0, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7>
  %v.18 = insertelement <8 x i64> poison, i64 %v.14, i64 0
  %v.19 = shufflevector <8 x i64> %v.18, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.20 = add <8 x i64> %v.19, %v.17
  %v.21 = getelementptr float, ptr %A, <8 x i64> %v.20
  %v.22 = call <8 x float> @llvm.masked.gather.v8f32.v8p0(<8 x ptr> %v.21, i32 4, <8 x i1> splat (i1 true), <8 x float> zeroinitializer)
  %v.23 = fadd <8 x float> %v.10, %v.22
  %v.24 = getelementptr float, ptr %B.rf, i64 0
  store <8 x float> %v.23, ptr %v.24, align 4
  %v.25 = getelementptr float, ptr %B.rf, i64 0
  %v.26 = load <8 x float>, ptr %v.25, align 4
  %v.27 = mul i64 %k.outer, 16
  %v.28 = add i64 8, %v.27
  %v.29 = mul i64 %v.28, %stride.1
  %v.30 = mul i64 %ax0, %stride
  %v.31 = add i64 %v.29, %v.30
  %v.32 = insertelement <8 x i64> poison, i64 %stride.1, i64 0
  %v.33 = shufflevector <8 x i64> %v.32, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.34 = mul <8 x i64> %v.33, <i64 0, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7>
  %v.35 = insertelement <8 x i64> poison, i64 %v.31, i64 0
  %v.36 = shufflevector <8 x i64> %v.35, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.37 = add <8 x i64> %v.36, %v.34
  %v.38 = getelementptr float, ptr %A, <8 x i64> %v.37
  %v.39 = call <8 x float> @llvm.masked.gather.v8f32.v8p0(<8 x ptr> %v.38, i32 4, <8 x i1> splat (i1 true), <8 x float> zeroinitializer)
  %v.40 = fadd <8 x float> %v.26, %v.39
  %v.41 = getelementptr float, ptr %B.rf, i64 0
  store <8 x float> %v.40, ptr %v.41, align 4
  %k.outer.next = add nsw i64 %k.outer, 1
  br label %loop.b.1
after.b.1:
  %v.42 = ashr i64 %m, 4
  %v.43 = call i64 @llvm.smax.i64(i64 %v.42, i64 0)
  %v.44 = add i64 %m, 15
  %v.45 = ashr i64 %v.44, 4
  %v.46 = call i64 @llvm.smax.i64(i64 %v.45, i64 0)
  %v.47 = ashr i64 %m, 4
  %v.48 = call i64 @llvm.smax.i64(i64 %v.47, i64 0)
  %v.49 = sub i64 %v.46, %v.48
  %v.50 = add nsw i64 %v.43, %v.49
  br label %loop.b.2
loop.b.2:
  %k.outer.1 = phi i64 [ %v.43, %after.b.1 ], [ %k.outer.next.1, %after.b.4 ]
  %v.51 = icmp slt i64 %k.outer.1, %v.50
  br i1 %v.51, label %body.b.2, label %after.b.2
body.b.2:
  %v.52 = ashr i64 %m, 3
  %v.53 = mul i64 %k.outer.1, 2
  %v.54 = sub i64 %v.52, %v.53
  %v.55 = call i64 @llvm.smax.i64(i64 %v.54, i64 0)
  %v.56 = add nsw i64 0, %v.55
  br label %loop.b.3
loop.b.3:
  %k.inner.outer = phi i64 [ 0, %body.b.2 ], [ %k.inner.outer.next, %body.b.3 ]
  %v.57 = icmp slt i64 %k.inner.outer, %v.56
  br i1 %v.57, label %body.b.3, label %after.b.3
body.b.3:
  %v.58 = getelementptr float, ptr %B.rf, i64 0
  %v.59 = load <8 x float>, ptr %v.58, align 4
  %v.60 = mul i64 %k.inner.outer, 8
  %v.61 = mul i64 %k.outer.1, 16
  %v.62 = add i64 %v.60, %v.61
  %v.63 = mul i64 %v.62, %stride.1
  %v.64 = mul i64 %ax0, %stride
  %v.65 = add i64 %v.63, %v.64
  %v.66 = insertelement <8 x i64> poison, i64 %stride.1, i64 0
  %v.67 = shufflevector <8 x i64> %v.66, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.68 = mul <8 x i64> %v.67, <i64 0, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7>
  %v.69 = insertelement <8 x i64> poison, i64 %v.65, i64 0
  %v.70 = shufflevector <8 x i64> %v.69, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.71 = add <8 x i64> %v.70, %v.68
  %v.72 = getelementptr float, ptr %A, <8 x i64> %v.71
  %v.73 = call <8 x float> @llvm.masked.gather.v8f32.v8p0(<8 x ptr> %v.72, i32 4, <8 x i1> splat (i1 true), <8 x float> zeroinitializer)
  %v.74 = fadd <8 x float> %v.59, %v.73
  %v.75 = getelementptr float, ptr %B.rf, i64 0
  store <8 x float> %v.74, ptr %v.75, align 4
  %k.inner.outer.next = add nsw i64 %k.inner.outer, 1
  br label %loop.b.3
after.b.3:
  %v.76 = ashr i64 %m, 3
  %v.77 = mul i64 %k.outer.1, 2
  %v.78 = sub i64 %v.76, %v.77
  %v.79 = call i64 @llvm.smax.i64(i64 %v.78, i64 0)
  %v.80 = add i64 %m, 7
  %v.81 = ashr i64 %v.80, 3
  %v.82 = mul i64 %k.outer.1, 2
  %v.83 = sub i64 %v.81, %v.82
  %v.84 = call i64 @llvm.smax.i64(i64 %v.83, i64 0)
  %v.85 = ashr i64 %m, 3
  %v.86 = mul i64 %k.outer.1, 2
  %v.87 = sub i64 %v.85, %v.86
  %v.88 = call i64 @llvm.smax.i64(i64 %v.87, i64 0)
  %v.89 = sub i64 %v.84, %v.88
  %v.90 = add nsw i64 %v.79, %v.89
  br label %loop.b.4
loop.b.4:
  %k.inner.outer.1 = phi i64 [ %v.79, %after.b.3 ], [ %k.inner.outer.next.1, %body.b.4 ]
  %v.91 = icmp slt i64 %k.inner.outer.1, %v.90
  br i1 %v.91, label %body.b.4, label %after.b.4
body.b.4:
  %v.92 = getelementptr float, ptr %B.rf, i64 0
  %v.93 = load <8 x float>, ptr %v.92, align 4
  %v.94 = mul i64 %k.inner.outer.1, 8
  %v.95 = mul i64 %k.outer.1, 16
  %v.96 = add i64 %v.94, %v.95
  %v.97 = mul i64 %v.96, %stride.1
  %v.98 = mul i64 %ax0, %stride
  %v.99 = add i64 %v.97, %v.98
  %v.100 = insertelement <8 x i64> poison, i64 %stride.1, i64 0
  %v.101 = shufflevector <8 x i64> %v.100, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.102 = mul <8 x i64> %v.101, <i64 0, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7>
  %v.103 = insertelement <8 x i64> poison, i64 %v.99, i64 0
  %v.104 = shufflevector <8 x i64> %v.103, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.105 = add <8 x i64> %v.104, %v.102
  %v.106 = add i64 %v.94, %v.95
  %v.107 = insertelement <8 x i64> poison, i64 1, i64 0
  %v.108 = shufflevector <8 x i64> %v.107, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.109 = mul <8 x i64> %v.108, <i64 0, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7>
  %v.110 = insertelement <8 x i64> poison, i64 %v.106, i64 0
  %v.111 = shufflevector <8 x i64> %v.110, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.112 = add <8 x i64> %v.111, %v.109
  %v.113 = insertelement <8 x i64> poison, i64 %m, i64 0
  %v.114 = shufflevector <8 x i64> %v.113, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.115 = icmp slt <8 x i64> %v.112, %v.114
  %v.116 = getelementptr float, ptr %A, <8 x i64> %v.105
  %v.117 = call <8 x float> @llvm.masked.gather.v8f32.v8p0(<8 x ptr> %v.116, i32 4, <8 x i1> %v.115, <8 x float> zeroinitializer)
  %v.118 = fadd <8 x float> %v.93, %v.117
  %v.119 = mul i64 %k.inner.outer.1, 8
  %v.120 = mul i64 %k.outer.1, 16
  %v.121 = add i64 %v.119, %v.120
  %v.122 = insertelement <8 x i64> poison, i64 1, i64 0
  %v.123 = shufflevector <8 x i64> %v.122, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.124 = mul <8 x i64> %v.123, <i64 0, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7>
  %v.125 = insertelement <8 x i64> poison, i64 %v.121, i64 0
  %v.126 = shufflevector <8 x i64> %v.125, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.127 = add <8 x i64> %v.126, %v.124
  %v.128 = insertelement <8 x i64> poison, i64 %m, i64 0
  %v.129 = shufflevector <8 x i64> %v.128, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.130 = icmp slt <8 x i64> %v.127, %v.129
  %v.131 = getelementptr float, ptr %B.rf, i64 0
  %v.132 = load <8 x float>, ptr %v.131, align 4
  %v.133 = select <8 x i1> %v.130, <8 x float> %v.118, <8 x float> %v.132
  store <8 x float> %v.133, ptr %v.131, align 4
  %k.inner.outer.next.1 = add nsw i64 %k.inner.outer.1, 1
  br label %loop.b.4
after.b.4:
  %k.outer.next.1 = add nsw i64 %k.outer.1, 1
  br label %loop.b.2
after.b.2:
  %v.134 = mul i64 %ax0, %stride.2
  %v.135 = getelementptr float, ptr %B, i64 %v.134
  store float 0x0000000000000000, ptr %v.135, align 4
  %v.136 = add nsw i64 0, 8
  br label %loop.b.5
loop.b.5:
  %k.inner.inner.v = phi i64 [ 0, %after.b.2 ], [ %k.inner.inner.v.next, %body.b.5 ]
  %v.137 = icmp slt i64 %k.inner.inner.v, %v.136
  br i1 %v.137, label %body.b.5, label %after.b.5
body.b.5:
  %v.138 = mul i64 %ax0, %stride.2
  %v.139 = mul i64 %ax0, %stride.2
  %v.140 = getelementptr float, ptr %B, i64 %v.139
  %v.141 = load float, ptr %v.140, align 4
  %v.142 = getelementptr float, ptr %B.rf, i64 %k.inner.inner.v
  %v.143 = load float, ptr %v.142, align 4
  %v.144 = fadd float %v.141, %v.143
  %v.145 = getelementptr float, ptr %B, i64 %v.138
  store float %v.144, ptr %v.145, align 4
  %k.inner.inner.v.next = add nsw i64 %k.inner.inner.v, 1
  br label %loop.b.5
after.b.5:
  %ax0.next = add nsw i64 %ax0, 1
  br label %loop.b
after.b:
  ret i32 0
}

declare i64 @llvm.smax.i64(i64, i64)
declare <8 x float> @llvm.masked.gather.v8f32.v8p0(<8 x ptr>, i32, <8 x i1>, <8 x float>)

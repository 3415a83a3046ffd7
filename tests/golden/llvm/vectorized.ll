define i32 @"axisfold.main"(ptr noalias readonly %A, ptr noalias %B, i64 %n, i64 %m, i64 %stride, i64 %stride.1, i64 %stride.2) nounwind {
entry:
  %B.rf = alloca [8 x float], align 64
  %v.0 = add nsw i64 0, %n
  br label %loop.b
loop.b:
  %ax0 = phi i64 [ 0, %entry ], [ %ax0.next, %after.b.3 ]
  %v.1 = icmp slt i64 %ax0, %v.0
  br i1 %v.1, label %body.b, label %after.b
body.b:
  %v.2 = insertelement <8 x float> poison, float 0x0000000000000000, i64 0
  %v.3 = shufflevector <8 x float> %v.2, <8 x float> poison, <8 x i32> zeroinitializer
  %v.4 = getelementptr float, ptr %B.rf, i64 0
  store <8 x float> %v.3, ptr %v.4, align 4
  %v.5 = ashr i64 %m, 4
  %v.6 = add nsw i64 0, %v.5
  br label %loop.b.1
loop.b.1:
  %k.outer = phi i64 [ 0, %body.b ], [ %k.outer.next, %body.b.1 ]
  %v.7 = icmp slt i64 %k.outer, %v.6
  br i1 %v.7, label %body.b.1, label %after.b.1
body.b.1:
  %v.8 = getelementptr float, ptr %B.rf, i64 0
  %v.9 = load <8 x float>, ptr %v.8, align 4
  %v.10 = mul i64 %k.outer, 16
  %v.11 = mul i64 %v.10, %stride.1
  %v.12 = mul i64 %ax0, %stride
  %v.13 = add i64 %v.11, %v.12
  %v.14 = insertelement <8 x i64> poison, i64 %stride.1, i64 0
  %v.15 = shufflevector <8 x i64> %v.14, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.16 = mul <8 x i64> %v.15, <i64 0, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7>
  %v.17 = insertelement <8 x i64> poison, i64 %v.13, i64 0
  %v.18 = shufflevector <8 x i64> %v.17, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.19 = add <8 x i64> %v.18, %v.16
  %v.20 = getelementptr float, ptr %A, <8 x i64> %v.19
  %v.21 = call <8 x float> @llvm.masked.gather.v8f32.v8p0(<8 x ptr> %v.20, i32 4, <8 x i1> splat (i1 true), <8 x float> zeroinitializer)
  %v.22 = fadd <8 x float> %v.9, %v.21
  %v.23 = getelementptr float, ptr %B.rf, i64 0
  store <8 x float> %v.22, ptr %v.23, align 4
  %v.24 = getelementptr float, ptr %B.rf, i64 0
  %v.25 = load <8 x float>, ptr %v.24, align 4
  %v.26 = mul i64 %k.outer, 16
  %v.27 = add i64 8, %v.26
  %v.28 = mul i64 %v.27, %stride.1
  %v.29 = mul i64 %ax0, %stride
  %v.30 = add i64 %v.28, %v.29
  %v.31 = insertelement <8 x i64> poison, i64 %stride.1, i64 0
  %v.32 = shufflevector <8 x i64> %v.31, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.33 = mul <8 x i64> %v.32, <i64 0, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7>
  %v.34 = insertelement <8 x i64> poison, i64 %v.30, i64 0
  %v.35 = shufflevector <8 x i64> %v.34, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.36 = add <8 x i64> %v.35, %v.33
  %v.37 = getelementptr float, ptr %A, <8 x i64> %v.36
  %v.38 = call <8 x float> @llvm.masked.gather.v8f32.v8p0(<8 x ptr> %v.37, i32 4, <8 x i1> splat (i1 true), <8 x float> zeroinitializer)
  %v.39 = fadd <8 x float> %v.25, %v.38
  %v.40 = getelementptr float, ptr %B.rf, i64 0
  store <8 x float> %v.39, ptr %v.40, align 4
  %k.outer.next = add nsw i64 %k.outer, 1
  br label %loop.b.1
after.b.1:
  %v.41 = ashr i64 %m, 4
  %v.42 = add i64 %m, 15
  %v.43 = ashr i64 %v.42, 4
  %v.44 = ashr i64 %m, 4
  %v.45 = sub i64 %v.43, %v.44
  %v.46 = add nsw i64 %v.41, %v.45
  br label %loop.b.2
loop.b.2:
  %k.outer.1 = phi i64 [ %v.41, %after.b.1 ], [ %k.outer.next.1, %body.b.2 ]
  %v.47 = icmp slt i64 %k.outer.1, %v.46
  br i1 %v.47, label %body.b.2, label %after.b.2
body.b.2:
  %v.48 = getelementptr float, ptr %B.rf, i64 0
  %v.49 = load <8 x float>, ptr %v.48, align 4
  %v.50 = mul i64 %k.outer.1, 16
  %v.51 = mul i64 %v.50, %stride.1
  %v.52 = mul i64 %ax0, %stride
  %v.53 = add i64 %v.51, %v.52
  %v.54 = insertelement <8 x i64> poison, i64 %stride.1, i64 0
  %v.55 = shufflevector <8 x i64> %v.54, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.56 = mul <8 x i64> %v.55, <i64 0, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7>
  %v.57 = insertelement <8 x i64> poison, i64 %v.53, i64 0
  %v.58 = shufflevector <8 x i64> %v.57, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.59 = add <8 x i64> %v.58, %v.56
  %v.60 = insertelement <8 x i64> poison, i64 1, i64 0
  %v.61 = shufflevector <8 x i64> %v.60, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.62 = mul <8 x i64> %v.61, <i64 0, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7>
  %v.63 = insertelement <8 x i64> poison, i64 %v.50, i64 0
  %v.64 = shufflevector <8 x i64> %v.63, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.65 = add <8 x i64> %v.64, %v.62
  %v.66 = insertelement <8 x i64> poison, i64 %m, i64 0
  %v.67 = shufflevector <8 x i64> %v.66, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.68 = icmp slt <8 x i64> %v.65, %v.67
  %v.69 = getelementptr float, ptr %A, <8 x i64> %v.59
  %v.70 = call <8 x float> @llvm.masked.gather.v8f32.v8p0(<8 x ptr> %v.69, i32 4, <8 x i1> %v.68, <8 x float> zeroinitializer)
  %v.71 = fadd <8 x float> %v.49, %v.70
  %v.72 = mul i64 %k.outer.1, 16
  %v.73 = insertelement <8 x i64> poison, i64 1, i64 0
  %v.74 = shufflevector <8 x i64> %v.73, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.75 = mul <8 x i64> %v.74, <i64 0, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7>
  %v.76 = insertelement <8 x i64> poison, i64 %v.72, i64 0
  %v.77 = shufflevector <8 x i64> %v.76, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.78 = add <8 x i64> %v.77, %v.75
  %v.79 = insertelement <8 x i64> poison, i64 %m, i64 0
  %v.80 = shufflevector <8 x i64> %v.79, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.81 = icmp slt <8 x i64> %v.78, %v.80
  %v.82 = getelementptr float, ptr %B.rf, i64 0
  %v.83 = load <8 x float>, ptr %v.82, align 4
  %v.84 = select <8 x i1> %v.81, <8 x float> %v.71, <8 x float> %v.83
  store <8 x float> %v.84, ptr %v.82, align 4
  %v.85 = getelementptr float, ptr %B.rf, i64 0
  %v.86 = load <8 x float>, ptr %v.85, align 4
  %v.87 = mul i64 %k.outer.1, 16
  %v.88 = add i64 8, %v.87
  %v.89 = mul i64 %v.88, %stride.1
  %v.90 = mul i64 %ax0, %stride
  %v.91 = add i64 %v.89, %v.90
  %v.92 = insertelement <8 x i64> poison, i64 %stride.1, i64 0
  %v.93 = shufflevector <8 x i64> %v.92, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.94 = mul <8 x i64> %v.93, <i64 0, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7>
  %v.95 = insertelement <8 x i64> poison, i64 %v.91, i64 0
  %v.96 = shufflevector <8 x i64> %v.95, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.97 = add <8 x i64> %v.96, %v.94
  %v.98 = add i64 8, %v.87
  %v.99 = insertelement <8 x i64> poison, i64 1, i64 0
  %v.100 = shufflevector <8 x i64> %v.99, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.101 = mul <8 x i64> %v.100, <i64 0, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7>
  %v.102 = insertelement <8 x i64> poison, i64 %v.98, i64 0
  %v.103 = shufflevector <8 x i64> %v.102, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.104 = add <8 x i64> %v.103, %v.101
  %v.105 = insertelement <8 x i64> poison, i64 %m, i64 0
  %v.106 = shufflevector <8 x i64> %v.105, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.107 = icmp slt <8 x i64> %v.104, %v.106
  %v.108 = getelementptr float, ptr %A, <8 x i64> %v.97
  %v.109 = call <8 x float> @llvm.masked.gather.v8f32.v8p0(<8 x ptr> %v.108, i32 4, <8 x i1> %v.107, <8 x float> zeroinitializer)
  %v.110 = fadd <8 x float> %v.86, %v.109
  %v.111 = mul i64 %k.outer.1, 16
  %v.112 = add i64 8, %v.111
  %v.113 = insertelement <8 x i64> poison, i64 1, i64 0
  %v.114 = shufflevector <8 x i64> %v.113, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.115 = mul <8 x i64> %v.114, <i64 0, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7>
  %v.116 = insertelement <8 x i64> poison, i64 %v.112, i64 0
  %v.117 = shufflevector <8 x i64> %v.116, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.118 = add <8 x i64> %v.117, %v.115
  %v.119 = insertelement <8 x i64> poison, i64 %m, i64 0
  %v.120 = shufflevector <8 x i64> %v.119, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.121 = icmp slt <8 x i64> %v.118, %v.120
  %v.122 = getelementptr float, ptr %B.rf, i64 0
  %v.123 = load <8 x float>, ptr %v.122, align 4
  %v.124 = select <8 x i1> %v.121, <8 x float> %v.110, <8 x float> %v.123
  store <8 x float> %v.124, ptr %v.122, align 4
  %k.outer.next.1 = add nsw i64 %k.outer.1, 1
  br label %loop.b.2
after.b.2:
  %v.125 = mul i64 %ax0, %stride.2
  %v.126 = getelementptr float, ptr %B, i64 %v.125
  store float 0x0000000000000000, ptr %v.126, align 4
  %v.127 = add nsw i64 0, 8
  br label %loop.b.3
loop.b.3:
  %k.inner.inner.v = phi i64 [ 0, %after.b.2 ], [ %k.inner.inner.v.next, %body.b.3 ]
  %v.128 = icmp slt i64 %k.inner.inner.v, %v.127
  br i1 %v.128, label %body.b.3, label %after.b.3
body.b.3:
  %v.129 = mul i64 %ax0, %stride.2
  %v.130 = mul i64 %ax0, %stride.2
  %v.131 = getelementptr float, ptr %B, i64 %v.130
  %v.132 = load float, ptr %v.131, align 4
  %v.133 = getelementptr float, ptr %B.rf, i64 %k.inner.inner.v
  %v.134 = load float, ptr %v.133, align 4
  %v.135 = fadd float %v.132, %v.134
  %v.136 = getelementptr float, ptr %B, i64 %v.129
  store float %v.135, ptr %v.136, align 4
  %k.inner.inner.v.next = add nsw i64 %k.inner.inner.v, 1
  br label %loop.b.3
after.b.3:
  %ax0.next = add nsw i64 %ax0, 1
  br label %loop.b
after.b:
  ret i32 0
}

declare <8 x float> @llvm.masked.gather.v8f32.v8p0(<8 x ptr>, i32, <8 x i1>, <8 x float>)

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
  %k.outer.1 = phi i64 [ %v.41, %after.b.1 ], [ %k.outer.next.1, %after.b.4 ]
  %v.47 = icmp slt i64 %k.outer.1, %v.46
  br i1 %v.47, label %body.b.2, label %after.b.2
body.b.2:
  %v.48 = ashr i64 %m, 3
  %v.49 = mul i64 %k.outer.1, 2
  %v.50 = sub i64 %v.48, %v.49
  %v.51 = add nsw i64 0, %v.50
  br label %loop.b.3
loop.b.3:
  %k.inner.outer = phi i64 [ 0, %body.b.2 ], [ %k.inner.outer.next, %body.b.3 ]
  %v.52 = icmp slt i64 %k.inner.outer, %v.51
  br i1 %v.52, label %body.b.3, label %after.b.3
body.b.3:
  %v.53 = getelementptr float, ptr %B.rf, i64 0
  %v.54 = load <8 x float>, ptr %v.53, align 4
  %v.55 = mul i64 %k.inner.outer, 8
  %v.56 = mul i64 %k.outer.1, 16
  %v.57 = add i64 %v.55, %v.56
  %v.58 = mul i64 %v.57, %stride.1
  %v.59 = mul i64 %ax0, %stride
  %v.60 = add i64 %v.58, %v.59
  %v.61 = insertelement <8 x i64> poison, i64 %stride.1, i64 0
  %v.62 = shufflevector <8 x i64> %v.61, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.63 = mul <8 x i64> %v.62, <i64 0, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7>
  %v.64 = insertelement <8 x i64> poison, i64 %v.60, i64 0
  %v.65 = shufflevector <8 x i64> %v.64, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.66 = add <8 x i64> %v.65, %v.63
  %v.67 = getelementptr float, ptr %A, <8 x i64> %v.66
  %v.68 = call <8 x float> @llvm.masked.gather.v8f32.v8p0(<8 x ptr> %v.67, i32 4, <8 x i1> splat (i1 true), <8 x float> zeroinitializer)
  %v.69 = fadd <8 x float> %v.54, %v.68
  %v.70 = getelementptr float, ptr %B.rf, i64 0
  store <8 x float> %v.69, ptr %v.70, align 4
  %k.inner.outer.next = add nsw i64 %k.inner.outer, 1
  br label %loop.b.3
after.b.3:
  %v.71 = ashr i64 %m, 3
  %v.72 = mul i64 %k.outer.1, 2
  %v.73 = sub i64 %v.71, %v.72
  %v.74 = add i64 %m, 7
  %v.75 = ashr i64 %v.74, 3
  %v.76 = ashr i64 %m, 3
  %v.77 = sub i64 %v.75, %v.76
  %v.78 = add nsw i64 %v.73, %v.77
  br label %loop.b.4
loop.b.4:
  %k.inner.outer.1 = phi i64 [ %v.73, %after.b.3 ], [ %k.inner.outer.next.1, %body.b.4 ]
  %v.79 = icmp slt i64 %k.inner.outer.1, %v.78
  br i1 %v.79, label %body.b.4, label %after.b.4
body.b.4:
  %v.80 = getelementptr float, ptr %B.rf, i64 0
  %v.81 = load <8 x float>, ptr %v.80, align 4
  %v.82 = mul i64 %k.inner.outer.1, 8
  %v.83 = mul i64 %k.outer.1, 16
  %v.84 = add i64 %v.82, %v.83
  %v.85 = mul i64 %v.84, %stride.1
  %v.86 = mul i64 %ax0, %stride
  %v.87 = add i64 %v.85, %v.86
  %v.88 = insertelement <8 x i64> poison, i64 %stride.1, i64 0
  %v.89 = shufflevector <8 x i64> %v.88, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.90 = mul <8 x i64> %v.89, <i64 0, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7>
  %v.91 = insertelement <8 x i64> poison, i64 %v.87, i64 0
  %v.92 = shufflevector <8 x i64> %v.91, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.93 = add <8 x i64> %v.92, %v.90
  %v.94 = add i64 %v.82, %v.83
  %v.95 = insertelement <8 x i64> poison, i64 1, i64 0
  %v.96 = shufflevector <8 x i64> %v.95, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.97 = mul <8 x i64> %v.96, <i64 0, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7>
  %v.98 = insertelement <8 x i64> poison, i64 %v.94, i64 0
  %v.99 = shufflevector <8 x i64> %v.98, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.100 = add <8 x i64> %v.99, %v.97
  %v.101 = insertelement <8 x i64> poison, i64 %m, i64 0
  %v.102 = shufflevector <8 x i64> %v.101, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.103 = icmp slt <8 x i64> %v.100, %v.102
  %v.104 = getelementptr float, ptr %A, <8 x i64> %v.93
  %v.105 = call <8 x float> @llvm.masked.gather.v8f32.v8p0(<8 x ptr> %v.104, i32 4, <8 x i1> %v.103, <8 x float> zeroinitializer)
  %v.106 = fadd <8 x float> %v.81, %v.105
  %v.107 = mul i64 %k.inner.outer.1, 8
  %v.108 = mul i64 %k.outer.1, 16
  %v.109 = add i64 %v.107, %v.108
  %v.110 = insertelement <8 x i64> poison, i64 1, i64 0
  %v.111 = shufflevector <8 x i64> %v.110, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.112 = mul <8 x i64> %v.111, <i64 0, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7>
  %v.113 = insertelement <8 x i64> poison, i64 %v.109, i64 0
  %v.114 = shufflevector <8 x i64> %v.113, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.115 = add <8 x i64> %v.114, %v.112
  %v.116 = insertelement <8 x i64> poison, i64 %m, i64 0
  %v.117 = shufflevector <8 x i64> %v.116, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.118 = icmp slt <8 x i64> %v.115, %v.117
  %v.119 = getelementptr float, ptr %B.rf, i64 0
  %v.120 = load <8 x float>, ptr %v.119, align 4
  %v.121 = select <8 x i1> %v.118, <8 x float> %v.106, <8 x float> %v.120
  store <8 x float> %v.121, ptr %v.119, align 4
  %k.inner.outer.next.1 = add nsw i64 %k.inner.outer.1, 1
  br label %loop.b.4
after.b.4:
  %k.outer.next.1 = add nsw i64 %k.outer.1, 1
  br label %loop.b.2
after.b.2:
  %v.122 = mul i64 %ax0, %stride.2
  %v.123 = getelementptr float, ptr %B, i64 %v.122
  store float 0x0000000000000000, ptr %v.123, align 4
  %v.124 = add nsw i64 0, 8
  br label %loop.b.5
loop.b.5:
  %k.inner.inner.v = phi i64 [ 0, %after.b.2 ], [ %k.inner.inner.v.next, %body.b.5 ]
  %v.125 = icmp slt i64 %k.inner.inner.v, %v.124
  br i1 %v.125, label %body.b.5, label %after.b.5
body.b.5:
  %v.126 = mul i64 %ax0, %stride.2
  %v.127 = mul i64 %ax0, %stride.2
  %v.128 = getelementptr float, ptr %B, i64 %v.127
  %v.129 = load float, ptr %v.128, align 4
  %v.130 = getelementptr float, ptr %B.rf, i64 %k.inner.inner.v
  %v.131 = load float, ptr %v.130, align 4
  %v.132 = fadd float %v.129, %v.131
  %v.133 = getelementptr float, ptr %B, i64 %v.126
  store float %v.132, ptr %v.133, align 4
  %k.inner.inner.v.next = add nsw i64 %k.inner.inner.v, 1
  br label %loop.b.5
after.b.5:
  %ax0.next = add nsw i64 %ax0, 1
  br label %loop.b
after.b:
  ret i32 0
}

declare <8 x float> @llvm.masked.gather.v8f32.v8p0(<8 x ptr>, i32, <8 x i1>, <8 x float>)

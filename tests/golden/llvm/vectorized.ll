define i32 @"axisfold.main"(ptr noalias readonly %A, ptr noalias %B, i64 %n, i64 %m, i64 %stride, i64 %stride.1, i64 %stride.2) nounwind {
entry:
  %B.rf = alloca [8 x float], align 64
  %v.7 = insertelement <8 x i64> poison, i64 %stride.1, i64 0
  %v.8 = shufflevector <8 x i64> %v.7, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.9 = mul <8 x i64> %v.8, <i64 0, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7>
  br label %loop.b
loop.b:
  %ax0 = phi i64 [ 0, %entry ], [ %ax0.next, %after.b.4 ]
  %v.0 = icmp slt i64 %ax0, %n
  br i1 %v.0, label %body.b, label %after.b
body.b:
  %v.1 = ashr i64 %m, 4
  br label %loop.b.1
loop.b.1:
  %k.outer = phi i64 [ 0, %body.b ], [ %k.outer.next, %body.b.1 ]
  %held = phi <8 x float> [ splat (float 0x0000000000000000), %body.b ], [ %v.84, %body.b.1 ]
  %v.2 = icmp slt i64 %k.outer, %v.1
  br i1 %v.2, label %body.b.1, label %after.b.1
body.b.1:
  %v.3 = mul i64 %k.outer, 16
  %v.4 = mul i64 %v.3, %stride.1
  %v.5 = mul i64 %ax0, %stride
  %v.6 = add i64 %v.4, %v.5
  %v.10 = insertelement <8 x i64> poison, i64 %v.6, i64 0
  %v.11 = shufflevector <8 x i64> %v.10, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.12 = add <8 x i64> %v.11, %v.9
  %v.13 = extractelement <8 x i64> %v.12, i64 0
  %v.14 = getelementptr float, ptr %A, i64 %v.13
  %v.15 = load float, ptr %v.14, align 4
  %v.16 = insertelement <8 x float> poison, float %v.15, i64 0
  %v.17 = extractelement <8 x i64> %v.12, i64 1
  %v.18 = getelementptr float, ptr %A, i64 %v.17
  %v.19 = load float, ptr %v.18, align 4
  %v.20 = insertelement <8 x float> %v.16, float %v.19, i64 1
  %v.21 = extractelement <8 x i64> %v.12, i64 2
  %v.22 = getelementptr float, ptr %A, i64 %v.21
  %v.23 = load float, ptr %v.22, align 4
  %v.24 = insertelement <8 x float> %v.20, float %v.23, i64 2
  %v.25 = extractelement <8 x i64> %v.12, i64 3
  %v.26 = getelementptr float, ptr %A, i64 %v.25
  %v.27 = load float, ptr %v.26, align 4
  %v.28 = insertelement <8 x float> %v.24, float %v.27, i64 3
  %v.29 = extractelement <8 x i64> %v.12, i64 4
  %v.30 = getelementptr float, ptr %A, i64 %v.29
  %v.31 = load float, ptr %v.30, align 4
  %v.32 = insertelement <8 x float> %v.28, float %v.31, i64 4
  %v.33 = extractelement <8 x i64> %v.12, i64 5
  %v.34 = getelementptr float, ptr %A, i64 %v.33
  %v.35 = load float, ptr %v.34, align 4
  %v.36 = insertelement <8 x float> %v.32, float %v.35, i64 5
  %v.37 = extractelement <8 x i64> %v.12, i64 6
  %v.38 = getelementptr float, ptr %A, i64 %v.37
  %v.39 = load float, ptr %v.38, align 4
  %v.40 = insertelement <8 x float> %v.36, float %v.39, i64 6
  %v.41 = extractelement <8 x i64> %v.12, i64 7
  %v.42 = getelementptr float, ptr %A, i64 %v.41
  %v.43 = load float, ptr %v.42, align 4
  %v.44 = insertelement <8 x float> %v.40, float %v.43, i64 7
  %v.45 = fadd <8 x float> %held, %v.44
  %v.46 = add i64 8, %v.3
  %v.47 = mul i64 %v.46, %stride.1
  %v.48 = add i64 %v.47, %v.5
  %v.49 = insertelement <8 x i64> poison, i64 %v.48, i64 0
  %v.50 = shufflevector <8 x i64> %v.49, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.51 = add <8 x i64> %v.50, %v.9
  %v.52 = extractelement <8 x i64> %v.51, i64 0
  %v.53 = getelementptr float, ptr %A, i64 %v.52
  %v.54 = load float, ptr %v.53, align 4
  %v.55 = insertelement <8 x float> poison, float %v.54, i64 0
  %v.56 = extractelement <8 x i64> %v.51, i64 1
  %v.57 = getelementptr float, ptr %A, i64 %v.56
  %v.58 = load float, ptr %v.57, align 4
  %v.59 = insertelement <8 x float> %v.55, float %v.58, i64 1
  %v.60 = extractelement <8 x i64> %v.51, i64 2
  %v.61 = getelementptr float, ptr %A, i64 %v.60
  %v.62 = load float, ptr %v.61, align 4
  %v.63 = insertelement <8 x float> %v.59, float %v.62, i64 2
  %v.64 = extractelement <8 x i64> %v.51, i64 3
  %v.65 = getelementptr float, ptr %A, i64 %v.64
  %v.66 = load float, ptr %v.65, align 4
  %v.67 = insertelement <8 x float> %v.63, float %v.66, i64 3
  %v.68 = extractelement <8 x i64> %v.51, i64 4
  %v.69 = getelementptr float, ptr %A, i64 %v.68
  %v.70 = load float, ptr %v.69, align 4
  %v.71 = insertelement <8 x float> %v.67, float %v.70, i64 4
  %v.72 = extractelement <8 x i64> %v.51, i64 5
  %v.73 = getelementptr float, ptr %A, i64 %v.72
  %v.74 = load float, ptr %v.73, align 4
  %v.75 = insertelement <8 x float> %v.71, float %v.74, i64 5
  %v.76 = extractelement <8 x i64> %v.51, i64 6
  %v.77 = getelementptr float, ptr %A, i64 %v.76
  %v.78 = load float, ptr %v.77, align 4
  %v.79 = insertelement <8 x float> %v.75, float %v.78, i64 6
  %v.80 = extractelement <8 x i64> %v.51, i64 7
  %v.81 = getelementptr float, ptr %A, i64 %v.80
  %v.82 = load float, ptr %v.81, align 4
  %v.83 = insertelement <8 x float> %v.79, float %v.82, i64 7
  %v.84 = fadd <8 x float> %v.45, %v.83
  %k.outer.next = add nsw i64 %k.outer, 1
  br label %loop.b.1
after.b.1:
  store <8 x float> %held, ptr %B.rf, align 4
  %v.85 = add i64 %m, 15
  %v.86 = ashr i64 %v.85, 4
  br label %loop.b.2
loop.b.2:
  %k.outer.1 = phi i64 [ %v.1, %after.b.1 ], [ %k.outer.next.1, %after.b.3 ]
  %v.87 = icmp slt i64 %k.outer.1, %v.86
  br i1 %v.87, label %body.b.2, label %after.b.2
body.b.2:
  %v.88 = call i64 asm "", "=r,0"(i64 %k.outer.1)
  br label %loop.b.3
loop.b.3:
  %k.inner.outer = phi i64 [ 0, %body.b.2 ], [ %k.inner.outer.next, %endif.b ]
  %v.89 = icmp slt i64 %k.inner.outer, 2
  br i1 %v.89, label %body.b.3, label %after.b.3
body.b.3:
  %v.90 = mul i64 %k.inner.outer, 8
  %v.91 = mul i64 %v.88, 16
  %v.92 = add i64 %v.90, %v.91
  %v.93 = add i64 %v.92, 7
  %v.94 = icmp slt i64 %v.93, %m
  br i1 %v.94, label %then.b, label %else.b
then.b:
  %v.95 = load <8 x float>, ptr %B.rf, align 4
  %v.96 = mul i64 %v.92, %stride.1
  %v.97 = mul i64 %ax0, %stride
  %v.98 = add i64 %v.96, %v.97
  %v.99 = insertelement <8 x i64> poison, i64 %v.98, i64 0
  %v.100 = shufflevector <8 x i64> %v.99, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.101 = add <8 x i64> %v.100, %v.9
  %v.102 = extractelement <8 x i64> %v.101, i64 0
  %v.103 = getelementptr float, ptr %A, i64 %v.102
  %v.104 = load float, ptr %v.103, align 4
  %v.105 = insertelement <8 x float> poison, float %v.104, i64 0
  %v.106 = extractelement <8 x i64> %v.101, i64 1
  %v.107 = getelementptr float, ptr %A, i64 %v.106
  %v.108 = load float, ptr %v.107, align 4
  %v.109 = insertelement <8 x float> %v.105, float %v.108, i64 1
  %v.110 = extractelement <8 x i64> %v.101, i64 2
  %v.111 = getelementptr float, ptr %A, i64 %v.110
  %v.112 = load float, ptr %v.111, align 4
  %v.113 = insertelement <8 x float> %v.109, float %v.112, i64 2
  %v.114 = extractelement <8 x i64> %v.101, i64 3
  %v.115 = getelementptr float, ptr %A, i64 %v.114
  %v.116 = load float, ptr %v.115, align 4
  %v.117 = insertelement <8 x float> %v.113, float %v.116, i64 3
  %v.118 = extractelement <8 x i64> %v.101, i64 4
  %v.119 = getelementptr float, ptr %A, i64 %v.118
  %v.120 = load float, ptr %v.119, align 4
  %v.121 = insertelement <8 x float> %v.117, float %v.120, i64 4
  %v.122 = extractelement <8 x i64> %v.101, i64 5
  %v.123 = getelementptr float, ptr %A, i64 %v.122
  %v.124 = load float, ptr %v.123, align 4
  %v.125 = insertelement <8 x float> %v.121, float %v.124, i64 5
  %v.126 = extractelement <8 x i64> %v.101, i64 6
  %v.127 = getelementptr float, ptr %A, i64 %v.126
  %v.128 = load float, ptr %v.127, align 4
  %v.129 = insertelement <8 x float> %v.125, float %v.128, i64 6
  %v.130 = extractelement <8 x i64> %v.101, i64 7
  %v.131 = getelementptr float, ptr %A, i64 %v.130
  %v.132 = load float, ptr %v.131, align 4
  %v.133 = insertelement <8 x float> %v.129, float %v.132, i64 7
  %v.134 = fadd <8 x float> %v.95, %v.133
  store <8 x float> %v.134, ptr %B.rf, align 4
  br label %endif.b
else.b:
  %v.135 = icmp slt i64 %v.92, %m
  br i1 %v.135, label %then.b.1, label %endif.b.1
then.b.1:
  %v.136 = load <8 x float>, ptr %B.rf, align 4
  %v.137 = mul i64 %v.92, %stride.1
  %v.138 = mul i64 %ax0, %stride
  %v.139 = add i64 %v.137, %v.138
  %v.140 = insertelement <8 x i64> poison, i64 %v.139, i64 0
  %v.141 = shufflevector <8 x i64> %v.140, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.142 = add <8 x i64> %v.141, %v.9
  %v.143 = sub i64 %m, %v.92
  %v.144 = call i64 @llvm.smin.i64(i64 %v.143, i64 8)
  %v.145 = call i64 @llvm.smax.i64(i64 %v.144, i64 0)
  %v.146 = trunc i64 %v.145 to i32
  %v.147 = insertelement <8 x i32> poison, i32 %v.146, i64 0
  %v.148 = shufflevector <8 x i32> %v.147, <8 x i32> poison, <8 x i32> zeroinitializer
  %v.149 = icmp slt <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %v.148
  %v.150 = getelementptr float, ptr %A, <8 x i64> %v.142
  %v.151 = call <8 x float> @llvm.masked.gather.v8f32.v8p0(<8 x ptr> %v.150, i32 4, <8 x i1> %v.149, <8 x float> zeroinitializer)
  %v.152 = fadd <8 x float> %v.136, %v.151
  %v.153 = select <8 x i1> %v.149, <8 x float> %v.152, <8 x float> %v.136
  %v.154 = freeze <8 x float> %v.153
  store <8 x float> %v.154, ptr %B.rf, align 4
  br label %endif.b.1
endif.b.1:
  br label %endif.b
endif.b:
  %k.inner.outer.next = add nsw i64 %k.inner.outer, 1
  br label %loop.b.3
after.b.3:
  %k.outer.next.1 = add nsw i64 %k.outer.1, 1
  br label %loop.b.2
after.b.2:
  %v.155 = mul i64 %ax0, %stride.2
  %v.156 = getelementptr float, ptr %B, i64 %v.155
  store float 0x0000000000000000, ptr %v.156, align 4
  br label %loop.b.4
loop.b.4:
  %k.inner.inner.v = phi i64 [ 0, %after.b.2 ], [ %k.inner.inner.v.next, %body.b.4 ]
  %v.157 = icmp slt i64 %k.inner.inner.v, 8
  br i1 %v.157, label %body.b.4, label %after.b.4
body.b.4:
  %v.158 = load float, ptr %v.156, align 4
  %v.159 = getelementptr float, ptr %B.rf, i64 %k.inner.inner.v
  %v.160 = load float, ptr %v.159, align 4
  %v.161 = fadd float %v.158, %v.160
  store float %v.161, ptr %v.156, align 4
  %k.inner.inner.v.next = add nsw i64 %k.inner.inner.v, 1
  br label %loop.b.4
after.b.4:
  %ax0.next = add nsw i64 %ax0, 1
  br label %loop.b
after.b:
  ret i32 0
}

declare i64 @llvm.smin.i64(i64, i64)
declare i64 @llvm.smax.i64(i64, i64)
declare <8 x float> @llvm.masked.gather.v8f32.v8p0(<8 x ptr>, i32, <8 x i1>, <8 x float>)

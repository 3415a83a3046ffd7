define i32 @"axisfold.main"(ptr noalias readonly %A, ptr noalias %B, i64 %n, i64 %m, i64 %stride, i64 %stride.1, i64 %stride.2) nounwind {
entry:
  %B.rf = alloca [8 x float], align 64
  %v.10 = insertelement <8 x i64> poison, i64 %stride.1, i64 0
  %v.11 = shufflevector <8 x i64> %v.10, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.12 = mul <8 x i64> %v.11, <i64 0, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7>
  %v.0 = add nsw i64 0, %n
  br label %loop.b
loop.b:
  %ax0 = phi i64 [ 0, %entry ], [ %ax0.next, %after.b.4 ]
  %v.1 = icmp slt i64 %ax0, %v.0
  br i1 %v.1, label %body.b, label %after.b
body.b:
  store <8 x float> splat (float 0x0000000000000000), ptr %B.rf, align 4
  %v.2 = ashr i64 %m, 4
  %v.3 = add nsw i64 0, %v.2
  br label %loop.b.1
loop.b.1:
  %k.outer = phi i64 [ 0, %body.b ], [ %k.outer.next, %body.b.1 ]
  %v.4 = icmp slt i64 %k.outer, %v.3
  br i1 %v.4, label %body.b.1, label %after.b.1
body.b.1:
  %v.5 = load <8 x float>, ptr %B.rf, align 4
  %v.6 = mul i64 %k.outer, 16
  %v.7 = mul i64 %v.6, %stride.1
  %v.8 = mul i64 %ax0, %stride
  %v.9 = add i64 %v.7, %v.8
  %v.13 = insertelement <8 x i64> poison, i64 %v.9, i64 0
  %v.14 = shufflevector <8 x i64> %v.13, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.15 = add <8 x i64> %v.14, %v.12
  %v.16 = extractelement <8 x i64> %v.15, i64 0
  %v.17 = getelementptr float, ptr %A, i64 %v.16
  %v.18 = load float, ptr %v.17, align 4
  %v.19 = insertelement <8 x float> poison, float %v.18, i64 0
  %v.20 = extractelement <8 x i64> %v.15, i64 1
  %v.21 = getelementptr float, ptr %A, i64 %v.20
  %v.22 = load float, ptr %v.21, align 4
  %v.23 = insertelement <8 x float> %v.19, float %v.22, i64 1
  %v.24 = extractelement <8 x i64> %v.15, i64 2
  %v.25 = getelementptr float, ptr %A, i64 %v.24
  %v.26 = load float, ptr %v.25, align 4
  %v.27 = insertelement <8 x float> %v.23, float %v.26, i64 2
  %v.28 = extractelement <8 x i64> %v.15, i64 3
  %v.29 = getelementptr float, ptr %A, i64 %v.28
  %v.30 = load float, ptr %v.29, align 4
  %v.31 = insertelement <8 x float> %v.27, float %v.30, i64 3
  %v.32 = extractelement <8 x i64> %v.15, i64 4
  %v.33 = getelementptr float, ptr %A, i64 %v.32
  %v.34 = load float, ptr %v.33, align 4
  %v.35 = insertelement <8 x float> %v.31, float %v.34, i64 4
  %v.36 = extractelement <8 x i64> %v.15, i64 5
  %v.37 = getelementptr float, ptr %A, i64 %v.36
  %v.38 = load float, ptr %v.37, align 4
  %v.39 = insertelement <8 x float> %v.35, float %v.38, i64 5
  %v.40 = extractelement <8 x i64> %v.15, i64 6
  %v.41 = getelementptr float, ptr %A, i64 %v.40
  %v.42 = load float, ptr %v.41, align 4
  %v.43 = insertelement <8 x float> %v.39, float %v.42, i64 6
  %v.44 = extractelement <8 x i64> %v.15, i64 7
  %v.45 = getelementptr float, ptr %A, i64 %v.44
  %v.46 = load float, ptr %v.45, align 4
  %v.47 = insertelement <8 x float> %v.43, float %v.46, i64 7
  %v.48 = fadd <8 x float> %v.5, %v.47
  %v.49 = add i64 8, %v.6
  %v.50 = mul i64 %v.49, %stride.1
  %v.51 = add i64 %v.50, %v.8
  %v.52 = insertelement <8 x i64> poison, i64 %v.51, i64 0
  %v.53 = shufflevector <8 x i64> %v.52, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.54 = add <8 x i64> %v.53, %v.12
  %v.55 = extractelement <8 x i64> %v.54, i64 0
  %v.56 = getelementptr float, ptr %A, i64 %v.55
  %v.57 = load float, ptr %v.56, align 4
  %v.58 = insertelement <8 x float> poison, float %v.57, i64 0
  %v.59 = extractelement <8 x i64> %v.54, i64 1
  %v.60 = getelementptr float, ptr %A, i64 %v.59
  %v.61 = load float, ptr %v.60, align 4
  %v.62 = insertelement <8 x float> %v.58, float %v.61, i64 1
  %v.63 = extractelement <8 x i64> %v.54, i64 2
  %v.64 = getelementptr float, ptr %A, i64 %v.63
  %v.65 = load float, ptr %v.64, align 4
  %v.66 = insertelement <8 x float> %v.62, float %v.65, i64 2
  %v.67 = extractelement <8 x i64> %v.54, i64 3
  %v.68 = getelementptr float, ptr %A, i64 %v.67
  %v.69 = load float, ptr %v.68, align 4
  %v.70 = insertelement <8 x float> %v.66, float %v.69, i64 3
  %v.71 = extractelement <8 x i64> %v.54, i64 4
  %v.72 = getelementptr float, ptr %A, i64 %v.71
  %v.73 = load float, ptr %v.72, align 4
  %v.74 = insertelement <8 x float> %v.70, float %v.73, i64 4
  %v.75 = extractelement <8 x i64> %v.54, i64 5
  %v.76 = getelementptr float, ptr %A, i64 %v.75
  %v.77 = load float, ptr %v.76, align 4
  %v.78 = insertelement <8 x float> %v.74, float %v.77, i64 5
  %v.79 = extractelement <8 x i64> %v.54, i64 6
  %v.80 = getelementptr float, ptr %A, i64 %v.79
  %v.81 = load float, ptr %v.80, align 4
  %v.82 = insertelement <8 x float> %v.78, float %v.81, i64 6
  %v.83 = extractelement <8 x i64> %v.54, i64 7
  %v.84 = getelementptr float, ptr %A, i64 %v.83
  %v.85 = load float, ptr %v.84, align 4
  %v.86 = insertelement <8 x float> %v.82, float %v.85, i64 7
  %v.87 = fadd <8 x float> %v.48, %v.86
  store <8 x float> %v.87, ptr %B.rf, align 4
  %k.outer.next = add nsw i64 %k.outer, 1
  br label %loop.b.1
after.b.1:
  %v.88 = add i64 %m, 15
  %v.89 = ashr i64 %v.88, 4
  %v.90 = sub i64 %v.89, %v.2
  %v.91 = add nsw i64 %v.2, %v.90
  br label %loop.b.2
loop.b.2:
  %k.outer.1 = phi i64 [ %v.2, %after.b.1 ], [ %k.outer.next.1, %after.b.3 ]
  %v.92 = icmp slt i64 %k.outer.1, %v.91
  br i1 %v.92, label %body.b.2, label %after.b.2
body.b.2:
  %v.93 = call i64 asm "", "=r,0"(i64 %k.outer.1)
  %v.94 = add nsw i64 0, 2
  br label %loop.b.3
loop.b.3:
  %k.inner.outer = phi i64 [ 0, %body.b.2 ], [ %k.inner.outer.next, %endif.b ]
  %v.95 = icmp slt i64 %k.inner.outer, %v.94
  br i1 %v.95, label %body.b.3, label %after.b.3
body.b.3:
  %v.96 = mul i64 %k.inner.outer, 8
  %v.97 = mul i64 %v.93, 16
  %v.98 = add i64 %v.96, %v.97
  %v.99 = add i64 %v.98, 7
  %v.100 = icmp slt i64 %v.99, %m
  br i1 %v.100, label %then.b, label %else.b
then.b:
  %v.101 = load <8 x float>, ptr %B.rf, align 4
  %v.102 = mul i64 %v.98, %stride.1
  %v.103 = mul i64 %ax0, %stride
  %v.104 = add i64 %v.102, %v.103
  %v.105 = insertelement <8 x i64> poison, i64 %v.104, i64 0
  %v.106 = shufflevector <8 x i64> %v.105, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.107 = add <8 x i64> %v.106, %v.12
  %v.108 = extractelement <8 x i64> %v.107, i64 0
  %v.109 = getelementptr float, ptr %A, i64 %v.108
  %v.110 = load float, ptr %v.109, align 4
  %v.111 = insertelement <8 x float> poison, float %v.110, i64 0
  %v.112 = extractelement <8 x i64> %v.107, i64 1
  %v.113 = getelementptr float, ptr %A, i64 %v.112
  %v.114 = load float, ptr %v.113, align 4
  %v.115 = insertelement <8 x float> %v.111, float %v.114, i64 1
  %v.116 = extractelement <8 x i64> %v.107, i64 2
  %v.117 = getelementptr float, ptr %A, i64 %v.116
  %v.118 = load float, ptr %v.117, align 4
  %v.119 = insertelement <8 x float> %v.115, float %v.118, i64 2
  %v.120 = extractelement <8 x i64> %v.107, i64 3
  %v.121 = getelementptr float, ptr %A, i64 %v.120
  %v.122 = load float, ptr %v.121, align 4
  %v.123 = insertelement <8 x float> %v.119, float %v.122, i64 3
  %v.124 = extractelement <8 x i64> %v.107, i64 4
  %v.125 = getelementptr float, ptr %A, i64 %v.124
  %v.126 = load float, ptr %v.125, align 4
  %v.127 = insertelement <8 x float> %v.123, float %v.126, i64 4
  %v.128 = extractelement <8 x i64> %v.107, i64 5
  %v.129 = getelementptr float, ptr %A, i64 %v.128
  %v.130 = load float, ptr %v.129, align 4
  %v.131 = insertelement <8 x float> %v.127, float %v.130, i64 5
  %v.132 = extractelement <8 x i64> %v.107, i64 6
  %v.133 = getelementptr float, ptr %A, i64 %v.132
  %v.134 = load float, ptr %v.133, align 4
  %v.135 = insertelement <8 x float> %v.131, float %v.134, i64 6
  %v.136 = extractelement <8 x i64> %v.107, i64 7
  %v.137 = getelementptr float, ptr %A, i64 %v.136
  %v.138 = load float, ptr %v.137, align 4
  %v.139 = insertelement <8 x float> %v.135, float %v.138, i64 7
  %v.140 = fadd <8 x float> %v.101, %v.139
  store <8 x float> %v.140, ptr %B.rf, align 4
  br label %endif.b
else.b:
  %v.141 = icmp slt i64 %v.98, %m
  br i1 %v.141, label %then.b.1, label %endif.b.1
then.b.1:
  %v.142 = load <8 x float>, ptr %B.rf, align 4
  %v.143 = mul i64 %v.98, %stride.1
  %v.144 = mul i64 %ax0, %stride
  %v.145 = add i64 %v.143, %v.144
  %v.146 = insertelement <8 x i64> poison, i64 %v.145, i64 0
  %v.147 = shufflevector <8 x i64> %v.146, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.148 = add <8 x i64> %v.147, %v.12
  %v.149 = sub i64 %m, %v.98
  %v.150 = call i64 @llvm.smin.i64(i64 %v.149, i64 8)
  %v.151 = call i64 @llvm.smax.i64(i64 %v.150, i64 0)
  %v.152 = trunc i64 %v.151 to i32
  %v.153 = insertelement <8 x i32> poison, i32 %v.152, i64 0
  %v.154 = shufflevector <8 x i32> %v.153, <8 x i32> poison, <8 x i32> zeroinitializer
  %v.155 = icmp slt <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %v.154
  %v.156 = getelementptr float, ptr %A, <8 x i64> %v.148
  %v.157 = call <8 x float> @llvm.masked.gather.v8f32.v8p0(<8 x ptr> %v.156, i32 4, <8 x i1> %v.155, <8 x float> zeroinitializer)
  %v.158 = fadd <8 x float> %v.142, %v.157
  %v.159 = select <8 x i1> %v.155, <8 x float> %v.158, <8 x float> %v.142
  %v.160 = freeze <8 x float> %v.159
  store <8 x float> %v.160, ptr %B.rf, align 4
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
  %v.161 = mul i64 %ax0, %stride.2
  %v.162 = getelementptr float, ptr %B, i64 %v.161
  store float 0x0000000000000000, ptr %v.162, align 4
  %v.163 = add nsw i64 0, 8
  br label %loop.b.4
loop.b.4:
  %k.inner.inner.v = phi i64 [ 0, %after.b.2 ], [ %k.inner.inner.v.next, %body.b.4 ]
  %v.164 = icmp slt i64 %k.inner.inner.v, %v.163
  br i1 %v.164, label %body.b.4, label %after.b.4
body.b.4:
  %v.165 = load float, ptr %v.162, align 4
  %v.166 = getelementptr float, ptr %B.rf, i64 %k.inner.inner.v
  %v.167 = load float, ptr %v.166, align 4
  %v.168 = fadd float %v.165, %v.167
  store float %v.168, ptr %v.162, align 4
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

define i32 @"axisfold.main"(ptr noalias readonly %A, ptr noalias %B, i64 %n, i64 %m, i64 %stride, i64 %stride.1, i64 %stride.2) nounwind {
entry:
  %B.rf = alloca [8 x float], align 64
  %v.9 = insertelement <8 x i64> poison, i64 %stride.1, i64 0
  %v.10 = shufflevector <8 x i64> %v.9, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.11 = mul <8 x i64> %v.10, <i64 0, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7>
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
  %held = phi <8 x float> [ splat (float 0x0000000000000000), %body.b ], [ %v.86, %body.b.1 ]
  %v.4 = icmp slt i64 %k.outer, %v.3
  br i1 %v.4, label %body.b.1, label %after.b.1
body.b.1:
  %v.5 = mul i64 %k.outer, 16
  %v.6 = mul i64 %v.5, %stride.1
  %v.7 = mul i64 %ax0, %stride
  %v.8 = add i64 %v.6, %v.7
  %v.12 = insertelement <8 x i64> poison, i64 %v.8, i64 0
  %v.13 = shufflevector <8 x i64> %v.12, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.14 = add <8 x i64> %v.13, %v.11
  %v.15 = extractelement <8 x i64> %v.14, i64 0
  %v.16 = getelementptr float, ptr %A, i64 %v.15
  %v.17 = load float, ptr %v.16, align 4
  %v.18 = insertelement <8 x float> poison, float %v.17, i64 0
  %v.19 = extractelement <8 x i64> %v.14, i64 1
  %v.20 = getelementptr float, ptr %A, i64 %v.19
  %v.21 = load float, ptr %v.20, align 4
  %v.22 = insertelement <8 x float> %v.18, float %v.21, i64 1
  %v.23 = extractelement <8 x i64> %v.14, i64 2
  %v.24 = getelementptr float, ptr %A, i64 %v.23
  %v.25 = load float, ptr %v.24, align 4
  %v.26 = insertelement <8 x float> %v.22, float %v.25, i64 2
  %v.27 = extractelement <8 x i64> %v.14, i64 3
  %v.28 = getelementptr float, ptr %A, i64 %v.27
  %v.29 = load float, ptr %v.28, align 4
  %v.30 = insertelement <8 x float> %v.26, float %v.29, i64 3
  %v.31 = extractelement <8 x i64> %v.14, i64 4
  %v.32 = getelementptr float, ptr %A, i64 %v.31
  %v.33 = load float, ptr %v.32, align 4
  %v.34 = insertelement <8 x float> %v.30, float %v.33, i64 4
  %v.35 = extractelement <8 x i64> %v.14, i64 5
  %v.36 = getelementptr float, ptr %A, i64 %v.35
  %v.37 = load float, ptr %v.36, align 4
  %v.38 = insertelement <8 x float> %v.34, float %v.37, i64 5
  %v.39 = extractelement <8 x i64> %v.14, i64 6
  %v.40 = getelementptr float, ptr %A, i64 %v.39
  %v.41 = load float, ptr %v.40, align 4
  %v.42 = insertelement <8 x float> %v.38, float %v.41, i64 6
  %v.43 = extractelement <8 x i64> %v.14, i64 7
  %v.44 = getelementptr float, ptr %A, i64 %v.43
  %v.45 = load float, ptr %v.44, align 4
  %v.46 = insertelement <8 x float> %v.42, float %v.45, i64 7
  %v.47 = fadd <8 x float> %held, %v.46
  %v.48 = add i64 8, %v.5
  %v.49 = mul i64 %v.48, %stride.1
  %v.50 = add i64 %v.49, %v.7
  %v.51 = insertelement <8 x i64> poison, i64 %v.50, i64 0
  %v.52 = shufflevector <8 x i64> %v.51, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.53 = add <8 x i64> %v.52, %v.11
  %v.54 = extractelement <8 x i64> %v.53, i64 0
  %v.55 = getelementptr float, ptr %A, i64 %v.54
  %v.56 = load float, ptr %v.55, align 4
  %v.57 = insertelement <8 x float> poison, float %v.56, i64 0
  %v.58 = extractelement <8 x i64> %v.53, i64 1
  %v.59 = getelementptr float, ptr %A, i64 %v.58
  %v.60 = load float, ptr %v.59, align 4
  %v.61 = insertelement <8 x float> %v.57, float %v.60, i64 1
  %v.62 = extractelement <8 x i64> %v.53, i64 2
  %v.63 = getelementptr float, ptr %A, i64 %v.62
  %v.64 = load float, ptr %v.63, align 4
  %v.65 = insertelement <8 x float> %v.61, float %v.64, i64 2
  %v.66 = extractelement <8 x i64> %v.53, i64 3
  %v.67 = getelementptr float, ptr %A, i64 %v.66
  %v.68 = load float, ptr %v.67, align 4
  %v.69 = insertelement <8 x float> %v.65, float %v.68, i64 3
  %v.70 = extractelement <8 x i64> %v.53, i64 4
  %v.71 = getelementptr float, ptr %A, i64 %v.70
  %v.72 = load float, ptr %v.71, align 4
  %v.73 = insertelement <8 x float> %v.69, float %v.72, i64 4
  %v.74 = extractelement <8 x i64> %v.53, i64 5
  %v.75 = getelementptr float, ptr %A, i64 %v.74
  %v.76 = load float, ptr %v.75, align 4
  %v.77 = insertelement <8 x float> %v.73, float %v.76, i64 5
  %v.78 = extractelement <8 x i64> %v.53, i64 6
  %v.79 = getelementptr float, ptr %A, i64 %v.78
  %v.80 = load float, ptr %v.79, align 4
  %v.81 = insertelement <8 x float> %v.77, float %v.80, i64 6
  %v.82 = extractelement <8 x i64> %v.53, i64 7
  %v.83 = getelementptr float, ptr %A, i64 %v.82
  %v.84 = load float, ptr %v.83, align 4
  %v.85 = insertelement <8 x float> %v.81, float %v.84, i64 7
  %v.86 = fadd <8 x float> %v.47, %v.85
  %k.outer.next = add nsw i64 %k.outer, 1
  br label %loop.b.1
after.b.1:
  store <8 x float> %held, ptr %B.rf, align 4
  %v.87 = add i64 %m, 15
  %v.88 = ashr i64 %v.87, 4
  %v.89 = sub i64 %v.88, %v.2
  %v.90 = add nsw i64 %v.2, %v.89
  br label %loop.b.2
loop.b.2:
  %k.outer.1 = phi i64 [ %v.2, %after.b.1 ], [ %k.outer.next.1, %after.b.3 ]
  %v.91 = icmp slt i64 %k.outer.1, %v.90
  br i1 %v.91, label %body.b.2, label %after.b.2
body.b.2:
  %v.92 = call i64 asm "", "=r,0"(i64 %k.outer.1)
  %v.93 = add nsw i64 0, 2
  br label %loop.b.3
loop.b.3:
  %k.inner.outer = phi i64 [ 0, %body.b.2 ], [ %k.inner.outer.next, %endif.b ]
  %v.94 = icmp slt i64 %k.inner.outer, %v.93
  br i1 %v.94, label %body.b.3, label %after.b.3
body.b.3:
  %v.95 = mul i64 %k.inner.outer, 8
  %v.96 = mul i64 %v.92, 16
  %v.97 = add i64 %v.95, %v.96
  %v.98 = add i64 %v.97, 7
  %v.99 = icmp slt i64 %v.98, %m
  br i1 %v.99, label %then.b, label %else.b
then.b:
  %v.100 = load <8 x float>, ptr %B.rf, align 4
  %v.101 = mul i64 %v.97, %stride.1
  %v.102 = mul i64 %ax0, %stride
  %v.103 = add i64 %v.101, %v.102
  %v.104 = insertelement <8 x i64> poison, i64 %v.103, i64 0
  %v.105 = shufflevector <8 x i64> %v.104, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.106 = add <8 x i64> %v.105, %v.11
  %v.107 = extractelement <8 x i64> %v.106, i64 0
  %v.108 = getelementptr float, ptr %A, i64 %v.107
  %v.109 = load float, ptr %v.108, align 4
  %v.110 = insertelement <8 x float> poison, float %v.109, i64 0
  %v.111 = extractelement <8 x i64> %v.106, i64 1
  %v.112 = getelementptr float, ptr %A, i64 %v.111
  %v.113 = load float, ptr %v.112, align 4
  %v.114 = insertelement <8 x float> %v.110, float %v.113, i64 1
  %v.115 = extractelement <8 x i64> %v.106, i64 2
  %v.116 = getelementptr float, ptr %A, i64 %v.115
  %v.117 = load float, ptr %v.116, align 4
  %v.118 = insertelement <8 x float> %v.114, float %v.117, i64 2
  %v.119 = extractelement <8 x i64> %v.106, i64 3
  %v.120 = getelementptr float, ptr %A, i64 %v.119
  %v.121 = load float, ptr %v.120, align 4
  %v.122 = insertelement <8 x float> %v.118, float %v.121, i64 3
  %v.123 = extractelement <8 x i64> %v.106, i64 4
  %v.124 = getelementptr float, ptr %A, i64 %v.123
  %v.125 = load float, ptr %v.124, align 4
  %v.126 = insertelement <8 x float> %v.122, float %v.125, i64 4
  %v.127 = extractelement <8 x i64> %v.106, i64 5
  %v.128 = getelementptr float, ptr %A, i64 %v.127
  %v.129 = load float, ptr %v.128, align 4
  %v.130 = insertelement <8 x float> %v.126, float %v.129, i64 5
  %v.131 = extractelement <8 x i64> %v.106, i64 6
  %v.132 = getelementptr float, ptr %A, i64 %v.131
  %v.133 = load float, ptr %v.132, align 4
  %v.134 = insertelement <8 x float> %v.130, float %v.133, i64 6
  %v.135 = extractelement <8 x i64> %v.106, i64 7
  %v.136 = getelementptr float, ptr %A, i64 %v.135
  %v.137 = load float, ptr %v.136, align 4
  %v.138 = insertelement <8 x float> %v.134, float %v.137, i64 7
  %v.139 = fadd <8 x float> %v.100, %v.138
  store <8 x float> %v.139, ptr %B.rf, align 4
  br label %endif.b
else.b:
  %v.140 = icmp slt i64 %v.97, %m
  br i1 %v.140, label %then.b.1, label %endif.b.1
then.b.1:
  %v.141 = load <8 x float>, ptr %B.rf, align 4
  %v.142 = mul i64 %v.97, %stride.1
  %v.143 = mul i64 %ax0, %stride
  %v.144 = add i64 %v.142, %v.143
  %v.145 = insertelement <8 x i64> poison, i64 %v.144, i64 0
  %v.146 = shufflevector <8 x i64> %v.145, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.147 = add <8 x i64> %v.146, %v.11
  %v.148 = sub i64 %m, %v.97
  %v.149 = call i64 @llvm.smin.i64(i64 %v.148, i64 8)
  %v.150 = call i64 @llvm.smax.i64(i64 %v.149, i64 0)
  %v.151 = trunc i64 %v.150 to i32
  %v.152 = insertelement <8 x i32> poison, i32 %v.151, i64 0
  %v.153 = shufflevector <8 x i32> %v.152, <8 x i32> poison, <8 x i32> zeroinitializer
  %v.154 = icmp slt <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %v.153
  %v.155 = getelementptr float, ptr %A, <8 x i64> %v.147
  %v.156 = call <8 x float> @llvm.masked.gather.v8f32.v8p0(<8 x ptr> %v.155, i32 4, <8 x i1> %v.154, <8 x float> zeroinitializer)
  %v.157 = fadd <8 x float> %v.141, %v.156
  %v.158 = select <8 x i1> %v.154, <8 x float> %v.157, <8 x float> %v.141
  %v.159 = freeze <8 x float> %v.158
  store <8 x float> %v.159, ptr %B.rf, align 4
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
  %v.160 = mul i64 %ax0, %stride.2
  %v.161 = getelementptr float, ptr %B, i64 %v.160
  store float 0x0000000000000000, ptr %v.161, align 4
  %v.162 = add nsw i64 0, 8
  %v.163 = getelementptr float, ptr %B.rf, i64 0
  br label %loop.b.4
loop.b.4:
  %k.inner.inner.v = phi i64 [ 0, %after.b.2 ], [ %k.inner.inner.v.next, %body.b.4 ]
  %at = phi ptr [ %v.163, %after.b.2 ], [ %at.next, %body.b.4 ]
  %v.164 = icmp slt i64 %k.inner.inner.v, %v.162
  br i1 %v.164, label %body.b.4, label %after.b.4
body.b.4:
  %v.165 = call ptr asm "", "=r,0"(ptr %at)
  %v.166 = load float, ptr %v.161, align 4
  %v.167 = load float, ptr %v.165, align 4
  %v.168 = fadd float %v.166, %v.167
  store float %v.168, ptr %v.161, align 4
  %at.next = getelementptr float, ptr %v.165, i64 1
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

define i32 @"axisfold.main"(ptr noalias readonly %A, ptr noalias %B, i64 %n, i64 %m, i64 %stride, i64 %stride.1, i64 %stride.2) nounwind {
entry:
  %B.rf = alloca [8 x float], align 64
  %v.10 = insertelement <8 x i64> poison, i64 %stride.1, i64 0
  %v.11 = shufflevector <8 x i64> %v.10, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.12 = mul <8 x i64> %v.11, <i64 0, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7>
  %v.0 = add nsw i64 0, %n
  br label %loop.b
loop.b:
  %ax0 = phi i64 [ 0, %entry ], [ %ax0.next, %after.b.3 ]
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
  store <8 x float> %v.48, ptr %B.rf, align 4
  %v.49 = load <8 x float>, ptr %B.rf, align 4
  %v.50 = add i64 8, %v.6
  %v.51 = mul i64 %v.50, %stride.1
  %v.52 = add i64 %v.51, %v.8
  %v.53 = insertelement <8 x i64> poison, i64 %v.52, i64 0
  %v.54 = shufflevector <8 x i64> %v.53, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.55 = add <8 x i64> %v.54, %v.12
  %v.56 = extractelement <8 x i64> %v.55, i64 0
  %v.57 = getelementptr float, ptr %A, i64 %v.56
  %v.58 = load float, ptr %v.57, align 4
  %v.59 = insertelement <8 x float> poison, float %v.58, i64 0
  %v.60 = extractelement <8 x i64> %v.55, i64 1
  %v.61 = getelementptr float, ptr %A, i64 %v.60
  %v.62 = load float, ptr %v.61, align 4
  %v.63 = insertelement <8 x float> %v.59, float %v.62, i64 1
  %v.64 = extractelement <8 x i64> %v.55, i64 2
  %v.65 = getelementptr float, ptr %A, i64 %v.64
  %v.66 = load float, ptr %v.65, align 4
  %v.67 = insertelement <8 x float> %v.63, float %v.66, i64 2
  %v.68 = extractelement <8 x i64> %v.55, i64 3
  %v.69 = getelementptr float, ptr %A, i64 %v.68
  %v.70 = load float, ptr %v.69, align 4
  %v.71 = insertelement <8 x float> %v.67, float %v.70, i64 3
  %v.72 = extractelement <8 x i64> %v.55, i64 4
  %v.73 = getelementptr float, ptr %A, i64 %v.72
  %v.74 = load float, ptr %v.73, align 4
  %v.75 = insertelement <8 x float> %v.71, float %v.74, i64 4
  %v.76 = extractelement <8 x i64> %v.55, i64 5
  %v.77 = getelementptr float, ptr %A, i64 %v.76
  %v.78 = load float, ptr %v.77, align 4
  %v.79 = insertelement <8 x float> %v.75, float %v.78, i64 5
  %v.80 = extractelement <8 x i64> %v.55, i64 6
  %v.81 = getelementptr float, ptr %A, i64 %v.80
  %v.82 = load float, ptr %v.81, align 4
  %v.83 = insertelement <8 x float> %v.79, float %v.82, i64 6
  %v.84 = extractelement <8 x i64> %v.55, i64 7
  %v.85 = getelementptr float, ptr %A, i64 %v.84
  %v.86 = load float, ptr %v.85, align 4
  %v.87 = insertelement <8 x float> %v.83, float %v.86, i64 7
  %v.88 = fadd <8 x float> %v.49, %v.87
  store <8 x float> %v.88, ptr %B.rf, align 4
  %k.outer.next = add nsw i64 %k.outer, 1
  br label %loop.b.1
after.b.1:
  %v.89 = add i64 %m, 15
  %v.90 = ashr i64 %v.89, 4
  %v.91 = sub i64 %v.90, %v.2
  %v.92 = add nsw i64 %v.2, %v.91
  br label %loop.b.2
loop.b.2:
  %k.outer.1 = phi i64 [ %v.2, %after.b.1 ], [ %k.outer.next.1, %endif.b.2 ]
  %v.93 = icmp slt i64 %k.outer.1, %v.92
  br i1 %v.93, label %body.b.2, label %after.b.2
body.b.2:
  %v.94 = mul i64 %k.outer.1, 16
  %v.95 = add i64 %v.94, 7
  %v.96 = icmp slt i64 %v.95, %m
  br i1 %v.96, label %then.b, label %else.b
then.b:
  %v.97 = load <8 x float>, ptr %B.rf, align 4
  %v.98 = mul i64 %v.94, %stride.1
  %v.99 = mul i64 %ax0, %stride
  %v.100 = add i64 %v.98, %v.99
  %v.101 = insertelement <8 x i64> poison, i64 %v.100, i64 0
  %v.102 = shufflevector <8 x i64> %v.101, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.103 = add <8 x i64> %v.102, %v.12
  %v.104 = extractelement <8 x i64> %v.103, i64 0
  %v.105 = getelementptr float, ptr %A, i64 %v.104
  %v.106 = load float, ptr %v.105, align 4
  %v.107 = insertelement <8 x float> poison, float %v.106, i64 0
  %v.108 = extractelement <8 x i64> %v.103, i64 1
  %v.109 = getelementptr float, ptr %A, i64 %v.108
  %v.110 = load float, ptr %v.109, align 4
  %v.111 = insertelement <8 x float> %v.107, float %v.110, i64 1
  %v.112 = extractelement <8 x i64> %v.103, i64 2
  %v.113 = getelementptr float, ptr %A, i64 %v.112
  %v.114 = load float, ptr %v.113, align 4
  %v.115 = insertelement <8 x float> %v.111, float %v.114, i64 2
  %v.116 = extractelement <8 x i64> %v.103, i64 3
  %v.117 = getelementptr float, ptr %A, i64 %v.116
  %v.118 = load float, ptr %v.117, align 4
  %v.119 = insertelement <8 x float> %v.115, float %v.118, i64 3
  %v.120 = extractelement <8 x i64> %v.103, i64 4
  %v.121 = getelementptr float, ptr %A, i64 %v.120
  %v.122 = load float, ptr %v.121, align 4
  %v.123 = insertelement <8 x float> %v.119, float %v.122, i64 4
  %v.124 = extractelement <8 x i64> %v.103, i64 5
  %v.125 = getelementptr float, ptr %A, i64 %v.124
  %v.126 = load float, ptr %v.125, align 4
  %v.127 = insertelement <8 x float> %v.123, float %v.126, i64 5
  %v.128 = extractelement <8 x i64> %v.103, i64 6
  %v.129 = getelementptr float, ptr %A, i64 %v.128
  %v.130 = load float, ptr %v.129, align 4
  %v.131 = insertelement <8 x float> %v.127, float %v.130, i64 6
  %v.132 = extractelement <8 x i64> %v.103, i64 7
  %v.133 = getelementptr float, ptr %A, i64 %v.132
  %v.134 = load float, ptr %v.133, align 4
  %v.135 = insertelement <8 x float> %v.131, float %v.134, i64 7
  %v.136 = fadd <8 x float> %v.97, %v.135
  store <8 x float> %v.136, ptr %B.rf, align 4
  br label %endif.b
else.b:
  %v.137 = icmp slt i64 %v.94, %m
  br i1 %v.137, label %then.b.1, label %endif.b.1
then.b.1:
  %v.138 = load <8 x float>, ptr %B.rf, align 4
  %v.139 = mul i64 %v.94, %stride.1
  %v.140 = mul i64 %ax0, %stride
  %v.141 = add i64 %v.139, %v.140
  %v.142 = insertelement <8 x i64> poison, i64 %v.141, i64 0
  %v.143 = shufflevector <8 x i64> %v.142, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.144 = add <8 x i64> %v.143, %v.12
  %v.145 = sub i64 %m, %v.94
  %v.146 = call i64 @llvm.smin.i64(i64 %v.145, i64 8)
  %v.147 = call i64 @llvm.smax.i64(i64 %v.146, i64 0)
  %v.148 = trunc i64 %v.147 to i32
  %v.149 = insertelement <8 x i32> poison, i32 %v.148, i64 0
  %v.150 = shufflevector <8 x i32> %v.149, <8 x i32> poison, <8 x i32> zeroinitializer
  %v.151 = icmp slt <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %v.150
  %v.152 = getelementptr float, ptr %A, <8 x i64> %v.144
  %v.153 = call <8 x float> @llvm.masked.gather.v8f32.v8p0(<8 x ptr> %v.152, i32 4, <8 x i1> %v.151, <8 x float> zeroinitializer)
  %v.154 = fadd <8 x float> %v.138, %v.153
  %v.155 = load <8 x float>, ptr %B.rf, align 4
  %v.156 = select <8 x i1> %v.151, <8 x float> %v.154, <8 x float> %v.155
  %v.157 = freeze <8 x float> %v.156
  store <8 x float> %v.157, ptr %B.rf, align 4
  br label %endif.b.1
endif.b.1:
  br label %endif.b
endif.b:
  %v.158 = add i64 8, %v.94
  %v.159 = add i64 %v.158, 7
  %v.160 = icmp slt i64 %v.159, %m
  br i1 %v.160, label %then.b.2, label %else.b.1
then.b.2:
  %v.161 = load <8 x float>, ptr %B.rf, align 4
  %v.162 = mul i64 %v.158, %stride.1
  %v.163 = mul i64 %ax0, %stride
  %v.164 = add i64 %v.162, %v.163
  %v.165 = insertelement <8 x i64> poison, i64 %v.164, i64 0
  %v.166 = shufflevector <8 x i64> %v.165, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.167 = add <8 x i64> %v.166, %v.12
  %v.168 = extractelement <8 x i64> %v.167, i64 0
  %v.169 = getelementptr float, ptr %A, i64 %v.168
  %v.170 = load float, ptr %v.169, align 4
  %v.171 = insertelement <8 x float> poison, float %v.170, i64 0
  %v.172 = extractelement <8 x i64> %v.167, i64 1
  %v.173 = getelementptr float, ptr %A, i64 %v.172
  %v.174 = load float, ptr %v.173, align 4
  %v.175 = insertelement <8 x float> %v.171, float %v.174, i64 1
  %v.176 = extractelement <8 x i64> %v.167, i64 2
  %v.177 = getelementptr float, ptr %A, i64 %v.176
  %v.178 = load float, ptr %v.177, align 4
  %v.179 = insertelement <8 x float> %v.175, float %v.178, i64 2
  %v.180 = extractelement <8 x i64> %v.167, i64 3
  %v.181 = getelementptr float, ptr %A, i64 %v.180
  %v.182 = load float, ptr %v.181, align 4
  %v.183 = insertelement <8 x float> %v.179, float %v.182, i64 3
  %v.184 = extractelement <8 x i64> %v.167, i64 4
  %v.185 = getelementptr float, ptr %A, i64 %v.184
  %v.186 = load float, ptr %v.185, align 4
  %v.187 = insertelement <8 x float> %v.183, float %v.186, i64 4
  %v.188 = extractelement <8 x i64> %v.167, i64 5
  %v.189 = getelementptr float, ptr %A, i64 %v.188
  %v.190 = load float, ptr %v.189, align 4
  %v.191 = insertelement <8 x float> %v.187, float %v.190, i64 5
  %v.192 = extractelement <8 x i64> %v.167, i64 6
  %v.193 = getelementptr float, ptr %A, i64 %v.192
  %v.194 = load float, ptr %v.193, align 4
  %v.195 = insertelement <8 x float> %v.191, float %v.194, i64 6
  %v.196 = extractelement <8 x i64> %v.167, i64 7
  %v.197 = getelementptr float, ptr %A, i64 %v.196
  %v.198 = load float, ptr %v.197, align 4
  %v.199 = insertelement <8 x float> %v.195, float %v.198, i64 7
  %v.200 = fadd <8 x float> %v.161, %v.199
  store <8 x float> %v.200, ptr %B.rf, align 4
  br label %endif.b.2
else.b.1:
  %v.201 = icmp slt i64 %v.158, %m
  br i1 %v.201, label %then.b.3, label %endif.b.3
then.b.3:
  %v.202 = load <8 x float>, ptr %B.rf, align 4
  %v.203 = mul i64 %v.158, %stride.1
  %v.204 = mul i64 %ax0, %stride
  %v.205 = add i64 %v.203, %v.204
  %v.206 = insertelement <8 x i64> poison, i64 %v.205, i64 0
  %v.207 = shufflevector <8 x i64> %v.206, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.208 = add <8 x i64> %v.207, %v.12
  %v.209 = sub i64 %m, %v.158
  %v.210 = call i64 @llvm.smin.i64(i64 %v.209, i64 8)
  %v.211 = call i64 @llvm.smax.i64(i64 %v.210, i64 0)
  %v.212 = trunc i64 %v.211 to i32
  %v.213 = insertelement <8 x i32> poison, i32 %v.212, i64 0
  %v.214 = shufflevector <8 x i32> %v.213, <8 x i32> poison, <8 x i32> zeroinitializer
  %v.215 = icmp slt <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %v.214
  %v.216 = getelementptr float, ptr %A, <8 x i64> %v.208
  %v.217 = call <8 x float> @llvm.masked.gather.v8f32.v8p0(<8 x ptr> %v.216, i32 4, <8 x i1> %v.215, <8 x float> zeroinitializer)
  %v.218 = fadd <8 x float> %v.202, %v.217
  %v.219 = load <8 x float>, ptr %B.rf, align 4
  %v.220 = select <8 x i1> %v.215, <8 x float> %v.218, <8 x float> %v.219
  %v.221 = freeze <8 x float> %v.220
  store <8 x float> %v.221, ptr %B.rf, align 4
  br label %endif.b.3
endif.b.3:
  br label %endif.b.2
endif.b.2:
  %k.outer.next.1 = add nsw i64 %k.outer.1, 1
  br label %loop.b.2
after.b.2:
  %v.222 = mul i64 %ax0, %stride.2
  %v.223 = getelementptr float, ptr %B, i64 %v.222
  store float 0x0000000000000000, ptr %v.223, align 4
  %v.224 = add nsw i64 0, 8
  br label %loop.b.3
loop.b.3:
  %k.inner.inner.v = phi i64 [ 0, %after.b.2 ], [ %k.inner.inner.v.next, %body.b.3 ]
  %v.225 = icmp slt i64 %k.inner.inner.v, %v.224
  br i1 %v.225, label %body.b.3, label %after.b.3
body.b.3:
  %v.226 = load float, ptr %v.223, align 4
  %v.227 = getelementptr float, ptr %B.rf, i64 %k.inner.inner.v
  %v.228 = load float, ptr %v.227, align 4
  %v.229 = fadd float %v.226, %v.228
  store float %v.229, ptr %v.223, align 4
  %k.inner.inner.v.next = add nsw i64 %k.inner.inner.v, 1
  br label %loop.b.3
after.b.3:
  %ax0.next = add nsw i64 %ax0, 1
  br label %loop.b
after.b:
  ret i32 0
}

declare i64 @llvm.smin.i64(i64, i64)
declare i64 @llvm.smax.i64(i64, i64)
declare <8 x float> @llvm.masked.gather.v8f32.v8p0(<8 x ptr>, i32, <8 x i1>, <8 x float>)

define i32 @"axisfold.main"(ptr noalias readonly %A, ptr noalias %B, i64 %n, i64 %m, i64 %stride, i64 %stride.1, i64 %stride.2) nounwind {
entry:
  %B.rf = alloca [8 x float], align 64
  %v.14 = insertelement <8 x i64> poison, i64 %stride.1, i64 0
  %v.15 = shufflevector <8 x i64> %v.14, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.16 = mul <8 x i64> %v.15, <i64 0, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7>
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
  %v.17 = insertelement <8 x i64> poison, i64 %v.13, i64 0
  %v.18 = shufflevector <8 x i64> %v.17, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.19 = add <8 x i64> %v.18, %v.16
  %v.20 = extractelement <8 x i64> %v.19, i64 0
  %v.21 = getelementptr float, ptr %A, i64 %v.20
  %v.22 = load float, ptr %v.21, align 4
  %v.23 = insertelement <8 x float> poison, float %v.22, i64 0
  %v.24 = extractelement <8 x i64> %v.19, i64 1
  %v.25 = getelementptr float, ptr %A, i64 %v.24
  %v.26 = load float, ptr %v.25, align 4
  %v.27 = insertelement <8 x float> %v.23, float %v.26, i64 1
  %v.28 = extractelement <8 x i64> %v.19, i64 2
  %v.29 = getelementptr float, ptr %A, i64 %v.28
  %v.30 = load float, ptr %v.29, align 4
  %v.31 = insertelement <8 x float> %v.27, float %v.30, i64 2
  %v.32 = extractelement <8 x i64> %v.19, i64 3
  %v.33 = getelementptr float, ptr %A, i64 %v.32
  %v.34 = load float, ptr %v.33, align 4
  %v.35 = insertelement <8 x float> %v.31, float %v.34, i64 3
  %v.36 = extractelement <8 x i64> %v.19, i64 4
  %v.37 = getelementptr float, ptr %A, i64 %v.36
  %v.38 = load float, ptr %v.37, align 4
  %v.39 = insertelement <8 x float> %v.35, float %v.38, i64 4
  %v.40 = extractelement <8 x i64> %v.19, i64 5
  %v.41 = getelementptr float, ptr %A, i64 %v.40
  %v.42 = load float, ptr %v.41, align 4
  %v.43 = insertelement <8 x float> %v.39, float %v.42, i64 5
  %v.44 = extractelement <8 x i64> %v.19, i64 6
  %v.45 = getelementptr float, ptr %A, i64 %v.44
  %v.46 = load float, ptr %v.45, align 4
  %v.47 = insertelement <8 x float> %v.43, float %v.46, i64 6
  %v.48 = extractelement <8 x i64> %v.19, i64 7
  %v.49 = getelementptr float, ptr %A, i64 %v.48
  %v.50 = load float, ptr %v.49, align 4
  %v.51 = insertelement <8 x float> %v.47, float %v.50, i64 7
  %v.52 = fadd <8 x float> %v.9, %v.51
  %v.53 = getelementptr float, ptr %B.rf, i64 0
  store <8 x float> %v.52, ptr %v.53, align 4
  %v.54 = getelementptr float, ptr %B.rf, i64 0
  %v.55 = load <8 x float>, ptr %v.54, align 4
  %v.56 = mul i64 %k.outer, 16
  %v.57 = add i64 8, %v.56
  %v.58 = mul i64 %v.57, %stride.1
  %v.59 = mul i64 %ax0, %stride
  %v.60 = add i64 %v.58, %v.59
  %v.61 = insertelement <8 x i64> poison, i64 %v.60, i64 0
  %v.62 = shufflevector <8 x i64> %v.61, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.63 = add <8 x i64> %v.62, %v.16
  %v.64 = extractelement <8 x i64> %v.63, i64 0
  %v.65 = getelementptr float, ptr %A, i64 %v.64
  %v.66 = load float, ptr %v.65, align 4
  %v.67 = insertelement <8 x float> poison, float %v.66, i64 0
  %v.68 = extractelement <8 x i64> %v.63, i64 1
  %v.69 = getelementptr float, ptr %A, i64 %v.68
  %v.70 = load float, ptr %v.69, align 4
  %v.71 = insertelement <8 x float> %v.67, float %v.70, i64 1
  %v.72 = extractelement <8 x i64> %v.63, i64 2
  %v.73 = getelementptr float, ptr %A, i64 %v.72
  %v.74 = load float, ptr %v.73, align 4
  %v.75 = insertelement <8 x float> %v.71, float %v.74, i64 2
  %v.76 = extractelement <8 x i64> %v.63, i64 3
  %v.77 = getelementptr float, ptr %A, i64 %v.76
  %v.78 = load float, ptr %v.77, align 4
  %v.79 = insertelement <8 x float> %v.75, float %v.78, i64 3
  %v.80 = extractelement <8 x i64> %v.63, i64 4
  %v.81 = getelementptr float, ptr %A, i64 %v.80
  %v.82 = load float, ptr %v.81, align 4
  %v.83 = insertelement <8 x float> %v.79, float %v.82, i64 4
  %v.84 = extractelement <8 x i64> %v.63, i64 5
  %v.85 = getelementptr float, ptr %A, i64 %v.84
  %v.86 = load float, ptr %v.85, align 4
  %v.87 = insertelement <8 x float> %v.83, float %v.86, i64 5
  %v.88 = extractelement <8 x i64> %v.63, i64 6
  %v.89 = getelementptr float, ptr %A, i64 %v.88
  %v.90 = load float, ptr %v.89, align 4
  %v.91 = insertelement <8 x float> %v.87, float %v.90, i64 6
  %v.92 = extractelement <8 x i64> %v.63, i64 7
  %v.93 = getelementptr float, ptr %A, i64 %v.92
  %v.94 = load float, ptr %v.93, align 4
  %v.95 = insertelement <8 x float> %v.91, float %v.94, i64 7
  %v.96 = fadd <8 x float> %v.55, %v.95
  %v.97 = getelementptr float, ptr %B.rf, i64 0
  store <8 x float> %v.96, ptr %v.97, align 4
  %k.outer.next = add nsw i64 %k.outer, 1
  br label %loop.b.1
after.b.1:
  %v.98 = ashr i64 %m, 4
  %v.99 = add i64 %m, 15
  %v.100 = ashr i64 %v.99, 4
  %v.101 = ashr i64 %m, 4
  %v.102 = sub i64 %v.100, %v.101
  %v.103 = add nsw i64 %v.98, %v.102
  br label %loop.b.2
loop.b.2:
  %k.outer.1 = phi i64 [ %v.98, %after.b.1 ], [ %k.outer.next.1, %endif.b.2 ]
  %v.104 = icmp slt i64 %k.outer.1, %v.103
  br i1 %v.104, label %body.b.2, label %after.b.2
body.b.2:
  %v.105 = mul i64 %k.outer.1, 16
  %v.106 = add i64 %v.105, 7
  %v.107 = icmp slt i64 %v.106, %m
  br i1 %v.107, label %then.b, label %else.b
then.b:
  %v.108 = getelementptr float, ptr %B.rf, i64 0
  %v.109 = load <8 x float>, ptr %v.108, align 4
  %v.110 = mul i64 %k.outer.1, 16
  %v.111 = mul i64 %v.110, %stride.1
  %v.112 = mul i64 %ax0, %stride
  %v.113 = add i64 %v.111, %v.112
  %v.114 = insertelement <8 x i64> poison, i64 %v.113, i64 0
  %v.115 = shufflevector <8 x i64> %v.114, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.116 = add <8 x i64> %v.115, %v.16
  %v.117 = extractelement <8 x i64> %v.116, i64 0
  %v.118 = getelementptr float, ptr %A, i64 %v.117
  %v.119 = load float, ptr %v.118, align 4
  %v.120 = insertelement <8 x float> poison, float %v.119, i64 0
  %v.121 = extractelement <8 x i64> %v.116, i64 1
  %v.122 = getelementptr float, ptr %A, i64 %v.121
  %v.123 = load float, ptr %v.122, align 4
  %v.124 = insertelement <8 x float> %v.120, float %v.123, i64 1
  %v.125 = extractelement <8 x i64> %v.116, i64 2
  %v.126 = getelementptr float, ptr %A, i64 %v.125
  %v.127 = load float, ptr %v.126, align 4
  %v.128 = insertelement <8 x float> %v.124, float %v.127, i64 2
  %v.129 = extractelement <8 x i64> %v.116, i64 3
  %v.130 = getelementptr float, ptr %A, i64 %v.129
  %v.131 = load float, ptr %v.130, align 4
  %v.132 = insertelement <8 x float> %v.128, float %v.131, i64 3
  %v.133 = extractelement <8 x i64> %v.116, i64 4
  %v.134 = getelementptr float, ptr %A, i64 %v.133
  %v.135 = load float, ptr %v.134, align 4
  %v.136 = insertelement <8 x float> %v.132, float %v.135, i64 4
  %v.137 = extractelement <8 x i64> %v.116, i64 5
  %v.138 = getelementptr float, ptr %A, i64 %v.137
  %v.139 = load float, ptr %v.138, align 4
  %v.140 = insertelement <8 x float> %v.136, float %v.139, i64 5
  %v.141 = extractelement <8 x i64> %v.116, i64 6
  %v.142 = getelementptr float, ptr %A, i64 %v.141
  %v.143 = load float, ptr %v.142, align 4
  %v.144 = insertelement <8 x float> %v.140, float %v.143, i64 6
  %v.145 = extractelement <8 x i64> %v.116, i64 7
  %v.146 = getelementptr float, ptr %A, i64 %v.145
  %v.147 = load float, ptr %v.146, align 4
  %v.148 = insertelement <8 x float> %v.144, float %v.147, i64 7
  %v.149 = fadd <8 x float> %v.109, %v.148
  %v.150 = getelementptr float, ptr %B.rf, i64 0
  store <8 x float> %v.149, ptr %v.150, align 4
  br label %endif.b
else.b:
  %v.151 = mul i64 %k.outer.1, 16
  %v.152 = icmp slt i64 %v.151, %m
  br i1 %v.152, label %then.b.1, label %endif.b.1
then.b.1:
  %v.153 = getelementptr float, ptr %B.rf, i64 0
  %v.154 = load <8 x float>, ptr %v.153, align 4
  %v.155 = mul i64 %k.outer.1, 16
  %v.156 = mul i64 %v.155, %stride.1
  %v.157 = mul i64 %ax0, %stride
  %v.158 = add i64 %v.156, %v.157
  %v.159 = insertelement <8 x i64> poison, i64 %v.158, i64 0
  %v.160 = shufflevector <8 x i64> %v.159, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.161 = add <8 x i64> %v.160, %v.16
  %v.162 = insertelement <8 x i64> poison, i64 1, i64 0
  %v.163 = shufflevector <8 x i64> %v.162, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.164 = mul <8 x i64> %v.163, <i64 0, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7>
  %v.165 = insertelement <8 x i64> poison, i64 %v.155, i64 0
  %v.166 = shufflevector <8 x i64> %v.165, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.167 = add <8 x i64> %v.166, %v.164
  %v.168 = insertelement <8 x i64> poison, i64 %m, i64 0
  %v.169 = shufflevector <8 x i64> %v.168, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.170 = icmp slt <8 x i64> %v.167, %v.169
  %v.171 = getelementptr float, ptr %A, <8 x i64> %v.161
  %v.172 = call <8 x float> @llvm.masked.gather.v8f32.v8p0(<8 x ptr> %v.171, i32 4, <8 x i1> %v.170, <8 x float> zeroinitializer)
  %v.173 = fadd <8 x float> %v.154, %v.172
  %v.174 = mul i64 %k.outer.1, 16
  %v.175 = insertelement <8 x i64> poison, i64 1, i64 0
  %v.176 = shufflevector <8 x i64> %v.175, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.177 = mul <8 x i64> %v.176, <i64 0, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7>
  %v.178 = insertelement <8 x i64> poison, i64 %v.174, i64 0
  %v.179 = shufflevector <8 x i64> %v.178, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.180 = add <8 x i64> %v.179, %v.177
  %v.181 = insertelement <8 x i64> poison, i64 %m, i64 0
  %v.182 = shufflevector <8 x i64> %v.181, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.183 = icmp slt <8 x i64> %v.180, %v.182
  %v.184 = getelementptr float, ptr %B.rf, i64 0
  %v.185 = load <8 x float>, ptr %v.184, align 4
  %v.186 = select <8 x i1> %v.183, <8 x float> %v.173, <8 x float> %v.185
  store <8 x float> %v.186, ptr %v.184, align 4
  br label %endif.b.1
endif.b.1:
  br label %endif.b
endif.b:
  %v.187 = mul i64 %k.outer.1, 16
  %v.188 = add i64 8, %v.187
  %v.189 = add i64 %v.188, 7
  %v.190 = icmp slt i64 %v.189, %m
  br i1 %v.190, label %then.b.2, label %else.b.1
then.b.2:
  %v.191 = getelementptr float, ptr %B.rf, i64 0
  %v.192 = load <8 x float>, ptr %v.191, align 4
  %v.193 = mul i64 %k.outer.1, 16
  %v.194 = add i64 8, %v.193
  %v.195 = mul i64 %v.194, %stride.1
  %v.196 = mul i64 %ax0, %stride
  %v.197 = add i64 %v.195, %v.196
  %v.198 = insertelement <8 x i64> poison, i64 %v.197, i64 0
  %v.199 = shufflevector <8 x i64> %v.198, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.200 = add <8 x i64> %v.199, %v.16
  %v.201 = extractelement <8 x i64> %v.200, i64 0
  %v.202 = getelementptr float, ptr %A, i64 %v.201
  %v.203 = load float, ptr %v.202, align 4
  %v.204 = insertelement <8 x float> poison, float %v.203, i64 0
  %v.205 = extractelement <8 x i64> %v.200, i64 1
  %v.206 = getelementptr float, ptr %A, i64 %v.205
  %v.207 = load float, ptr %v.206, align 4
  %v.208 = insertelement <8 x float> %v.204, float %v.207, i64 1
  %v.209 = extractelement <8 x i64> %v.200, i64 2
  %v.210 = getelementptr float, ptr %A, i64 %v.209
  %v.211 = load float, ptr %v.210, align 4
  %v.212 = insertelement <8 x float> %v.208, float %v.211, i64 2
  %v.213 = extractelement <8 x i64> %v.200, i64 3
  %v.214 = getelementptr float, ptr %A, i64 %v.213
  %v.215 = load float, ptr %v.214, align 4
  %v.216 = insertelement <8 x float> %v.212, float %v.215, i64 3
  %v.217 = extractelement <8 x i64> %v.200, i64 4
  %v.218 = getelementptr float, ptr %A, i64 %v.217
  %v.219 = load float, ptr %v.218, align 4
  %v.220 = insertelement <8 x float> %v.216, float %v.219, i64 4
  %v.221 = extractelement <8 x i64> %v.200, i64 5
  %v.222 = getelementptr float, ptr %A, i64 %v.221
  %v.223 = load float, ptr %v.222, align 4
  %v.224 = insertelement <8 x float> %v.220, float %v.223, i64 5
  %v.225 = extractelement <8 x i64> %v.200, i64 6
  %v.226 = getelementptr float, ptr %A, i64 %v.225
  %v.227 = load float, ptr %v.226, align 4
  %v.228 = insertelement <8 x float> %v.224, float %v.227, i64 6
  %v.229 = extractelement <8 x i64> %v.200, i64 7
  %v.230 = getelementptr float, ptr %A, i64 %v.229
  %v.231 = load float, ptr %v.230, align 4
  %v.232 = insertelement <8 x float> %v.228, float %v.231, i64 7
  %v.233 = fadd <8 x float> %v.192, %v.232
  %v.234 = getelementptr float, ptr %B.rf, i64 0
  store <8 x float> %v.233, ptr %v.234, align 4
  br label %endif.b.2
else.b.1:
  %v.235 = mul i64 %k.outer.1, 16
  %v.236 = add i64 8, %v.235
  %v.237 = icmp slt i64 %v.236, %m
  br i1 %v.237, label %then.b.3, label %endif.b.3
then.b.3:
  %v.238 = getelementptr float, ptr %B.rf, i64 0
  %v.239 = load <8 x float>, ptr %v.238, align 4
  %v.240 = mul i64 %k.outer.1, 16
  %v.241 = add i64 8, %v.240
  %v.242 = mul i64 %v.241, %stride.1
  %v.243 = mul i64 %ax0, %stride
  %v.244 = add i64 %v.242, %v.243
  %v.245 = insertelement <8 x i64> poison, i64 %v.244, i64 0
  %v.246 = shufflevector <8 x i64> %v.245, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.247 = add <8 x i64> %v.246, %v.16
  %v.248 = add i64 8, %v.240
  %v.249 = insertelement <8 x i64> poison, i64 1, i64 0
  %v.250 = shufflevector <8 x i64> %v.249, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.251 = mul <8 x i64> %v.250, <i64 0, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7>
  %v.252 = insertelement <8 x i64> poison, i64 %v.248, i64 0
  %v.253 = shufflevector <8 x i64> %v.252, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.254 = add <8 x i64> %v.253, %v.251
  %v.255 = insertelement <8 x i64> poison, i64 %m, i64 0
  %v.256 = shufflevector <8 x i64> %v.255, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.257 = icmp slt <8 x i64> %v.254, %v.256
  %v.258 = getelementptr float, ptr %A, <8 x i64> %v.247
  %v.259 = call <8 x float> @llvm.masked.gather.v8f32.v8p0(<8 x ptr> %v.258, i32 4, <8 x i1> %v.257, <8 x float> zeroinitializer)
  %v.260 = fadd <8 x float> %v.239, %v.259
  %v.261 = mul i64 %k.outer.1, 16
  %v.262 = add i64 8, %v.261
  %v.263 = insertelement <8 x i64> poison, i64 1, i64 0
  %v.264 = shufflevector <8 x i64> %v.263, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.265 = mul <8 x i64> %v.264, <i64 0, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7>
  %v.266 = insertelement <8 x i64> poison, i64 %v.262, i64 0
  %v.267 = shufflevector <8 x i64> %v.266, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.268 = add <8 x i64> %v.267, %v.265
  %v.269 = insertelement <8 x i64> poison, i64 %m, i64 0
  %v.270 = shufflevector <8 x i64> %v.269, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.271 = icmp slt <8 x i64> %v.268, %v.270
  %v.272 = getelementptr float, ptr %B.rf, i64 0
  %v.273 = load <8 x float>, ptr %v.272, align 4
  %v.274 = select <8 x i1> %v.271, <8 x float> %v.260, <8 x float> %v.273
  store <8 x float> %v.274, ptr %v.272, align 4
  br label %endif.b.3
endif.b.3:
  br label %endif.b.2
endif.b.2:
  %k.outer.next.1 = add nsw i64 %k.outer.1, 1
  br label %loop.b.2
after.b.2:
  %v.275 = mul i64 %ax0, %stride.2
  %v.276 = getelementptr float, ptr %B, i64 %v.275
  store float 0x0000000000000000, ptr %v.276, align 4
  %v.277 = add nsw i64 0, 8
  br label %loop.b.3
loop.b.3:
  %k.inner.inner.v = phi i64 [ 0, %after.b.2 ], [ %k.inner.inner.v.next, %body.b.3 ]
  %v.278 = icmp slt i64 %k.inner.inner.v, %v.277
  br i1 %v.278, label %body.b.3, label %after.b.3
body.b.3:
  %v.279 = mul i64 %ax0, %stride.2
  %v.280 = mul i64 %ax0, %stride.2
  %v.281 = getelementptr float, ptr %B, i64 %v.280
  %v.282 = load float, ptr %v.281, align 4
  %v.283 = getelementptr float, ptr %B.rf, i64 %k.inner.inner.v
  %v.284 = load float, ptr %v.283, align 4
  %v.285 = fadd float %v.282, %v.284
  %v.286 = getelementptr float, ptr %B, i64 %v.279
  store float %v.285, ptr %v.286, align 4
  %k.inner.inner.v.next = add nsw i64 %k.inner.inner.v, 1
  br label %loop.b.3
after.b.3:
  %ax0.next = add nsw i64 %ax0, 1
  br label %loop.b
after.b:
  ret i32 0
}

declare <8 x float> @llvm.masked.gather.v8f32.v8p0(<8 x ptr>, i32, <8 x i1>, <8 x float>)

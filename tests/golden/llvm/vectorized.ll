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
  %v.61 = insertelement <8 x i64> poison, i64 %stride.1, i64 0
  %v.62 = shufflevector <8 x i64> %v.61, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.63 = mul <8 x i64> %v.62, <i64 0, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7>
  %v.64 = insertelement <8 x i64> poison, i64 %v.60, i64 0
  %v.65 = shufflevector <8 x i64> %v.64, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.66 = add <8 x i64> %v.65, %v.63
  %v.67 = extractelement <8 x i64> %v.66, i64 0
  %v.68 = getelementptr float, ptr %A, i64 %v.67
  %v.69 = load float, ptr %v.68, align 4
  %v.70 = insertelement <8 x float> poison, float %v.69, i64 0
  %v.71 = extractelement <8 x i64> %v.66, i64 1
  %v.72 = getelementptr float, ptr %A, i64 %v.71
  %v.73 = load float, ptr %v.72, align 4
  %v.74 = insertelement <8 x float> %v.70, float %v.73, i64 1
  %v.75 = extractelement <8 x i64> %v.66, i64 2
  %v.76 = getelementptr float, ptr %A, i64 %v.75
  %v.77 = load float, ptr %v.76, align 4
  %v.78 = insertelement <8 x float> %v.74, float %v.77, i64 2
  %v.79 = extractelement <8 x i64> %v.66, i64 3
  %v.80 = getelementptr float, ptr %A, i64 %v.79
  %v.81 = load float, ptr %v.80, align 4
  %v.82 = insertelement <8 x float> %v.78, float %v.81, i64 3
  %v.83 = extractelement <8 x i64> %v.66, i64 4
  %v.84 = getelementptr float, ptr %A, i64 %v.83
  %v.85 = load float, ptr %v.84, align 4
  %v.86 = insertelement <8 x float> %v.82, float %v.85, i64 4
  %v.87 = extractelement <8 x i64> %v.66, i64 5
  %v.88 = getelementptr float, ptr %A, i64 %v.87
  %v.89 = load float, ptr %v.88, align 4
  %v.90 = insertelement <8 x float> %v.86, float %v.89, i64 5
  %v.91 = extractelement <8 x i64> %v.66, i64 6
  %v.92 = getelementptr float, ptr %A, i64 %v.91
  %v.93 = load float, ptr %v.92, align 4
  %v.94 = insertelement <8 x float> %v.90, float %v.93, i64 6
  %v.95 = extractelement <8 x i64> %v.66, i64 7
  %v.96 = getelementptr float, ptr %A, i64 %v.95
  %v.97 = load float, ptr %v.96, align 4
  %v.98 = insertelement <8 x float> %v.94, float %v.97, i64 7
  %v.99 = fadd <8 x float> %v.55, %v.98
  %v.100 = getelementptr float, ptr %B.rf, i64 0
  store <8 x float> %v.99, ptr %v.100, align 4
  %k.outer.next = add nsw i64 %k.outer, 1
  br label %loop.b.1
after.b.1:
  %v.101 = ashr i64 %m, 4
  %v.102 = add i64 %m, 15
  %v.103 = ashr i64 %v.102, 4
  %v.104 = ashr i64 %m, 4
  %v.105 = sub i64 %v.103, %v.104
  %v.106 = add nsw i64 %v.101, %v.105
  br label %loop.b.2
loop.b.2:
  %k.outer.1 = phi i64 [ %v.101, %after.b.1 ], [ %k.outer.next.1, %endif.b.2 ]
  %v.107 = icmp slt i64 %k.outer.1, %v.106
  br i1 %v.107, label %body.b.2, label %after.b.2
body.b.2:
  %v.108 = mul i64 %k.outer.1, 16
  %v.109 = add i64 %v.108, 7
  %v.110 = icmp slt i64 %v.109, %m
  br i1 %v.110, label %then.b, label %else.b
then.b:
  %v.111 = getelementptr float, ptr %B.rf, i64 0
  %v.112 = load <8 x float>, ptr %v.111, align 4
  %v.113 = mul i64 %k.outer.1, 16
  %v.114 = mul i64 %v.113, %stride.1
  %v.115 = mul i64 %ax0, %stride
  %v.116 = add i64 %v.114, %v.115
  %v.117 = insertelement <8 x i64> poison, i64 %stride.1, i64 0
  %v.118 = shufflevector <8 x i64> %v.117, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.119 = mul <8 x i64> %v.118, <i64 0, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7>
  %v.120 = insertelement <8 x i64> poison, i64 %v.116, i64 0
  %v.121 = shufflevector <8 x i64> %v.120, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.122 = add <8 x i64> %v.121, %v.119
  %v.123 = extractelement <8 x i64> %v.122, i64 0
  %v.124 = getelementptr float, ptr %A, i64 %v.123
  %v.125 = load float, ptr %v.124, align 4
  %v.126 = insertelement <8 x float> poison, float %v.125, i64 0
  %v.127 = extractelement <8 x i64> %v.122, i64 1
  %v.128 = getelementptr float, ptr %A, i64 %v.127
  %v.129 = load float, ptr %v.128, align 4
  %v.130 = insertelement <8 x float> %v.126, float %v.129, i64 1
  %v.131 = extractelement <8 x i64> %v.122, i64 2
  %v.132 = getelementptr float, ptr %A, i64 %v.131
  %v.133 = load float, ptr %v.132, align 4
  %v.134 = insertelement <8 x float> %v.130, float %v.133, i64 2
  %v.135 = extractelement <8 x i64> %v.122, i64 3
  %v.136 = getelementptr float, ptr %A, i64 %v.135
  %v.137 = load float, ptr %v.136, align 4
  %v.138 = insertelement <8 x float> %v.134, float %v.137, i64 3
  %v.139 = extractelement <8 x i64> %v.122, i64 4
  %v.140 = getelementptr float, ptr %A, i64 %v.139
  %v.141 = load float, ptr %v.140, align 4
  %v.142 = insertelement <8 x float> %v.138, float %v.141, i64 4
  %v.143 = extractelement <8 x i64> %v.122, i64 5
  %v.144 = getelementptr float, ptr %A, i64 %v.143
  %v.145 = load float, ptr %v.144, align 4
  %v.146 = insertelement <8 x float> %v.142, float %v.145, i64 5
  %v.147 = extractelement <8 x i64> %v.122, i64 6
  %v.148 = getelementptr float, ptr %A, i64 %v.147
  %v.149 = load float, ptr %v.148, align 4
  %v.150 = insertelement <8 x float> %v.146, float %v.149, i64 6
  %v.151 = extractelement <8 x i64> %v.122, i64 7
  %v.152 = getelementptr float, ptr %A, i64 %v.151
  %v.153 = load float, ptr %v.152, align 4
  %v.154 = insertelement <8 x float> %v.150, float %v.153, i64 7
  %v.155 = fadd <8 x float> %v.112, %v.154
  %v.156 = getelementptr float, ptr %B.rf, i64 0
  store <8 x float> %v.155, ptr %v.156, align 4
  br label %endif.b
else.b:
  %v.157 = mul i64 %k.outer.1, 16
  %v.158 = icmp slt i64 %v.157, %m
  br i1 %v.158, label %then.b.1, label %endif.b.1
then.b.1:
  %v.159 = getelementptr float, ptr %B.rf, i64 0
  %v.160 = load <8 x float>, ptr %v.159, align 4
  %v.161 = mul i64 %k.outer.1, 16
  %v.162 = mul i64 %v.161, %stride.1
  %v.163 = mul i64 %ax0, %stride
  %v.164 = add i64 %v.162, %v.163
  %v.165 = insertelement <8 x i64> poison, i64 %stride.1, i64 0
  %v.166 = shufflevector <8 x i64> %v.165, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.167 = mul <8 x i64> %v.166, <i64 0, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7>
  %v.168 = insertelement <8 x i64> poison, i64 %v.164, i64 0
  %v.169 = shufflevector <8 x i64> %v.168, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.170 = add <8 x i64> %v.169, %v.167
  %v.171 = insertelement <8 x i64> poison, i64 1, i64 0
  %v.172 = shufflevector <8 x i64> %v.171, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.173 = mul <8 x i64> %v.172, <i64 0, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7>
  %v.174 = insertelement <8 x i64> poison, i64 %v.161, i64 0
  %v.175 = shufflevector <8 x i64> %v.174, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.176 = add <8 x i64> %v.175, %v.173
  %v.177 = insertelement <8 x i64> poison, i64 %m, i64 0
  %v.178 = shufflevector <8 x i64> %v.177, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.179 = icmp slt <8 x i64> %v.176, %v.178
  %v.180 = getelementptr float, ptr %A, <8 x i64> %v.170
  %v.181 = call <8 x float> @llvm.masked.gather.v8f32.v8p0(<8 x ptr> %v.180, i32 4, <8 x i1> %v.179, <8 x float> zeroinitializer)
  %v.182 = fadd <8 x float> %v.160, %v.181
  %v.183 = mul i64 %k.outer.1, 16
  %v.184 = insertelement <8 x i64> poison, i64 1, i64 0
  %v.185 = shufflevector <8 x i64> %v.184, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.186 = mul <8 x i64> %v.185, <i64 0, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7>
  %v.187 = insertelement <8 x i64> poison, i64 %v.183, i64 0
  %v.188 = shufflevector <8 x i64> %v.187, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.189 = add <8 x i64> %v.188, %v.186
  %v.190 = insertelement <8 x i64> poison, i64 %m, i64 0
  %v.191 = shufflevector <8 x i64> %v.190, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.192 = icmp slt <8 x i64> %v.189, %v.191
  %v.193 = getelementptr float, ptr %B.rf, i64 0
  %v.194 = load <8 x float>, ptr %v.193, align 4
  %v.195 = select <8 x i1> %v.192, <8 x float> %v.182, <8 x float> %v.194
  store <8 x float> %v.195, ptr %v.193, align 4
  br label %endif.b.1
endif.b.1:
  br label %endif.b
endif.b:
  %v.196 = mul i64 %k.outer.1, 16
  %v.197 = add i64 8, %v.196
  %v.198 = add i64 %v.197, 7
  %v.199 = icmp slt i64 %v.198, %m
  br i1 %v.199, label %then.b.2, label %else.b.1
then.b.2:
  %v.200 = getelementptr float, ptr %B.rf, i64 0
  %v.201 = load <8 x float>, ptr %v.200, align 4
  %v.202 = mul i64 %k.outer.1, 16
  %v.203 = add i64 8, %v.202
  %v.204 = mul i64 %v.203, %stride.1
  %v.205 = mul i64 %ax0, %stride
  %v.206 = add i64 %v.204, %v.205
  %v.207 = insertelement <8 x i64> poison, i64 %stride.1, i64 0
  %v.208 = shufflevector <8 x i64> %v.207, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.209 = mul <8 x i64> %v.208, <i64 0, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7>
  %v.210 = insertelement <8 x i64> poison, i64 %v.206, i64 0
  %v.211 = shufflevector <8 x i64> %v.210, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.212 = add <8 x i64> %v.211, %v.209
  %v.213 = extractelement <8 x i64> %v.212, i64 0
  %v.214 = getelementptr float, ptr %A, i64 %v.213
  %v.215 = load float, ptr %v.214, align 4
  %v.216 = insertelement <8 x float> poison, float %v.215, i64 0
  %v.217 = extractelement <8 x i64> %v.212, i64 1
  %v.218 = getelementptr float, ptr %A, i64 %v.217
  %v.219 = load float, ptr %v.218, align 4
  %v.220 = insertelement <8 x float> %v.216, float %v.219, i64 1
  %v.221 = extractelement <8 x i64> %v.212, i64 2
  %v.222 = getelementptr float, ptr %A, i64 %v.221
  %v.223 = load float, ptr %v.222, align 4
  %v.224 = insertelement <8 x float> %v.220, float %v.223, i64 2
  %v.225 = extractelement <8 x i64> %v.212, i64 3
  %v.226 = getelementptr float, ptr %A, i64 %v.225
  %v.227 = load float, ptr %v.226, align 4
  %v.228 = insertelement <8 x float> %v.224, float %v.227, i64 3
  %v.229 = extractelement <8 x i64> %v.212, i64 4
  %v.230 = getelementptr float, ptr %A, i64 %v.229
  %v.231 = load float, ptr %v.230, align 4
  %v.232 = insertelement <8 x float> %v.228, float %v.231, i64 4
  %v.233 = extractelement <8 x i64> %v.212, i64 5
  %v.234 = getelementptr float, ptr %A, i64 %v.233
  %v.235 = load float, ptr %v.234, align 4
  %v.236 = insertelement <8 x float> %v.232, float %v.235, i64 5
  %v.237 = extractelement <8 x i64> %v.212, i64 6
  %v.238 = getelementptr float, ptr %A, i64 %v.237
  %v.239 = load float, ptr %v.238, align 4
  %v.240 = insertelement <8 x float> %v.236, float %v.239, i64 6
  %v.241 = extractelement <8 x i64> %v.212, i64 7
  %v.242 = getelementptr float, ptr %A, i64 %v.241
  %v.243 = load float, ptr %v.242, align 4
  %v.244 = insertelement <8 x float> %v.240, float %v.243, i64 7
  %v.245 = fadd <8 x float> %v.201, %v.244
  %v.246 = getelementptr float, ptr %B.rf, i64 0
  store <8 x float> %v.245, ptr %v.246, align 4
  br label %endif.b.2
else.b.1:
  %v.247 = mul i64 %k.outer.1, 16
  %v.248 = add i64 8, %v.247
  %v.249 = icmp slt i64 %v.248, %m
  br i1 %v.249, label %then.b.3, label %endif.b.3
then.b.3:
  %v.250 = getelementptr float, ptr %B.rf, i64 0
  %v.251 = load <8 x float>, ptr %v.250, align 4
  %v.252 = mul i64 %k.outer.1, 16
  %v.253 = add i64 8, %v.252
  %v.254 = mul i64 %v.253, %stride.1
  %v.255 = mul i64 %ax0, %stride
  %v.256 = add i64 %v.254, %v.255
  %v.257 = insertelement <8 x i64> poison, i64 %stride.1, i64 0
  %v.258 = shufflevector <8 x i64> %v.257, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.259 = mul <8 x i64> %v.258, <i64 0, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7>
  %v.260 = insertelement <8 x i64> poison, i64 %v.256, i64 0
  %v.261 = shufflevector <8 x i64> %v.260, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.262 = add <8 x i64> %v.261, %v.259
  %v.263 = add i64 8, %v.252
  %v.264 = insertelement <8 x i64> poison, i64 1, i64 0
  %v.265 = shufflevector <8 x i64> %v.264, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.266 = mul <8 x i64> %v.265, <i64 0, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7>
  %v.267 = insertelement <8 x i64> poison, i64 %v.263, i64 0
  %v.268 = shufflevector <8 x i64> %v.267, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.269 = add <8 x i64> %v.268, %v.266
  %v.270 = insertelement <8 x i64> poison, i64 %m, i64 0
  %v.271 = shufflevector <8 x i64> %v.270, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.272 = icmp slt <8 x i64> %v.269, %v.271
  %v.273 = getelementptr float, ptr %A, <8 x i64> %v.262
  %v.274 = call <8 x float> @llvm.masked.gather.v8f32.v8p0(<8 x ptr> %v.273, i32 4, <8 x i1> %v.272, <8 x float> zeroinitializer)
  %v.275 = fadd <8 x float> %v.251, %v.274
  %v.276 = mul i64 %k.outer.1, 16
  %v.277 = add i64 8, %v.276
  %v.278 = insertelement <8 x i64> poison, i64 1, i64 0
  %v.279 = shufflevector <8 x i64> %v.278, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.280 = mul <8 x i64> %v.279, <i64 0, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7>
  %v.281 = insertelement <8 x i64> poison, i64 %v.277, i64 0
  %v.282 = shufflevector <8 x i64> %v.281, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.283 = add <8 x i64> %v.282, %v.280
  %v.284 = insertelement <8 x i64> poison, i64 %m, i64 0
  %v.285 = shufflevector <8 x i64> %v.284, <8 x i64> poison, <8 x i32> zeroinitializer
  %v.286 = icmp slt <8 x i64> %v.283, %v.285
  %v.287 = getelementptr float, ptr %B.rf, i64 0
  %v.288 = load <8 x float>, ptr %v.287, align 4
  %v.289 = select <8 x i1> %v.286, <8 x float> %v.275, <8 x float> %v.288
  store <8 x float> %v.289, ptr %v.287, align 4
  br label %endif.b.3
endif.b.3:
  br label %endif.b.2
endif.b.2:
  %k.outer.next.1 = add nsw i64 %k.outer.1, 1
  br label %loop.b.2
after.b.2:
  %v.290 = mul i64 %ax0, %stride.2
  %v.291 = getelementptr float, ptr %B, i64 %v.290
  store float 0x0000000000000000, ptr %v.291, align 4
  %v.292 = add nsw i64 0, 8
  br label %loop.b.3
loop.b.3:
  %k.inner.inner.v = phi i64 [ 0, %after.b.2 ], [ %k.inner.inner.v.next, %body.b.3 ]
  %v.293 = icmp slt i64 %k.inner.inner.v, %v.292
  br i1 %v.293, label %body.b.3, label %after.b.3
body.b.3:
  %v.294 = mul i64 %ax0, %stride.2
  %v.295 = mul i64 %ax0, %stride.2
  %v.296 = getelementptr float, ptr %B, i64 %v.295
  %v.297 = load float, ptr %v.296, align 4
  %v.298 = getelementptr float, ptr %B.rf, i64 %k.inner.inner.v
  %v.299 = load float, ptr %v.298, align 4
  %v.300 = fadd float %v.297, %v.299
  %v.301 = getelementptr float, ptr %B, i64 %v.294
  store float %v.300, ptr %v.301, align 4
  %k.inner.inner.v.next = add nsw i64 %k.inner.inner.v, 1
  br label %loop.b.3
after.b.3:
  %ax0.next = add nsw i64 %ax0, 1
  br label %loop.b
after.b:
  ret i32 0
}

declare <8 x float> @llvm.masked.gather.v8f32.v8p0(<8 x ptr>, i32, <8 x i1>, <8 x float>)

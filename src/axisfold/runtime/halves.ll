; SPDX-License-Identifier: Apache-2.0
;
; Conversions of float16 for x86 without F16C, as of virtual machines that show the oldest x86: LLVM
; calls these functions and has none itself, and libraries of compilers that do are not loaded.

; Bits of a half in the place of a float's are the half by 2**-112, if it is finite.
define float @__extendhfsf2(half %x) nounwind {
  %bits = bitcast half %x to i16
  %wide = zext i16 %bits to i32
  %sign.at = and i32 %wide, 32768
  %sign = shl i32 %sign.at, 16
  %size = and i32 %wide, 32767
  %place = shl i32 %size, 13
  %small = bitcast i32 %place to float
  %finite = fmul float %small, 0x46F0000000000000
  %finite.bits = bitcast float %finite to i32
  %is.finite = icmp ult i32 %size, 31744
  %is.nan = icmp ugt i32 %size, 31744
  %quiet = select i1 %is.nan, i32 2143289344, i32 2139095040
  %other = or i32 %place, %quiet
  %whole = select i1 %is.finite, i32 %finite.bits, i32 %other
  %result = or i32 %whole, %sign
  %value = bitcast i32 %result to float
  ret float %value
}

define half @__truncsfhf2(float %x) nounwind {
  %bits = bitcast float %x to i32
  %size = and i32 %bits, 2147483647
  %sign.at = lshr i32 %bits, 16
  %sign = and i32 %sign.at, 32768
  ; Sizes below 2**-14 are rounded by what is added: 1/2, of which a unit is 2**-24.
  %value = bitcast i32 %size to float
  %added = fadd float %value, 0.5
  %added.bits = bitcast float %added to i32
  %tiny = sub i32 %added.bits, 1056964608
  ; Others to the nearest, ties to even, by what is added to the bits.
  %last.at = lshr i32 %size, 13
  %last = and i32 %last.at, 1
  %nearly = add i32 %size, 3355447295
  %up = add i32 %nearly, %last
  %usual = lshr i32 %up, 13
  %payload = and i32 %last.at, 1023
  %nan = or i32 %payload, 32256
  %is.tiny = icmp ult i32 %size, 947912704
  %is.large = icmp ugt i32 %size, 1199570943
  %is.nan = icmp ugt i32 %size, 2139095040
  %finite = select i1 %is.tiny, i32 %tiny, i32 %usual
  %bounded = select i1 %is.large, i32 31744, i32 %finite
  %chosen = select i1 %is.nan, i32 %nan, i32 %bounded
  %all = or i32 %chosen, %sign
  %short = trunc i32 %all to i16
  %result = bitcast i16 %short to half
  ret half %result
}

; By a float that is odd where it is not exact, so that no tie is made.
define half @__truncdfhf2(double %x) nounwind {
  %near = fptrunc double %x to float
  %back = fpext float %near to double
  %bits = bitcast float %near to i32
  %distance = call double @llvm.fabs.f64(double %back)
  %size = call double @llvm.fabs.f64(double %x)
  %is.over = fcmp ogt double %distance, %size
  %is.other = fcmp one double %back, %x
  %less = zext i1 %is.over to i32
  %below = sub i32 %bits, %less
  %odd = zext i1 %is.other to i32
  %chosen = or i32 %below, %odd
  %float = bitcast i32 %chosen to float
  %result = call half @__truncsfhf2(float %float)
  ret half %result
}

declare double @llvm.fabs.f64(double)

#include "textflag.h"

// A kernel for AVX-512F. See near.go for what it computes.

// func notAboveAVX512(t *numberTerms, sums *[64]uint16, adds, scales, errors []float32, mask uint64) uint64
//
//	SI   sums, where we are               AX  rows left to read, the next in the lowest bit
//	R8, R9, R10  adds, scales, errors     BX  the result     CX  the number of the next row
//
//	Z16-Z24  the shared terms, repeated   Z25  all bits but the sign
//	Z0  sum    Z1  add    Z2, Z3  scale, and its product with the sum    Z4  half    Z5  error    Z6  number
TEXT ·notAboveAVX512(SB), NOSPLIT, $0-104
	MOVQ         t+0(FP), DI
	MOVQ         sums+8(FP), SI
	MOVQ         adds_base+16(FP), R8
	MOVQ         scales_base+40(FP), R9
	MOVQ         errors_base+64(FP), R10
	MOVQ         mask+88(FP), AX
	VBROADCASTSS (DI), Z16
	VBROADCASTSS 4(DI), Z17
	VBROADCASTSS 8(DI), Z18
	VBROADCASTSS 12(DI), Z19
	VBROADCASTSS 16(DI), Z20
	VBROADCASTSS 20(DI), Z21
	VBROADCASTSS 24(DI), Z22
	VBROADCASTSS 28(DI), Z23
	VBROADCASTSS 32(DI), Z24
	VPTERNLOGD   $0xff, Z25, Z25, Z25
	VPSRLD       $1, Z25, Z25
	XORQ         BX, BX
	XORQ         CX, CX

sixteen:
	KMOVW       AX, K1
	VPMOVZXWD   (SI), Z0
	VCVTDQ2PS   Z0, Z0
	VMULPS      Z16, Z0, Z0
	VADDPS      Z17, Z0, Z0
	VMOVUPS.Z   (R8), K1, Z1
	VMULPS      Z19, Z1, Z1
	VMOVUPS.Z   (R9), K1, Z2
	VMULPS      Z0, Z2, Z3
	VPANDD      Z25, Z2, Z4
	VMULPS      Z18, Z4, Z4
	VMOVUPS.Z   (R10), K1, Z5
	VMULPS      Z20, Z5, Z5
	VADDPS      Z3, Z1, Z6
	VADDPS      Z21, Z6, Z6
	VSUBPS      Z5, Z6, Z6
	VSUBPS      Z4, Z6, Z6
	VPANDD      Z25, Z1, Z1
	VPANDD      Z25, Z3, Z3
	VPANDD      Z25, Z5, Z5
	VADDPS      Z3, Z1, Z1
	VADDPS      Z4, Z5, Z5
	VADDPS      Z5, Z1, Z1
	VADDPS      Z22, Z1, Z1
	VMULPS      Z24, Z1, Z1
	VSUBPS      Z1, Z6, Z6
	VCMPPS      $10, Z23, Z6, K1, K2 // not greater, or NaN
	KMOVW       K2, DX
	SHLQ        CX, DX
	ORQ         DX, BX
	ADDQ        $32, SI
	ADDQ        $64, R8
	ADDQ        $64, R9
	ADDQ        $64, R10
	ADDQ        $16, CX
	SHRQ        $16, AX
	JNE         sixteen
	MOVQ        BX, ret+96(FP)
	VZEROUPPER
	RET

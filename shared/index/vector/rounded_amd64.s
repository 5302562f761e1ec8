#include "textflag.h"

// A kernel for AVX2. See rounded.go for what it computes.

// func roundedAVX2(sizes *float32, n int, scale float32, highest int32) (product float64, squares int64)
//
//	SI   sizes, where we are     CX   sizes left
//	Y8   scale     Y9  highest     Y10  halves     Y11  ones, all repeated
//	Y12, Y13  sums of products, of the first and the last four     Y14  sums of squares
//	Y0  sizes     Y2  magnitudes     Y3  what they stand for, and its products
TEXT ·roundedAVX2(SB), NOSPLIT, $0-40
	MOVQ         sizes+0(FP), SI
	MOVQ         n+8(FP), CX
	VBROADCASTSS scale+16(FP), Y8
	MOVL         highest+20(FP), AX
	VMOVD        AX, X9
	VPBROADCASTD X9, Y9
	VPCMPEQD     Y11, Y11, Y11
	VPSRLD       $26, Y11, Y10
	VPSLLD       $24, Y10, Y10   // 0x3f000000: 0.5
	VPSRLD       $31, Y11, Y11
	VXORPD       Y12, Y12, Y12
	VXORPD       Y13, Y13, Y13
	VPXOR        Y14, Y14, Y14

eight:
	VMOVUPS      (SI), Y0
	VMULPS       Y8, Y0, Y1
	VCVTTPS2DQ   Y1, Y2
	VPMINSD      Y9, Y2, Y2
	VCVTDQ2PS    Y2, Y3
	VADDPS       Y10, Y3, Y3
	VMULPS       Y0, Y3, Y3
	VCVTPS2PD    X3, Y4
	VADDPD       Y4, Y12, Y12
	VEXTRACTF128 $1, Y3, X3
	VCVTPS2PD    X3, Y4
	VADDPD       Y4, Y13, Y13
	VPADDD       Y11, Y2, Y5
	VPMULLD      Y2, Y5, Y5
	VPADDD       Y5, Y14, Y14
	ADDQ         $32, SI
	SUBQ         $8, CX
	JNZ          eight

	VADDPD       Y13, Y12, Y12
	VEXTRACTF128 $1, Y12, X0
	VADDPD       X0, X12, X12
	VHADDPD      X12, X12, X12
	VMOVSD       X12, product+24(FP)
	VPMOVZXDQ    X14, Y0
	VEXTRACTI128 $1, Y14, X1
	VPMOVZXDQ    X1, Y1
	VPADDQ       Y1, Y0, Y0
	VEXTRACTI128 $1, Y0, X1
	VPADDQ       X1, X0, X0
	VPSRLDQ      $8, X0, X1
	VPADDQ       X1, X0, X0
	VMOVQ        X0, squares+32(FP)
	VZEROUPPER
	RET

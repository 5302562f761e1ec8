#include "textflag.h"

// Kernels for AVX-512 with VBMI. See codes.go for what each computes.

// func sumCodesVBMI(steps, codes []byte, stride int, mask uint64, sums *[64]uint16)
//
// A lookup of bytes takes the low 7 bits of a code, so there are two, and the high bit chooses between them.
//
//	SI  steps, where we are     CX  bytes of a code left     K2  rows
//	DI  codes, where we are     BX  stride                   K1  rows whose byte has the high bit
//
//	Z0, Z1  bytes of the rows, then the steps that they select    Z12  the low byte of each word
//	Z4-Z7   steps of a byte                                       Z10, Z11  sums of even and odd rows
TEXT ·sumCodesVBMI(SB), NOSPLIT, $0-72
	MOVQ steps_base+0(FP), SI
	MOVQ steps_len+8(FP), CX
	MOVQ codes_base+24(FP), DI
	MOVQ stride+48(FP), BX
	MOVQ mask+56(FP), AX
	MOVQ sums+64(FP), DX
	SHRQ $8, CX
	KMOVQ AX, K2
	MOVQ $0x00ff00ff00ff00ff, AX
	VPBROADCASTQ AX, Z12
	VPXORQ Z10, Z10, Z10
	VPXORQ Z11, Z11, Z11

byte:
	VMOVDQU8.Z (DI), K2, Z0
	VMOVDQU64  (SI), Z4
	VMOVDQU64  64(SI), Z5
	VMOVDQU64  128(SI), Z6
	VMOVDQU64  192(SI), Z7
	VPMOVB2M   Z0, K1
	VMOVDQA64  Z0, Z1
	VPERMI2B   Z5, Z4, Z0
	VPERMI2B   Z7, Z6, Z1
	VMOVDQU8   Z1, K1, Z0
	VPANDQ     Z12, Z0, Z2
	VPSRLW     $8, Z0, Z3
	VPADDW     Z2, Z10, Z10
	VPADDW     Z3, Z11, Z11
	ADDQ       $256, SI
	ADDQ       BX, DI
	DECQ       CX
	JNE        byte

	// A lane of 128 bits has the even rows of 16, and that of the other register the odd ones.
	VPUNPCKLWD    Z11, Z10, Z0
	VPUNPCKHWD    Z11, Z10, Z1
	VEXTRACTI32X4 $0, Z0, (DX)
	VEXTRACTI32X4 $0, Z1, 16(DX)
	VEXTRACTI32X4 $1, Z0, 32(DX)
	VEXTRACTI32X4 $1, Z1, 48(DX)
	VEXTRACTI32X4 $2, Z0, 64(DX)
	VEXTRACTI32X4 $2, Z1, 80(DX)
	VEXTRACTI32X4 $3, Z0, 96(DX)
	VEXTRACTI32X4 $3, Z1, 112(DX)
	VZEROUPPER
	RET

// func numberBoundsAVX512(numbers *[256]float32, lanes *[3][16]float32)
TEXT ·numberBoundsAVX512(SB), NOSPLIT, $0-16
	MOVQ numbers+0(FP), SI
	MOVQ lanes+8(FP), DI
	MOVQ $15, CX
	VMOVUPS (SI), Z1
	VMOVAPS Z1, Z2
	VPXORQ  Z4, Z4, Z4
	VMULPS  Z4, Z1, Z3

sixteen:
	ADDQ    $64, SI
	VMOVUPS (SI), Z0
	VMINPS  Z0, Z1, Z1
	VMAXPS  Z0, Z2, Z2
	VMULPS  Z4, Z0, Z0
	VADDPS  Z0, Z3, Z3
	DECQ    CX
	JNE     sixteen

	VMOVUPS Z1, (DI)
	VMOVUPS Z2, 64(DI)
	VMOVUPS Z3, 128(DI)
	VZEROUPPER
	RET

// func stepsAboveAVX512(numbers *[256]float32, least, factor float32, steps *[256]byte)
TEXT ·stepsAboveAVX512(SB), NOSPLIT, $0-24
	MOVQ         numbers+0(FP), SI
	VBROADCASTSS least+8(FP), Z1
	VBROADCASTSS factor+12(FP), Z2
	MOVQ         steps+16(FP), DI
	MOVQ         $16, CX

sixteen:
	VMOVUPS     (SI), Z0
	VSUBPS      Z1, Z0, Z0
	VMULPS      Z2, Z0, Z0
	VCVTTPS2UDQ Z0, Z0
	VPMOVUSDB   Z0, (DI)
	ADDQ        $64, SI
	ADDQ        $16, DI
	DECQ        CX
	JNE         sixteen
	VZEROUPPER
	RET

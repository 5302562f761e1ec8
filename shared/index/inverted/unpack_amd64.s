#include "textflag.h"

// Kernels for AVX2. See unpack.go for what each computes.

// UNPACK reads 31 slots, whose bits may go on in the next word, and a last one, which ends with its word. A
// shift by 32 bits yields 0.
//
//	SI  data           DI  values, where we are    BX  bits         CX  slots left
//	R8  the first bit of the slot                  R9  its word     R10 its shift    R11 32 less the shift
//
//	Y7  bits of a value    Y0, Y1  the word and the next
#define UNPACK(SHIFT, SIZE, W0, W1, MASK) \
	MOVQ         values+0(FP), DI; \
	MOVQ         data+8(FP), SI; \
	MOVQ         bits+16(FP), BX; \
	MOVQ         $32, CX; \
	SUBQ         BX, CX; \
	VPCMPEQD     MASK, MASK, MASK; \
	VMOVQ        CX, X2; \
	VPSRLD       X2, MASK, MASK; \
	MOVQ         $31, CX; \
	XORQ         R8, R8; \
slot: \
	MOVQ         R8, R9; \
	MOVQ         R8, R10; \
	SHRQ         $5, R9; \
	ANDQ         $31, R10; \
	SHLQ         SHIFT, R9; \
	MOVQ         $32, R11; \
	SUBQ         R10, R11; \
	VMOVQ        R10, X2; \
	VMOVQ        R11, X3; \
	VMOVDQU      (SI)(R9*1), W0; \
	VMOVDQU      SIZE(SI)(R9*1), W1; \
	VPSRLD       X2, W0, W0; \
	VPSLLD       X3, W1, W1; \
	VPOR         W1, W0, W0; \
	VPAND        MASK, W0, W0; \
	VMOVDQU      W0, (DI); \
	ADDQ         BX, R8; \
	ADDQ         $SIZE, DI; \
	DECQ         CX; \
	JNE          slot; \
	MOVQ         R8, R9; \
	SHRQ         $5, R9; \
	SHLQ         SHIFT, R9; \
	ANDQ         $31, R8; \
	VMOVQ        R8, X2; \
	VMOVDQU      (SI)(R9*1), W0; \
	VPSRLD       X2, W0, W0; \
	VMOVDQU      W0, (DI); \
	VZEROUPPER; \
	RET

// func unpack4AVX2(values *uint32, data *byte, bits int)
TEXT ·unpack4AVX2(SB), NOSPLIT, $0-24
	UNPACK($4, 16, X0, X1, X7)

// func unpack8AVX2(values *uint32, data *byte, bits int)
TEXT ·unpack8AVX2(SB), NOSPLIT, $0-24
	UNPACK($5, 32, Y0, Y1, Y7)

// func addUpAVX2(values *uint32, n int, first uint32)
//
// X2 has the sum so far in each lane.
TEXT ·addUpAVX2(SB), NOSPLIT, $0-20
	MOVQ         values+0(FP), SI
	MOVQ         n+8(FP), CX
	MOVL         first+16(FP), AX
	VMOVD        AX, X2
	VPBROADCASTD X2, X2

four:
	VMOVDQU (SI), X0
	VPSLLDQ $4, X0, X1
	VPADDD  X1, X0, X0
	VPSLLDQ $8, X0, X1
	VPADDD  X1, X0, X0
	VPADDD  X2, X0, X0
	VMOVDQU X0, (SI)
	VPSHUFD $0xff, X0, X2
	ADDQ    $16, SI
	SUBQ    $4, CX
	JNE     four
	RET

// func ascendAVX2(documents, frequencies *uint32, n int) bool
//
// Y4 has all bits of the places that are wrong: a document is not above its predecessor if it is not the
// greater of the two, and a frequency is 0.
TEXT ·ascendAVX2(SB), NOSPLIT, $0-25
	MOVQ  documents+0(FP), SI
	MOVQ  frequencies+8(FP), DI
	MOVQ  n+16(FP), CX
	VPXOR Y3, Y3, Y3
	VPXOR Y4, Y4, Y4

eight:
	VMOVDQU  (SI), Y0
	VPMAXUD  4(SI), Y0, Y1
	VPCMPEQD Y1, Y0, Y1
	VPCMPEQD (DI), Y3, Y2
	VPOR     Y1, Y4, Y4
	VPOR     Y2, Y4, Y4
	ADDQ     $32, SI
	ADDQ     $32, DI
	SUBQ     $8, CX
	CMPQ     CX, $8
	JNE      eight

	// The last eight documents, with the one before them.
	VMOVDQU  -4(SI), Y0
	VPMAXUD  (SI), Y0, Y1
	VPCMPEQD Y1, Y0, Y1
	VPCMPEQD (DI), Y3, Y2
	VPOR     Y1, Y4, Y4
	VPOR     Y2, Y4, Y4
	VPTEST   Y4, Y4
	SETEQ    ret+24(FP)
	VZEROUPPER
	RET

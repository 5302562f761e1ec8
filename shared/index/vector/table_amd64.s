#include "textflag.h"

// func scoreTileAVX2(rows, panel, offsets, out []float32, stride int)
//
//	SI, R8, R9, R10  the four rows     DI  panel, where we are
//	CX  elements of a row              R11 the element at hand
//	DX  out of the row                 BX  bytes from one row of out to the next
//
//	Y0-Y7   sums, two registers for each row
//	Y8, Y9  the element of the 16 vectors
//	Y10-Y13 the element of each row, repeated
TEXT ·scoreTileAVX2(SB), NOSPLIT, $0-104
	MOVQ rows_base+0(FP), SI
	MOVQ panel_base+24(FP), DI
	MOVQ panel_len+32(FP), CX
	MOVQ offsets_base+48(FP), AX
	MOVQ out_base+72(FP), DX
	MOVQ stride+96(FP), BX
	SHRQ $4, CX
	SHLQ $2, BX
	LEAQ (SI)(CX*4), R8
	LEAQ (R8)(CX*4), R9
	LEAQ (R9)(CX*4), R10
	VMOVUPS (AX), Y0
	VMOVUPS 32(AX), Y1
	VMOVAPS Y0, Y2
	VMOVAPS Y1, Y3
	VMOVAPS Y0, Y4
	VMOVAPS Y1, Y5
	VMOVAPS Y0, Y6
	VMOVAPS Y1, Y7
	XORQ R11, R11

element:
	VMOVUPS      (DI), Y8
	VMOVUPS      32(DI), Y9
	VBROADCASTSS (SI)(R11*4), Y10
	VBROADCASTSS (R8)(R11*4), Y11
	VBROADCASTSS (R9)(R11*4), Y12
	VBROADCASTSS (R10)(R11*4), Y13
	VFNMADD231PS Y8, Y10, Y0
	VFNMADD231PS Y9, Y10, Y1
	VFNMADD231PS Y8, Y11, Y2
	VFNMADD231PS Y9, Y11, Y3
	VFNMADD231PS Y8, Y12, Y4
	VFNMADD231PS Y9, Y12, Y5
	VFNMADD231PS Y8, Y13, Y6
	VFNMADD231PS Y9, Y13, Y7
	ADDQ         $64, DI
	INCQ         R11
	CMPQ         R11, CX
	JLT          element

	VMOVUPS Y0, (DX)
	VMOVUPS Y1, 32(DX)
	ADDQ    BX, DX
	VMOVUPS Y2, (DX)
	VMOVUPS Y3, 32(DX)
	ADDQ    BX, DX
	VMOVUPS Y4, (DX)
	VMOVUPS Y5, 32(DX)
	ADDQ    BX, DX
	VMOVUPS Y6, (DX)
	VMOVUPS Y7, 32(DX)
	VZEROUPPER
	RET

// func smallestAVX2(scores []float32) int
//
// It finds the smallest score, and then the first place that has it. VMINPS keeps what it has when it meets
// a NaN, which has to be its other operand.
//
//	SI  scores                   CX  scores left
//	DI  scores, where we are     BX  place
//	Y0  smallest of each lane    Y1  the same, of every second register
TEXT ·smallestAVX2(SB), NOSPLIT, $0-32
	MOVQ scores_base+0(FP), SI
	MOVQ scores_len+8(FP), CX
	MOVQ SI, DI
	SHRQ $4, CX
	MOVL $0x7f800000, DX // +Inf
	VMOVD DX, X0
	VPBROADCASTD X0, Y0
	VMOVAPS Y0, Y1

scores:
	VMOVUPS (DI), Y2
	VMOVUPS 32(DI), Y3
	VMINPS  Y0, Y2, Y0
	VMINPS  Y1, Y3, Y1
	ADDQ    $64, DI
	DECQ    CX
	JNE     scores

	VMINPS       Y1, Y0, Y0
	VEXTRACTF128 $1, Y0, X1
	VMINPS       X1, X0, X0
	VSHUFPS      $0x4e, X0, X0, X1
	VMINPS       X1, X0, X0
	VSHUFPS      $0xb1, X0, X0, X1
	VMINPS       X1, X0, X0
	XORQ         BX, BX
	VMOVD        X0, AX
	CMPL         AX, DX
	JEQ          done // none is smaller than +Inf
	VPBROADCASTD X0, Y0

places:
	VCMPPS    $0, (SI)(BX*4), Y0, Y2
	VMOVMSKPS Y2, AX
	ADDQ      $8, BX
	TESTL     AX, AX
	JEQ       places
	BSFL      AX, AX
	LEAQ      -8(BX)(AX*1), BX

done:
	VZEROUPPER
	MOVQ BX, ret+24(FP)
	RET

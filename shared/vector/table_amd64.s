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

// func smallestAVX2(scores []float32, best *[8]float32, at *[8]uint32)
//
//	SI  scores, where we are     CX  registers of scores left
//	Y0  smallest of each lane    Y1  where it is
//	Y2  where we are             Y3  8, in each lane
//	Y4  scores at hand           Y5  lanes in which they are smaller
TEXT ·smallestAVX2(SB), NOSPLIT, $0-40
	MOVQ scores_base+0(FP), SI
	MOVQ scores_len+8(FP), CX
	MOVQ best+24(FP), DI
	MOVQ at+32(FP), DX
	SHRQ $3, CX
	MOVL $8, AX
	VMOVD AX, X3
	VPBROADCASTD X3, Y3
	VMOVUPS (DI), Y0
	VMOVUPS (DX), Y2
	VMOVAPS Y2, Y1

scores:
	VMOVUPS   (SI), Y4
	VCMPPS    $0x11, Y0, Y4, Y5
	VBLENDVPS Y5, Y4, Y0, Y0
	VBLENDVPS Y5, Y2, Y1, Y1
	VPADDD    Y3, Y2, Y2
	ADDQ      $32, SI
	DECQ      CX
	JNE       scores

	VMOVUPS Y0, (DI)
	VMOVUPS Y1, (DX)
	VZEROUPPER
	RET

#include "textflag.h"

// Kernels for AVX-512F. See widetable.go for what each computes.

DATA lanes<>+0(SB)/4, $0
DATA lanes<>+4(SB)/4, $1
DATA lanes<>+8(SB)/4, $2
DATA lanes<>+12(SB)/4, $3
DATA lanes<>+16(SB)/4, $4
DATA lanes<>+20(SB)/4, $5
DATA lanes<>+24(SB)/4, $6
DATA lanes<>+28(SB)/4, $7
DATA lanes<>+32(SB)/4, $8
DATA lanes<>+36(SB)/4, $9
DATA lanes<>+40(SB)/4, $10
DATA lanes<>+44(SB)/4, $11
DATA lanes<>+48(SB)/4, $12
DATA lanes<>+52(SB)/4, $13
DATA lanes<>+56(SB)/4, $14
DATA lanes<>+60(SB)/4, $15
GLOBL lanes<>(SB), RODATA|NOPTR, $64

// TAKE takes a score and its number where it is below what is best. A NaN is not.
#define TAKE(SCORE, BEST, NUMBER, NUMBERS) \
	VCMPPS    $17, BEST, SCORE, K1; \
	VMOVAPS   SCORE, K1, BEST; \
	VMOVDQA32 NUMBER, K1, NUMBERS

// func nearestTileAVX512(rows, panels, offsets []float32, from int, best *tileBest)
//
//	SI, R8, R9, R10  the four rows     DI, R13  two panels, where we are
//	CX  elements of a row              R11  the element at hand
//	R12 offsets, where we are          BX   vectors left
//
//	Z0-Z7    scores, two registers for each row      Z8, Z9    the element of the 32 vectors
//	Z10-Z13  the element of each row, repeated       Z24, Z25  numbers of the vectors
//	Z16-Z19  the smallest scores                     Z20-Z23   their numbers
TEXT ·nearestTileAVX512(SB), NOSPLIT, $0-88
	MOVQ rows_base+0(FP), SI
	MOVQ rows_len+8(FP), CX
	MOVQ panels_base+24(FP), DI
	MOVQ offsets_base+48(FP), R12
	MOVQ offsets_len+56(FP), BX
	MOVQ from+72(FP), AX
	MOVQ best+80(FP), DX
	SHRQ $2, CX
	LEAQ (SI)(CX*4), R8
	LEAQ (R8)(CX*4), R9
	LEAQ (R9)(CX*4), R10
	VMOVUPS   (DX), Z16
	VMOVUPS   64(DX), Z17
	VMOVUPS   128(DX), Z18
	VMOVUPS   192(DX), Z19
	VMOVDQU32 256(DX), Z20
	VMOVDQU32 320(DX), Z21
	VMOVDQU32 384(DX), Z22
	VMOVDQU32 448(DX), Z23
	VPBROADCASTD AX, Z24
	VPADDD lanes<>(SB), Z24, Z24
	MOVL $16, AX
	VPBROADCASTD AX, Z26

panels:
	CMPQ BX, $32
	JLT  one
	MOVQ CX, R13
	SHLQ $6, R13
	ADDQ DI, R13
	VMOVUPS (R12), Z0
	VMOVUPS 64(R12), Z1
	VMOVAPS Z0, Z2
	VMOVAPS Z1, Z3
	VMOVAPS Z0, Z4
	VMOVAPS Z1, Z5
	VMOVAPS Z0, Z6
	VMOVAPS Z1, Z7
	VPADDD  Z26, Z24, Z25
	XORQ    R11, R11

element:
	VMOVUPS      (DI), Z8
	VMOVUPS      (R13), Z9
	VBROADCASTSS (SI)(R11*4), Z10
	VBROADCASTSS (R8)(R11*4), Z11
	VBROADCASTSS (R9)(R11*4), Z12
	VBROADCASTSS (R10)(R11*4), Z13
	VFNMADD231PS Z8, Z10, Z0
	VFNMADD231PS Z9, Z10, Z1
	VFNMADD231PS Z8, Z11, Z2
	VFNMADD231PS Z9, Z11, Z3
	VFNMADD231PS Z8, Z12, Z4
	VFNMADD231PS Z9, Z12, Z5
	VFNMADD231PS Z8, Z13, Z6
	VFNMADD231PS Z9, Z13, Z7
	ADDQ         $64, DI
	ADDQ         $64, R13
	INCQ         R11
	CMPQ         R11, CX
	JLT          element

	TAKE(Z0, Z16, Z24, Z20)
	TAKE(Z1, Z16, Z25, Z20)
	TAKE(Z2, Z17, Z24, Z21)
	TAKE(Z3, Z17, Z25, Z21)
	TAKE(Z4, Z18, Z24, Z22)
	TAKE(Z5, Z18, Z25, Z22)
	TAKE(Z6, Z19, Z24, Z23)
	TAKE(Z7, Z19, Z25, Z23)
	VPADDD Z26, Z25, Z24
	MOVQ   R13, DI
	ADDQ   $128, R12
	SUBQ   $32, BX
	JMP    panels

one:
	CMPQ BX, $16
	JLT  done
	VMOVUPS (R12), Z0
	VMOVAPS Z0, Z2
	VMOVAPS Z0, Z4
	VMOVAPS Z0, Z6
	XORQ    R11, R11

single:
	VMOVUPS      (DI), Z8
	VBROADCASTSS (SI)(R11*4), Z10
	VBROADCASTSS (R8)(R11*4), Z11
	VBROADCASTSS (R9)(R11*4), Z12
	VBROADCASTSS (R10)(R11*4), Z13
	VFNMADD231PS Z8, Z10, Z0
	VFNMADD231PS Z8, Z11, Z2
	VFNMADD231PS Z8, Z12, Z4
	VFNMADD231PS Z8, Z13, Z6
	ADDQ         $64, DI
	INCQ         R11
	CMPQ         R11, CX
	JLT          single

	TAKE(Z0, Z16, Z24, Z20)
	TAKE(Z2, Z17, Z24, Z21)
	TAKE(Z4, Z18, Z24, Z22)
	TAKE(Z6, Z19, Z24, Z23)

done:
	VMOVUPS   Z16, (DX)
	VMOVUPS   Z17, 64(DX)
	VMOVUPS   Z18, 128(DX)
	VMOVUPS   Z19, 192(DX)
	VMOVDQU32 Z20, 256(DX)
	VMOVDQU32 Z21, 320(DX)
	VMOVDQU32 Z22, 384(DX)
	VMOVDQU32 Z23, 448(DX)
	VZEROUPPER
	RET

// func smallestOfTileAVX512(best *tileBest, scores *[4]float32, numbers *[4]uint32)
//
// Of each row: the smallest score, in all lanes of Z1; then the smallest number of the lanes that have it.
//
//	SI  scores of the row     DI  where its score goes      CX  rows left
//	                          DX  where its number goes
TEXT ·smallestOfTileAVX512(SB), NOSPLIT, $0-24
	MOVQ best+0(FP), SI
	MOVQ scores+8(FP), DI
	MOVQ numbers+16(FP), DX
	MOVQ $4, CX
	VPTERNLOGD $0xff, Z7, Z7, Z7 // the greatest numbers

row:
	VMOVUPS       (SI), Z0
	VMOVDQU32     256(SI), Z5
	VEXTRACTF64X4 $1, Z0, Y1
	VMINPS        Y1, Y0, Y1
	VEXTRACTF128  $1, Y1, X2
	VMINPS        X2, X1, X1
	VPERMILPS     $0x4e, X1, X2
	VMINPS        X2, X1, X1
	VPERMILPS     $0xb1, X1, X2
	VMINPS        X2, X1, X1
	VMOVSS        X1, (DI)
	VBROADCASTSS  X1, Z1
	VCMPPS        $0, Z1, Z0, K1
	VMOVDQA32     Z7, Z6
	VMOVDQA32     Z5, K1, Z6
	VEXTRACTI64X4 $1, Z6, Y1
	VPMINUD       Y1, Y6, Y1
	VEXTRACTI128  $1, Y1, X2
	VPMINUD       X2, X1, X1
	VPSHUFD       $0x4e, X1, X2
	VPMINUD       X2, X1, X1
	VPSHUFD       $0xb1, X1, X2
	VPMINUD       X2, X1, X1
	VMOVD         X1, (DX)
	ADDQ          $64, SI
	ADDQ          $4, DI
	ADDQ          $4, DX
	DECQ          CX
	JNE           row
	VZEROUPPER
	RET

#include "textflag.h"

// Kernels for vectors of bytes. See bytes.go for what they compute. Rows lie anywhere in memory, so each
// loop fetches the first lines of a row that it measures a few rows later.
//
//	SI  query                 DI  pointers to rows, where we are    R8  out, where we are
//	DX  whole steps of a row  CX  rows left                         R9  bytes after the whole steps
//	BX  row, where we are     R11 query, where we are               R12 steps left

// NEXT sums up the 8 lanes of Y0, writes the sum, and moves on to the next row.
#define NEXT \
	VEXTRACTI128 $1, Y0, X1 \
	VPADDD       X1, X0, X0 \
	VPSHUFD      $0x4e, X0, X1 \
	VPADDD       X1, X0, X0 \
	VPSHUFD      $0xb1, X0, X1 \
	VPADDD       X1, X0, X0 \
	VMOVD        X0, (R8) \
	ADDQ         $8, DI \
	ADDQ         $4, R8 \
	DECQ         CX

// func bytesL2AVX512(query []byte, rows []*byte, out []uint32)
//
//	K1  bytes after the whole steps    Z0  sums    Z1, Z2  words of the query and of the row
TEXT ·bytesL2AVX512(SB), NOSPLIT, $0-72
	MOVQ  query_base+0(FP), SI
	MOVQ  query_len+8(FP), DX
	MOVQ  rows_base+24(FP), DI
	MOVQ  rows_len+32(FP), CX
	MOVQ  out_base+48(FP), R8
	MOVQ  DX, R9
	ANDQ  $31, R9
	SHRQ  $5, DX
	MOVQ  $-1, AX
	BZHIQ R9, AX, AX
	KMOVQ AX, K1

row:
	MOVQ (DI), BX
	CMPQ CX, $4
	JLS  near
	MOVQ 32(DI), R10
	PREFETCHT0 (R10)
	PREFETCHT0 64(R10)

near:
	VPXORQ Z0, Z0, Z0
	MOVQ   SI, R11
	MOVQ   DX, R12
	TESTQ  R12, R12
	JEQ    rest

step:
	VPMOVZXBW (R11), Z1
	VPMOVZXBW (BX), Z2
	VPSUBW    Z2, Z1, Z1
	VPMADDWD  Z1, Z1, Z1
	VPADDD    Z1, Z0, Z0
	ADDQ      $32, R11
	ADDQ      $32, BX
	DECQ      R12
	JNE       step

rest:
	TESTQ      R9, R9
	JEQ        sum
	VMOVDQU8.Z (R11), K1, Y1
	VMOVDQU8.Z (BX), K1, Y2
	VPMOVZXBW  Y1, Z1
	VPMOVZXBW  Y2, Z2
	VPSUBW     Z2, Z1, Z1
	VPMADDWD   Z1, Z1, Z1
	VPADDD     Z1, Z0, Z0

sum:
	VEXTRACTI64X4 $1, Z0, Y1
	VPADDD        Y1, Y0, Y0
	NEXT
	JNE row
	VZEROUPPER
	RET

// func bytesL2AVX2(query []byte, rows []*byte, out []uint32)
//
//	Y0  sums    Y1, Y2  words of the query and of the row
TEXT ·bytesL2AVX2(SB), NOSPLIT, $0-72
	MOVQ query_base+0(FP), SI
	MOVQ query_len+8(FP), DX
	MOVQ rows_base+24(FP), DI
	MOVQ rows_len+32(FP), CX
	MOVQ out_base+48(FP), R8
	SHRQ $4, DX

row:
	MOVQ (DI), BX
	CMPQ CX, $4
	JLS  near
	MOVQ 32(DI), R10
	PREFETCHT0 (R10)
	PREFETCHT0 64(R10)

near:
	VPXOR Y0, Y0, Y0
	MOVQ  SI, R11
	MOVQ  DX, R12
	TESTQ R12, R12
	JEQ   sum

step:
	VPMOVZXBW (R11), Y1
	VPMOVZXBW (BX), Y2
	VPSUBW    Y2, Y1, Y1
	VPMADDWD  Y1, Y1, Y1
	VPADDD    Y1, Y0, Y0
	ADDQ      $16, R11
	ADDQ      $16, BX
	DECQ      R12
	JNE       step

sum:
	NEXT
	JNE row
	VZEROUPPER
	RET

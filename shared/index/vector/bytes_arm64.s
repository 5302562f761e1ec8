#include "textflag.h"

// Kernels for vectors of bytes. See bytes.go for what they compute.

// The assembler lacks these instructions.
#define UABD_V2_V0_V1 WORD $0x6e217402  // V2.B16 = |V0.B16 - V1.B16|
#define UMULL_V3_V2 WORD $0x2e22c043    // V3.H8 = V2.B8 * V2.B8, the low half
#define UMULL2_V4_V2 WORD $0x6e22c044   // V4.H8 = V2.B16 * V2.B16, the high half
#define UADALP_V6_V3 WORD $0x6e606866   // V6.S4 += pairs of V3.H8
#define UADALP_V7_V4 WORD $0x6e606887   // V7.S4 += pairs of V4.H8

// func bytesL2NEON(query []byte, rows []*byte, out []uint32)
//
//	R0  query                  R2  pointers to rows, where we are    R4  out, where we are
//	R1  whole steps of a row   R3  rows left
//	R5  row, where we are      R6  query, where we are               R7  steps left
//	V6, V7  sums
TEXT ·bytesL2NEON(SB), NOSPLIT, $0-72
	MOVD query_base+0(FP), R0
	MOVD query_len+8(FP), R1
	MOVD rows_base+24(FP), R2
	MOVD rows_len+32(FP), R3
	MOVD out_base+48(FP), R4
	LSR  $4, R1

row:
	MOVD.P 8(R2), R5
	MOVD   R0, R6
	MOVD   R1, R7
	VEOR   V6.B16, V6.B16, V6.B16
	VEOR   V7.B16, V7.B16, V7.B16
	CBZ    R7, sum

step:
	VLD1.P 16(R6), [V0.B16]
	VLD1.P 16(R5), [V1.B16]
	UABD_V2_V0_V1
	UMULL_V3_V2
	UMULL2_V4_V2
	UADALP_V6_V3
	UADALP_V7_V4
	SUB    $1, R7
	CBNZ   R7, step

sum:
	VADD   V7.S4, V6.S4, V6.S4
	VADDV  V6.S4, V6
	VMOV   V6.S[0], R8
	MOVWU.P R8, 4(R4)
	SUB    $1, R3
	CBNZ   R3, row
	RET

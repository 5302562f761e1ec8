#include "textflag.h"

// Distance kernels for arm64. See portable.go for what each computes.
//
// All nine share one skeleton, ROWS, and differ in the macros that they give to it. It
// takes four vectors of a row at a time into four independent sums, then one vector at a
// time, then single elements.
//
//	R0  query, its start      R1  query, where we are
//	R2  rows, where we are    R7  elements of the row still to do, less one step
//	R3  elements per row      R4  rows left
//	R5  out or xy, next       R6  yy, next
//
//	V0-V3    sums of (x-y)² or x*y    F26  the same for single elements
//	V4-V7    sums of y*y              F27  the same for single elements
//	V16-V19  elements of the query    V20-V23  elements of the row
//	V31      ones
//
// The assembler knows the fused multiply-add of vectors, but neither addition nor
// subtraction. Multiplying one operand by one makes it do both, with the same rounding.

// LANES is the number of elements in a vector. LOAD4 and LOAD1 load four vectors or one
// of the query and of the row and step on, VEC(x, y, s, t) adds a vector of each to the
// sums s and t, ONE adds one element to F26 and F27, and SUM stores the results of the row.
#define ROWS(LANES, ONES, ZERO, LOAD4, LOAD1, VEC, ONE, SUM) \
	ONES; \
row: \
	ZERO; \
	MOVD R0, R1; \
	MOVD R3, R7; \
	SUBS $(4*LANES), R7, R7; \
	BLT  fewer; \
four: \
	LOAD4; \
	VEC(V16, V20, V0, V4); \
	VEC(V17, V21, V1, V5); \
	VEC(V18, V22, V2, V6); \
	VEC(V19, V23, V3, V7); \
	SUBS $(4*LANES), R7, R7; \
	BGE  four; \
fewer: \
	ADDS $(3*LANES), R7, R7; \
	BLT  few; \
vector: \
	LOAD1; \
	VEC(V16, V20, V0, V4); \
	SUBS $LANES, R7, R7; \
	BGE  vector; \
few: \
	ADDS $LANES, R7, R7; \
	BEQ  sum; \
one: \
	ONE; \
	SUBS $1, R7, R7; \
	BNE  one; \
sum: \
	SUM; \
	SUBS $1, R4, R4; \
	BNE  row; \
	RET

#define ZERO1 \
	VEOR V0.B16, V0.B16, V0.B16; \
	VEOR V1.B16, V1.B16, V1.B16; \
	VEOR V2.B16, V2.B16, V2.B16; \
	VEOR V3.B16, V3.B16, V3.B16; \
	VEOR V26.B16, V26.B16, V26.B16

#define ZERO2 \
	ZERO1; \
	VEOR V4.B16, V4.B16, V4.B16; \
	VEOR V5.B16, V5.B16, V5.B16; \
	VEOR V6.B16, V6.B16, V6.B16; \
	VEOR V7.B16, V7.B16, V7.B16; \
	VEOR V27.B16, V27.B16, V27.B16

#define ONES_S FMOVS $1.0, F31; VDUP V31.S[0], V31.S4
#define ONES_D FMOVD $1.0, F31; VDUP V31.D[0], V31.D2

// FOLD_S adds up four sums of float32 and the single elements, and stores the result.
#define FOLD_S(Va, Fa, Vb, Vc, Vd, Fone, out) \
	VFMLA V31.S4, Vb.S4, Va.S4; \
	VFMLA V31.S4, Vd.S4, Vc.S4; \
	VFMLA V31.S4, Vc.S4, Va.S4; \
	VDUP Va.D[1], V16.D2; \
	VFMLA V31.S4, V16.S4, Va.S4; \
	VDUP Va.S[1], V16.S4; \
	FADDS F16, Fa, Fa; \
	FADDS Fone, Fa, Fa; \
	FMOVS.P Fa, 4(out)

// FOLD_D does so with float64, and narrows the result.
#define FOLD_D(Va, Fa, Vb, Vc, Vd, Fone, out) \
	VFMLA V31.D2, Vb.D2, Va.D2; \
	VFMLA V31.D2, Vd.D2, Vc.D2; \
	VFMLA V31.D2, Vc.D2, Va.D2; \
	VDUP Va.D[1], V16.D2; \
	FADDD F16, Fa, Fa; \
	FADDD Fone, Fa, Fa; \
	FCVTDS Fa, Fa; \
	FMOVS.P Fa, 4(out)

#define SUM1_S FOLD_S(V0, F0, V1, V2, V3, F26, R5)
#define SUM2_S SUM1_S; FOLD_S(V4, F4, V5, V6, V7, F27, R6)
#define SUM1_D FOLD_D(V0, F0, V1, V2, V3, F26, R5)
#define SUM2_D SUM1_D; FOLD_D(V4, F4, V5, V6, V7, F27, R6)

// What is done with a vector of each, x and y.

#define L2_S(x, y, s, t) \
	VFMLS V31.S4, y.S4, x.S4; \
	VFMLA x.S4, x.S4, s.S4

#define DOT_S(x, y, s, t) \
	VFMLA x.S4, y.S4, s.S4

#define COS_S(x, y, s, t) \
	VFMLA x.S4, y.S4, s.S4; \
	VFMLA y.S4, y.S4, t.S4

#define L2_D(x, y, s, t) \
	VFMLS V31.D2, y.D2, x.D2; \
	VFMLA x.D2, x.D2, s.D2

#define DOT_D(x, y, s, t) \
	VFMLA x.D2, y.D2, s.D2

#define COS_D(x, y, s, t) \
	VFMLA x.D2, y.D2, s.D2; \
	VFMLA y.D2, y.D2, t.D2

// What is done with a single element of each, F16 and F20.

#define L2_S1 \
	FSUBS F20, F16, F16; \
	FMADDS F16, F26, F16, F26

#define DOT_S1 \
	FMADDS F16, F26, F20, F26

#define COS_S1 \
	FMADDS F16, F26, F20, F26; \
	FMADDS F20, F27, F20, F27

#define L2_D1 \
	FSUBD F20, F16, F16; \
	FMADDD F16, F26, F16, F26

#define DOT_D1 \
	FMADDD F16, F26, F20, F26

#define COS_D1 \
	FMADDD F16, F26, F20, F26; \
	FMADDD F20, F27, F20, F27

// float32

#define LOAD4_S \
	VLD1.P 64(R1), [V16.S4, V17.S4, V18.S4, V19.S4]; \
	VLD1.P 64(R2), [V20.S4, V21.S4, V22.S4, V23.S4]

#define LOAD1_S \
	VLD1.P 16(R1), [V16.S4]; \
	VLD1.P 16(R2), [V20.S4]

#define ONE_S \
	FMOVS.P 4(R1), F16; \
	FMOVS.P 4(R2), F20

#define ONE_L2_S ONE_S; L2_S1
#define ONE_DOT_S ONE_S; DOT_S1
#define ONE_COS_S ONE_S; COS_S1

// float64

#define LOAD4_D \
	VLD1.P 64(R1), [V16.D2, V17.D2, V18.D2, V19.D2]; \
	VLD1.P 64(R2), [V20.D2, V21.D2, V22.D2, V23.D2]

#define LOAD1_D \
	VLD1.P 16(R1), [V16.D2]; \
	VLD1.P 16(R2), [V20.D2]

#define ONE_D \
	FMOVD.P 8(R1), F16; \
	FMOVD.P 8(R2), F20

#define ONE_L2_D ONE_D; L2_D1
#define ONE_DOT_D ONE_D; DOT_D1
#define ONE_COS_D ONE_D; COS_D1

// float16: the query is float32, the rows are widened after loading. The assembler does
// not know the widening of vectors either, hence the words:
//
//	0e217b14  FCVTL  V20.4S, V24.4H    4e217b15  FCVTL2 V21.4S, V24.8H
//	0e217b36  FCVTL  V22.4S, V25.4H    4e217b37  FCVTL2 V23.4S, V25.8H

#define LOAD4_H \
	VLD1.P 64(R1), [V16.S4, V17.S4, V18.S4, V19.S4]; \
	VLD1.P 32(R2), [V24.H8, V25.H8]; \
	WORD $0x0e217b14; \
	WORD $0x4e217b15; \
	WORD $0x0e217b36; \
	WORD $0x4e217b37

#define LOAD1_H \
	VLD1.P 16(R1), [V16.S4]; \
	VLD1.P 8(R2), [V24.H4]; \
	WORD $0x0e217b14

#define ONE_H \
	FMOVS.P 4(R1), F16; \
	MOVHU.P 2(R2), R8; \
	FMOVS R8, F20; \
	FCVTHS F20, F20

#define ONE_L2_H ONE_H; L2_S1
#define ONE_DOT_H ONE_H; DOT_S1
#define ONE_COS_H ONE_H; COS_S1

// func l2Float32(query, rows, out []float32)
TEXT ·l2Float32(SB), NOSPLIT, $0-72
	MOVD query_base+0(FP), R0
	MOVD query_len+8(FP), R3
	MOVD rows_base+24(FP), R2
	MOVD out_base+48(FP), R5
	MOVD out_len+56(FP), R4
	ROWS(4, ONES_S, ZERO1, LOAD4_S, LOAD1_S, L2_S, ONE_L2_S, SUM1_S)

// func dotFloat32(query, rows, out []float32)
TEXT ·dotFloat32(SB), NOSPLIT, $0-72
	MOVD query_base+0(FP), R0
	MOVD query_len+8(FP), R3
	MOVD rows_base+24(FP), R2
	MOVD out_base+48(FP), R5
	MOVD out_len+56(FP), R4
	ROWS(4, ONES_S, ZERO1, LOAD4_S, LOAD1_S, DOT_S, ONE_DOT_S, SUM1_S)

// func cosineFloat32(query, rows, xy, yy []float32)
TEXT ·cosineFloat32(SB), NOSPLIT, $0-96
	MOVD query_base+0(FP), R0
	MOVD query_len+8(FP), R3
	MOVD rows_base+24(FP), R2
	MOVD xy_base+48(FP), R5
	MOVD xy_len+56(FP), R4
	MOVD yy_base+72(FP), R6
	ROWS(4, ONES_S, ZERO2, LOAD4_S, LOAD1_S, COS_S, ONE_COS_S, SUM2_S)

// func l2Float64(query, rows []float64, out []float32)
TEXT ·l2Float64(SB), NOSPLIT, $0-72
	MOVD query_base+0(FP), R0
	MOVD query_len+8(FP), R3
	MOVD rows_base+24(FP), R2
	MOVD out_base+48(FP), R5
	MOVD out_len+56(FP), R4
	ROWS(2, ONES_D, ZERO1, LOAD4_D, LOAD1_D, L2_D, ONE_L2_D, SUM1_D)

// func dotFloat64(query, rows []float64, out []float32)
TEXT ·dotFloat64(SB), NOSPLIT, $0-72
	MOVD query_base+0(FP), R0
	MOVD query_len+8(FP), R3
	MOVD rows_base+24(FP), R2
	MOVD out_base+48(FP), R5
	MOVD out_len+56(FP), R4
	ROWS(2, ONES_D, ZERO1, LOAD4_D, LOAD1_D, DOT_D, ONE_DOT_D, SUM1_D)

// func cosineFloat64(query, rows []float64, xy, yy []float32)
TEXT ·cosineFloat64(SB), NOSPLIT, $0-96
	MOVD query_base+0(FP), R0
	MOVD query_len+8(FP), R3
	MOVD rows_base+24(FP), R2
	MOVD xy_base+48(FP), R5
	MOVD xy_len+56(FP), R4
	MOVD yy_base+72(FP), R6
	ROWS(2, ONES_D, ZERO2, LOAD4_D, LOAD1_D, COS_D, ONE_COS_D, SUM2_D)

// func l2Float16(query []float32, rows []uint16, out []float32)
TEXT ·l2Float16(SB), NOSPLIT, $0-72
	MOVD query_base+0(FP), R0
	MOVD query_len+8(FP), R3
	MOVD rows_base+24(FP), R2
	MOVD out_base+48(FP), R5
	MOVD out_len+56(FP), R4
	ROWS(4, ONES_S, ZERO1, LOAD4_H, LOAD1_H, L2_S, ONE_L2_H, SUM1_S)

// func dotFloat16(query []float32, rows []uint16, out []float32)
TEXT ·dotFloat16(SB), NOSPLIT, $0-72
	MOVD query_base+0(FP), R0
	MOVD query_len+8(FP), R3
	MOVD rows_base+24(FP), R2
	MOVD out_base+48(FP), R5
	MOVD out_len+56(FP), R4
	ROWS(4, ONES_S, ZERO1, LOAD4_H, LOAD1_H, DOT_S, ONE_DOT_H, SUM1_S)

// func cosineFloat16(query []float32, rows []uint16, xy, yy []float32)
TEXT ·cosineFloat16(SB), NOSPLIT, $0-96
	MOVD query_base+0(FP), R0
	MOVD query_len+8(FP), R3
	MOVD rows_base+24(FP), R2
	MOVD xy_base+48(FP), R5
	MOVD xy_len+56(FP), R4
	MOVD yy_base+72(FP), R6
	ROWS(4, ONES_S, ZERO2, LOAD4_H, LOAD1_H, COS_S, ONE_COS_H, SUM2_S)

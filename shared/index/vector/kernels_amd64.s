#include "textflag.h"

// Distance kernels for AVX2, FMA and F16C. See portable.go for what each computes.
//
// All nine share one skeleton, ROWS, and differ in the macros that they give to it. It
// takes four vectors of a row at a time into four independent sums, then one vector at a
// time, then single elements. There are no aligned loads: rows start anywhere.
//
//	SI  query, its start      R8  query, where we are
//	DI  rows, where we are    R9  elements of the row still to do, less one step
//	CX  elements per row      BX  rows left
//	DX  out or xy, next       R10 yy, next
//
//	Y0-Y3  sums of (x-y)² or x*y    X10  the same for single elements
//	Y4-Y7  sums of y*y              X11  the same for single elements
//	Y8, Y9 elements at hand

// The hardware fetches ahead within a page of memory only; the skeleton asks for what lies
// half a page ahead, which is worth a tenth of the time. Asking past the end does no harm.
//
// LANES is the number of elements in a vector, QBYTES and RBYTES the sizes of an element
// in the query and in a row. VEC(i, s, t) adds vector i from here to the sums s and t,
// ONE adds one element to X10 and X11, and SUM stores the results of the row.
#define ROWS(LANES, QBYTES, RBYTES, ZERO, VEC, ONE, SUM) \
row: \
	ZERO; \
	MOVQ SI, R8; \
	MOVQ CX, R9; \
	SUBQ $(4*LANES), R9; \
	JLT  fewer; \
four: \
	PREFETCHT0 2048(DI); \
	PREFETCHT0 2112(DI); \
	VEC(0, Y0, Y4); \
	VEC(1, Y1, Y5); \
	VEC(2, Y2, Y6); \
	VEC(3, Y3, Y7); \
	ADDQ $(4*LANES*QBYTES), R8; \
	ADDQ $(4*LANES*RBYTES), DI; \
	SUBQ $(4*LANES), R9; \
	JGE  four; \
fewer: \
	ADDQ $(3*LANES), R9; \
	JLT  few; \
vector: \
	VEC(0, Y0, Y4); \
	ADDQ $(LANES*QBYTES), R8; \
	ADDQ $(LANES*RBYTES), DI; \
	SUBQ $LANES, R9; \
	JGE  vector; \
few: \
	ADDQ $LANES, R9; \
	JEQ  sum; \
one: \
	ONE; \
	ADDQ $QBYTES, R8; \
	ADDQ $RBYTES, DI; \
	DECQ R9; \
	JNE  one; \
sum: \
	SUM; \
	DECQ BX; \
	JNE  row; \
	VZEROUPPER; \
	RET

#define ZERO1 \
	VXORPS Y0, Y0, Y0; \
	VXORPS Y1, Y1, Y1; \
	VXORPS Y2, Y2, Y2; \
	VXORPS Y3, Y3, Y3; \
	VXORPS X10, X10, X10

#define ZERO2 \
	ZERO1; \
	VXORPS Y4, Y4, Y4; \
	VXORPS Y5, Y5, Y5; \
	VXORPS Y6, Y6, Y6; \
	VXORPS Y7, Y7, Y7; \
	VXORPS X11, X11, X11

// FOLDS adds up four sums of float32 and the single elements, and stores the result.
#define FOLDS(Ya, Xa, Yb, Yc, Yd, Xone, out) \
	VADDPS Yb, Ya, Ya; \
	VADDPS Yd, Yc, Yc; \
	VADDPS Yc, Ya, Ya; \
	VEXTRACTF128 $1, Ya, X8; \
	VADDPS X8, Xa, Xa; \
	VPERMILPS $0x4e, Xa, X8; \
	VADDPS X8, Xa, Xa; \
	VMOVSHDUP Xa, X8; \
	VADDSS X8, Xa, Xa; \
	VADDSS Xone, Xa, Xa; \
	VMOVSS Xa, (out); \
	ADDQ $4, out

// FOLDD does so with float64, and narrows the result.
#define FOLDD(Ya, Xa, Yb, Yc, Yd, Xone, out) \
	VADDPD Yb, Ya, Ya; \
	VADDPD Yd, Yc, Yc; \
	VADDPD Yc, Ya, Ya; \
	VEXTRACTF128 $1, Ya, X8; \
	VADDPD X8, Xa, Xa; \
	VPERMILPD $1, Xa, X8; \
	VADDSD X8, Xa, Xa; \
	VADDSD Xone, Xa, Xa; \
	VCVTSD2SS Xa, Xa, Xa; \
	VMOVSS Xa, (out); \
	ADDQ $4, out

#define SUM1S FOLDS(Y0, X0, Y1, Y2, Y3, X10, DX)
#define SUM2S SUM1S; FOLDS(Y4, X4, Y5, Y6, Y7, X11, R10)
#define SUM1D FOLDD(Y0, X0, Y1, Y2, Y3, X10, DX)
#define SUM2D SUM1D; FOLDD(Y4, X4, Y5, Y6, Y7, X11, R10)

// float32

#define L2S(i, s, t) \
	VMOVUPS (i*32)(R8), Y8; \
	VSUBPS (i*32)(DI), Y8, Y8; \
	VFMADD231PS Y8, Y8, s

#define L2S1 \
	VMOVSS (R8), X8; \
	VSUBSS (DI), X8, X8; \
	VFMADD231SS X8, X8, X10

#define DOTS(i, s, t) \
	VMOVUPS (i*32)(R8), Y8; \
	VFMADD231PS (i*32)(DI), Y8, s

#define DOTS1 \
	VMOVSS (R8), X8; \
	VFMADD231SS (DI), X8, X10

#define COSS(i, s, t) \
	VMOVUPS (i*32)(DI), Y8; \
	VFMADD231PS (i*32)(R8), Y8, s; \
	VFMADD231PS Y8, Y8, t

#define COSS1 \
	VMOVSS (DI), X8; \
	VFMADD231SS (R8), X8, X10; \
	VFMADD231SS X8, X8, X11

// func l2Float32AVX2(query, rows, out []float32)
TEXT ·l2Float32AVX2(SB), NOSPLIT, $0-72
	MOVQ query_base+0(FP), SI
	MOVQ query_len+8(FP), CX
	MOVQ rows_base+24(FP), DI
	MOVQ out_base+48(FP), DX
	MOVQ out_len+56(FP), BX
	ROWS(8, 4, 4, ZERO1, L2S, L2S1, SUM1S)

// func dotFloat32AVX2(query, rows, out []float32)
TEXT ·dotFloat32AVX2(SB), NOSPLIT, $0-72
	MOVQ query_base+0(FP), SI
	MOVQ query_len+8(FP), CX
	MOVQ rows_base+24(FP), DI
	MOVQ out_base+48(FP), DX
	MOVQ out_len+56(FP), BX
	ROWS(8, 4, 4, ZERO1, DOTS, DOTS1, SUM1S)

// func cosineFloat32AVX2(query, rows, xy, yy []float32)
TEXT ·cosineFloat32AVX2(SB), NOSPLIT, $0-96
	MOVQ query_base+0(FP), SI
	MOVQ query_len+8(FP), CX
	MOVQ rows_base+24(FP), DI
	MOVQ xy_base+48(FP), DX
	MOVQ xy_len+56(FP), BX
	MOVQ yy_base+72(FP), R10
	ROWS(8, 4, 4, ZERO2, COSS, COSS1, SUM2S)

// float64

#define L2D(i, s, t) \
	VMOVUPD (i*32)(R8), Y8; \
	VSUBPD (i*32)(DI), Y8, Y8; \
	VFMADD231PD Y8, Y8, s

#define L2D1 \
	VMOVSD (R8), X8; \
	VSUBSD (DI), X8, X8; \
	VFMADD231SD X8, X8, X10

#define DOTD(i, s, t) \
	VMOVUPD (i*32)(R8), Y8; \
	VFMADD231PD (i*32)(DI), Y8, s

#define DOTD1 \
	VMOVSD (R8), X8; \
	VFMADD231SD (DI), X8, X10

#define COSD(i, s, t) \
	VMOVUPD (i*32)(DI), Y8; \
	VFMADD231PD (i*32)(R8), Y8, s; \
	VFMADD231PD Y8, Y8, t

#define COSD1 \
	VMOVSD (DI), X8; \
	VFMADD231SD (R8), X8, X10; \
	VFMADD231SD X8, X8, X11

// func l2Float64AVX2(query, rows []float64, out []float32)
TEXT ·l2Float64AVX2(SB), NOSPLIT, $0-72
	MOVQ query_base+0(FP), SI
	MOVQ query_len+8(FP), CX
	MOVQ rows_base+24(FP), DI
	MOVQ out_base+48(FP), DX
	MOVQ out_len+56(FP), BX
	ROWS(4, 8, 8, ZERO1, L2D, L2D1, SUM1D)

// func dotFloat64AVX2(query, rows []float64, out []float32)
TEXT ·dotFloat64AVX2(SB), NOSPLIT, $0-72
	MOVQ query_base+0(FP), SI
	MOVQ query_len+8(FP), CX
	MOVQ rows_base+24(FP), DI
	MOVQ out_base+48(FP), DX
	MOVQ out_len+56(FP), BX
	ROWS(4, 8, 8, ZERO1, DOTD, DOTD1, SUM1D)

// func cosineFloat64AVX2(query, rows []float64, xy, yy []float32)
TEXT ·cosineFloat64AVX2(SB), NOSPLIT, $0-96
	MOVQ query_base+0(FP), SI
	MOVQ query_len+8(FP), CX
	MOVQ rows_base+24(FP), DI
	MOVQ xy_base+48(FP), DX
	MOVQ xy_len+56(FP), BX
	MOVQ yy_base+72(FP), R10
	ROWS(4, 8, 8, ZERO2, COSD, COSD1, SUM2D)

// float16: the query is float32, the rows are widened as they are loaded.

#define L2H(i, s, t) \
	VCVTPH2PS (i*16)(DI), Y8; \
	VSUBPS (i*32)(R8), Y8, Y8; \
	VFMADD231PS Y8, Y8, s

#define DOTH(i, s, t) \
	VCVTPH2PS (i*16)(DI), Y8; \
	VFMADD231PS (i*32)(R8), Y8, s

#define COSH(i, s, t) \
	VCVTPH2PS (i*16)(DI), Y8; \
	VFMADD231PS (i*32)(R8), Y8, s; \
	VFMADD231PS Y8, Y8, t

// LOADH loads one element of the row into X8; its neighbours may not be ours to read.
#define LOADH \
	MOVWLZX (DI), AX; \
	VMOVD AX, X8; \
	VCVTPH2PS X8, X8

#define L2H1 \
	LOADH; \
	VSUBSS (R8), X8, X8; \
	VFMADD231SS X8, X8, X10

#define DOTH1 \
	LOADH; \
	VFMADD231SS (R8), X8, X10

#define COSH1 \
	LOADH; \
	VFMADD231SS (R8), X8, X10; \
	VFMADD231SS X8, X8, X11

// func l2Float16AVX2(query []float32, rows []uint16, out []float32)
TEXT ·l2Float16AVX2(SB), NOSPLIT, $0-72
	MOVQ query_base+0(FP), SI
	MOVQ query_len+8(FP), CX
	MOVQ rows_base+24(FP), DI
	MOVQ out_base+48(FP), DX
	MOVQ out_len+56(FP), BX
	ROWS(8, 4, 2, ZERO1, L2H, L2H1, SUM1S)

// func dotFloat16AVX2(query []float32, rows []uint16, out []float32)
TEXT ·dotFloat16AVX2(SB), NOSPLIT, $0-72
	MOVQ query_base+0(FP), SI
	MOVQ query_len+8(FP), CX
	MOVQ rows_base+24(FP), DI
	MOVQ out_base+48(FP), DX
	MOVQ out_len+56(FP), BX
	ROWS(8, 4, 2, ZERO1, DOTH, DOTH1, SUM1S)

// func cosineFloat16AVX2(query []float32, rows []uint16, xy, yy []float32)
TEXT ·cosineFloat16AVX2(SB), NOSPLIT, $0-96
	MOVQ query_base+0(FP), SI
	MOVQ query_len+8(FP), CX
	MOVQ rows_base+24(FP), DI
	MOVQ xy_base+48(FP), DX
	MOVQ xy_len+56(FP), BX
	MOVQ yy_base+72(FP), R10
	ROWS(8, 4, 2, ZERO2, COSH, COSH1, SUM2S)

#include "textflag.h"

// Distance kernels for AVX-512F. See portable.go for what each computes, and
// kernels_amd64.s, which does the same with half as wide vectors, for the registers.
//
// What is left of a row behind its last whole vector is taken as one more vector under a
// mask, K1, which is the same for all rows: what it leaves out is neither read nor added.
//
//	Z0-Z3  sums of (x-y)² or x*y    Z4-Z7  sums of y*y
//	Z8, Z9 elements at hand         K1     which elements the last vector of a row has

// ROWS is the skeleton of all nine. VEC(i, s, t) adds vector i from here to the sums s and
// t, REST adds the last one under the mask, and SUM stores the results of the row. The
// hardware fetches ahead within a page of memory only, so it asks for what lies ahead.
#define ROWS(LANES, QBYTES, RBYTES, ZERO, VEC, REST, SUM) \
	MOVQ CX, R11; \
	ANDQ $(LANES-1), CX; \
	MOVL $1, AX; \
	SHLL CX, AX; \
	DECL AX; \
	KMOVW AX, K1; \
	MOVQ CX, R12; \
	MOVQ R11, CX; \
row: \
	ZERO; \
	MOVQ SI, R8; \
	MOVQ CX, R9; \
	SUBQ $(4*LANES), R9; \
	JLT  fewer; \
four: \
	PREFETCHT0 2048(DI); \
	PREFETCHT0 2112(DI); \
	PREFETCHT0 2176(DI); \
	PREFETCHT0 2240(DI); \
	VEC(0, Z0, Z4); \
	VEC(1, Z1, Z5); \
	VEC(2, Z2, Z6); \
	VEC(3, Z3, Z7); \
	ADDQ $(4*LANES*QBYTES), R8; \
	ADDQ $(4*LANES*RBYTES), DI; \
	SUBQ $(4*LANES), R9; \
	JGE  four; \
fewer: \
	ADDQ $(3*LANES), R9; \
	JLT  few; \
vector: \
	VEC(0, Z0, Z4); \
	ADDQ $(LANES*QBYTES), R8; \
	ADDQ $(LANES*RBYTES), DI; \
	SUBQ $LANES, R9; \
	JGE  vector; \
few: \
	TESTQ R12, R12; \
	JEQ  sum; \
	REST; \
	LEAQ (DI)(R12*RBYTES), DI; \
sum: \
	SUM; \
	DECQ BX; \
	JNE  row; \
	VZEROUPPER; \
	RET

// Clearing the lower half of a register clears all of it.
#define ZERO1 \
	VXORPS Y0, Y0, Y0; \
	VXORPS Y1, Y1, Y1; \
	VXORPS Y2, Y2, Y2; \
	VXORPS Y3, Y3, Y3

#define ZERO2 \
	ZERO1; \
	VXORPS Y4, Y4, Y4; \
	VXORPS Y5, Y5, Y5; \
	VXORPS Y6, Y6, Y6; \
	VXORPS Y7, Y7, Y7

// FOLDS adds up four sums of float32 and stores the result.
#define FOLDS(Za, Ya, Xa, Zb, Zc, Zd, out) \
	VADDPS Zb, Za, Za; \
	VADDPS Zd, Zc, Zc; \
	VADDPS Zc, Za, Za; \
	VEXTRACTF64X4 $1, Za, Y8; \
	VADDPS Y8, Ya, Ya; \
	VEXTRACTF128 $1, Ya, X8; \
	VADDPS X8, Xa, Xa; \
	VPERMILPS $0x4e, Xa, X8; \
	VADDPS X8, Xa, Xa; \
	VMOVSHDUP Xa, X8; \
	VADDSS X8, Xa, Xa; \
	VMOVSS Xa, (out); \
	ADDQ $4, out

// FOLDD does so with float64, and narrows the result.
#define FOLDD(Za, Ya, Xa, Zb, Zc, Zd, out) \
	VADDPD Zb, Za, Za; \
	VADDPD Zd, Zc, Zc; \
	VADDPD Zc, Za, Za; \
	VEXTRACTF64X4 $1, Za, Y8; \
	VADDPD Y8, Ya, Ya; \
	VEXTRACTF128 $1, Ya, X8; \
	VADDPD X8, Xa, Xa; \
	VPERMILPD $1, Xa, X8; \
	VADDSD X8, Xa, Xa; \
	VCVTSD2SS Xa, Xa, Xa; \
	VMOVSS Xa, (out); \
	ADDQ $4, out

#define SUM1S FOLDS(Z0, Y0, X0, Z1, Z2, Z3, DX)
#define SUM2S SUM1S; FOLDS(Z4, Y4, X4, Z5, Z6, Z7, R10)
#define SUM1D FOLDD(Z0, Y0, X0, Z1, Z2, Z3, DX)
#define SUM2D SUM1D; FOLDD(Z4, Y4, X4, Z5, Z6, Z7, R10)

// float32

#define L2S(i, s, t) \
	VMOVUPS (i*64)(R8), Z8; \
	VSUBPS (i*64)(DI), Z8, Z8; \
	VFMADD231PS Z8, Z8, s

#define L2SREST \
	VMOVUPS.Z (R8), K1, Z8; \
	VMOVUPS.Z (DI), K1, Z9; \
	VSUBPS Z9, Z8, Z8; \
	VFMADD231PS Z8, Z8, Z0

#define DOTS(i, s, t) \
	VMOVUPS (i*64)(R8), Z8; \
	VFMADD231PS (i*64)(DI), Z8, s

#define DOTSREST \
	VMOVUPS.Z (R8), K1, Z8; \
	VMOVUPS.Z (DI), K1, Z9; \
	VFMADD231PS Z9, Z8, Z0

#define COSS(i, s, t) \
	VMOVUPS (i*64)(DI), Z8; \
	VFMADD231PS (i*64)(R8), Z8, s; \
	VFMADD231PS Z8, Z8, t

#define COSSREST \
	DOTSREST; \
	VFMADD231PS Z9, Z9, Z4

// func l2Float32AVX512(query, rows, out []float32)
TEXT ·l2Float32AVX512(SB), NOSPLIT, $0-72
	MOVQ query_base+0(FP), SI
	MOVQ query_len+8(FP), CX
	MOVQ rows_base+24(FP), DI
	MOVQ out_base+48(FP), DX
	MOVQ out_len+56(FP), BX
	ROWS(16, 4, 4, ZERO1, L2S, L2SREST, SUM1S)

// func dotFloat32AVX512(query, rows, out []float32)
TEXT ·dotFloat32AVX512(SB), NOSPLIT, $0-72
	MOVQ query_base+0(FP), SI
	MOVQ query_len+8(FP), CX
	MOVQ rows_base+24(FP), DI
	MOVQ out_base+48(FP), DX
	MOVQ out_len+56(FP), BX
	ROWS(16, 4, 4, ZERO1, DOTS, DOTSREST, SUM1S)

// func cosineFloat32AVX512(query, rows, xy, yy []float32)
TEXT ·cosineFloat32AVX512(SB), NOSPLIT, $0-96
	MOVQ query_base+0(FP), SI
	MOVQ query_len+8(FP), CX
	MOVQ rows_base+24(FP), DI
	MOVQ xy_base+48(FP), DX
	MOVQ xy_len+56(FP), BX
	MOVQ yy_base+72(FP), R10
	ROWS(16, 4, 4, ZERO2, COSS, COSSREST, SUM2S)

// float64

#define L2D(i, s, t) \
	VMOVUPD (i*64)(R8), Z8; \
	VSUBPD (i*64)(DI), Z8, Z8; \
	VFMADD231PD Z8, Z8, s

#define L2DREST \
	VMOVUPD.Z (R8), K1, Z8; \
	VMOVUPD.Z (DI), K1, Z9; \
	VSUBPD Z9, Z8, Z8; \
	VFMADD231PD Z8, Z8, Z0

#define DOTD(i, s, t) \
	VMOVUPD (i*64)(R8), Z8; \
	VFMADD231PD (i*64)(DI), Z8, s

#define DOTDREST \
	VMOVUPD.Z (R8), K1, Z8; \
	VMOVUPD.Z (DI), K1, Z9; \
	VFMADD231PD Z9, Z8, Z0

#define COSD(i, s, t) \
	VMOVUPD (i*64)(DI), Z8; \
	VFMADD231PD (i*64)(R8), Z8, s; \
	VFMADD231PD Z8, Z8, t

#define COSDREST \
	DOTDREST; \
	VFMADD231PD Z9, Z9, Z4

// func l2Float64AVX512(query, rows []float64, out []float32)
TEXT ·l2Float64AVX512(SB), NOSPLIT, $0-72
	MOVQ query_base+0(FP), SI
	MOVQ query_len+8(FP), CX
	MOVQ rows_base+24(FP), DI
	MOVQ out_base+48(FP), DX
	MOVQ out_len+56(FP), BX
	ROWS(8, 8, 8, ZERO1, L2D, L2DREST, SUM1D)

// func dotFloat64AVX512(query, rows []float64, out []float32)
TEXT ·dotFloat64AVX512(SB), NOSPLIT, $0-72
	MOVQ query_base+0(FP), SI
	MOVQ query_len+8(FP), CX
	MOVQ rows_base+24(FP), DI
	MOVQ out_base+48(FP), DX
	MOVQ out_len+56(FP), BX
	ROWS(8, 8, 8, ZERO1, DOTD, DOTDREST, SUM1D)

// func cosineFloat64AVX512(query, rows []float64, xy, yy []float32)
TEXT ·cosineFloat64AVX512(SB), NOSPLIT, $0-96
	MOVQ query_base+0(FP), SI
	MOVQ query_len+8(FP), CX
	MOVQ rows_base+24(FP), DI
	MOVQ xy_base+48(FP), DX
	MOVQ xy_len+56(FP), BX
	MOVQ yy_base+72(FP), R10
	ROWS(8, 8, 8, ZERO2, COSD, COSDREST, SUM2D)

// float16: the query is float32, the rows are widened as they are loaded.

#define L2H(i, s, t) \
	VCVTPH2PS (i*32)(DI), Z8; \
	VSUBPS (i*64)(R8), Z8, Z8; \
	VFMADD231PS Z8, Z8, s

#define L2HREST \
	VCVTPH2PS.Z (DI), K1, Z9; \
	VMOVUPS.Z (R8), K1, Z8; \
	VSUBPS Z9, Z8, Z8; \
	VFMADD231PS Z8, Z8, Z0

#define DOTH(i, s, t) \
	VCVTPH2PS (i*32)(DI), Z8; \
	VFMADD231PS (i*64)(R8), Z8, s

#define DOTHREST \
	VCVTPH2PS.Z (DI), K1, Z9; \
	VMOVUPS.Z (R8), K1, Z8; \
	VFMADD231PS Z9, Z8, Z0

#define COSH(i, s, t) \
	VCVTPH2PS (i*32)(DI), Z8; \
	VFMADD231PS (i*64)(R8), Z8, s; \
	VFMADD231PS Z8, Z8, t

#define COSHREST \
	DOTHREST; \
	VFMADD231PS Z9, Z9, Z4

// func l2Float16AVX512(query []float32, rows []uint16, out []float32)
TEXT ·l2Float16AVX512(SB), NOSPLIT, $0-72
	MOVQ query_base+0(FP), SI
	MOVQ query_len+8(FP), CX
	MOVQ rows_base+24(FP), DI
	MOVQ out_base+48(FP), DX
	MOVQ out_len+56(FP), BX
	ROWS(16, 4, 2, ZERO1, L2H, L2HREST, SUM1S)

// func dotFloat16AVX512(query []float32, rows []uint16, out []float32)
TEXT ·dotFloat16AVX512(SB), NOSPLIT, $0-72
	MOVQ query_base+0(FP), SI
	MOVQ query_len+8(FP), CX
	MOVQ rows_base+24(FP), DI
	MOVQ out_base+48(FP), DX
	MOVQ out_len+56(FP), BX
	ROWS(16, 4, 2, ZERO1, DOTH, DOTHREST, SUM1S)

// func cosineFloat16AVX512(query []float32, rows []uint16, xy, yy []float32)
TEXT ·cosineFloat16AVX512(SB), NOSPLIT, $0-96
	MOVQ query_base+0(FP), SI
	MOVQ query_len+8(FP), CX
	MOVQ rows_base+24(FP), DI
	MOVQ xy_base+48(FP), DX
	MOVQ xy_len+56(FP), BX
	MOVQ yy_base+72(FP), R10
	ROWS(16, 4, 2, ZERO2, COSH, COSHREST, SUM2S)

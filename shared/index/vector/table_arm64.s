#include "textflag.h"

// func scoreTile(rows, panel, offsets, out []float32, stride int)
//
//	R0-R3  the four rows, where we are     R4  panel, where we are
//	R5     elements left                   R6  out of the row
//	R7     bytes from one row of out to the next
//
//	V0-V15   sums, four registers for each row
//	V16-V19  the element of the 16 vectors
//	V20-V23  the element of each row, repeated
TEXT ·scoreTile(SB), NOSPLIT, $0-104
	MOVD rows_base+0(FP), R0
	MOVD panel_base+24(FP), R4
	MOVD panel_len+32(FP), R5
	MOVD offsets_base+48(FP), R8
	MOVD out_base+72(FP), R6
	MOVD stride+96(FP), R7
	LSR  $4, R5
	LSL  $2, R7
	ADD  R5<<2, R0, R1
	ADD  R5<<2, R1, R2
	ADD  R5<<2, R2, R3
	VLD1 (R8), [V0.S4, V1.S4, V2.S4, V3.S4]
	VMOV V0.B16, V4.B16
	VMOV V1.B16, V5.B16
	VMOV V2.B16, V6.B16
	VMOV V3.B16, V7.B16
	VMOV V0.B16, V8.B16
	VMOV V1.B16, V9.B16
	VMOV V2.B16, V10.B16
	VMOV V3.B16, V11.B16
	VMOV V0.B16, V12.B16
	VMOV V1.B16, V13.B16
	VMOV V2.B16, V14.B16
	VMOV V3.B16, V15.B16

element:
	VLD1.P  64(R4), [V16.S4, V17.S4, V18.S4, V19.S4]
	VLD1R.P 4(R0), [V20.S4]
	VLD1R.P 4(R1), [V21.S4]
	VLD1R.P 4(R2), [V22.S4]
	VLD1R.P 4(R3), [V23.S4]
	VFMLS V16.S4, V20.S4, V0.S4
	VFMLS V17.S4, V20.S4, V1.S4
	VFMLS V18.S4, V20.S4, V2.S4
	VFMLS V19.S4, V20.S4, V3.S4
	VFMLS V16.S4, V21.S4, V4.S4
	VFMLS V17.S4, V21.S4, V5.S4
	VFMLS V18.S4, V21.S4, V6.S4
	VFMLS V19.S4, V21.S4, V7.S4
	VFMLS V16.S4, V22.S4, V8.S4
	VFMLS V17.S4, V22.S4, V9.S4
	VFMLS V18.S4, V22.S4, V10.S4
	VFMLS V19.S4, V22.S4, V11.S4
	VFMLS V16.S4, V23.S4, V12.S4
	VFMLS V17.S4, V23.S4, V13.S4
	VFMLS V18.S4, V23.S4, V14.S4
	VFMLS V19.S4, V23.S4, V15.S4
	SUBS    $1, R5, R5
	BNE     element

	VST1 [V0.S4, V1.S4, V2.S4, V3.S4], (R6)
	ADD  R7, R6
	VST1 [V4.S4, V5.S4, V6.S4, V7.S4], (R6)
	ADD  R7, R6
	VST1 [V8.S4, V9.S4, V10.S4, V11.S4], (R6)
	ADD  R7, R6
	VST1 [V12.S4, V13.S4, V14.S4, V15.S4], (R6)
	RET

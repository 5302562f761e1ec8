#include "textflag.h"

// Kernels for NEON. See codes.go for what each computes.
//
// A lookup of bytes takes codes below 64, so there are four for the 256 steps of a byte. Each of them subtracts 64
// from the codes before, and changes only the rows whose codes are then below 64.
//
//	R0  steps, where we are     R2  bytes of a code left     R4  sums
//	R1  codes, where we are     R3  stride
//
//	V0-V15   steps of a byte      V24  bytes of 16 rows
//	V16-V23  sums of 8 rows each  V25  the steps that they select     V31  64 in each byte

#define LOOKUP \
	VTBL V24.B16, [V0.B16, V1.B16, V2.B16, V3.B16], V25.B16     \
	VSUB V31.B16, V24.B16, V24.B16                              \
	VTBX V24.B16, [V4.B16, V5.B16, V6.B16, V7.B16], V25.B16     \
	VSUB V31.B16, V24.B16, V24.B16                              \
	VTBX V24.B16, [V8.B16, V9.B16, V10.B16, V11.B16], V25.B16   \
	VSUB V31.B16, V24.B16, V24.B16                              \
	VTBX V24.B16, [V12.B16, V13.B16, V14.B16, V15.B16], V25.B16

#define STEPS \
	VLD1.P 64(R0), [V0.B16, V1.B16, V2.B16, V3.B16]     \
	VLD1.P 64(R0), [V4.B16, V5.B16, V6.B16, V7.B16]     \
	VLD1.P 64(R0), [V8.B16, V9.B16, V10.B16, V11.B16]   \
	VLD1.P 64(R0), [V12.B16, V13.B16, V14.B16, V15.B16]

// func sumCodes64(steps, codes []byte, stride int, sums *[64]uint16)
TEXT ·sumCodes64(SB), NOSPLIT, $0-64
	MOVD  steps_base+0(FP), R0
	MOVD  steps_len+8(FP), R2
	MOVD  codes_base+24(FP), R1
	MOVD  stride+48(FP), R3
	MOVD  sums+56(FP), R4
	LSR   $8, R2
	VMOVI $64, V31.B16
	VEOR  V16.B16, V16.B16, V16.B16
	VEOR  V17.B16, V17.B16, V17.B16
	VEOR  V18.B16, V18.B16, V18.B16
	VEOR  V19.B16, V19.B16, V19.B16
	VEOR  V20.B16, V20.B16, V20.B16
	VEOR  V21.B16, V21.B16, V21.B16
	VEOR  V22.B16, V22.B16, V22.B16
	VEOR  V23.B16, V23.B16, V23.B16

byte:
	STEPS
	VLD1 (R1), [V26.B16, V27.B16, V28.B16, V29.B16]
	ADD  R3, R1, R1
	VMOV V26.B16, V24.B16
	LOOKUP
	VUADDW  V25.B8, V16.H8, V16.H8
	VUADDW2 V25.B16, V17.H8, V17.H8
	VMOV V27.B16, V24.B16
	LOOKUP
	VUADDW  V25.B8, V18.H8, V18.H8
	VUADDW2 V25.B16, V19.H8, V19.H8
	VMOV V28.B16, V24.B16
	LOOKUP
	VUADDW  V25.B8, V20.H8, V20.H8
	VUADDW2 V25.B16, V21.H8, V21.H8
	VMOV V29.B16, V24.B16
	LOOKUP
	VUADDW  V25.B8, V22.H8, V22.H8
	VUADDW2 V25.B16, V23.H8, V23.H8
	SUBS $1, R2, R2
	BNE  byte

	VST1.P [V16.H8, V17.H8, V18.H8, V19.H8], 64(R4)
	VST1   [V20.H8, V21.H8, V22.H8, V23.H8], (R4)
	RET

// func sumCodes16(steps, codes []byte, stride int, sums *[16]uint16)
TEXT ·sumCodes16(SB), NOSPLIT, $0-64
	MOVD  steps_base+0(FP), R0
	MOVD  steps_len+8(FP), R2
	MOVD  codes_base+24(FP), R1
	MOVD  stride+48(FP), R3
	MOVD  sums+56(FP), R4
	LSR   $8, R2
	VMOVI $64, V31.B16
	VEOR  V16.B16, V16.B16, V16.B16
	VEOR  V17.B16, V17.B16, V17.B16

byte:
	STEPS
	VLD1 (R1), [V24.B16]
	ADD  R3, R1, R1
	LOOKUP
	VUADDW  V25.B8, V16.H8, V16.H8
	VUADDW2 V25.B16, V17.H8, V17.H8
	SUBS $1, R2, R2
	BNE  byte

	VST1 [V16.H8, V17.H8], (R4)
	RET

package encoding

import (
	"tiltyard/shared/lance/encoding/fsst"
	"tiltyard/shared/lance/pb"
)

// trainText chooses symbols for texts like those in values, nil when there is nothing to gain.
func trainText(v *values) *fsst.Encoder { return fsst.Train(v.data, v.offsets[:v.n+1]) }

// compressText returns the values with their texts compressed.
func compressText(e *fsst.Encoder, v *values) *values {
	out := newValues(v.shape)
	out.n = v.n
	out.data, out.offsets = e.Compress(v.data, v.offsets[:v.n+1])
	return out
}

// wrapText describes what has been compressed.
func wrapText(e *fsst.Encoder, inner pb.Codec) pb.Codec {
	return &pb.FSST{SymbolTable: e.Table(), Values: inner}
}

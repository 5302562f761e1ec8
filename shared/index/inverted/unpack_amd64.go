package inverted

import "golang.org/x/sys/cpu"

var hasAVX2 = cpu.X86.HasAVX2

func unpack(values []uint32, data []byte, bits, lanes int) {
	switch {
	case !hasAVX2 || len(values) != slots*lanes || len(data) < len(values)*bits/8:
		unpackPortable(values, data, bits, lanes)
	case lanes == 4:
		unpack4AVX2(&values[0], &data[0], bits)
	case lanes == 8:
		unpack8AVX2(&values[0], &data[0], bits)
	default:
		unpackPortable(values, data, bits, lanes)
	}
}

func addUp(values []uint32, first uint32) {
	if !hasAVX2 || len(values) == 0 || len(values)%4 != 0 {
		addUpPortable(values, first)
		return
	}
	addUpAVX2(&values[0], len(values), first)
}

func ascend(documents, frequencies []uint32) bool {
	if n := len(documents); !hasAVX2 || n < 16 || n%8 != 0 || len(frequencies) != n {
		return ascendPortable(documents, frequencies)
	}
	return ascendAVX2(&documents[0], &frequencies[0], len(documents))
}

// unpack4AVX2 reads 128 values of four lanes.
//
//go:noescape
func unpack4AVX2(values *uint32, data *byte, bits int)

// unpack8AVX2 reads 256 values of eight lanes.
//
//go:noescape
func unpack8AVX2(values *uint32, data *byte, bits int)

// addUpAVX2 takes a multiple of 4 values.
//
//go:noescape
func addUpAVX2(values *uint32, n int, first uint32)

// ascendAVX2 takes a multiple of 8 documents, at least 16.
//
//go:noescape
func ascendAVX2(documents, frequencies *uint32, n int) bool

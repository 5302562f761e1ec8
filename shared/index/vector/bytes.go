package vector

import "unsafe"

// MaxBytesL2 is the greatest length of a vector of bytes whose squared distances fit 32 bits.
const MaxBytesL2 = 1 << 16

// BytesL2 writes the squared L2 distance of query from each row to out. Each element of rows points to the
// first of len(query) bytes. out must be at least as long as rows, and query at most MaxBytesL2 long.
func BytesL2(query []byte, rows []*byte, out []uint32) {
	if len(query) > 0 && len(rows) > 0 {
		bytesL2(query, rows, out[:len(rows)])
	}
}

// bytesL2Portable is the reference implementation of bytesL2.
func bytesL2Portable(query []byte, rows []*byte, out []uint32) {
	clear(out)
	addBytesL2(query, rows, 0, out)
}

// addBytesL2 adds to out the squared differences of each row, from byte from on.
func addBytesL2(query []byte, rows []*byte, from int, out []uint32) {
	for i, row := range rows {
		bytes, sum := unsafe.Slice(row, len(query)), uint32(0)
		for k := from; k < len(query); k++ {
			d := int32(query[k]) - int32(bytes[k])
			sum += uint32(d * d)
		}
		out[i] += sum
	}
}

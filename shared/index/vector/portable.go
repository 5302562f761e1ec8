package vector

import (
	"encoding/binary"
	"math/bits"
)

// The portable kernels are the reference implementation of the kernels in kernels_*.go: for each row of
// len(query) elements one number in out, or in xy and yy. They keep four sums, so that additions need not
// wait for each other; the assembly keeps more, and its results differ by rounding only. Kernels need at
// least one row and one element and do not check lengths.

// l2Portable writes the sum of (x-y)² of the query and each row.
func l2Portable[T float32 | float64](query, rows []T, out []float32) {
	dim := len(query)
	for i := range out {
		row := rows[i*dim:][:dim]
		var s0, s1, s2, s3 T
		j := 0
		for ; j+4 <= dim; j += 4 {
			x, y := query[j:j+4:j+4], row[j:j+4:j+4]
			d0, d1, d2, d3 := x[0]-y[0], x[1]-y[1], x[2]-y[2], x[3]-y[3]
			s0 += d0 * d0
			s1 += d1 * d1
			s2 += d2 * d2
			s3 += d3 * d3
		}
		for ; j < dim; j++ {
			d := query[j] - row[j]
			s0 += d * d
		}
		out[i] = float32((s0 + s1) + (s2 + s3))
	}
}

// dotPortable writes the sum of x*y of the query and each row.
func dotPortable[T float32 | float64](query, rows []T, out []float32) {
	dim := len(query)
	for i := range out {
		row := rows[i*dim:][:dim]
		var s0, s1, s2, s3 T
		j := 0
		for ; j+4 <= dim; j += 4 {
			x, y := query[j:j+4:j+4], row[j:j+4:j+4]
			s0 += x[0] * y[0]
			s1 += x[1] * y[1]
			s2 += x[2] * y[2]
			s3 += x[3] * y[3]
		}
		for ; j < dim; j++ {
			s0 += query[j] * row[j]
		}
		out[i] = float32((s0 + s1) + (s2 + s3))
	}
}

// cosinePortable writes the sum of x*y of the query and each row to xy and the sum of y*y
// of the row to yy.
func cosinePortable[T float32 | float64](query, rows []T, xy, yy []float32) {
	dim := len(query)
	for i := range xy {
		row := rows[i*dim:][:dim]
		var p0, p1, s0, s1 T
		j := 0
		for ; j+2 <= dim; j += 2 {
			x, y := query[j:j+2:j+2], row[j:j+2:j+2]
			p0 += x[0] * y[0]
			p1 += x[1] * y[1]
			s0 += y[0] * y[0]
			s1 += y[1] * y[1]
		}
		if j < dim {
			p0 += query[j] * row[j]
			s0 += row[j] * row[j]
		}
		xy[i], yy[i] = float32(p0+p1), float32(s0+s1)
	}
}

// l2HalfPortable, dotHalfPortable and cosineHalfPortable are the kernels for float16 rows and a widened
// query. They widen one row at a time.

func l2HalfPortable(query []float32, rows []uint16, out []float32) {
	row := make([]float32, len(query))
	for i := range out {
		widen(rows[i*len(row):], row)
		l2Portable(query, row, out[i:i+1])
	}
}

func dotHalfPortable(query []float32, rows []uint16, out []float32) {
	row := make([]float32, len(query))
	for i := range out {
		widen(rows[i*len(row):], row)
		dotPortable(query, row, out[i:i+1])
	}
}

func cosineHalfPortable(query []float32, rows []uint16, xy, yy []float32) {
	row := make([]float32, len(query))
	for i := range xy {
		widen(rows[i*len(row):], row)
		cosinePortable(query, row, xy[i:i+1], yy[i:i+1])
	}
}

// hamming writes the number of bits in which the query and each row differ. It has no
// assembly, because the compiler turns OnesCount64 into one instruction.
func hamming(query, rows []uint8, out []float32) {
	dim := len(query)
	for i := range out {
		row := rows[i*dim:][:dim]
		count := 0
		j := 0
		for ; j+8 <= dim; j += 8 {
			x := binary.LittleEndian.Uint64(query[j:])
			y := binary.LittleEndian.Uint64(row[j:])
			count += bits.OnesCount64(x ^ y)
		}
		for ; j < dim; j++ {
			count += bits.OnesCount8(query[j] ^ row[j])
		}
		out[i] = float32(count)
	}
}

package sqlexpr

import (
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/decimal256"
)

// copyRows copies the values of rows from v, of the same type, to data. Texts and lists are
// not copied in place; branches.text puts the former together.
func copyRows(data any, v vec, rows bitset, n int) {
	switch d := data.(type) {
	case bitset:
		src := v.data.(bitset)
		rows.each(n, func(i int) bool {
			if src.has(v.at(i)) {
				d.set(i)
			}
			return true
		})
	case []int8:
		copyValues(d, v, rows)
	case []int16:
		copyValues(d, v, rows)
	case []int32:
		copyValues(d, v, rows)
	case []int64:
		copyValues(d, v, rows)
	case []uint8:
		copyValues(d, v, rows)
	case []uint16:
		copyValues(d, v, rows)
	case []uint32:
		copyValues(d, v, rows)
	case []uint64:
		copyValues(d, v, rows)
	case []half:
		copyValues(d, v, rows)
	case []float32:
		copyValues(d, v, rows)
	case []float64:
		copyValues(d, v, rows)
	case []decimal128.Num:
		copyValues(d, v, rows)
	case []decimal256.Num:
		copyValues(d, v, rows)
	}
}

func copyValues[T any](dst []T, v vec, rows bitset) {
	src, mask := v.data.([]T), v.mask()
	rows.each(len(dst), func(i int) bool {
		dst[i] = src[i&mask]
		return true
	})
}

package column

import (
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/decimal256"
)

// copyRows copies the values of rows from v to data of the same type. It does not handle
// texts and lists; Branches does.
func copyRows(data any, v Vec, rows Bitset, n int) {
	switch d := data.(type) {
	case Bitset:
		src := v.Data.(Bitset)
		rows.Each(n, func(i int) bool {
			if src.Has(v.Slot(i)) {
				d.Set(i)
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
	case []Half:
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

func copyValues[T any](dst []T, v Vec, rows Bitset) {
	src, mask := v.Data.([]T), v.Mask()
	rows.Each(len(dst), func(i int) bool {
		dst[i] = src[i&mask]
		return true
	})
}

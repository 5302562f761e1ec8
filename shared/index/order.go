package index

import (
	"bytes"
	"cmp"
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/lance"
)

// An Order compares a value of one array with a value of another. Both arrays have the type
// of the Order, and neither value is NULL.
type Order func(a arrow.Array, i int, b arrow.Array, j int) int

// OrderOf returns the order in which indices store values of a type. Numbers are ordered by value, texts by
// bytes, and floats by the IEEE 754 total order, in which -0 precedes +0 and NaN follows infinity. A type
// without an order is lance.ErrUnsupported.
func OrderOf(t arrow.DataType) (Order, error) {
	switch t.ID() {
	case arrow.BOOL:
		return func(a arrow.Array, i int, b arrow.Array, j int) int {
			return cmp.Compare(bit(a.(*array.Boolean).Value(i)), bit(b.(*array.Boolean).Value(j)))
		}, nil
	case arrow.INT8:
		return ordered[int8], nil
	case arrow.INT16:
		return ordered[int16], nil
	case arrow.INT32:
		return ordered[int32], nil
	case arrow.INT64:
		return ordered[int64], nil
	case arrow.UINT8:
		return ordered[uint8], nil
	case arrow.UINT16:
		return ordered[uint16], nil
	case arrow.UINT32:
		return ordered[uint32], nil
	case arrow.UINT64:
		return ordered[uint64], nil
	case arrow.DATE32:
		return ordered[arrow.Date32], nil
	case arrow.DATE64:
		return ordered[arrow.Date64], nil
	case arrow.TIME32:
		return ordered[arrow.Time32], nil
	case arrow.TIME64:
		return ordered[arrow.Time64], nil
	case arrow.TIMESTAMP:
		return ordered[arrow.Timestamp], nil
	case arrow.DURATION:
		return ordered[arrow.Duration], nil
	case arrow.FLOAT16:
		return func(a arrow.Array, i int, b arrow.Array, j int) int {
			return cmp.Compare(total16(a.(*array.Float16).Value(i).Uint16()), total16(b.(*array.Float16).Value(j).Uint16()))
		}, nil
	case arrow.FLOAT32:
		return func(a arrow.Array, i int, b arrow.Array, j int) int {
			return cmp.Compare(total32(a.(*array.Float32).Value(i)), total32(b.(*array.Float32).Value(j)))
		}, nil
	case arrow.FLOAT64:
		return func(a arrow.Array, i int, b arrow.Array, j int) int {
			return cmp.Compare(total64(a.(*array.Float64).Value(i)), total64(b.(*array.Float64).Value(j)))
		}, nil
	case arrow.DECIMAL128:
		return func(a arrow.Array, i int, b arrow.Array, j int) int {
			return a.(*array.Decimal128).Value(i).Cmp(b.(*array.Decimal128).Value(j))
		}, nil
	case arrow.DECIMAL256:
		return func(a arrow.Array, i int, b arrow.Array, j int) int {
			return a.(*array.Decimal256).Value(i).Cmp(b.(*array.Decimal256).Value(j))
		}, nil
	case arrow.STRING, arrow.LARGE_STRING, arrow.BINARY, arrow.LARGE_BINARY, arrow.FIXED_SIZE_BINARY:
		return func(a arrow.Array, i int, b arrow.Array, j int) int {
			return bytes.Compare(valueBytes(a, i), valueBytes(b, j))
		}, nil
	}
	return nil, fmt.Errorf("%w: values of type %s have no order", lance.ErrUnsupported, t)
}

// ordered compares values of a type that Go can order.
func ordered[T cmp.Ordered](a arrow.Array, i int, b arrow.Array, j int) int {
	return cmp.Compare(a.(interface{ Value(int) T }).Value(i), b.(interface{ Value(int) T }).Value(j))
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// valueBytes returns the bytes of a text or binary value. They alias the array's memory.
func valueBytes(a arrow.Array, i int) []byte {
	switch a := a.(type) {
	case *array.String:
		return []byte(a.Value(i))
	case *array.LargeString:
		return []byte(a.Value(i))
	case *array.Binary:
		return a.Value(i)
	case *array.LargeBinary:
		return a.Value(i)
	}
	return a.(*array.FixedSizeBinary).Value(i)
}

// The total functions return the bits of a float as an integer in total order: the
// magnitude bits of negative floats are inverted, so that a larger magnitude is a smaller
// integer.
func total16(bits uint16) int16 { x := int16(bits); return x ^ x>>15&math.MaxInt16 }

func total32(f float32) int32 { x := int32(math.Float32bits(f)); return x ^ x>>31&math.MaxInt32 }

func total64(f float64) int64 { x := int64(math.Float64bits(f)); return x ^ x>>63&math.MaxInt64 }

func slice(a arrow.Array, from, to int) arrow.Array { return array.NewSlice(a, int64(from), int64(to)) }

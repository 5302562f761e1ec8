package cast

import (
	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/sql/internal/column"
)

// number is the Go types of plain numbers. A half is converted to and from float32.
type number interface {
	~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~float32 | ~float64
}

// numbers converts between integers and floats. An integer that is out of range, and NaN or
// an infinity as an integer, fail. Fractions are truncated.
func (c *caster) numbers() {
	data := c.from.Data
	if h, ok := data.([]column.Half); ok {
		data = column.HalvesToFloat32(h)
	}
	switch d := data.(type) {
	case []int8:
		numbersFrom(c, d)
	case []int16:
		numbersFrom(c, d)
	case []int32:
		numbersFrom(c, d)
	case []int64:
		numbersFrom(c, d)
	case []uint8:
		numbersFrom(c, d)
	case []uint16:
		numbersFrom(c, d)
	case []uint32:
		numbersFrom(c, d)
	case []uint64:
		numbersFrom(c, d)
	case []float32:
		numbersFrom(c, d)
	case []float64:
		numbersFrom(c, d)
	}
}

// numbersFrom converts a slice to the target type. The bounds of the integers are exact as
// float64; each upper bound is the first number that does not fit.
func numbersFrom[F number](c *caster, src []F) {
	switch c.to.ID() {
	case arrow.INT8:
		c.out.Data = toInteger[F, int8](c, src, -1<<7, 1<<7)
	case arrow.INT16:
		c.out.Data = toInteger[F, int16](c, src, -1<<15, 1<<15)
	case arrow.INT32:
		c.out.Data = toInteger[F, int32](c, src, -1<<31, 1<<31)
	case arrow.INT64:
		c.out.Data = toInteger[F, int64](c, src, -1<<63, 1<<63)
	case arrow.UINT8:
		c.out.Data = toInteger[F, uint8](c, src, 0, 1<<8)
	case arrow.UINT16:
		c.out.Data = toInteger[F, uint16](c, src, 0, 1<<16)
	case arrow.UINT32:
		c.out.Data = toInteger[F, uint32](c, src, 0, 1<<32)
	case arrow.UINT64:
		c.out.Data = toInteger[F, uint64](c, src, 0, 1<<64)
	case arrow.FLOAT16:
		out := make([]column.Half, len(src))
		for i, x := range src {
			out[i] = column.HalfOf(float64(float32(x)))
		}
		c.out.Data = out
	case arrow.FLOAT32:
		c.out.Data = toFloat[F, float32](src)
	case arrow.FLOAT64:
		c.out.Data = toFloat[F, float64](src)
	}
}

// toFloat rounds to the nearest float and cannot fail.
func toFloat[F number, T float32 | float64](src []F) []T {
	out := make([]T, len(src))
	for i, x := range src {
		out[i] = T(x)
	}
	return out
}

// toInteger converts to an integer type with the values low <= x < high.
func toInteger[F, T number](c *caster, src []F, low, high float64) []T {
	out := make([]T, len(src))
	var one F = 1
	if float := one/2 != 0; float {
		c.each(func(i int) bool {
			x := float64(src[i])
			if inRange := x < high && (x >= low || x > low-1); !inRange {
				return c.fail(i, "%s is out of range of %s", c.from.Named(src[i]), c.to)
			}
			out[i] = T(x)
			return true
		})
		return out
	}
	c.each(func(i int) bool {
		x := src[i]
		out[i] = T(x)
		if F(out[i]) != x || (out[i] < 0) != (x < 0) {
			return c.fail(i, "%s is out of range of %s", c.from.Named(x), c.to)
		}
		return true
	})
	return out
}

// fromBool converts true to 1 and false to 0.
func (c *caster) fromBool() {
	bits := c.from.Data.(column.Bitset)
	ones := make([]uint8, c.from.N)
	for i := range ones {
		if bits.Has(i) {
			ones[i] = 1
		}
	}
	numbersFrom(c, ones)
}

// toBool converts every number but zero to true.
func (c *caster) toBool() {
	switch d := c.from.Data.(type) {
	case []int8:
		c.out.Data = nonZero(d)
	case []int16:
		c.out.Data = nonZero(d)
	case []int32:
		c.out.Data = nonZero(d)
	case []int64:
		c.out.Data = nonZero(d)
	case []uint8:
		c.out.Data = nonZero(d)
	case []uint16:
		c.out.Data = nonZero(d)
	case []uint32:
		c.out.Data = nonZero(d)
	case []uint64:
		c.out.Data = nonZero(d)
	case []column.Half:
		c.out.Data = nonZero(column.HalvesToFloat32(d))
	case []float32:
		c.out.Data = nonZero(d)
	case []float64:
		c.out.Data = nonZero(d)
	}
}

func nonZero[T number](d []T) column.Bitset {
	out := column.NewBitset(len(d))
	for i, x := range d {
		if x != 0 {
			out.Set(i)
		}
	}
	return out
}

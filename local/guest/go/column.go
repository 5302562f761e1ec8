package guest

import (
	"encoding/binary"
	"math"
)

// A Column contains the values of a parameter. Its methods panic if the values have another type.
type Column struct {
	Name     string
	Rows     int
	Children []*Column // the items of a list, or the fields of a struct

	kind     byte // type number of the format
	width    int  // bytes of a value; for fixed-size lists, items of a value
	wide     bool // offsets have 8 bytes instead of 4
	signed   bool
	validity []byte // bitmap; empty if there are no nulls
	offsets  []byte
	values   []byte
}

// Type numbers of Schema.fbs.
const (
	kindInt           = 2
	kindFloat         = 3
	kindBinary        = 4
	kindUtf8          = 5
	kindBool          = 6
	kindDecimal       = 7
	kindDate          = 8
	kindTime          = 9
	kindTimestamp     = 10
	kindList          = 12
	kindStruct        = 13
	kindFixedBinary   = 15
	kindFixedSizeList = 16
	kindDuration      = 18
	kindLargeBinary   = 19
	kindLargeUtf8     = 20
	kindLargeList     = 21
)

// IsNull reports whether the value in row i is null.
func (c *Column) IsNull(i int) bool { return len(c.validity) > 0 && c.validity[i/8]>>(i%8)&1 == 0 }

// String returns a copy of the text in row i.
func (c *Column) String(i int) string { return string(c.Bytes(i)) }

// Bytes returns the text or the bytes in row i. They are valid until the user function returns.
func (c *Column) Bytes(i int) []byte {
	if c.kind == kindFixedBinary || c.kind == kindDecimal {
		return c.values[i*c.width : (i+1)*c.width]
	}
	c.check(c.kind == kindUtf8 || c.kind == kindBinary || c.kind == kindLargeUtf8 || c.kind == kindLargeBinary, "bytes")
	return c.values[c.offset(i):c.offset(i+1)]
}

// Int returns the integer in row i. Dates, times and durations are integers in their own unit.
func (c *Column) Int(i int) int64 {
	c.check(c.kind == kindInt || c.kind >= kindDate && c.kind <= kindTimestamp || c.kind == kindDuration, "integers")
	value := c.values[i*c.width:]
	switch {
	case c.width == 1 && c.signed:
		return int64(int8(value[0]))
	case c.width == 1:
		return int64(value[0])
	case c.width == 2 && c.signed:
		return int64(int16(binary.LittleEndian.Uint16(value)))
	case c.width == 2:
		return int64(binary.LittleEndian.Uint16(value))
	case c.width == 4 && c.signed:
		return int64(int32(binary.LittleEndian.Uint32(value)))
	case c.width == 4:
		return int64(binary.LittleEndian.Uint32(value))
	}
	return int64(binary.LittleEndian.Uint64(value))
}

// Float returns the float32 or float64 in row i.
func (c *Column) Float(i int) float64 {
	c.check(c.kind == kindFloat && c.width >= 4, "numbers of float32 or float64")
	if c.width == 4 {
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(c.values[4*i:])))
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(c.values[8*i:]))
}

// Bool returns the truth value in row i.
func (c *Column) Bool(i int) bool {
	c.check(c.kind == kindBool, "truth values")
	return c.values[i/8]>>(i%8)&1 == 1
}

// Items returns the range [begin, end) of rows of Children[0] that are the items of the list in row
// i.
func (c *Column) Items(i int) (begin, end int) {
	if c.kind == kindFixedSizeList {
		return i * c.width, (i + 1) * c.width
	}
	c.check(c.kind == kindList || c.kind == kindLargeList, "lists")
	return c.offset(i), c.offset(i + 1)
}

// offset returns offset i of a variable-size type.
func (c *Column) offset(i int) int {
	if c.wide {
		return int(binary.LittleEndian.Uint64(c.offsets[8*i:]))
	}
	return int(binary.LittleEndian.Uint32(c.offsets[4*i:]))
}

// check panics unless ok, with the expected kind of values.
func (c *Column) check(ok bool, what string) {
	if !ok {
		panic("the column " + c.Name + " does not hold " + what)
	}
}

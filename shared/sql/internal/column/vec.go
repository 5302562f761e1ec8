// Package column holds the values of expressions during evaluation: columns of Arrow types,
// and constants ([Vec]). It loads them from arrays ([Load]), selects and assembles rows of
// them ([Bitset], [Branches], [ListBuilder], [TextBuilder]), and returns them as arrays
// ([Vec.Array]).
package column

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/decimal256"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/sql/internal/meter"
)

// A Vec is a column of values during evaluation, or one constant that stands for every row. A Vec is
// immutable; it may share memory with the record batch.
//
// The type of data follows from the Arrow type:
//
//	bool                                   Bitset
//	int8 … uint64, float32, float64        []int8 … []float64
//	float16                                []Half
//	date32, time32                         []int32
//	date64, time64, timestamp, duration    []int64
//	decimal128, decimal256                 []decimal128.Num, []decimal256.Num
//	strings and binaries of all kinds      Text
//	lists of all kinds, maps               Lists
//	struct                                 *array.Struct
//	null                                   nil
//
// Dictionaries are decoded when a column is loaded. The slots of NULLs have arbitrary content.
type Vec struct {
	Type  arrow.DataType
	N     int    // number of values: the rows, or 1 for a constant
	Const bool   // one value for every row
	Valid Bitset // rows that are not NULL; nil if none is
	Data  any
}

// Text is strings or binaries. Value i is data[off[i]:off[i+1]], or views[i], or the i-th
// group of width bytes.
type Text struct {
	data  []byte
	off32 []int32
	off64 []int64
	views [][]byte // of values that are elsewhere, such as in a dictionary
	width int
}

// At returns a value. It shares memory with the text.
func (t Text) At(i int) []byte {
	switch {
	case t.off32 != nil:
		return t.data[t.off32[i]:t.off32[i+1]]
	case t.off64 != nil:
		return t.data[t.off64[i]:t.off64[i+1]]
	case t.views != nil:
		return t.views[i]
	}
	return t.data[i*t.width : (i+1)*t.width]
}

// Lists is a column of lists: list i is elems off[i] to off[i+1]. A map is the list of its entries.
type Lists struct {
	Off   []int64
	Elems Vec
}

// IsNull reports whether the value of a row is NULL. For a constant, any row gives the
// answer.
func (v Vec) IsNull(i int) bool { return v.Valid != nil && !v.Valid.Has(v.Slot(i)) }

// Slot maps a row to the slot of its value.
func (v Vec) Slot(i int) int {
	if v.Const {
		return 0
	}
	return i
}

// Mask returns a mask such that row & mask is the slot of the row's value: 0 for a constant, all bits
// otherwise.
func (v Vec) Mask() int {
	if v.Const {
		return 0
	}
	return -1
}

// Live returns the subset of rows in which v is not NULL. n is the number of all rows; nil rows are all.
func (v Vec) Live(rows Bitset, n int) Bitset {
	switch {
	case v.Valid == nil:
		return rows
	case !v.Const:
		return And(rows, v.Valid)
	case v.IsNull(0):
		return NewBitset(n)
	}
	return rows
}

// Null returns a constant NULL of a type.
func Null(typ arrow.DataType) Vec {
	v := Vec{Type: typ, N: 1, Const: true, Valid: NewBitset(1)}
	switch typ.ID() {
	case arrow.NULL:
	case arrow.LIST, arrow.LARGE_LIST, arrow.FIXED_SIZE_LIST, arrow.MAP:
		v.Data = NoLists(typ, 1)
	case arrow.STRUCT:
		v.Data = array.MakeArrayOfNull(Allocator, typ, 1)
	default:
		v.Data = Zeros(typ, 1)
	}
	return v
}

// Zeros returns the data of n zero values.
func Zeros(typ arrow.DataType, n int) any {
	switch typ.ID() {
	case arrow.BOOL:
		return NewBitset(n)
	case arrow.INT8:
		return make([]int8, n)
	case arrow.INT16:
		return make([]int16, n)
	case arrow.INT32, arrow.DATE32, arrow.TIME32:
		return make([]int32, n)
	case arrow.INT64, arrow.DATE64, arrow.TIME64, arrow.TIMESTAMP, arrow.DURATION:
		return make([]int64, n)
	case arrow.UINT8:
		return make([]uint8, n)
	case arrow.UINT16:
		return make([]uint16, n)
	case arrow.UINT32:
		return make([]uint32, n)
	case arrow.UINT64:
		return make([]uint64, n)
	case arrow.FLOAT16:
		return make([]Half, n)
	case arrow.FLOAT32:
		return make([]float32, n)
	case arrow.FLOAT64:
		return make([]float64, n)
	case arrow.DECIMAL128:
		return make([]decimal128.Num, n)
	case arrow.DECIMAL256:
		return make([]decimal256.Num, n)
	case arrow.STRING, arrow.LARGE_STRING, arrow.BINARY, arrow.LARGE_BINARY:
		return Text{off64: make([]int64, n+1)}
	case arrow.FIXED_SIZE_BINARY:
		width := typ.(*arrow.FixedSizeBinaryType).ByteWidth
		return Text{data: make([]byte, n*width), width: width}
	}
	return nil
}

// NoValues returns the data of an empty column.
func NoValues(typ arrow.DataType) any {
	switch {
	case IsList(typ) || IsMap(typ):
		return NoLists(typ, 0)
	case typ.ID() == arrow.STRUCT:
		return Empty(typ)
	}
	return Zeros(typ, 0)
}

// NoLists returns n lists, or maps, without elements.
func NoLists(typ arrow.DataType, n int) Lists {
	elem := ElemType(typ)
	return Lists{Off: make([]int64, n+1), Elems: Vec{Type: elem, Data: NoValues(elem)}}
}

// Empty returns an array without values. Arrow's own builder does not support the null type in nested
// types.
func Empty(t arrow.DataType) arrow.Array {
	var children []arrow.ArrayData
	switch t := t.(type) {
	case *arrow.StructType:
		for _, f := range t.Fields() {
			children = append(children, Empty(f.Type).Data())
		}
	case *arrow.FixedSizeListType:
		children = append(children, Empty(t.Elem()).Data())
	default:
		return array.MakeArrayOfNull(Allocator, t, 0)
	}
	return array.MakeFromData(array.NewData(t, 0, []*memory.Buffer{nil}, children, 0, 0))
}

// Constant returns a non-NULL constant. data is a slice with its one value.
func Constant(typ arrow.DataType, data any) Vec {
	return Vec{Type: typ, N: 1, Const: true, Data: data}
}

// BoolConstant returns a constant bool.
func BoolConstant(b bool) Vec {
	data := NewBitset(1)
	if b {
		data.Set(0)
	}
	return Constant(arrow.FixedWidthTypes.Boolean, data)
}

// TextConstant returns a constant string or binary.
func TextConstant(typ arrow.DataType, s string) Vec {
	return Constant(typ, Text{data: []byte(s), off32: []int32{0, int32(len(s))}})
}

// AppendIdentity appends bytes that are equal for two constants if and only if their types
// and values are equal.
func (v Vec) AppendIdentity(dst []byte) []byte {
	dst = append(dst, v.Type.String()...)
	if v.IsNull(0) {
		return dst
	}
	dst = append(dst, 0)
	return v.AppendKey(dst, 0)
}

// A TextBuilder appends values to a Text.
type TextBuilder struct {
	m     *meter.Meter
	Data  []byte
	Off   []int64
	taken int // capacity of data that the meter has accounted for
}

// NewTextBuilder returns a builder for n values. The caller takes the memory of the offsets
// from the meter.
func NewTextBuilder(m *meter.Meter, n int) *TextBuilder {
	return &TextBuilder{m: m, Off: append(make([]int64, 0, n+1), 0)}
}

// MaxText bounds the size of one text, and of all texts that one operation creates for a slice.
const MaxText = 256 << 20

// Reserve reserves memory for more bytes, after it has taken it from the meter.
func (b *TextBuilder) Reserve(more int) error {
	if more > MaxText-len(b.Data) {
		return b.m.TooMuch("result of more than %d bytes of text", MaxText)
	}
	need := len(b.Data) + more
	if need <= cap(b.Data) {
		return b.Account()
	}
	size := need
	if len(b.Data) > 0 { // grow in steps after the first value
		size = min(max(need, 2*cap(b.Data)), need+need/4+1024)
	}
	if err := b.m.Take(size); err != nil {
		return err
	}
	data := append(make([]byte, 0, size), b.Data...)
	b.m.Give(b.taken)
	b.Data, b.taken = data, size
	return nil
}

// Account takes the memory of values that were appended without Reserve.
func (b *TextBuilder) Account() error {
	if cap(b.Data) == b.taken {
		return nil
	}
	if len(b.Data) > MaxText {
		return b.m.TooMuch("result of more than %d bytes of text", MaxText)
	}
	grown := cap(b.Data) - b.taken
	b.taken = cap(b.Data)
	return b.m.Take(grown)
}

// Done ends the current value, whose bytes were appended to Data.
func (b *TextBuilder) Done() { b.Off = append(b.Off, int64(len(b.Data))) }

// Count returns the number of completed values.
func (b *TextBuilder) Count() int { return len(b.Off) - 1 }

// Text returns the values that are done.
func (b *TextBuilder) Text() Text { return Text{data: b.Data, off64: b.Off} }

// AppendKey appends bytes that are equal for two slots of one type if and only if their values are equal.
// Floats are compared by their bits.
func (v Vec) AppendKey(dst []byte, slot int) []byte {
	le := binary.LittleEndian
	switch d := v.Data.(type) {
	case Bitset:
		return append(dst, byte(Bit(d.Has(slot))))
	case Text:
		return append(dst, d.At(slot)...)
	case []int8:
		return append(dst, byte(d[slot]))
	case []uint8:
		return append(dst, d[slot])
	case []int16:
		return le.AppendUint16(dst, uint16(d[slot]))
	case []uint16:
		return le.AppendUint16(dst, d[slot])
	case []Half:
		return le.AppendUint16(dst, uint16(d[slot]))
	case []int32:
		return le.AppendUint32(dst, uint32(d[slot]))
	case []uint32:
		return le.AppendUint32(dst, d[slot])
	case []float32:
		return le.AppendUint32(dst, math.Float32bits(d[slot]))
	case []int64:
		return le.AppendUint64(dst, uint64(d[slot]))
	case []uint64:
		return le.AppendUint64(dst, d[slot])
	case []float64:
		return le.AppendUint64(dst, math.Float64bits(d[slot]))
	case Lists:
		for _, k := range d.Keys(slot) {
			dst = append(binary.AppendUvarint(dst, uint64(len(k))), k...)
		}
	case []arrow.MonthDayNanoInterval:
		return append(dst, arrow.MonthDayNanoIntervalTraits.CastToBytes(d[slot:slot+1])...)
	case []decimal128.Num:
		return le.AppendUint64(le.AppendUint64(dst, d[slot].LowBits()), uint64(d[slot].HighBits()))
	case []decimal256.Num:
		for _, w := range d[slot].Array() {
			dst = le.AppendUint64(dst, w)
		}
	}
	return dst
}

// Named returns the text of a value for an error message. A constant is part of the expression, so it is
// quoted, shortened. Other values may be row data, so only their type is named.
func (v Vec) Named(value any) string {
	if !v.Const {
		return "a value of type " + v.Type.String()
	}
	if text, ok := value.([]byte); ok {
		return fmt.Sprintf("%.40q", text)
	}
	return fmt.Sprintf("value %v", value)
}

// Width returns the number of values of an operation on Vecs, and whether it is constant.
func Width(vecs ...Vec) (n int, konst bool) {
	n, konst = 1, true
	for _, v := range vecs {
		if !v.Const {
			n, konst = v.N, false
		}
	}
	return n, konst
}

// BothValid returns the rows, of n, in which neither operand is NULL.
func BothValid(l, r Vec, n int) Bitset {
	return r.Live(l.Live(nil, n), n)
}

// ElementKey is AppendKey for slots that may be NULL: two NULLs have equal keys.
func (v Vec) ElementKey(dst []byte, slot int) []byte {
	if v.Valid != nil && !v.Valid.Has(slot) {
		return append(dst, 0)
	}
	return v.AppendKey(append(dst, 1), slot)
}

// Keys returns a key for each element of a list.
func (l Lists) Keys(i int) []string {
	keys := make([]string, 0, l.Off[i+1]-l.Off[i])
	var buf []byte
	for j := int(l.Off[i]); j < int(l.Off[i+1]); j++ {
		buf = append(buf[:0], 1)
		if l.Elems.IsNull(j) {
			buf[0] = 0
		} else {
			buf = l.Elems.AppendKey(buf, j)
		}
		keys = append(keys, string(buf))
	}
	return keys
}

// Texts returns a function that returns the string or binary of a row.
func (v Vec) Texts() func(i int) []byte {
	t, mask := v.Data.(Text), v.Mask()
	return func(i int) []byte { return t.At(i & mask) }
}

// ValuesOf returns a function that returns the value of fixed width of a row.
func ValuesOf[T any](v Vec) func(i int) T {
	d, mask := v.Data.([]T), v.Mask()
	return func(i int) T { return d[i&mask] }
}

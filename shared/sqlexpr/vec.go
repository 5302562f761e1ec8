package sqlexpr

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/decimal256"

	"tiltyard/shared/sql/meter"
)

// A vec is a column of values during evaluation, or one constant that stands for every
// row. Vecs are not changed once made; they may share memory with the record batch.
//
// The type of data follows from the Arrow type:
//
//	bool                                   bitset
//	int8 … uint64, float32, float64        []int8 … []float64
//	float16                                []half
//	date32, time32                         []int32
//	date64, time64, timestamp, duration    []int64
//	decimal128, decimal256                 []decimal128.Num, []decimal256.Num
//	strings and binaries of all kinds      text
//	lists of all kinds                     lists
//	struct                                 *array.Struct
//	null                                   nil
//
// Dictionaries are decoded when a column is loaded. Slots of NULLs hold anything.
type vec struct {
	typ   arrow.DataType
	n     int    // number of values: the rows, or 1 for a constant
	konst bool   // one value for every row
	valid bitset // rows that are not NULL; nil if none is
	data  any
}

// text is strings or binaries: value i is data[off[i]:off[i+1]], views[i], or width bytes each.
type text struct {
	data  []byte
	off32 []int32
	off64 []int64
	views [][]byte // of values that are elsewhere, such as in a dictionary
	width int
}

// at returns a value, which shares memory with the text.
func (t text) at(i int) []byte {
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

// lists is a column of lists: list i is elems off[i] to off[i+1].
type lists struct {
	off   []int64
	elems vec
}

// isNull reports whether the value of a row is NULL; for a constant any row will do.
func (v vec) isNull(i int) bool { return v.valid != nil && !v.valid.has(v.at(i)) }

// at maps a row to the slot of its value.
func (v vec) at(i int) int {
	if v.konst {
		return 0
	}
	return i
}

// mask is what to combine with a row number to get the slot of its value: row & mask.
func (v vec) mask() int {
	if v.konst {
		return 0
	}
	return -1
}

// live returns the rows among those that count where v is not NULL, of n rows.
func (v vec) live(rows bitset, n int) bitset {
	switch {
	case v.valid == nil:
		return rows
	case !v.konst:
		return and(rows, v.valid)
	case v.isNull(0):
		return newBitset(n)
	}
	return rows
}

// nullVec returns a constant NULL of a type.
func nullVec(typ arrow.DataType) vec {
	v := vec{typ: typ, n: 1, konst: true, valid: newBitset(1)}
	switch typ.ID() {
	case arrow.NULL:
	case arrow.LIST, arrow.LARGE_LIST, arrow.FIXED_SIZE_LIST:
		elem := typ.(arrow.ListLikeType).Elem()
		v.data = lists{off: []int64{0, 0}, elems: vec{typ: elem, data: emptyData(elem)}}
	default:
		v.data = zeroData(typ, 1)
	}
	return v
}

// zeroData returns data of n zero values.
func zeroData(typ arrow.DataType, n int) any {
	switch typ.ID() {
	case arrow.BOOL:
		return newBitset(n)
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
		return make([]half, n)
	case arrow.FLOAT32:
		return make([]float32, n)
	case arrow.FLOAT64:
		return make([]float64, n)
	case arrow.DECIMAL128:
		return make([]decimal128.Num, n)
	case arrow.DECIMAL256:
		return make([]decimal256.Num, n)
	case arrow.STRING, arrow.LARGE_STRING, arrow.BINARY, arrow.LARGE_BINARY:
		return text{off64: make([]int64, n+1)}
	case arrow.FIXED_SIZE_BINARY:
		width := typ.(*arrow.FixedSizeBinaryType).ByteWidth
		return text{data: make([]byte, n*width), width: width}
	}
	return nil
}

func emptyData(typ arrow.DataType) any { return zeroData(typ, 0) }

// constant returns a constant that is not NULL. The data holds the one value.
func constant(typ arrow.DataType, data any) vec {
	return vec{typ: typ, n: 1, konst: true, data: data}
}

func boolConstant(b bool) vec {
	data := newBitset(1)
	if b {
		data.set(0)
	}
	return constant(arrow.FixedWidthTypes.Boolean, data)
}

func textConstant(typ arrow.DataType, s string) vec {
	return constant(typ, text{data: []byte(s), off32: []int32{0, int32(len(s))}})
}

// appendIdentity appends bytes that two constants share if and only if their types and
// values are the same.
func (v vec) appendIdentity(dst []byte) []byte {
	dst = append(dst, v.typ.String()...)
	if v.isNull(0) {
		return dst
	}
	dst = append(dst, 0)
	return v.appendKey(dst, 0)
}

// A textBuilder appends values to a text.
type textBuilder struct {
	m     *meter.Meter
	data  []byte
	off   []int64
	taken int // capacity of data that the meter knows of
}

// newTextBuilder makes a builder for n values, the offsets of which are the caller's to take.
func newTextBuilder(m *meter.Meter, n int) *textBuilder {
	return &textBuilder{m: m, off: append(make([]int64, 0, n+1), 0)}
}

// maxText bounds the text of one value, and of all values that are made at once.
const maxText = 256 << 20

// reserve makes room for so many bytes more, and takes it before.
func (b *textBuilder) reserve(more int) error {
	if more > maxText-len(b.data) {
		return b.m.TooMuch("result of more than %d bytes of text", maxText)
	}
	need := len(b.data) + more
	if need <= cap(b.data) {
		return b.account()
	}
	size := need
	if len(b.data) > 0 { // not the first value
		size = min(max(need, 2*cap(b.data)), need+need/4+1024)
	}
	if err := b.m.Take(size); err != nil {
		return err
	}
	data := append(make([]byte, 0, size), b.data...)
	b.m.Give(b.taken)
	b.data, b.taken = data, size
	return nil
}

// account takes what values have grown to that were appended without a reserve.
func (b *textBuilder) account() error {
	if cap(b.data) == b.taken {
		return nil
	}
	if len(b.data) > maxText {
		return b.m.TooMuch("result of more than %d bytes of text", maxText)
	}
	grown := cap(b.data) - b.taken
	b.taken = cap(b.data)
	return b.m.Take(grown)
}

// done ends a value, of which the bytes were appended to data.
func (b *textBuilder) done() { b.off = append(b.off, int64(len(b.data))) }

// count is how many values are done.
func (b *textBuilder) count() int { return len(b.off) - 1 }

func (b *textBuilder) text() text { return text{data: b.data, off64: b.off} }

// appendKey appends bytes that two slots of one type share if and only if their values are
// equal. Floats are equal if their bits are.
func (v vec) appendKey(dst []byte, slot int) []byte {
	le := binary.LittleEndian
	switch d := v.data.(type) {
	case bitset:
		return append(dst, byte(bit(d.has(slot))))
	case text:
		return append(dst, d.at(slot)...)
	case []int8:
		return append(dst, byte(d[slot]))
	case []uint8:
		return append(dst, d[slot])
	case []int16:
		return le.AppendUint16(dst, uint16(d[slot]))
	case []uint16:
		return le.AppendUint16(dst, d[slot])
	case []half:
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
	case lists:
		for _, k := range d.keys(slot) {
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

// named is a value of v for an error. A constant stands in the expression and is quoted,
// shortened; of one that may be that of a row the type is named.
func (v vec) named(value any) string {
	if !v.konst {
		return "a value of type " + v.typ.String()
	}
	if text, ok := value.([]byte); ok {
		return fmt.Sprintf("%.40q", text)
	}
	return fmt.Sprintf("value %v", value)
}

// width returns the number of values of an operation on vecs, and whether it is constant.
func width(vecs ...vec) (n int, konst bool) {
	n, konst = 1, true
	for _, v := range vecs {
		if !v.konst {
			n, konst = v.n, false
		}
	}
	return n, konst
}

// bothValid returns the rows where neither operand is NULL; n is their number.
func bothValid(l, r vec, n int) bitset {
	return r.live(l.live(nil, n), n)
}

// elementKey appends what two slots share if both are NULL or both have the same value.
func (v vec) elementKey(dst []byte, slot int) []byte {
	if v.valid != nil && !v.valid.has(slot) {
		return append(dst, 0)
	}
	return v.appendKey(append(dst, 1), slot)
}

// keys returns a key for each element of a list.
func (l lists) keys(i int) []string {
	keys := make([]string, 0, l.off[i+1]-l.off[i])
	var buf []byte
	for j := int(l.off[i]); j < int(l.off[i+1]); j++ {
		buf = append(buf[:0], 1)
		if l.elems.isNull(j) {
			buf[0] = 0
		} else {
			buf = l.elems.appendKey(buf, j)
		}
		keys = append(keys, string(buf))
	}
	return keys
}

// texts returns the value of a string or binary by row.
func (v vec) texts() func(i int) []byte {
	t, mask := v.data.(text), v.mask()
	return func(i int) []byte { return t.at(i & mask) }
}

// valuesOf returns the value of fixed width by row.
func valuesOf[T any](v vec) func(i int) T {
	d, mask := v.data.([]T), v.mask()
	return func(i int) T { return d[i&mask] }
}

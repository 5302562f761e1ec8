package sortkey

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Values decodes keys, made by [Of] with NULLs first, to an array of values. The keys must come from this
// process, because they are not validated.
type Values struct {
	t     arrow.DataType
	text  bool
	width int // bytes per value in data; 0 for variable-width values
	read  func(key []byte) (rest []byte)

	valid   []bool
	nulls   int
	data    []byte
	offsets []int64 // ends of texts
}

// NewValues returns a Values for a type, or nil if its values cannot be decoded from keys, as for nested
// types and dictionaries.
func NewValues(t arrow.DataType) *Values {
	v := &Values{t: t}
	switch fixed, ok := t.(arrow.FixedWidthDataType); {
	case Of(t, true) == nil:
		return nil
	case arrow.IsBaseBinary(t.ID()):
		v.text, v.read = true, v.readText
	case t.ID() == arrow.BOOL:
		v.width = 1
		v.read = v.readBytes(v.width, func([]byte) {})
	case t.ID() == arrow.FIXED_SIZE_BINARY:
		v.width = fixed.Bytes()
		v.read = v.readBytes(v.width, func([]byte) {})
	case arrow.IsNested(t.ID()), t.ID() == arrow.DICTIONARY, t.ID() == arrow.EXTENSION, !ok:
		return nil
	default:
		v.width = fixed.Bytes()
		v.read = v.readBytes(v.width, numberOf(t.ID()))
	}
	return v
}

// numberOf returns a function that turns the key of a number into its little-endian bytes.
func numberOf(id arrow.Type) func([]byte) {
	return func(b []byte) {
		switch {
		case arrow.IsUnsignedInteger(id):
		case arrow.IsFloating(id) && b[0] < 0x80:
			for i := range b {
				b[i] = ^b[i]
			}
		default:
			b[0] ^= 0x80
		}
		if len(b) == 8 {
			binary.LittleEndian.PutUint64(b, binary.BigEndian.Uint64(b))
			return
		}
		slices.Reverse(b)
	}
}

// Append adds the value at the beginning of a key and returns the rest of the key.
func (v *Values) Append(key []byte) (rest []byte) {
	null := key[0] != keyValue
	v.valid = append(v.valid, !null)
	if !null {
		return v.read(key[1:])
	}
	v.nulls++
	if v.text {
		v.offsets = append(v.offsets, int64(len(v.data)))
	}
	v.data = append(v.data, make([]byte, v.width)...)
	return key[1:]
}

func (v *Values) readBytes(width int, decode func([]byte)) func([]byte) []byte {
	return func(key []byte) []byte {
		from := len(v.data)
		v.data = append(v.data, key[:width]...)
		decode(v.data[from:])
		return key[width:]
	}
}

// readText decodes a key of valueOfText.
func (v *Values) readText(key []byte) []byte {
	i := 0
	for ; key[i] != 0 || key[i+1] != 0; i++ {
		v.data = append(v.data, key[i])
		if key[i] == 0 {
			i++ // 0 255 encodes a 0 byte
		}
	}
	v.offsets = append(v.offsets, int64(len(v.data)))
	return key[i+2:]
}

// Len returns the number of values.
func (v *Values) Len() int { return len(v.valid) }

// Nulls returns the number of NULLs.
func (v *Values) Nulls() int { return v.nulls }

// Bytes estimates the memory of the values.
func (v *Values) Bytes() int64 { return int64(len(v.data)+len(v.valid)) + 8*int64(len(v.offsets)) }

// Array returns the values that were added since the last call.
func (v *Values) Array() arrow.Array {
	n := len(v.valid)
	buffers := []*memory.Buffer{nil, memory.NewBufferBytes(v.data)}
	if v.nulls > 0 {
		buffers[0] = memory.NewBufferBytes(bits(n, func(i int) bool { return v.valid[i] }))
	}
	switch id := v.t.ID(); {
	case id == arrow.BOOL:
		buffers[1] = memory.NewBufferBytes(bits(n, func(i int) bool { return v.data[i] != 0 }))
	case arrow.IsBaseBinary(id):
		buffers = []*memory.Buffer{buffers[0], memory.NewBufferBytes(v.ends()), buffers[1]}
	}
	data := array.NewData(v.t, n, buffers, nil, v.nulls, 0)
	// The next array probably has as many values.
	v.data, v.offsets = make([]byte, 0, len(v.data)), make([]int64, 0, len(v.offsets))
	v.valid, v.nulls = v.valid[:0], 0
	return array.MakeFromData(data)
}

// ends returns the offsets buffer of texts.
func (v *Values) ends() []byte {
	large := v.t.ID() == arrow.LARGE_STRING || v.t.ID() == arrow.LARGE_BINARY
	if !large && len(v.data) > 1<<31-1 {
		panic(fmt.Sprintf("%d bytes of texts in one array", len(v.data)))
	}
	out := make([]byte, 0, 8*(len(v.offsets)+1))
	for _, end := range append([]int64{0}, v.offsets...) {
		if large {
			out = binary.LittleEndian.AppendUint64(out, uint64(end))
		} else {
			out = binary.LittleEndian.AppendUint32(out, uint32(end))
		}
	}
	return out
}

// bits returns a bitmap of n bits.
func bits(n int, set func(i int) bool) []byte {
	out := make([]byte, bitutil.BytesForBits(int64(n)))
	for i := range n {
		bitutil.SetBitTo(out, i, set(i))
	}
	return out
}

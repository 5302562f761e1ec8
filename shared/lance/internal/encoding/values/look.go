package values

import (
	"bytes"

	"github.com/apache/arrow-go/v18/arrow/bitutil"
)

// Bytes returns the i-th value, which must consist of whole bytes. The slice shares memory with v.
func (v *Values) Bytes(i int) []byte {
	if v.Shape.Kind == Variable {
		return v.Data[v.Offsets[i]:v.Offsets[i+1]]
	}
	size := v.Shape.ValueBits() / 8
	return v.Fixed[i*size : (i+1)*size]
}

// Scalar returns the i-th value in whole bytes; a boolean becomes a byte 0 or 1.
func (v *Values) Scalar(i int) []byte {
	if v.Shape.Bits != 1 {
		return v.Bytes(i)
	}
	if bitutil.BitIsSet(v.Fixed, i) {
		return []byte{1}
	}
	return []byte{0}
}

// Equals reports whether the i-th value equals want, which has the form that Scalar returns.
func (v *Values) Equals(i int, want []byte) bool {
	if v.Shape.Bits == 1 {
		return bitutil.BitIsSet(v.Fixed, i) == (want[0] == 1)
	}
	return bytes.Equal(v.Bytes(i), want)
}

// itemBytes returns the bytes of a dictionary's item.
func (v *Values) itemBytes(i int) []byte {
	switch {
	case v.Shape.Kind == Variable:
		return v.Data[v.Offsets[i]:v.Offsets[i+1]]
	case v.Shape.Bits == 1:
		return []byte{v.Fixed[i>>3] >> (i & 7) & 1}
	}
	size := v.Shape.ValueBits() / 8
	return v.Fixed[i*size : (i+1)*size]
}

// Longest returns the size of the longest value in bytes.
func (v *Values) Longest() int {
	if v.Shape.Kind != Variable {
		return (v.Shape.ValueBits() + 7) / 8
	}
	longest := int32(0)
	for i := 1; i < len(v.Offsets); i++ {
		longest = max(longest, v.Offsets[i]-v.Offsets[i-1])
	}
	return int(longest)
}

// textBytes returns the total length of variable values.
func (v *Values) textBytes() int {
	if v.Shape.Kind != Variable {
		return 0
	}
	return int(v.Offsets[v.N] - v.Offsets[0])
}

// IsWindow reports whether variable values are a window of other values' data. A window must not
// grow.
func (v *Values) IsWindow() bool {
	return v.Shape.Kind == Variable && (v.Offsets[0] != 0 || int(v.Offsets[v.N]) != len(v.Data))
}

// HasInvalid reports whether an item at this depth of fixed-size lists is null.
func (v *Values) HasInvalid(depth int) bool { return v.Valid != nil && v.Valid[depth].Zeros > 0 }

// NoItems reports whether all elements of vectors are null.
func (v *Values) NoItems() bool {
	return len(v.Shape.Dims) == 1 && v.Valid != nil && v.Valid[0].Zeros == v.N*v.Shape.Items
}

// Memory returns the bytes used by v.
func (v *Values) Memory() int { return len(v.Fixed) + len(v.Data) + 4*len(v.Offsets) }

// Footprint returns the bytes allocated by v.
func (v *Values) Footprint() int {
	n := cap(v.Fixed) + 4*cap(v.Offsets) + cap(v.Data)
	for _, child := range v.Children {
		n += child.Footprint()
	}
	return n
}

func (v *Values) setRoom(r Room) {
	v.Room = r
	for _, child := range v.Children {
		child.setRoom(r)
	}
}

// Reset removes all values and keeps the memory.
func (v *Values) Reset() {
	v.N, v.Fixed, v.Data, v.Valid = 0, v.Fixed[:0], v.Data[:0], nil
	if v.Shape.Kind == Variable {
		v.Offsets = v.Offsets[:1]
	}
}

// Empty removes all values, including those of packed struct members, and keeps the memory.
func (v *Values) Empty() {
	v.Reset()
	for _, child := range v.Children {
		child.Empty()
	}
}

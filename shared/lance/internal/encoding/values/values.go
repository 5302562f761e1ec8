package values

import (
	"fmt"
	"math"
	"slices"

	"tiltyard/shared/lance"
)

// Values are values of one shape, as the value buffers of a page hold them. They do not record
// which of them are null: the levels of the page do.
type Values struct {
	Shape *Shape
	N     int // values
	// Fixed holds the elements of fixed values, bit-packed when they have one bit.
	// It may be part of the bytes that were read.
	Fixed []byte
	// Offsets, one more than values, delimit variable values in Data. Offsets are
	// 32 bits also for the types with large offsets: no single read is that large.
	Offsets []int32
	Data    []byte
	// Valid has a bitmap per dimension of a fixed-size list, outermost first: which of
	// the items at that depth are not null. It is nil when all are valid.
	Valid []Bitmap
	// Children hold the members of packed structs.
	Children []*Values
	Room     Room // called before large allocations
}

// New returns empty values of a shape.
func New(s *Shape) *Values {
	v := &Values{Shape: s}
	switch s.Kind {
	case Variable:
		v.Offsets = []int32{0}
	case Packed:
		for _, child := range s.Children {
			v.Children = append(v.Children, New(child))
		}
	}
	return v
}

// ReserveValues reserves memory for n more values, so that appending them chunk by chunk does not
// copy. It never reserves more than limit bytes, because n comes from a file.
func (v *Values) ReserveValues(n, limit int) {
	switch v.Shape.Kind {
	case Fixed:
		bits := v.Shape.ValueBits()
		v.Fixed = Reserve(v.Fixed, min(limit, n/8*bits+bits))
	case Variable:
		v.Offsets = slices.Grow(v.Offsets, min(limit/4, n))
	}
}

// ReserveText reserves memory for n more bytes of variable values.
func (v *Values) ReserveText(n int) {
	if v.Shape.Kind == Variable {
		v.Data = slices.Grow(v.Data, n)
	}
}

// ExtendFixed appends n values of whole bytes and returns their memory, which the caller fills.
func (v *Values) ExtendFixed(n int) []byte {
	size := n * v.Shape.ValueBits() / 8
	v.Fixed = Reserve(v.Fixed, size)
	start := len(v.Fixed)
	v.Fixed = v.Fixed[:start+size]
	v.N += n
	return v.Fixed[start:]
}

// AppendFixed appends n values, which are all of src. Elements of one bit are packed in src.
func (v *Values) AppendFixed(src []byte, n int) {
	if v.Shape.Bits != 1 {
		copy(v.ExtendFixed(n), src)
		return
	}
	v.AppendFixedBits(src, 0, n*v.Shape.Items)
	v.N += n
}

// AppendFixedBits appends n elements of one bit each from bit at of src.
func (v *Values) AppendFixedBits(src []byte, at, n int) {
	have := v.N * v.Shape.Items
	grown := (have+n+7)/8 - len(v.Fixed)
	v.Fixed = Reserve(v.Fixed, grown)
	v.Fixed = append(v.Fixed, make([]byte, grown)...)
	CopyBits(v.Fixed, have, src, at, n)
}

// AppendValue appends one variable value.
func (v *Values) AppendValue(b []byte) error {
	v.Data = append(v.Data, b...)
	return v.EndValue()
}

// EndValue ends a variable value whose bytes have been appended to Data.
func (v *Values) EndValue() error {
	if len(v.Data) > math.MaxInt32 {
		return ErrTooLarge
	}
	v.Offsets = append(v.Offsets, int32(len(v.Data)))
	v.N++
	return nil
}

// ErrTooLarge reports that one read of one column exceeds 2 GiB. The format has no such limit.
var ErrTooLarge = fmt.Errorf("%w: more than 2 GiB of one column in one read", lance.ErrUnsupported)

// AppendRange appends values [from, to) of src, which has the same shape.
func (v *Values) AppendRange(src *Values, from, to int) error {
	switch v.Shape.Kind {
	case Null, Opaque:
		v.N += to - from
	case Fixed:
		v.appendFixedRange(src, from, to)
	case Variable:
		return v.appendVariableRange(src, from, to)
	case Packed:
		for i, child := range v.Children {
			if err := child.AppendRange(src.Children[i], from, to); err != nil {
				return err
			}
		}
		v.N += to - from
	}
	return nil
}

func (v *Values) appendFixedRange(src *Values, from, to int) {
	v.appendValidity(src, from, to)
	if v.Shape.Bits == 1 {
		v.AppendFixedBits(src.Fixed, from*v.Shape.Items, (to-from)*v.Shape.Items)
		v.N += to - from
		return
	}
	size := v.Shape.ValueBits() / 8
	copy(v.ExtendFixed(to-from), src.Fixed[from*size:to*size])
}

// appendValidity appends the validity of the list items of values [from, to) of src. The caller
// counts the values afterwards.
func (v *Values) appendValidity(src *Values, from, to int) {
	if src.Valid == nil && v.Valid == nil {
		return
	}
	v.NeedValidity()
	items := 1
	for depth, dim := range v.Shape.Dims {
		items *= dim
		if src.Valid == nil || src.Valid[depth].Bytes == nil {
			v.Valid[depth].AppendOnes((to - from) * items)
		} else {
			v.Valid[depth].AppendBits(src.Valid[depth].Bytes, from*items, to*items)
		}
	}
}

// NeedValidity allocates the bitmaps of list items, with all items so far valid.
func (v *Values) NeedValidity() {
	if v.Valid != nil {
		return
	}
	v.Valid = make([]Bitmap, len(v.Shape.Dims))
	items := 1
	for depth, dim := range v.Shape.Dims {
		items *= dim
		v.Valid[depth].N = v.N * items
	}
}

func (v *Values) appendVariableRange(src *Values, from, to int) error {
	start, end := src.Offsets[from], src.Offsets[to]
	shift := len(v.Data) - int(start)
	if len(v.Data)+int(end-start) > math.MaxInt32 {
		return ErrTooLarge
	}
	v.Data = append(v.Data, src.Data[start:end]...)
	for _, offset := range src.Offsets[from+1 : to+1] {
		v.Offsets = append(v.Offsets, int32(int(offset)+shift))
	}
	v.N += to - from
	return nil
}

// Span returns values [from, to). They share memory with v where the layout allows it.
func (v *Values) Span(from, to int) (*Values, error) {
	if from == 0 && to == v.N {
		return v, nil
	}
	part := v.Room.Values(v.Shape)
	switch {
	case v.Shape.Kind == Fixed && v.Shape.Bits != 1 && v.Valid == nil:
		size := v.Shape.ValueBits() / 8
		part.Fixed, part.N = v.Fixed[from*size:to*size:to*size], to-from
		return part, nil
	case v.Shape.Kind == Variable:
		// Arrow allows a first offset other than 0.
		part.Offsets, part.Data, part.N = v.Offsets[from:to+1:to+1], v.Data[:len(v.Data):len(v.Data)], to-from
		return part, nil
	}
	err := part.AppendRange(v, from, to)
	return part, err
}

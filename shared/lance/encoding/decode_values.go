package encoding

import (
	"fmt"
	"math"
	"slices"

	"tiltyard/shared/lance"

	"tiltyard/shared/lance/encoding/bitpack"
)

// values are decoded values of one shape, without regard to which of them are null:
// what the value buffers of a page hold. Nulls come from the levels.
type values struct {
	shape *shape
	n     int
	// fixed holds the elements of fixed values, bit-packed when they have one bit.
	// It may be part of the bytes that were read.
	fixed []byte
	// offsets, one more than values, delimit variable values in data. Offsets are
	// 32 bits also for the types with large offsets: no single read is that large.
	offsets []int32
	data    []byte
	// valid has a bitmap per dimension of a fixed-size list, outermost first: which of
	// the items at that depth are not null. It is nil when all are valid.
	valid []bitmap
	// children hold the members of packed structs.
	children []*values
	room     Room // asked before values make much of little
}

func newValues(s *shape) *values {
	v := &values{shape: s}
	switch s.kind {
	case shapeVariable:
		v.offsets = []int32{0}
	case shapePacked:
		for _, child := range s.children {
			v.children = append(v.children, newValues(child))
		}
	}
	return v
}

// reserveValues makes room for n more values, so that appending them one chunk at a
// time does not copy. It never reserves more than limit bytes: n comes from a file.
func (v *values) reserveValues(n, limit int) {
	switch v.shape.kind {
	case shapeFixed:
		bits := v.shape.valueBits()
		v.fixed = reserve(v.fixed, min(limit, n/8*bits+bits))
	case shapeVariable:
		v.offsets = slices.Grow(v.offsets, min(limit/4, n))
	}
}

// reserveText makes room for n more bytes of variable values.
func (v *values) reserveText(n int) {
	if v.shape.kind == shapeVariable {
		v.data = slices.Grow(v.data, n)
	}
}

// extendFixed appends room for n values of whole bytes and returns it.
func (v *values) extendFixed(n int) []byte {
	size := n * v.shape.valueBits() / 8
	v.fixed = reserve(v.fixed, size)
	start := len(v.fixed)
	v.fixed = v.fixed[:start+size]
	v.n += n
	return v.fixed[start:]
}

// appendFixed appends n values from src, which holds nothing else. Elements of one bit
// are packed in src, too.
func (v *values) appendFixed(src []byte, n int) {
	if v.shape.bits != 1 {
		copy(v.extendFixed(n), src)
		return
	}
	v.appendFixedBits(src, 0, n*v.shape.items)
	v.n += n
}

// appendFixedBits appends n elements of one bit each from bit at of src.
func (v *values) appendFixedBits(src []byte, at, n int) {
	have := v.n * v.shape.items
	grown := (have+n+7)/8 - len(v.fixed)
	v.fixed = reserve(v.fixed, grown)
	v.fixed = append(v.fixed, make([]byte, grown)...)
	copyBits(v.fixed, have, src, at, n)
}

// appendValue appends one variable value.
func (v *values) appendValue(b []byte) error {
	v.data = append(v.data, b...)
	return v.endValue()
}

// endValue ends a variable value whose bytes have been appended to data.
func (v *values) endValue() error {
	if len(v.data) > math.MaxInt32 {
		return errTooLarge
	}
	v.offsets = append(v.offsets, int32(len(v.data)))
	v.n++
	return nil
}

// errTooLarge is a limit of one read, not of the format.
var errTooLarge = fmt.Errorf("%w: more than 2 GiB of one column in one read", lance.ErrUnsupported)

// appendRange appends values [from, to) of src, which has the same shape.
func (v *values) appendRange(src *values, from, to int) error {
	switch v.shape.kind {
	case shapeNull, shapeOpaque:
		v.n += to - from
	case shapeFixed:
		v.appendFixedRange(src, from, to)
	case shapeVariable:
		return v.appendVariableRange(src, from, to)
	case shapePacked:
		for i, child := range v.children {
			if err := child.appendRange(src.children[i], from, to); err != nil {
				return err
			}
		}
		v.n += to - from
	}
	return nil
}

func (v *values) appendFixedRange(src *values, from, to int) {
	v.appendValidity(src, from, to)
	if v.shape.bits == 1 {
		v.appendFixedBits(src.fixed, from*v.shape.items, (to-from)*v.shape.items)
		v.n += to - from
		return
	}
	size := v.shape.valueBits() / 8
	copy(v.extendFixed(to-from), src.fixed[from*size:to*size])
}

// appendValidity appends the validity of the list items of values [from, to) of src.
// It comes before the values themselves are counted.
func (v *values) appendValidity(src *values, from, to int) {
	if src.valid == nil && v.valid == nil {
		return
	}
	v.needValidity()
	items := 1
	for depth, dim := range v.shape.dims {
		items *= dim
		if src.valid == nil || src.valid[depth].bytes == nil {
			v.valid[depth].appendOnes((to - from) * items)
		} else {
			v.valid[depth].appendBits(src.valid[depth].bytes, from*items, to*items)
		}
	}
}

// needValidity makes the bitmaps of list items: all valid so far.
func (v *values) needValidity() {
	if v.valid != nil {
		return
	}
	v.valid = make([]bitmap, len(v.shape.dims))
	items := 1
	for depth, dim := range v.shape.dims {
		items *= dim
		v.valid[depth].n = v.n * items
	}
}

func (v *values) appendVariableRange(src *values, from, to int) error {
	start, end := src.offsets[from], src.offsets[to]
	shift := len(v.data) - int(start)
	if len(v.data)+int(end-start) > math.MaxInt32 {
		return errTooLarge
	}
	v.data = append(v.data, src.data[start:end]...)
	for _, offset := range src.offsets[from+1 : to+1] {
		v.offsets = append(v.offsets, int32(int(offset)+shift))
	}
	v.n += to - from
	return nil
}

// span returns values [from, to), sharing memory where that is possible.
func (v *values) span(from, to int) (*values, error) {
	if from == 0 && to == v.n {
		return v, nil
	}
	part := v.room.values(v.shape)
	switch {
	case v.shape.kind == shapeFixed && v.shape.bits != 1 && v.valid == nil:
		size := v.shape.valueBits() / 8
		part.fixed, part.n = v.fixed[from*size:to*size:to*size], to-from
		return part, nil
	case v.shape.kind == shapeVariable:
		// Arrow does not ask that the first offset be 0.
		part.offsets, part.data, part.n = v.offsets[from:to+1:to+1], v.data[:len(v.data):len(v.data)], to-from
		return part, nil
	}
	err := part.appendRange(v, from, to)
	return part, err
}

// take appends the values of items that the indices name: what a dictionary stands for.
func (v *values) take(items *values, indices []uint32) error {
	if v.shape.kind != shapeVariable {
		if err := v.room.takeItems(len(indices), v.shape.fixedBytes()); err != nil {
			return err
		}
	}
	switch v.shape.kind {
	case shapeFixed:
		if v.shape.bits != 1 && v.shape.dims == nil {
			v.takeFixed(items, indices)
			return nil
		}
	case shapeVariable:
		return v.takeVariable(items, indices)
	}
	for _, i := range indices {
		if err := v.appendRange(items, int(i), int(i)+1); err != nil {
			return err
		}
	}
	return nil
}

func (v *values) takeFixed(items *values, indices []uint32) {
	out := v.extendFixed(len(indices))
	switch v.shape.bits {
	case 32:
		gather(viewAs[uint32](out), viewAs[uint32](items.fixed), indices)
	case 64:
		gather(viewAs[uint64](out), viewAs[uint64](items.fixed), indices)
	default:
		size := v.shape.bits / 8
		for k, i := range indices {
			copy(out[k*size:(k+1)*size], items.fixed[int(i)*size:])
		}
	}
}

func gather[T bitpack.Integer](dst, items []T, indices []uint32) {
	for k, i := range indices {
		dst[k] = items[i]
	}
}

func (v *values) takeVariable(items *values, indices []uint32) error {
	size := 0
	for _, i := range indices {
		size += int(items.offsets[i+1] - items.offsets[i])
	}
	if len(v.data)+size > math.MaxInt32 {
		return errTooLarge
	}
	if err := v.room.Take(size + 4*len(indices)); err != nil {
		return err
	}
	const word = 16 // a move of so many bytes is faster than one of as many as there are
	v.data = reserve(v.data, size+word)
	to, end := v.data[:cap(v.data)], len(v.data)
	offsets := make([]int32, len(v.offsets), len(v.offsets)+len(indices))
	copy(offsets, v.offsets)
	for _, i := range indices {
		at, n := int(items.offsets[i]), int(items.offsets[i+1]-items.offsets[i])
		if from := items.data[at:]; n <= word && len(from) >= word {
			*(*[word]byte)(to[end:]) = *(*[word]byte)(from)
		} else {
			copy(to[end:], from[:n])
		}
		end += n
		offsets = append(offsets, int32(end))
	}
	v.data = to[:end]
	v.offsets = offsets
	v.n += len(indices)
	return nil
}

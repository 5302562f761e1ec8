package values

import (
	"math"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/internal/encoding/bitpack"
)

// AsIndices returns integers as indices, after a check that they are below limit. The result is
// never nil, because nil would mean that the leaf has no dictionary.
func (v *Values) AsIndices(limit int) ([]uint32, error) {
	if v.N == 0 {
		return []uint32{}, nil
	}
	var indices []uint32
	switch v.Shape.Bits {
	case 8:
		indices = widen(v.Fixed)
	case 16:
		indices = widen(ViewAs[uint16](v.Fixed))
	case 32:
		indices = ViewAs[uint32](v.Fixed)
	case 64:
		indices = make([]uint32, v.N)
		for i, index := range ViewAs[uint64](v.Fixed) {
			indices[i] = uint32(min(index, math.MaxUint32))
		}
	}
	for _, index := range indices {
		if int(index) >= limit {
			return nil, lance.Corruptf("index %d into a dictionary of %d items", index, limit)
		}
	}
	return indices, nil
}

func widen[T uint8 | uint16](v []T) []uint32 {
	wide := make([]uint32, len(v))
	for i, x := range v {
		wide[i] = uint32(x)
	}
	return wide
}

// Take appends the values of items at the given indices; it resolves a dictionary.
func (v *Values) Take(items *Values, indices []uint32) error {
	if v.Shape.Kind != Variable {
		if err := v.Room.TakeItems(len(indices), v.Shape.FixedBytes()); err != nil {
			return err
		}
	}
	switch v.Shape.Kind {
	case Fixed:
		if v.Shape.Bits != 1 && v.Shape.Dims == nil {
			v.takeFixed(items, indices)
			return nil
		}
	case Variable:
		return v.takeVariable(items, indices)
	}
	for _, i := range indices {
		if err := v.AppendRange(items, int(i), int(i)+1); err != nil {
			return err
		}
	}
	return nil
}

func (v *Values) takeFixed(items *Values, indices []uint32) {
	out := v.ExtendFixed(len(indices))
	switch v.Shape.Bits {
	case 32:
		gather(ViewAs[uint32](out), ViewAs[uint32](items.Fixed), indices)
	case 64:
		gather(ViewAs[uint64](out), ViewAs[uint64](items.Fixed), indices)
	default:
		size := v.Shape.Bits / 8
		for k, i := range indices {
			copy(out[k*size:(k+1)*size], items.Fixed[int(i)*size:])
		}
	}
}

func gather[T bitpack.Integer](dst, items []T, indices []uint32) {
	for k, i := range indices {
		dst[k] = items[i]
	}
}

// takeVariable appends the strings at indices. Short ones are copied by moves of a constant size.
func (v *Values) takeVariable(items *Values, indices []uint32) error {
	size := 0
	for _, i := range indices {
		size += int(items.Offsets[i+1] - items.Offsets[i])
	}
	if len(v.Data)+size > math.MaxInt32 {
		return ErrTooLarge
	}
	if err := v.Room.Take(size + 4*len(indices)); err != nil {
		return err
	}
	const word = 16 // a move of constant size is faster than one of the exact size
	v.Data = Reserve(v.Data, size+word)
	to, end := v.Data[:cap(v.Data)], len(v.Data)
	offsets := make([]int32, len(v.Offsets), len(v.Offsets)+len(indices))
	copy(offsets, v.Offsets)
	for _, i := range indices {
		at, n := int(items.Offsets[i]), int(items.Offsets[i+1]-items.Offsets[i])
		if from := items.Data[at:]; n <= word && len(from) >= word {
			*(*[word]byte)(to[end:]) = *(*[word]byte)(from)
		} else {
			copy(to[end:], from[:n])
		}
		end += n
		offsets = append(offsets, int32(end))
	}
	v.Data = to[:end]
	v.Offsets = offsets
	v.N += len(indices)
	return nil
}

package values

import (
	"math"
	"math/bits"
	"slices"

	"github.com/apache/arrow-go/v18/arrow/bitutil"

	"tiltyard/shared/lance"
)

// RepeatFixed appends the same fixed value n times.
func (v *Values) RepeatFixed(value []byte, n int) error {
	if len(value) > 0 && n > math.MaxInt32/len(value) {
		return ErrTooLarge
	}
	if err := v.Room.TakeItems(n, len(value)); err != nil {
		return err
	}
	out := v.ExtendFixed(n)
	for done := copy(out, value); done < len(out) && done > 0; {
		done += copy(out[done:], out[:done])
	}
	return nil
}

// AppendBooleans appends n values of one-bit elements that take a whole byte each.
func (v *Values) AppendBooleans(src []byte, n int) error {
	elements := n * v.Shape.Items
	if len(src) < elements {
		return lance.Corruptf("%d booleans in %d bytes", elements, len(src))
	}
	packed := make([]byte, (elements+7)/8)
	for i, b := range src[:elements] {
		if b&1 != 0 {
			packed[i>>3] |= 1 << (i & 7)
		}
	}
	v.AppendFixedBits(packed, 0, elements)
	v.N += n
	return nil
}

// AppendElements appends n values of zeros. The caller has appended their validity.
func (v *Values) AppendElements(n int) error {
	if bits := v.Shape.ValueBits(); bits > 0 && n > 8*math.MaxInt32/bits {
		return ErrTooLarge
	}
	if err := v.Room.TakeItems(n, v.Shape.FixedBytes()); err != nil {
		return err
	}
	if v.Shape.Bits == 1 {
		elements := n * v.Shape.Items
		v.AppendFixedBits(make([]byte, (elements+7)/8), 0, elements)
		v.N += n
		return nil
	}
	clear(v.ExtendFixed(n))
	return nil
}

// AppendStrings appends the variable values that the offsets delimit in buf.
func (v *Values) AppendStrings(buf []byte, offsets []int32) error {
	first, last := offsets[0], offsets[len(offsets)-1]
	shift := int64(len(v.Data)) - int64(first)
	if int64(last)+shift > math.MaxInt32 {
		return ErrTooLarge
	}
	v.Data = append(v.Data, buf[first:last]...)
	for _, offset := range offsets[1:] {
		v.Offsets = append(v.Offsets, int32(int64(offset)+shift))
	}
	v.N += len(offsets) - 1
	return nil
}

// AppendEmpties appends n values in the place of nulls: zeros, or nothing.
func (v *Values) AppendEmpties(n int) error {
	switch v.Shape.Kind {
	case Null, Opaque:
		v.N += n
	case Variable:
		if err := v.Room.TakeItems(n, 4); err != nil {
			return err
		}
		last := v.Offsets[v.N]
		v.Offsets = slices.Grow(v.Offsets, n)
		for range n {
			v.Offsets = append(v.Offsets, last)
		}
		v.N += n
	case Fixed:
		return v.appendZeros(n)
	case Packed:
		for _, child := range v.Children {
			if err := child.AppendEmpties(n); err != nil {
				return err
			}
		}
		v.N += n
	}
	return nil
}

func (v *Values) appendZeros(n int) error {
	if v.Valid != nil {
		for depth := range v.Valid {
			v.Valid[depth].AppendOnes(n * ItemsAt(v.Shape, depth))
		}
	}
	return v.AppendElements(n)
}

// Truncate keeps the first n values.
func (v *Values) Truncate(n int) {
	v.N = n
	if v.Shape.Kind == Variable {
		v.Offsets = v.Offsets[:v.N+1]
		v.Data = v.Data[:v.Offsets[v.N]]
		return
	}
	v.Fixed = v.Fixed[:v.N*v.Shape.ValueBits()/8]
}

// AppendEmpty appends an empty string or a value of zeros.
func (v *Values) AppendEmpty() {
	if v.Shape.Kind == Variable {
		v.Offsets = append(v.Offsets, int32(len(v.Data)))
		v.N++
		return
	}
	clear(v.ExtendFixed(1))
}

// ClearNulls sets the values from first on that are null to zeros.
func (v *Values) ClearNulls(valid *Bitmap, first int) {
	width := v.Shape.ValueBits()
	for at := first / 8; at < len(valid.Bytes); at++ {
		// Values before first are already zero where null, so clearing them changes nothing.
		if width == 1 {
			v.Fixed[at] &= valid.Bytes[at]
			continue
		}
		for nulls := ^valid.Bytes[at]; nulls != 0; nulls &= nulls - 1 {
			i := 8*at + bits.TrailingZeros8(nulls)
			switch {
			case i >= valid.N:
				return
			case v.Shape.Bits == 1:
				bitutil.SetBitsTo(v.Fixed, int64(i*width), int64(width), false)
			default:
				clear(v.Fixed[i*width/8:][:width/8])
			}
		}
	}
}

package encoding

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/lance"
)

// A shape is how the values of a type lie in memory while they are decoded, whatever
// they mean: timestamps and doubles are both fixed values of 64 bits.
type shape struct {
	kind shapeKind
	// bits of one element of a fixed shape: 1 or a multiple of 8, which is 0 for byte
	// strings of no bytes and for nulls in fixed-size lists.
	bits int
	// dims are the lengths of the fixed-size lists around the elements, outermost
	// first; a value holds as many elements as their product, items.
	dims  []int
	items int
	// children are the members of a packed struct.
	children []*shape
}

type shapeKind uint8

const (
	shapeNull     shapeKind = iota // nothing at all
	shapeFixed                     // elements of fixed width
	shapeVariable                  // offsets and bytes
	shapePacked                    // one value per child
	shapeOpaque                    // nothing that can be stored but nulls
)

// maxValueBytes bounds the size of one fixed value, which a hostile schema may claim.
const maxValueBytes = 1 << 28

func fixedShape(bits int) *shape { return &shape{kind: shapeFixed, bits: bits, items: 1} }

// valueBits is the width of a whole fixed value.
func (s *shape) valueBits() int { return s.bits * s.items }

// storedShape is shapeOf for reading: of a type whose values cannot be stored there can
// still be a page where every row is null, and native writers write such pages.
func storedShape(t arrow.DataType) *shape {
	if s, err := shapeOf(t); err == nil {
		return s
	}
	return &shape{kind: shapeOpaque, items: 1}
}

// shapeOf returns the shape of the values of type t. Dictionary types have the shape of
// their values; the indices are the page's affair.
func shapeOf(t arrow.DataType) (*shape, error) {
	switch t := t.(type) {
	case *arrow.NullType:
		return &shape{kind: shapeNull, items: 1}, nil
	case *arrow.StringType, *arrow.BinaryType, *arrow.LargeStringType, *arrow.LargeBinaryType:
		return &shape{kind: shapeVariable, items: 1}, nil
	case *arrow.DictionaryType:
		return shapeOf(t.ValueType)
	case *arrow.FixedSizeListType:
		return listShape(t)
	case *arrow.StructType:
		s := &shape{kind: shapePacked, items: 1}
		for _, f := range t.Fields() {
			child, err := shapeOf(f.Type)
			if err != nil {
				return nil, fmt.Errorf("member %q: %w", f.Name, err)
			}
			plain := child.kind == shapeFixed || child.kind == shapeVariable
			if !plain || storageType(f.Type).ID() == arrow.DICTIONARY {
				return nil, fmt.Errorf("%w: member %q of type %s in a packed struct", lance.ErrUnsupported, f.Name, f.Type)
			}
			s.children = append(s.children, child)
		}
		return s, nil
	case arrow.ExtensionType:
		return shapeOf(t.StorageType())
	case *arrow.FixedSizeBinaryType:
		if t.ByteWidth < 0 || t.ByteWidth > maxValueBytes {
			return nil, fmt.Errorf("%w: values of type %s", lance.ErrUnsupported, t)
		}
		return fixedShape(8 * t.ByteWidth), nil
	case arrow.FixedWidthDataType:
		return fixedShape(t.BitWidth()), nil
	}
	return nil, fmt.Errorf("%w: columns of type %s", lance.ErrUnsupported, t)
}

func listShape(t *arrow.FixedSizeListType) (*shape, error) {
	inner, err := shapeOf(t.Elem())
	if err != nil {
		return nil, err
	}
	dim := int(t.Len())
	if inner.kind == shapeNull {
		inner = fixedShape(0) // lists without elements, which still may be null themselves
	}
	if inner.kind != shapeFixed || dim < 1 || inner.valueBits()/8 > maxValueBytes/dim {
		return nil, fmt.Errorf("%w: columns of type %s", lance.ErrUnsupported, t)
	}
	return &shape{
		kind:  shapeFixed,
		bits:  inner.bits,
		dims:  append([]int{dim}, inner.dims...),
		items: dim * inner.items,
	}, nil
}

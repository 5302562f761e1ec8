package values

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/lance"
)

// A Shape is the layout of the values of a type in memory. Types with the same layout have the same
// shape: timestamps and doubles are both fixed values of 64 bits.
type Shape struct {
	Kind Kind
	// Bits is the width of one element of a fixed shape: 1 or a multiple of 8. It is 0 for byte
	// strings without bytes and for nulls in fixed-size lists.
	Bits int
	// Dims are the lengths of the fixed-size lists around the elements, outermost
	// first; a value holds as many elements as their product, Items.
	Dims  []int
	Items int
	// Children are the members of a packed struct.
	Children []*Shape
}

// A Kind is a layout of values in memory.
type Kind uint8

// The kinds of shapes.
const (
	Null     Kind = iota // nothing at all
	Fixed                // elements of fixed width
	Variable             // offsets and bytes
	Packed               // one value per child
	Opaque               // nothing that can be stored but nulls
)

// MaxValueBytes bounds the size of one fixed value. A hostile schema can claim any.
const MaxValueBytes = 1 << 28

// FixedShape returns the shape of elements of the given width that are not in lists.
func FixedShape(bits int) *Shape { return &Shape{Kind: Fixed, Bits: bits, Items: 1} }

// ValueBits is the width of a whole fixed value.
func (s *Shape) ValueBits() int { return s.Bits * s.Items }

// FixedBytes returns the bytes of memory that each value takes, whatever the value.
func (s *Shape) FixedBytes() int {
	n := 0
	switch s.Kind {
	case Fixed:
		n = (s.ValueBits() + 7) / 8
	case Variable:
		n = 4
	}
	for _, child := range s.Children {
		n += child.FixedBytes()
	}
	return n
}

// ItemsAt returns the number of items of one value at a depth of fixed-size lists.
func ItemsAt(s *Shape, depth int) int {
	items := 1
	for _, dim := range s.Dims[:depth+1] {
		items *= dim
	}
	return items
}

// ShapeOf returns the shape of the values of type t. A dictionary type has the shape of its items;
// the page stores the indices.
func ShapeOf(t arrow.DataType) (*Shape, error) {
	switch t := t.(type) {
	case *arrow.NullType:
		return &Shape{Kind: Null, Items: 1}, nil
	case *arrow.StringType, *arrow.BinaryType, *arrow.LargeStringType, *arrow.LargeBinaryType:
		return &Shape{Kind: Variable, Items: 1}, nil
	case *arrow.DictionaryType:
		return ShapeOf(t.ValueType)
	case *arrow.FixedSizeListType:
		return listShape(t)
	case *arrow.StructType:
		s := &Shape{Kind: Packed, Items: 1}
		for _, f := range t.Fields() {
			child, err := ShapeOf(f.Type)
			if err != nil {
				return nil, fmt.Errorf("member %q: %w", f.Name, err)
			}
			plain := child.Kind == Fixed || child.Kind == Variable
			if !plain || StorageType(f.Type).ID() == arrow.DICTIONARY {
				return nil, fmt.Errorf("%w: member %q of type %s in a packed struct", lance.ErrUnsupported, f.Name, f.Type)
			}
			s.Children = append(s.Children, child)
		}
		return s, nil
	case arrow.ExtensionType:
		return ShapeOf(t.StorageType())
	case *arrow.FixedSizeBinaryType:
		if t.ByteWidth < 0 || t.ByteWidth > MaxValueBytes {
			return nil, fmt.Errorf("%w: values of type %s", lance.ErrUnsupported, t)
		}
		return FixedShape(8 * t.ByteWidth), nil
	case arrow.FixedWidthDataType:
		return FixedShape(t.BitWidth()), nil
	}
	return nil, fmt.Errorf("%w: columns of type %s", lance.ErrUnsupported, t)
}

// listShape returns the shape of a fixed-size list: that of its items with one more dimension.
func listShape(t *arrow.FixedSizeListType) (*Shape, error) {
	inner, err := ShapeOf(t.Elem())
	if err != nil {
		return nil, err
	}
	dim := int(t.Len())
	if inner.Kind == Null {
		inner = FixedShape(0) // lists without elements, which still may be null themselves
	}
	if inner.Kind != Fixed || dim < 1 || inner.ValueBits()/8 > MaxValueBytes/dim {
		return nil, fmt.Errorf("%w: columns of type %s", lance.ErrUnsupported, t)
	}
	return &Shape{
		Kind:  Fixed,
		Bits:  inner.Bits,
		Dims:  append([]int{dim}, inner.Dims...),
		Items: dim * inner.Items,
	}, nil
}

// ShapeToRead returns the shape of a type for reading. Some types cannot be stored, but native
// writers write all-null pages of them; such a type has the shape Opaque.
func ShapeToRead(t arrow.DataType) *Shape {
	if s, err := ShapeOf(t); err == nil {
		return s
	}
	return &Shape{Kind: Opaque, Items: 1}
}

// ShapeToWrite returns the shape of a type for writing, or an error if it cannot be written.
func ShapeToWrite(t arrow.DataType) (*Shape, error) {
	inner := t
	for inner.ID() == arrow.FIXED_SIZE_LIST {
		inner = StorageType(inner.(*arrow.FixedSizeListType).Elem())
	}
	if d, ok := t.(*arrow.DictionaryType); ok {
		inner = StorageType(d.ValueType)
	}
	unsupported := fmt.Errorf("%w: columns of type %s", lance.ErrUnsupported, t)
	switch inner.ID() {
	case arrow.STRUCT, arrow.DECIMAL32, arrow.DECIMAL64, arrow.INTERVAL_MONTHS,
		arrow.INTERVAL_DAY_TIME, arrow.INTERVAL_MONTH_DAY_NANO, arrow.DICTIONARY:
		return nil, unsupported
	case arrow.FIXED_SIZE_BINARY:
		if inner.(*arrow.FixedSizeBinaryType).ByteWidth < 1 {
			return nil, unsupported
		}
	case arrow.NULL, arrow.BOOL:
		if inner != t && inner.ID() == arrow.NULL || t.ID() == arrow.DICTIONARY {
			return nil, unsupported
		}
	}
	return ShapeOf(t)
}

// OffsetBits returns the width of the offsets of a type of variable width, 32 or 64. A dictionary
// type has the width of its items.
func OffsetBits(t arrow.DataType) uint64 {
	if d, ok := t.(*arrow.DictionaryType); ok {
		t = d.ValueType
	}
	switch t.ID() {
	case arrow.LARGE_STRING, arrow.LARGE_BINARY:
		return 64
	}
	return 32
}

// SameLeafType reports whether arrays of type got can be stored in a leaf of type want. String
// views are stored as strings.
func SameLeafType(got, want arrow.DataType) bool {
	if list, ok := want.(*arrow.FixedSizeListType); ok {
		// Names and nullability of items are irrelevant.
		gotList, ok := got.(*arrow.FixedSizeListType)
		return ok && gotList.Len() == list.Len() && SameLeafType(StorageType(gotList.Elem()), StorageType(list.Elem()))
	}
	if st, ok := want.(*arrow.StructType); ok {
		return sameMembers(got, st)
	}
	switch got.ID() {
	case arrow.STRING_VIEW:
		got = arrow.BinaryTypes.String
	case arrow.BINARY_VIEW:
		got = arrow.BinaryTypes.Binary
	}
	return arrow.TypeEqual(got, want)
}

// sameMembers compares packed structs like SameLeafType.
func sameMembers(got arrow.DataType, want *arrow.StructType) bool {
	gotStruct, ok := got.(*arrow.StructType)
	if !ok || gotStruct.NumFields() != want.NumFields() {
		return false
	}
	for i, f := range want.Fields() {
		member := gotStruct.Field(i)
		if member.Name != f.Name || !SameLeafType(StorageType(member.Type), StorageType(f.Type)) {
			return false
		}
	}
	return true
}

// StorageType returns the type below all extension types of a type.
func StorageType(t arrow.DataType) arrow.DataType {
	for {
		ext, ok := t.(arrow.ExtensionType)
		if !ok {
			return t
		}
		t = ext.StorageType()
	}
}

package sortkey

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// An Append appends the ascending key of a value. The first byte of the key marks nulls.
type Append func(key []byte, a arrow.Array, i int) []byte

// These are the first bytes of the keys of values.
const (
	keyNullFirst = 0
	keyValue     = 1
	keyNullLast  = 2
)

// Of returns the function that makes the keys of a type, nil when its values have no order.
func Of(t arrow.DataType, nullsFirst bool) Append { return maker{nullsFirst: nullsFirst}.of(t) }

// A maker makes the keys of the values of columns.
type maker struct {
	nullsFirst bool
	ranks      *Ranks // ranks of dictionary values, used as their keys; nil: the values themselves
}

// of returns the function that makes the keys of a type, nil when its values have no order.
func (m maker) of(t arrow.DataType) Append {
	switch t := t.(type) {
	case *arrow.DictionaryType:
		return m.dictionaryKey(t)
	case arrow.ExtensionType:
		storage := m.of(t.StorageType())
		if storage == nil {
			return nil
		}
		return func(key []byte, a arrow.Array, i int) []byte {
			return storage(key, a.(array.ExtensionArray).Storage(), i)
		}
	}
	value := m.value(t)
	if value == nil {
		return nil
	}
	null := m.null()
	return func(key []byte, a arrow.Array, i int) []byte {
		if a.IsNull(i) {
			return append(key, null)
		}
		return value(append(key, keyValue), a, i)
	}
}

// null returns the key of NULL.
func (m maker) null() byte {
	if m.nullsFirst {
		return keyNullFirst
	}
	return keyNullLast
}

// dictionaryKey makes the keys of the values in a dictionary, or of their ranks.
func (m maker) dictionaryKey(t *arrow.DictionaryType) Append {
	value, null := maker{nullsFirst: m.nullsFirst}.of(t.ValueType), m.null()
	switch {
	case value == nil:
		return nil
	case m.ranks != nil:
		return m.ranks.key(value, null)
	}
	return func(key []byte, a arrow.Array, i int) []byte {
		if a.IsNull(i) {
			return append(key, null)
		}
		d := a.(*array.Dictionary)
		return value(key, d.Dictionary(), d.GetValueIndex(i))
	}
}

// value is of for values that are not null.
func (m maker) value(t arrow.DataType) Append {
	switch t := t.(type) {
	case *arrow.NullType:
		return func(key []byte, _ arrow.Array, _ int) []byte { return key }
	case *arrow.BooleanType:
		return func(key []byte, a arrow.Array, i int) []byte {
			if a.(*array.Boolean).Value(i) {
				return append(key, 1)
			}
			return append(key, 0)
		}
	case *arrow.StructType:
		return m.structKey(t)
	case *arrow.ListType, *arrow.LargeListType, *arrow.FixedSizeListType:
		return m.listKey(t.(arrow.ListLikeType).Elem())
	case arrow.BinaryDataType:
		return valueOfText
	case arrow.FixedWidthDataType:
		return fixedKey(t)
	}
	return nil
}

// structKey concatenates the keys of the members, in their order. It returns nil if a member's type has no
// keys.
func (m maker) structKey(t *arrow.StructType) Append {
	members := make([]Append, t.NumFields())
	for i := range members {
		if members[i] = m.of(t.Field(i).Type); members[i] == nil {
			return nil
		}
	}
	return func(key []byte, a arrow.Array, i int) []byte {
		s := a.(*array.Struct)
		for number, member := range members {
			key = member(key, s.Field(number), i)
		}
		return key
	}
}

// listKey orders lists by their first differing items; a list that is a prefix of another comes first.
func (m maker) listKey(item arrow.DataType) Append {
	value := m.of(item)
	if value == nil {
		return nil
	}
	return func(key []byte, a arrow.Array, i int) []byte {
		list := a.(array.ListLike)
		from, to := list.ValueOffsets(i)
		for j := from; j < to; j++ {
			key = value(append(key, 1), list.ListValues(), int(j))
		}
		return append(key, 0)
	}
}

// valueOfText ends a text with two zero bytes, and writes a zero byte within it as 0 255.
func valueOfText(key []byte, a arrow.Array, i int) []byte {
	var text []byte
	switch a := a.(type) {
	case *array.String:
		text = []byte(a.Value(i))
	case *array.LargeString:
		text = []byte(a.Value(i))
	case *array.Binary:
		text = a.Value(i)
	case *array.LargeBinary:
		text = a.Value(i)
	}
	for _, b := range text {
		if key = append(key, b); b == 0 {
			key = append(key, 255)
		}
	}
	return append(key, 0, 0)
}

// fixedKey makes keys of fixed-width values from their bytes.
func fixedKey(t arrow.FixedWidthDataType) Append {
	width := t.Bytes()
	at := func(a arrow.Array, i int) []byte {
		d := a.Data()
		return d.Buffers()[1].Bytes()[(d.Offset()+i)*width:][:width]
	}
	switch id := t.ID(); {
	case id == arrow.FIXED_SIZE_BINARY:
		return func(key []byte, a arrow.Array, i int) []byte { return append(key, at(a, i)...) }
	case arrow.IsUnsignedInteger(id):
		return func(key []byte, a arrow.Array, i int) []byte { return appendNumber(key, at(a, i), 0) }
	case arrow.IsFloating(id):
		return func(key []byte, a arrow.Array, i int) []byte { return appendFloat(key, at(a, i)) }
	case arrow.IsSignedInteger(id), arrow.IsDecimal(id):
		return func(key []byte, a arrow.Array, i int) []byte { return appendNumber(key, at(a, i), 0x80) }
	}
	switch t.ID() {
	case arrow.DATE32, arrow.DATE64, arrow.TIME32, arrow.TIME64, arrow.TIMESTAMP, arrow.DURATION:
		return func(key []byte, a arrow.Array, i int) []byte { return appendNumber(key, at(a, i), 0x80) }
	}
	return nil
}

// appendNumber appends a little-endian number with its most significant byte first. It flips the
// sign bit, so that negative numbers come first.
func appendNumber(key, number []byte, sign byte) []byte {
	start := len(key)
	for j := len(number) - 1; j >= 0; j-- {
		key = append(key, number[j])
	}
	key[start] ^= sign
	return key
}

// appendFloat appends the key of a float. It flips all bits of negative floats, because their bit patterns
// grow away from zero.
func appendFloat(key, number []byte) []byte {
	start := len(key)
	key = appendNumber(key, number, 0)
	if key[start] < 0x80 {
		key[start] ^= 0x80
		return key
	}
	for j := start; j < len(key); j++ {
		key[j] = ^key[j]
	}
	return key
}

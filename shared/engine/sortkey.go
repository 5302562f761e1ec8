package engine

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/protocol"
)

// An ordering turns rows into keys: bytes that are in the order that the rows are to be
// in. Numbers are written with their greatest byte first, texts so that none is the
// beginning of another, and all of a key that descends is inverted. Floats are in their
// total order, as native Lance has them: -NaN, -inf … -0, 0 … inf, NaN.
type ordering struct {
	columns []string // that are read: the others first, then those of the keys
	keys    []sortKey
}

type sortKey struct {
	column     int // position in columns
	append     appendKey
	descending bool
	nullsFirst bool
}

// newOrdering resolves the columns of an order, which are read after some others.
func newOrdering(d *dataset.Dataset, by []protocol.OrderBy, others ...string) (*ordering, error) {
	o := &ordering{columns: others}
	for _, b := range by {
		field, err := d.Column(b.ColumnName)
		if err != nil {
			return nil, err
		}
		k := sortKey{descending: b.Ascending != nil && !*b.Ascending, nullsFirst: b.NullsFirst}
		// What descends is inverted, and its nulls with it.
		if k.append = keyOf(field.Type, k.nullsFirst != k.descending); k.append == nil {
			return nil, protocol.Errorf(protocol.InvalidInput, "order_by: column %q of type %s has no order", b.ColumnName, field.Type)
		}
		if k.column = slices.Index(o.columns, b.ColumnName); k.column < 0 {
			k.column = len(o.columns)
			o.columns = append(o.columns, b.ColumnName)
		}
		o.keys = append(o.keys, k)
	}
	return o, nil
}

// appendTo appends the key of row i of a batch of the ordering's columns.
func (o *ordering) appendTo(key []byte, batch arrow.RecordBatch, i int) []byte {
	for _, k := range o.keys {
		start := len(key)
		key = k.append(key, batch.Column(k.column), i)
		if k.descending {
			for j := start; j < len(key); j++ {
				key[j] = ^key[j]
			}
		}
	}
	return key
}

// An appendKey appends the ascending key of a value, which begins with whether it is null.
type appendKey func(key []byte, a arrow.Array, i int) []byte

// The first byte of a value's key.
const (
	keyNullFirst = 0
	keyValue     = 1
	keyNullLast  = 2
)

// keyOf returns what makes keys of a type, or nil when its values have no order.
func keyOf(t arrow.DataType, nullsFirst bool) appendKey {
	value := valueKey(t, nullsFirst)
	if value == nil {
		return nil
	}
	null := byte(keyNullLast)
	if nullsFirst {
		null = keyNullFirst
	}
	return func(key []byte, a arrow.Array, i int) []byte {
		if a.IsNull(i) {
			return append(key, null)
		}
		return value(append(key, keyValue), a, i)
	}
}

// valueKey is keyOf for values that are not null.
func valueKey(t arrow.DataType, nullsFirst bool) appendKey {
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
	case *arrow.DictionaryType:
		value := keyOf(t.ValueType, nullsFirst)
		if value == nil {
			return nil
		}
		return func(key []byte, a arrow.Array, i int) []byte {
			d := a.(*array.Dictionary)
			return value(key, d.Dictionary(), d.GetValueIndex(i))
		}
	case *arrow.StructType:
		return structKey(t, nullsFirst)
	case *arrow.ListType, *arrow.LargeListType, *arrow.FixedSizeListType:
		return listKey(t.(arrow.ListLikeType).Elem(), nullsFirst)
	case arrow.ExtensionType:
		value := valueKey(t.StorageType(), nullsFirst)
		if value == nil {
			return nil
		}
		return func(key []byte, a arrow.Array, i int) []byte {
			return value(key, a.(array.ExtensionArray).Storage(), i)
		}
	case arrow.BinaryDataType:
		return valueOfText
	case arrow.FixedWidthDataType:
		return fixedKey(t)
	}
	return nil
}

func structKey(t *arrow.StructType, nullsFirst bool) appendKey {
	members := make([]appendKey, t.NumFields())
	for i := range members {
		if members[i] = keyOf(t.Field(i).Type, nullsFirst); members[i] == nil {
			return nil
		}
	}
	return func(key []byte, a arrow.Array, i int) []byte {
		s := a.(*array.Struct)
		for m, member := range members {
			key = member(key, s.Field(m), i)
		}
		return key
	}
}

// listKey orders lists by their first items that differ; the beginning of another comes
// before it.
func listKey(item arrow.DataType, nullsFirst bool) appendKey {
	value := keyOf(item, nullsFirst)
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

// valueOfText ends a text with two zeros, and writes a zero within it as 0 255.
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

// fixedKey makes keys of what has a fixed width, by its bytes.
func fixedKey(t arrow.FixedWidthDataType) appendKey {
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

// appendNumber appends a little-endian number with its greatest byte first, and flips its
// sign bit, so that negative numbers come before others.
func appendNumber(key, number []byte, sign byte) []byte {
	start := len(key)
	for j := len(number) - 1; j >= 0; j-- {
		key = append(key, number[j])
	}
	key[start] ^= sign
	return key
}

// appendFloat is appendNumber for floats: of negative ones all bits are flipped, as they
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

// appendTail appends to the key of a row what it is found again by: 8 bytes that order it
// among equal ones, and 8 that say where it is.
func appendTail(key []byte, order, at uint64) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(key, order), at)
}

// keyAt returns where the row of a key is.
func keyAt(key []byte) uint64 { return binary.BigEndian.Uint64(key[len(key)-8:]) }

// noLimit is the limit of an order of all rows.
const noLimit = math.MaxInt64

package merge

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/arrow/take"
	"tiltyard/shared/lance/schema"
	"tiltyard/shared/protocol"
)

// This file completes structs of which the source has only some members. As in native Lance 14, the
// other members keep their values:
//
// 	source {a: 5}   table {a: 1, b: 2}   result {a: 5, b: 2}
// 	source null     table {a: 1, b: 2}   result {a: null, b: 2}
// 	source null     table null           result null
//
// A struct with all its members is replaced as a whole. List items are completed one by one, by
// position, so both lists must have the same length; a null list counts as a list of nulls.

// A completion adds the missing members to one column of the source, at any depth.
type completion struct {
	field *schema.Field // in the table
	found *schema.Field // restricted to the members that the source has
}

// newCompletion returns nil if the source has all members.
func newCompletion(field, found *schema.Field) (*completion, error) {
	c := completion{field, found}
	if c.whole() {
		return nil, nil //nolint:nilnil // there is nothing to complete
	}
	return &c, c.check()
}

// whole reports whether the source has all members.
func (c completion) whole() bool {
	for _, child := range c.field.Children {
		if below := c.below(child); below.found == nil || !below.whole() {
			return false
		}
	}
	return true
}

// below returns the completion of a member, or of the items of a list.
func (c completion) below(child *schema.Field) completion {
	return completion{child, c.found.Child(child.Name)}
}

// check returns an error for incomplete structs in maps, because map entries have no fixed
// positions.
func (c completion) check() error {
	if c.field.LogicalType == "map" {
		return &protocol.Error{
			Code:    protocol.Unsupported,
			Message: fmt.Sprintf("merging some members only of structs in the map %s is not supported", c.field.Name),
			Detail:  "send all members of the values",
		}
	}
	for _, child := range c.field.Children {
		if below := c.below(child); below.found != nil && !below.whole() {
			if err := below.check(); err != nil {
				return err
			}
		}
	}
	return nil
}

// typeOf returns the type of the completed values, from the types in the source and in the table.
func (c completion) typeOf(source, table arrow.DataType) arrow.DataType {
	if c.whole() {
		return source
	}
	switch t := table.(type) {
	case *arrow.StructType:
		fields := make([]arrow.Field, t.NumFields())
		for i, child := range c.field.Children {
			fields[i] = t.Field(i)
			if below := c.below(child); below.found != nil {
				from := memberOf(source.(*arrow.StructType), child.Name)
				fields[i] = source.(*arrow.StructType).Field(from)
				fields[i].Type = below.typeOf(fields[i].Type, t.Field(i).Type)
			}
			fields[i].Nullable = true // nulls are checked when the rows are written
		}
		return arrow.StructOf(fields...)
	case arrow.ListLikeType:
		item := t.ElemField()
		item.Type = c.below(c.field.Children[0]).typeOf(source.(arrow.ListLikeType).Elem(), t.Elem())
		item.Nullable = true
		switch t := t.(type) {
		case *arrow.LargeListType:
			return arrow.LargeListOfField(item)
		case *arrow.FixedSizeListType:
			return arrow.FixedSizeListOfField(t.Len(), item)
		}
		return arrow.ListOfField(item)
	}
	return source
}

// memberOf returns the position of a member.
func memberOf(t *arrow.StructType, name string) int {
	at, _ := t.FieldIdx(name) // the source was matched by names, so it exists
	return at
}

// complete returns the completed values, of the type from typeOf. Both arrays have one value per
// row.
func (c completion) complete(source, table arrow.Array) (arrow.Array, error) {
	if c.whole() {
		return source, nil
	}
	t := c.typeOf(source.DataType(), table.DataType())
	switch source := source.(type) {
	case *array.Struct:
		return c.completeStructs(t.(*arrow.StructType), source, table.(*array.Struct))
	case array.ListLike:
		return c.completeLists(t, source, table.(array.ListLike))
	}
	return source, nil
}

// completeStructs completes structs, member by member.
func (c completion) completeStructs(t *arrow.StructType, source, table *array.Struct) (arrow.Array, error) {
	members := make([]arrow.ArrayData, len(c.field.Children))
	for i, child := range c.field.Children {
		member, err := visible(table, i)
		if err != nil {
			return nil, err
		}
		if below := c.below(child); below.found != nil {
			sent, err := visible(source, memberOf(source.DataType().(*arrow.StructType), child.Name))
			if err != nil {
				return nil, err
			}
			if member, err = below.complete(sent, member); err != nil {
				return nil, err
			}
		}
		members[i] = member.Data()
	}
	valid, nulls := either(source, table)
	return array.NewStructData(array.NewData(t, source.Len(), []*memory.Buffer{valid}, members, nulls, 0)), nil
}

// visible returns a member with nulls where its struct is null.
func visible(s *array.Struct, at int) (arrow.Array, error) {
	if s.NullN() == 0 {
		return s.Field(at), nil
	}
	positions := make([]int32, s.Len())
	for i := range positions {
		positions[i] = take.Null
		if s.IsValid(i) {
			positions[i] = int32(i)
		}
	}
	return take.Array(s.Field(at), positions)
}

// either returns a validity bitmap that is set where at least one of the values is valid, and the
// number of nulls.
func either(source, table arrow.Array) (valid *memory.Buffer, nulls int) {
	if source.NullN() == 0 || table.NullN() == 0 {
		return nil, 0
	}
	bits := make([]byte, bitutil.BytesForBits(int64(source.Len())))
	for i := range source.Len() {
		if source.IsValid(i) || table.IsValid(i) {
			bitutil.SetBit(bits, i)
		} else {
			nulls++
		}
	}
	return memory.NewBufferBytes(bits), nulls
}

// completeLists completes lists item by item. The error is InvalidInput for lists of different
// lengths.
func (c completion) completeLists(t arrow.DataType, source, table array.ListLike) (arrow.Array, error) {
	var sent, kept []int32 // positions of items in both arrays
	offsets := make([]int64, 1, source.Len()+1)
	for i := range source.Len() {
		fixed := t.ID() == arrow.FIXED_SIZE_LIST
		from, to := source.ValueOffsets(i)
		start, end := table.ValueOffsets(i)
		n := to - from
		switch {
		case fixed:
		case source.IsNull(i) && table.IsNull(i):
			n = 0
		case source.IsNull(i):
			n = end - start
		case table.IsValid(i) && n != end-start:
			return nil, &protocol.Error{
				Code:    protocol.InvalidInput,
				Message: fmt.Sprintf("a list in the field %s has %d items in the table and %d in the rows to merge, which have some members only of its structs", c.field.Name, end-start, n),
				Detail:  "send all members of the items, or as many items as the table has",
			}
		}
		sent = appendItems(sent, source.IsValid(i), from, n)
		kept = appendItems(kept, table.IsValid(i), start, n)
		offsets = append(offsets, offsets[i]+n)
	}
	items, err := take.Array(source.ListValues(), sent)
	if err != nil {
		return nil, err
	}
	others, err := take.Array(table.ListValues(), kept)
	if err != nil {
		return nil, err
	}
	if items, err = c.below(c.field.Children[0]).complete(items, others); err != nil {
		return nil, err
	}
	valid, nulls := either(source, table)
	buffers := []*memory.Buffer{valid}
	switch t.ID() {
	case arrow.LIST:
		narrow := make([]int32, len(offsets))
		for i, offset := range offsets {
			narrow[i] = int32(offset)
		}
		buffers = append(buffers, memory.NewBufferBytes(arrow.Int32Traits.CastToBytes(narrow)))
	case arrow.LARGE_LIST:
		buffers = append(buffers, memory.NewBufferBytes(arrow.Int64Traits.CastToBytes(offsets)))
	}
	return array.MakeFromData(array.NewData(t, source.Len(), buffers, []arrow.ArrayData{items.Data()}, nulls, 0)), nil
}

// appendItems appends the positions of the n items of a list, or nulls if the list is null.
func appendItems(positions []int32, valid bool, from, n int64) []int32 {
	for k := range n {
		at := take.Null
		if valid {
			at = int32(from + k)
		}
		positions = append(positions, at)
	}
	return positions
}

package arrowipc

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
)

// Fields of the flatbuffer tables Schema, Field, DictionaryEncoding and KeyValue.
//
// A field has a type and, depending on it, children. If it has a dictionary encoding, its
// type and children describe the values of the dictionary, and its arrays hold indices,
// int32 unless indexType is set. Fields may share a dictionary by its id.
const (
	schemaEndianness slot = 4
	schemaFields     slot = 6
	schemaMetadata   slot = 8

	fieldName       slot = 4
	fieldNullable   slot = 6
	fieldTypeType   slot = 8
	fieldType       slot = 10
	fieldDictionary slot = 12
	fieldChildren   slot = 14
	fieldMetadata   slot = 16

	encodingID        slot = 4
	encodingIndexType slot = 6
	encodingOrdered   slot = 8

	keyValueKey   slot = 4
	keyValueValue slot = 6
)

// A node is the part of a field that decoding its arrays needs. The nodes of a schema form
// a tree in the order of the buffers.
type node struct {
	name     string
	parent   *node // nil for a column
	dtype    arrow.DataType
	layout   layout
	width    int64 // bytes per value, index or offset; values per list of fixed size
	text     bool  // the bytes must be UTF-8
	children []*node
	dict     *dictionary // the dictionary of the indices, for layoutDictionary
}

// path returns the names from the column down to n, joined by dots. It is computed only for errors: if
// every field stored its path, the memory could be quadratic in the size of the schema.
func (n *node) path() string {
	var names []string
	for ; n != nil; n = n.parent {
		names = append(names, n.name)
	}
	slices.Reverse(names)
	return strings.Join(names, ".")
}

// A dictionary is the state of one dictionary id of the stream.
type dictionary struct {
	values *node // type of the values; its dtype is the value type
	nested bool  // the values contain further dictionaries
	data   arrow.ArrayData
	size   int64 // bytes that data keeps alive
}

// A schemaReader turns a Schema message into an Arrow schema and its tree of nodes.
type schemaReader struct {
	limits Limits
	fields int // fields so far, including nested ones
	dicts  map[int64]*dictionary
}

// read returns the schema and one node per column.
func (r *schemaReader) read(t table) (*arrow.Schema, []*node, error) {
	if t.int16(schemaEndianness, 0) != 0 { // 0 is little
		return nil, nil, unsupported(nil, "big-endian data")
	}
	var fields []arrow.Field
	var nodes []*node
	err := t.tables(schemaFields, func(i int, elem table) error {
		if i == r.limits.MaxColumns {
			return tooLarge(nil, "more than %d columns", r.limits.MaxColumns)
		}
		field, n, err := r.field(elem, nil, 1)
		fields, nodes = append(fields, field), append(nodes, n)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	metadata, err := readMetadata(t, schemaMetadata)
	if err != nil {
		return nil, nil, err
	}
	if t.f.err != nil {
		return nil, nil, t.f.err
	}
	return arrow.NewSchema(fields, &metadata), nodes, nil
}

// field reads the field of a table and all fields below it. A field of an extension type
// gets its storage type; the name of the extension is in the field's metadata.
func (r *schemaReader) field(t table, parent *node, depth int) (arrow.Field, *node, error) {
	name := t.string(fieldName)
	n := &node{name: name, parent: parent}
	switch r.fields++; {
	case !utf8.ValidString(name):
		return arrow.Field{}, nil, invalid(n, "the name is not valid UTF-8")
	case depth > r.limits.MaxDepth:
		return arrow.Field{}, nil, tooLarge(n, "nested more than %d deep", r.limits.MaxDepth)
	case r.fields > fieldsPerColumn*r.limits.MaxColumns:
		return arrow.Field{}, nil, tooLarge(n, "more than %d fields", fieldsPerColumn*r.limits.MaxColumns)
	}
	var fields []arrow.Field
	err := t.tables(fieldChildren, func(_ int, elem table) error {
		field, child, err := r.field(elem, n, depth+1)
		fields, n.children = append(fields, field), append(n.children, child)
		return err
	})
	if err != nil {
		return arrow.Field{}, nil, err
	}
	metadata, err := readMetadata(t, fieldMetadata)
	if err != nil {
		return arrow.Field{}, nil, err
	}
	if err := n.setType(t, fields); err != nil {
		return arrow.Field{}, nil, err
	}
	if n, err = r.encoded(t, n); err != nil {
		return arrow.Field{}, nil, err
	}
	if t.f.err != nil {
		return arrow.Field{}, nil, t.f.err
	}
	return arrow.Field{Name: name, Type: n.dtype, Nullable: t.bool(fieldNullable), Metadata: metadata}, n, nil
}

// encoded returns the node of a field with the plain type of values: values itself, or indices into a
// dictionary of them.
func (r *schemaReader) encoded(t table, values *node) (*node, error) {
	encoding, ok := t.table(fieldDictionary)
	if !ok {
		return values, t.f.err
	}
	var index arrow.DataType = arrow.PrimitiveTypes.Int32
	if it, ok := encoding.table(encodingIndexType); ok {
		var err error
		if index, err = intType(it, values); err != nil {
			return nil, err
		}
	}
	id := encoding.int64(encodingID)
	dict := r.dicts[id]
	switch {
	case t.f.err != nil:
		return nil, t.f.err
	case dict == nil:
		dict = &dictionary{values: values, nested: values.usesDictionaries()}
		r.dicts[id] = dict
	case !arrow.TypeEqual(dict.values.dtype, values.dtype):
		return nil, invalid(values, "shares dictionary %d with a column of another type", id)
	}
	dtype := &arrow.DictionaryType{IndexType: index, ValueType: dict.values.dtype, Ordered: encoding.bool(encodingOrdered)}
	width := int64(dtype.BitWidth() / 8)
	return &node{name: values.name, parent: values.parent, dtype: dtype, layout: layoutDictionary, width: width, dict: dict}, nil
}

func (n *node) usesDictionaries() bool {
	for _, child := range n.children {
		if child.dict != nil || child.usesDictionaries() {
			return true
		}
	}
	return false
}

// readMetadata reads a vector of KeyValue. A value may be arbitrary bytes, as in other implementations.
func readMetadata(t table, s slot) (arrow.Metadata, error) {
	var keys, values []string
	err := t.tables(s, func(_ int, elem table) error {
		keys = append(keys, elem.string(keyValueKey))
		values = append(values, elem.string(keyValueValue))
		return nil
	})
	if err != nil || len(keys) == 0 {
		return arrow.Metadata{}, err
	}
	return arrow.NewMetadata(keys, values), nil
}

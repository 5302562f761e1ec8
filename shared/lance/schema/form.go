package schema

import (
	"maps"
	"slices"
	"strconv"
)

// AppendForm appends a text that identifies the type that a column of the field reads as.
// Two fields have the same text exactly if their types are equal; ids and the name of the
// field itself do not count. Members count with their names and metadata, which are part of
// the type.
func (f *Field) AppendForm(b []byte) []byte { return f.AppendFormOf(b, nil) }

// AppendFormOf appends the form of the field like AppendForm; of appends additional bytes for each
// field.
func (f *Field) AppendFormOf(b []byte, of func([]byte, *Field) []byte) []byte {
	b = appendCounted(b, f.LogicalType)
	if f.Nullable {
		b = append(b, '?')
	}
	if len(f.Metadata) > 0 {
		b = appendMetadata(b, f.Metadata)
	}
	if of != nil {
		b = of(b, f)
	}
	if len(f.Children) == 0 {
		return b
	}
	b = append(b, '(')
	for _, child := range f.Children {
		b = appendCounted(b, child.Name)
		b = child.AppendFormOf(b, of)
		b = append(b, ',')
	}
	return append(b, ')')
}

// appendMetadata appends metadata in the order of the keys.
func appendMetadata(b []byte, metadata map[string]string) []byte {
	b = append(b, '{')
	for _, key := range slices.Sorted(maps.Keys(metadata)) {
		b = appendCounted(appendCounted(b, key), metadata[key])
	}
	return append(b, '}')
}

// appendCounted appends a text after its length, so that no two sequences of texts look the
// same.
func appendCounted(b []byte, text string) []byte {
	b = strconv.AppendInt(b, int64(len(text)), 10)
	return append(append(b, ':'), text...)
}

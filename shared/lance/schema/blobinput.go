package schema

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
)

// blobValue is the form in which a writer passes a value of a blob column of version 2.2:
// data, or the URI of an object that holds it. A value that is only a part of that object
// has a position and a size as well.
var (
	blobValue = []arrow.Field{
		{Name: "data", Type: arrow.BinaryTypes.LargeBinary, Nullable: true},
		{Name: "uri", Type: arrow.BinaryTypes.String, Nullable: true},
	}
	blobPartValue = append(blobValue[:2:2],
		arrow.Field{Name: "position", Type: arrow.PrimitiveTypes.Uint64, Nullable: true},
		arrow.Field{Name: "size", Type: arrow.PrimitiveTypes.Uint64, Nullable: true},
	)
)

// holdsBlobs reports whether values of an incoming field can be stored in a blob column of
// version 2.2: structs as above, or binaries that are marked as blobs of older versions.
func holdsBlobs(field arrow.Field) bool {
	switch t := field.Type.(type) {
	case *arrow.StructType:
		want := blobPartValue[:min(t.NumFields(), len(blobPartValue))]
		if t.NumFields() < len(blobValue) || t.NumFields() == len(blobValue)+1 || t.NumFields() > len(blobPartValue) {
			return false
		}
		for i, member := range t.Fields() {
			if member.Name != want[i].Name || !arrow.TypeEqual(member.Type, want[i].Type) {
				return false
			}
		}
		return true
	case *arrow.BinaryType, *arrow.LargeBinaryType:
		_, marked := field.Metadata.GetValue(blobKey)
		return marked
	}
	return false
}

// blobSizes are the sizes from which blobs are stored in another way, with the keys under
// which a field's metadata can override them.
var blobSizes = []struct{ key, otherwise string }{
	{"lance-encoding:blob-inline-size-threshold", "65536"},
	{"lance-encoding:blob-dedicated-size-threshold", "4194304"},
	{"lance-encoding:blob-pack-file-size-threshold", "1073741824"},
}

// matchBlobSizes returns an error if the data request other blob sizes than the table has, as in
// the native writer.
func matchBlobSizes(path string, want *Field, have arrow.Field) error {
	for _, s := range blobSizes {
		asked, ok := have.Metadata.GetValue(s.key)
		if !ok {
			continue
		}
		size, ok := want.Metadata[s.key]
		if !ok {
			size = s.otherwise
		}
		if asked != size {
			return fmt.Errorf("%w: field %s has %s=%s in the table and %s in the data", ErrMismatch, path, s.key, size, asked)
		}
	}
	return nil
}

// WithBlobsV2 returns the schema of a new table in which marked binaries, the blobs of
// files before version 2.2, are blobs of version 2.2.
func WithBlobsV2(s *arrow.Schema) *arrow.Schema {
	metadata := s.Metadata()
	return arrow.NewSchema(mapFields(s.Fields(), blobV2), &metadata)
}

// blobV2 turns a blob of an older version into one of version 2.2.
func blobV2(f arrow.Field) arrow.Field {
	_, marked := f.Metadata.GetValue(blobKey)
	if id := f.Type.ID(); !marked || id != arrow.BINARY && id != arrow.LARGE_BINARY {
		f.Type = mapChildren(f.Type, blobV2)
		return f
	}
	metadata := f.Metadata.ToMap()
	delete(metadata, blobKey)
	metadata[extensionName] = blobV2Extension
	f.Type, f.Metadata = arrow.StructOf(blobValue...), arrowMetadata(metadata)
	return f
}

// BlobValues returns the columns of the table for a writer that writes its rows again:
// blobs are values, in the form with position and size.
func (s *Schema) BlobValues() *arrow.Schema {
	plain := s.Arrow()
	metadata := plain.Metadata()
	return arrow.NewSchema(mapFields(plain.Fields(), blobPart), &metadata)
}

// blobPart gives blob v2 fields, at any depth, the form with position and size.
func blobPart(f arrow.Field) arrow.Field {
	if name, _ := f.Metadata.GetValue(extensionName); name == blobV2Extension {
		f.Type = arrow.StructOf(blobPartValue...)
		return f
	}
	f.Type = mapChildren(f.Type, blobPart)
	return f
}

func mapFields(fields []arrow.Field, f func(arrow.Field) arrow.Field) []arrow.Field {
	out := make([]arrow.Field, len(fields))
	for i := range fields {
		out[i] = f(fields[i])
	}
	return out
}

// mapChildren applies f to the members of a struct or the item of a list. Other types have
// no blobs below them.
func mapChildren(t arrow.DataType, f func(arrow.Field) arrow.Field) arrow.DataType {
	switch t := t.(type) {
	case *arrow.StructType:
		return arrow.StructOf(mapFields(t.Fields(), f)...)
	case *arrow.ListType:
		return arrow.ListOfField(f(t.ElemField()))
	case *arrow.LargeListType:
		return arrow.LargeListOfField(f(t.ElemField()))
	}
	return t
}

package schema

// A blob column holds large values whose bytes lie outside of the column. A scan returns
// descriptions, which locate the bytes; clients request the bytes separately. Up to data file
// version 2.1 the bytes are in the same file:
//
//	struct<position: uint64, size: uint64>
//
// From version 2.2 on they may also be in side files or in any other object:
//
//	struct<kind: uint8, position: uint64, size: uint64, blob_id: uint32, blob_uri: string>
//
// Source: datatypes.rs of crate lance-core. Package datafile decodes descriptions and documents
// their members.
var (
	blobDescription = []Field{
		{Name: "position", LogicalType: "uint64", Nullable: true},
		{Name: "size", LogicalType: "uint64", Nullable: true},
	}
	blobV2Description = []Field{
		{Name: "kind", LogicalType: "uint8"},
		{Name: "position", LogicalType: "uint64"},
		{Name: "size", LogicalType: "uint64"},
		{Name: "blob_id", LogicalType: "uint32"},
		{Name: "blob_uri", LogicalType: "string"},
	}
)

// Described returns the schema of a scan: see [Field.Described].
func (s *Schema) Described() *Schema {
	out := &Schema{Metadata: s.Metadata, Fields: make([]*Field, len(s.Fields))}
	for i, f := range s.Fields {
		out.Fields[i] = f.Described()
	}
	return out
}

// Described returns the field in the form of scans: blobs, at any depth, become structs that locate
// their bytes. A field without blobs is returned unchanged. The members of a description have id
// -1, because they are not fields of the table.
func (f *Field) Described() *Field {
	switch {
	case f.isDescription():
		return f
	case f.IsBlobV2():
		return f.described(blobV2Description, map[string]string{blobKey: "true", packedKey: "true"})
	case f.IsBlob():
		return f.described(blobDescription, map[string]string{blobKey: "true"})
	}
	var out *Field // a copy, once there is something to change
	for i, child := range f.Children {
		described := child.Described()
		if described == child {
			continue
		}
		if out == nil {
			copied := *f
			out = &copied
			out.Children = append([]*Field(nil), f.Children...)
		}
		out.Children[i] = described
	}
	if out == nil {
		return f
	}
	if err := out.resolve(); err != nil {
		return f // cannot be: the children fitted before, and no name has changed
	}
	return out
}

// isDescription reports whether the field is already the description of a blob.
func (f *Field) isDescription() bool {
	return f.LogicalType == "struct" && f.IsBlob() && !f.IsBlobV2()
}

// described returns the field as a struct of the description's members.
func (f *Field) described(members []Field, metadata map[string]string) *Field {
	out := *f
	out.LogicalType, out.Metadata = "struct", metadata
	out.Children = make([]*Field, len(members))
	for i := range members {
		m := members[i]
		m.ID, m.ParentID, m.Type = -1, f.ID, plainTypes[m.LogicalType]
		out.Children[i] = &m
	}
	out.Type = structOf(out.Children)
	return &out
}

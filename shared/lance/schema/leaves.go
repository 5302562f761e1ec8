package schema

import (
	"slices"
	"strings"
)

// Metadata keys of fields that decide how a field is stored.
const (
	extensionName = "ARROW:extension:name"
	extensionMeta = "ARROW:extension:metadata"
	blobKey       = "lance-encoding:blob"
	packedKey     = "lance-encoding:packed"
	oldPackedKey  = "packed"

	jsonExtension     = "lance.json"
	arrowJSON         = "arrow.json"
	blobV2Extension   = "lance.blob.v2"
	bfloat16Extension = "lance.bfloat16"
)

// Leaves returns the fields at and below f that data files of version 2.1 and later store
// as columns, in the order of the columns: fields without children, and packed structs and
// blobs, which are one column regardless of their children.
func (f *Field) Leaves() []*Field {
	if f.IsLeaf() {
		return []*Field{f}
	}
	var leaves []*Field
	for _, child := range f.Children {
		leaves = append(leaves, child.Leaves()...)
	}
	return leaves
}

// LeavesV20 returns the fields at and below f that data files of version 2.0 store as columns, in
// pre-order: all but the descendants of packed structs and blobs.
func (f *Field) LeavesV20() []*Field {
	nodes := []*Field{f}
	if f.IsLeaf() {
		return nodes
	}
	for _, child := range f.Children {
		nodes = append(nodes, child.LeavesV20()...)
	}
	return nodes
}

// Leaves returns the leaves of all fields of the schema; see [Field.Leaves].
func (s *Schema) Leaves() []*Field {
	var leaves []*Field
	for _, f := range s.Fields {
		leaves = append(leaves, f.Leaves()...)
	}
	return leaves
}

// LeavesV20 returns the columns of a 2.0 file of the schema; see [Field.LeavesV20].
func (s *Schema) LeavesV20() []*Field {
	var nodes []*Field
	for _, f := range s.Fields {
		nodes = append(nodes, f.LeavesV20()...)
	}
	return nodes
}

// IsLeaf reports whether the field is one column of a data file of version 2.1 or later.
func (f *Field) IsLeaf() bool {
	return len(f.Children) == 0 || f.IsPacked() || f.IsBlob()
}

// IsPacked reports whether the field is a struct whose rows are stored whole.
func (f *Field) IsPacked() bool {
	return f.LogicalType == "struct" && (truthy(f.Metadata[packedKey]) || truthy(f.Metadata[oldPackedKey]))
}

// IsBlob reports whether the field's values are stored outside its column.
func (f *Field) IsBlob() bool {
	_, marked := f.Metadata[blobKey]
	return marked || f.LogicalType == "blob" || f.IsBlobV2()
}

// IsBlobV2 reports whether the field is a blob in the form of data files 2.2.
func (f *Field) IsBlobV2() bool { return f.Metadata[extensionName] == blobV2Extension }

// HoldsBlobs reports whether a blob is at or below f.
func (f *Field) HoldsBlobs() bool { return f.holds((*Field).IsBlob) }

// HoldsBlobsV2 reports whether a blob in the form of data files 2.2 is at or below f.
func (f *Field) HoldsBlobsV2() bool { return f.holds((*Field).IsBlobV2) }

func (f *Field) holds(is func(*Field) bool) bool {
	return is(f) || slices.ContainsFunc(f.Children, func(child *Field) bool { return child.holds(is) })
}

// IsJSON reports whether the field holds JSON in the format's binary form (JSONB),
// which Arrow sees as large binary.
func (f *Field) IsJSON() bool { return f.LogicalType == "json" }

func truthy(value string) bool {
	switch strings.ToLower(value) {
	case "1", "true", "on", "yes", "y":
		return true
	}
	return false
}

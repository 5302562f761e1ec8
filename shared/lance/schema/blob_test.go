package schema

import (
	"testing"

	"tiltyard/shared/lance/pb"
)

func TestDescribedBlobsAreStructsAtAnyDepth(t *testing.T) {
	s, err := FromFields([]*pb.Field{
		{ID: 0, ParentID: -1, Name: "old", LogicalType: "large_binary", Nullable: true, Metadata: map[string]string{blobKey: "true"}},
		{ID: 1, ParentID: -1, Name: "list", LogicalType: "list.struct", Nullable: true},
		{ID: 2, ParentID: 1, Name: "item", LogicalType: "struct", Nullable: true},
		{ID: 3, ParentID: 2, Name: "new", LogicalType: "struct", Nullable: true, Metadata: map[string]string{extensionName: blobV2Extension}},
		{ID: 4, ParentID: 3, Name: "data", LogicalType: "large_binary", Nullable: true},
		{ID: 5, ParentID: 3, Name: "uri", LogicalType: "string", Nullable: true},
		{ID: 6, ParentID: -1, Name: "plain", LogicalType: "int32"},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := s.Described()
	for i, want := range []string{
		"struct<position: uint64 nullable, size: uint64 nullable>",
		"list<item: struct<new: struct<kind: uint8, position: uint64, size: uint64, blob_id: uint32, blob_uri: utf8> nullable>, nullable>",
		"int32",
	} {
		if have := got.Fields[i].Type.String(); have != want {
			t.Errorf("%s: got type %s, want %s", s.Fields[i].Name, have, want)
		}
	}
	if len(got.Leaves()) != len(s.Leaves()) {
		t.Errorf("got %d columns, want %d", len(got.Leaves()), len(s.Leaves()))
	}
	if again := got.Described(); again.Fields[0] != got.Fields[0] || again.Fields[1] != got.Fields[1] {
		t.Error("what has been described was described again")
	}
	if s.Fields[0].Type.String() != "large_binary" || s.ByID(4) == nil {
		t.Error("describing changed the schema")
	}
}

func TestSchemasOfDataFilesDescribeBlobsWithoutIDs(t *testing.T) {
	blob := map[string]string{blobKey: "true", packedKey: "true"}
	s, err := FromFields([]*pb.Field{
		{ID: 0, ParentID: -1, Name: "b", LogicalType: "struct", Metadata: blob},
		{ID: -1, ParentID: -1, Name: "kind", LogicalType: "uint8"},
		{ID: -1, ParentID: -1, Name: "position", LogicalType: "uint64"},
		{ID: 6, ParentID: -1, Name: "i", LogicalType: "int32"},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Fields) != 2 || len(s.Fields[0].Children) != 2 {
		t.Errorf("got fields %v, want b with two members and i", s.Fields)
	}
	if _, err := FromFields([]*pb.Field{{ID: -1, ParentID: -1, Name: "x", LogicalType: "int32"}}, nil); err == nil {
		t.Error("a field without an id was taken")
	}
}

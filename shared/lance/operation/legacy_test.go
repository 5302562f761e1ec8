package operation_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/operation"
	"tiltyard/shared/lance/pb"
)

// Fragments of legacy data files hold all columns, and keep to their version.
func TestLegacyTablesStayWhole(t *testing.T) {
	fields := []*pb.Field{
		{ID: 0, ParentID: -1, Name: "id", LogicalType: "int64", Nullable: true},
		{ID: 1, ParentID: -1, Name: "s", LogicalType: "struct", Nullable: true},
		{ID: 2, ParentID: 1, Name: "a", LogicalType: "string", Nullable: true},
	}
	fragment := func(minor uint32, ids ...int32) *pb.Fragment {
		return &pb.Fragment{PhysicalRows: 3, Files: []pb.DataFile{{Path: "a.lance", Fields: ids, MajorVersion: 0, MinorVersion: minor, SizeBytes: 100}}}
	}
	made, err := operation.Create(&pb.Overwrite{Schema: fields, Fragments: []*pb.Fragment{fragment(2, 0, 1, 2)}}, lance.Legacy, false)
	if err != nil {
		t.Fatal(err)
	}
	if got := made.DataFormat.Version; got != "0.1" {
		t.Errorf("got format %s, want 0.1", got)
	}
	made.DataFormat = nil // as old writers leave it
	if made, err = operation.Apply(made, &pb.Append{Fragments: []*pb.Fragment{fragment(1, 0, 1, 2)}}); err != nil {
		t.Fatal(err)
	}
	if got := made.DataFormat.Version; got != "0.1" || made.ReaderFlags|made.WriterFlags != 0 {
		t.Errorf("got format %s and flags %b, %b; want 0.1 and none", got, made.ReaderFlags, made.WriterFlags)
	}
	_, err = operation.Apply(made, &pb.Append{Fragments: []*pb.Fragment{fragment(2, 0, 1)}})
	if !errors.Is(err, operation.ErrInvalid) || !strings.Contains(err.Error(), "column s.a") {
		t.Errorf("append without a member: got error %v, want ErrInvalid that names s.a", err)
	}
	_, err = operation.Apply(made, &pb.Project{Schema: append(slices.Clone(fields), &pb.Field{ID: 3, ParentID: -1, Name: "more", LogicalType: "int8", Nullable: true})})
	if err == nil {
		t.Error("a column that is nowhere is accepted")
	}
	words := append(slices.Clone(fields), &pb.Field{ID: 3, ParentID: -1, Name: "w", LogicalType: "dict:string:int8:false", Nullable: true})
	made, err = operation.Create(&pb.Overwrite{Schema: words, Fragments: []*pb.Fragment{fragment(2, 0, 1, 2, 3)}}, lance.Legacy, false)
	if err == nil {
		_, err = operation.Apply(made, &pb.Append{Fragments: []*pb.Fragment{fragment(2, 0, 1, 2, 3)}})
	}
	if !errors.Is(err, lance.ErrUnsupported) || !strings.Contains(err.Error(), "column w") {
		t.Errorf("without its dictionary: got error %v, want ErrUnsupported that names w", err)
	}
	made.Dictionaries = map[int32]arrow.Array{3: array.NewStringBuilder(memory.DefaultAllocator).NewArray()}
	grown, err := operation.Apply(made, &pb.Append{Fragments: []*pb.Fragment{fragment(2, 0, 1, 2, 3)}})
	if err != nil || grown.Dictionaries[3] == nil {
		t.Errorf("with its dictionary: got %v, %v", grown, err)
	}
	anew, err := operation.Apply(made, &pb.Overwrite{Schema: words, Fragments: []*pb.Fragment{fragment(2, 0, 1, 2, 3)}})
	if err != nil || len(anew.Dictionaries) != 0 {
		t.Errorf("written anew: got %v, %v, want no dictionary of other rows", anew, err)
	}
}

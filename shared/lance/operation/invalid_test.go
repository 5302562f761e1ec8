package operation

import (
	"errors"
	"testing"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/manifest"
	"tiltyard/shared/lance/pb"
)

// tableOf returns version 1 of a table with two fragments and fields 1, 2 and 3; field 1 is not
// nullable.
func tableOf(t *testing.T, stable bool) *manifest.Manifest {
	t.Helper()
	fields := fieldsWithout(0)
	fields[0].Nullable = false
	m, err := Create(&pb.Overwrite{Schema: fields, Fragments: []*pb.Fragment{columnsIn("a", 1, 2, 3), columnsIn("b", 1, 2, 3)}}, lance.V2_2, stable)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// columnsIn returns a new fragment of one file.
func columnsIn(path string, fields ...int32) *pb.Fragment {
	return &pb.Fragment{PhysicalRows: 10, Files: []pb.DataFile{fileOf(path, fields...)}}
}

func fileOf(path string, fields ...int32) pb.DataFile {
	f := pb.DataFile{Path: path, Fields: fields, MajorVersion: 2, MinorVersion: 2}
	for i := range fields {
		f.ColumnIndices = append(f.ColumnIndices, int32(i))
	}
	return f
}

func TestOperationsThatDoNotFitAreRefused(t *testing.T) {
	m := tableOf(t, false)
	first, second := m.Fragments[0], m.Fragments[1]
	shorter := *first
	shorter.PhysicalRows = 5
	deleted := columnsIn("c", 1)
	deleted.DeletionFile = &pb.DeletionFile{DeletedRows: 1}
	listed := columnsIn("c", 1)
	listed.RowIDs = []byte{}
	retyped := fieldsWithout(0)
	retyped[1].LogicalType = "string"
	added := append(fieldsWithout(0), &pb.Field{ID: 3, Name: "again", ParentID: -1, LogicalType: "int32", Nullable: true})
	added[2].ID = 9 // the column of id 3 gets another one
	segment := indexOf("i", 1, 0)
	covering := indexOf("i", 1, 0)
	covering.CoveringFields = []int32{2}
	replacement := func(fragment uint64, file pb.DataFile) pb.FileReplacement {
		return pb.FileReplacement{FragmentID: fragment, NewFile: file}
	}
	for name, op := range map[string]pb.Operation{
		"a file without fields":                 &pb.Append{Fragments: []*pb.Fragment{columnsIn("c")}},
		"an overwrite with deleted rows":        &pb.Overwrite{Schema: fieldsWithout(0), Fragments: []*pb.Fragment{deleted}},
		"an overwrite with base paths":          &pb.Overwrite{Schema: fieldsWithout(0), InitialBases: []pb.BasePath{{Path: "/b"}}},
		"a merge that lacks a fragment":         &pb.Merge{Schema: fieldsWithout(0), Fragments: []*pb.Fragment{first}},
		"a merge with a fragment twice":         &pb.Merge{Schema: fieldsWithout(0), Fragments: []*pb.Fragment{first, first}},
		"a merge with fewer rows":               &pb.Merge{Schema: fieldsWithout(0), Fragments: []*pb.Fragment{&shorter, second}},
		"a merge with row ids of new rows":      &pb.Merge{Schema: fieldsWithout(0), Fragments: []*pb.Fragment{first, second, listed}},
		"a merge to another type":               &pb.Merge{Schema: retyped, Fragments: []*pb.Fragment{first, second}},
		"a merge that uses an id again":         &pb.Merge{Schema: added, Fragments: []*pb.Fragment{first, second}},
		"a projection to no column":             &pb.Project{},
		"a projection to a new column":          &pb.Project{Schema: []*pb.Field{{ID: 7, Name: "new", ParentID: -1, LogicalType: "int32"}}},
		"a projection to another type":          &pb.Project{Schema: retyped},
		"a rewrite of no fragment":              &pb.Rewrite{Groups: []pb.RewriteGroup{{OldFragments: []*pb.Fragment{fragmentOf(9)}}}},
		"a rewrite of a fragment twice":         &pb.Rewrite{Groups: []pb.RewriteGroup{{OldFragments: []*pb.Fragment{first, first}}}},
		"new files of different fields":         &pb.DataReplacement{Replacements: []pb.FileReplacement{replacement(0, fileOf("c", 1)), replacement(1, fileOf("d", 2))}},
		"a new file of no fragment":             &pb.DataReplacement{Replacements: []pb.FileReplacement{replacement(5, fileOf("c", 1))}},
		"two new files of a fragment":           &pb.DataReplacement{Replacements: []pb.FileReplacement{replacement(0, fileOf("c", 1)), replacement(0, fileOf("d", 1))}},
		"a new file with more than is replaced": &pb.DataReplacement{Replacements: []pb.FileReplacement{replacement(0, fileOf("c", 1, 8))}},
		"an index on no field":                  &pb.CreateIndex{NewIndices: []*pb.IndexMetadata{indexOf("i", 8, 0)}},
		"an index with covering fields":         &pb.CreateIndex{NewIndices: []*pb.IndexMetadata{covering}},
		"an index that names rows in two ways":  &pb.CreateIndex{NewIndices: []*pb.IndexMetadata{segment, addressed(indexOf("i", 1, 1))}},
		"metadata of no field":                  &pb.UpdateConfig{FieldMetadata: map[int32]*pb.UpdateMap{8: set("a")}},
		"a primary key that may be null":        keyOn(2, primaryKey, "true"),
		"a primary key that is none":            keyOn(1, primaryKey, "no"),
		"a clustering key that is none":         keyOn(1, clusteringKeyPosition, "first"),
	} {
		if _, err := Apply(m, op); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v, want ErrInvalid", name, err)
		}
	}
}

func addressed(x *pb.IndexMetadata) *pb.IndexMetadata {
	version := int32(1)
	x.Details, x.IndexVersion = &pb.Any{TypeURL: "/lance.table.BTreeIndexDetails"}, &version
	return x
}

func keyOn(field int32, key, value string) *pb.UpdateConfig {
	return &pb.UpdateConfig{FieldMetadata: map[int32]*pb.UpdateMap{field: {Entries: []pb.UpdateMapEntry{{Key: key, Value: &value}}}}}
}

func TestPrimaryKeyIsSetOnce(t *testing.T) {
	m, err := Apply(tableOf(t, false), keyOn(1, primaryKeyPosition, "1"))
	if err != nil {
		t.Fatal(err)
	}
	if f := m.Schema.ByID(1); !f.PrimaryKey || f.PrimaryKeyPos != 1 {
		t.Errorf("field 1 is %+v, want it first in the primary key", f)
	}
	if _, err := Apply(m, keyOn(1, primaryKey, "false")); !errors.Is(err, ErrInvalid) {
		t.Errorf("a second key: %v, want ErrInvalid", err)
	}
	if _, err := Apply(m, &pb.UpdateConfig{FieldMetadata: map[int32]*pb.UpdateMap{1: {Replace: true}}}); !errors.Is(err, ErrInvalid) {
		t.Errorf("the metadata of the key's field replaced: %v, want ErrInvalid", err)
	}
	if _, err := Apply(m, keyOn(2, "other", "1")); err != nil {
		t.Errorf("other metadata: %v", err)
	}
}

func TestTablesThatWeWouldNotKeepTrueAreRefused(t *testing.T) {
	m := tableOf(t, false).Next()
	m.SetIndices([]*pb.IndexMetadata{indexOf(memWALIndex, 1)})
	if _, err := Apply(m, sample("Append", 1)); !errors.Is(err, lance.ErrUnsupported) {
		t.Errorf("a table with a write-ahead log: %v, want ErrUnsupported", err)
	}
	covering := tableOf(t, false).Next()
	covering.WriterFlags |= manifest.FlagCoveringIndices
	if _, err := Apply(covering, sample("Append", 1)); !errors.Is(err, lance.ErrUnsupported) {
		t.Errorf("a table with covering indices: %v, want ErrUnsupported", err)
	}
	if _, err := Apply(tableOf(t, false), &pb.OpaqueOperation{Number: 150}); !errors.Is(err, lance.ErrUnsupported) {
		t.Errorf("an unknown operation: %v, want ErrUnsupported", err)
	}
	if _, err := Restored(tableOf(t, true), tableOf(t, false)); !errors.Is(err, ErrInvalid) {
		t.Errorf("a restore to before stable row ids: %v, want ErrInvalid", err)
	}
}

// A new file replaces the file with exactly its fields. In files with more fields, its fields are
// marked as superseded.
func TestNewFileReplacesColumns(t *testing.T) {
	m := tableOf(t, true)
	for _, c := range []struct {
		name string
		file pb.DataFile
		want []pb.DataFile
	}{
		{"all columns", fileOf("new", 1, 2, 3), []pb.DataFile{fileOf("new", 1, 2, 3)}},
		{"one of them", fileOf("new", 2), []pb.DataFile{fileOf("a", 1, tombstone, 3), fileOf("new", 2)}},
	} {
		next, err := Apply(m, &pb.DataReplacement{Replacements: []pb.FileReplacement{{FragmentID: 0, NewFile: c.file}}})
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		got := next.Fragments[0]
		same := len(got.Files) == len(c.want)
		for i := 0; same && i < len(c.want); i++ {
			same = got.Files[i].Equal(&c.want[i])
		}
		if !same {
			t.Errorf("%s: files %+v, want %+v", c.name, got.Files, c.want)
		}
		if v := versionsOf(t, got.UpdatedAt); v[0] != 2 {
			t.Errorf("%s: rows were updated in version %d, want 2", c.name, v[0])
		}
		if next.Fragments[1] != m.Fragments[1] || len(m.Fragments[0].Files) != 1 || m.Fragments[0].Files[0].Fields[1] != 2 {
			t.Errorf("%s: the version before was changed", c.name)
		}
	}
}

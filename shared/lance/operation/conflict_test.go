package operation

import (
	"fmt"
	"strings"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"

	"tiltyard/shared/lance/pb"
)

// names are the operations in the order of the rows and columns of the tables below.
const names = "Append Delete Update Overwrite CreateIndex Rewrite Merge Restore ReserveFragments Project UpdateConfig DataReplacement Clone UpdateBases"

// Verdicts when both operations touch the same: fragment, column, name of an index, key
// of the config, base path. Rows that both delete are not seen here.
const same = `
	                 App Del Upd Ovw Idx Rew Mrg Res Rsv Prj Cfg Rep Cln Bas
	Append           .   .   .   X   .   .   .   X   .   .   .   .   .   .
	Delete           .   .   .   X   .   R   R   X   .   .   .   R   .   .
	Update           .   .   .   X   .   R   R   X   .   .   .   R   .   .
	Overwrite        .   .   .   X   .   .   .   .   .   .   X   .   .   .
	CreateIndex      .   .   .   X   R   R   .   X   .   .   .   R   .   .
	Rewrite          .   R   R   X   R   R   R   X   .   .   .   R   .   .
	Merge            R   R   R   X   .   R   R   X   .   X   .   R   .   .
	Restore          .   .   .   .   .   .   .   .   .   .   .   .   .   .
	ReserveFragments .   .   .   X   .   .   .   X   .   .   .   .   .   .
	Project          .   .   .   X   .   .   R   X   .   R   .   .   .   .
	UpdateConfig     .   .   .   X   .   .   .   .   .   .   X   .   .   .
	DataReplacement  .   .   R   X   R   R   R   X   .   X   .   R   .   .
	Clone            .   .   .   .   .   .   .   .   .   .   .   .   .   .
	UpdateBases      .   .   .   .   .   .   .   .   .   .   .   .   .   X`

// Verdicts when each touches something else.
const apart = `
	                 App Del Upd Ovw Idx Rew Mrg Res Rsv Prj Cfg Rep Cln Bas
	Append           .   .   .   X   .   .   .   X   .   .   .   .   .   .
	Delete           .   .   .   X   .   .   R   X   .   .   .   .   .   .
	Update           .   .   .   X   .   .   R   X   .   .   .   .   .   .
	Overwrite        .   .   .   R   .   .   .   .   .   .   .   .   .   .
	CreateIndex      .   .   .   X   .   .   .   X   .   .   .   .   .   .
	Rewrite          .   .   .   X   .   .   R   X   .   .   .   .   .   .
	Merge            R   R   R   X   .   R   R   X   .   X   .   R   .   .
	Restore          .   .   .   .   .   .   .   .   .   .   .   .   .   .
	ReserveFragments .   .   .   X   .   .   .   X   .   .   .   .   .   .
	Project          .   .   .   X   .   .   R   X   .   R   .   .   .   .
	UpdateConfig     .   .   .   .   .   .   .   .   .   .   .   .   .   .
	DataReplacement  .   .   .   X   .   .   R   X   .   .   .   .   .   .
	Clone            .   .   .   .   .   .   .   .   .   .   .   .   .   .
	UpdateBases      .   .   .   .   .   .   .   .   .   .   .   .   .   .`

// sample returns an operation of a name that touches the fragment, field, index name,
// key and path numbered n.
func sample(name string, n int32) pb.Operation {
	fragments := []*pb.Fragment{fragmentOf(uint64(n))}
	value := "v"
	switch name {
	case "Append":
		return &pb.Append{Fragments: []*pb.Fragment{fragmentOf(0)}}
	case "Delete":
		return &pb.Delete{UpdatedFragments: fragments}
	case "Update":
		return &pb.Update{UpdatedFragments: fragments, NewFragments: []*pb.Fragment{fragmentOf(0)}}
	case "Overwrite":
		return &pb.Overwrite{Schema: fieldsWithout(0), ConfigUpserts: map[string]string{fmt.Sprint("key ", n): "v"}}
	case "CreateIndex":
		return &pb.CreateIndex{NewIndices: []*pb.IndexMetadata{indexOf(fmt.Sprint("index ", n), n, n)}}
	case "Rewrite":
		return &pb.Rewrite{Groups: []pb.RewriteGroup{{OldFragments: fragments, NewFragments: []*pb.Fragment{fragmentOf(7)}}}}
	case "Merge":
		return &pb.Merge{Fragments: fragments, Schema: fieldsWithout(0), PreservesNullability: true}
	case "Restore":
		return &pb.Restore{Version: 1}
	case "ReserveFragments":
		return &pb.ReserveFragments{NumFragments: 1}
	case "Project":
		return &pb.Project{Schema: fieldsWithout(n), PreservesNullability: true}
	case "UpdateConfig":
		return &pb.UpdateConfig{Config: &pb.UpdateMap{Entries: []pb.UpdateMapEntry{{Key: fmt.Sprint("key ", n), Value: &value}}}}
	case "DataReplacement":
		return &pb.DataReplacement{Replacements: []pb.FileReplacement{{FragmentID: uint64(n), NewFile: pb.DataFile{Path: "new", Fields: []int32{n}}}}}
	case "Clone":
		return &pb.Clone{IsShallow: true}
	case "UpdateBases":
		return &pb.UpdateBases{NewBases: []pb.BasePath{{Path: fmt.Sprint("/base/", n)}}}
	}
	panic(name)
}

func fragmentOf(id uint64) *pb.Fragment {
	return &pb.Fragment{ID: id, PhysicalRows: 10, Files: []pb.DataFile{{Path: fmt.Sprint("file ", id), Fields: []int32{1, 2, 3}}}}
}

func fieldsWithout(id int32) []*pb.Field {
	var fields []*pb.Field
	for i := int32(1); i <= 3; i++ {
		if i != id {
			fields = append(fields, &pb.Field{ID: i, Name: fmt.Sprint("c", i), ParentID: -1, LogicalType: "int32", Nullable: true})
		}
	}
	return fields
}

var lastUUID byte

func indexOf(name string, field int32, fragments ...int32) *pb.IndexMetadata {
	lastUUID++ // each is another
	covers := roaring.New()
	for _, f := range fragments {
		covers.Add(uint32(f))
	}
	raw, err := covers.ToBytes()
	if err != nil {
		panic(err)
	}
	return &pb.IndexMetadata{UUID: pb.UUID{lastUUID}, Name: name, Fields: []int32{field}, FragmentBitmap: raw}
}

var marks = map[string]Verdict{".": Compatible, "R": Redo, "X": Incompatible}

func TestCheckOfEachPairOfOperations(t *testing.T) {
	for _, table := range []struct {
		name   string
		cells  string
		theirs int32
	}{{"same", same, 1}, {"apart", apart, 2}} {
		rows := strings.Split(strings.TrimSpace(table.cells), "\n")[1:]
		columns := strings.Fields(names)
		if len(rows) != len(columns) {
			t.Fatalf("%d rows, want %d", len(rows), len(columns))
		}
		for _, row := range rows {
			cells := strings.Fields(row)
			for i, theirs := range columns {
				t.Run(fmt.Sprintf("%s/%s after %s", table.name, cells[0], theirs), func(t *testing.T) {
					ours := Ours{Operation: sample(cells[0], 1), ReadFragment: fragmentOf}
					if got, want := ours.Check(sample(theirs, table.theirs)), marks[cells[1+i]]; got != want {
						t.Errorf("%v, want %v", got, want)
					}
				})
			}
		}
	}
}

func set(entries ...string) *pb.UpdateMap {
	m := &pb.UpdateMap{}
	for _, key := range entries {
		value := "v"
		m.Entries = append(m.Entries, pb.UpdateMapEntry{Key: key, Value: &value})
	}
	return m
}

func unset(key string) *pb.UpdateMap { return &pb.UpdateMap{Entries: []pb.UpdateMapEntry{{Key: key}}} }

func keysOf(hashes ...uint64) *pb.KeyExistenceFilter {
	return &pb.KeyExistenceFilter{FieldIDs: []int32{1}, Exact: &pb.KeyHashes{Hashes: hashes}}
}

func bloom(bits byte, items uint64) *pb.KeyExistenceFilter {
	return &pb.KeyExistenceFilter{FieldIDs: []int32{1}, Bloom: &pb.BloomFilter{Bitmap: []byte{bits}, NumberOfItems: items}}
}

// The footnotes of the table in Check.
func TestPairsThatDependOnMore(t *testing.T) {
	const other = 2
	var (
		mayBeStricter  = &pb.Project{Schema: fieldsWithout(0)}
		mergeOfNonNull = &pb.Merge{Fragments: []*pb.Fragment{fragmentOf(other)}, Schema: fieldsWithout(0)}
		inColumns      = &pb.Update{UpdatedFragments: []*pb.Fragment{fragmentOf(1)}, FieldsModified: []uint32{1}, Mode: pb.RewriteColumns}
		removesOne     = &pb.Delete{DeletedFragmentIDs: []uint64{1}}
		updateRemoves  = &pb.Update{RemovedFragmentIDs: []uint64{1}}
		moved          = fragmentOf(1)
		schemaMetadata = &pb.UpdateConfig{SchemaMetadata: set("a")}
		fieldMetadata  = &pb.UpdateConfig{FieldMetadata: map[int32]*pb.UpdateMap{1: set("a")}}
		tableMetadata  = &pb.UpdateConfig{TableMetadata: set("a")}
		uncovered      = &pb.CreateIndex{NewIndices: []*pb.IndexMetadata{{Name: "index 1", Fields: []int32{1}}}}
		segment        = indexOf("index 1", 1, 1)
		dropped        = &pb.CreateIndex{RemovedIndices: []*pb.IndexMetadata{segment}}
		rebuilt        = &pb.CreateIndex{NewIndices: []*pb.IndexMetadata{indexOf("index 1", 1, 1)}, RemovedIndices: []*pb.IndexMetadata{segment}}
	)
	moved.Files[0].Path = "elsewhere"
	name := "lake"
	for _, c := range []struct {
		name         string
		ours, theirs pb.Operation
		want         Verdict
	}{
		{"append after a projection that may forbid nulls", sample("Append", 1), mayBeStricter, Redo},
		{"append after a merge that may forbid nulls", sample("Append", 1), mergeOfNonNull, Redo},
		{"update after a projection that may forbid nulls", sample("Update", 1), mayBeStricter, Redo},
		{"new files after a projection that may forbid nulls", sample("DataReplacement", 1), mayBeStricter, Redo},
		{"delete after a projection that may forbid nulls", sample("Delete", 1), mayBeStricter, Compatible},
		{"projection that may forbid nulls after an append", mayBeStricter, sample("Append", 1), Redo},
		{"projection that may forbid nulls after an update", mayBeStricter, sample("Update", 1), Redo},
		{"projection that may forbid nulls after new files", mayBeStricter, sample("DataReplacement", 1), Redo},
		{"projection that may forbid nulls after a delete", mayBeStricter, sample("Delete", 1), Compatible},

		{"delete after the fragment was removed", sample("Delete", 1), removesOne, Redo},
		{"delete of a whole fragment after a delete in it", removesOne, sample("Delete", 1), Redo},
		{"delete of a whole fragment after one in another", removesOne, sample("Delete", other), Compatible},
		{"delete after the fragment got other files", sample("Delete", 1), &pb.Update{UpdatedFragments: []*pb.Fragment{moved}}, Redo},
		{"update after the fragment was removed", sample("Update", 1), updateRemoves, Redo},
		{"update in place after the column was dropped", inColumns, sample("Project", 1), Redo},
		{"update in place after another column was dropped", inColumns, sample("Project", other), Compatible},

		{"inserted keys after an append", &pb.Update{InsertedRows: keysOf(1)}, sample("Append", 1), Redo},
		{"inserted keys after an update that does not tell", &pb.Update{InsertedRows: keysOf(1)}, sample("Update", other), Redo},
		{"inserted keys after the same ones", &pb.Update{InsertedRows: keysOf(1, 2)}, &pb.Update{InsertedRows: keysOf(2, 3)}, Redo},
		{"inserted keys after others", &pb.Update{InsertedRows: keysOf(1, 2)}, &pb.Update{InsertedRows: keysOf(3, 4)}, Compatible},
		{"inserted keys of other columns", &pb.Update{InsertedRows: &pb.KeyExistenceFilter{FieldIDs: []int32{2}}}, &pb.Update{InsertedRows: keysOf(3)}, Redo},
		{"inserted keys, bloom filters with a bit in common", &pb.Update{InsertedRows: bloom(3, 8)}, &pb.Update{InsertedRows: bloom(6, 8)}, Redo},
		{"inserted keys, bloom filters without", &pb.Update{InsertedRows: bloom(3, 8)}, &pb.Update{InsertedRows: bloom(12, 8)}, Compatible},
		{"inserted keys, bloom filters of other makes", &pb.Update{InsertedRows: bloom(3, 8)}, &pb.Update{InsertedRows: bloom(12, 9)}, Redo},
		{"inserted keys, a set and a bloom filter", &pb.Update{InsertedRows: keysOf(1)}, &pb.Update{InsertedRows: bloom(12, 9)}, Redo},
		{"update that does not tell after inserted keys", sample("Update", 1), &pb.Update{InsertedRows: keysOf(1)}, Compatible},

		{"index after a drop of one of its name", sample("CreateIndex", 1), dropped, Redo},
		{"drop after a new segment of the index", dropped, sample("CreateIndex", 1), Redo},
		{"drop after the same drop", dropped, dropped, Compatible},
		{"drop after the segment was built anew", dropped, rebuilt, Redo},
		{"index that does not say what it covers, after a rewrite", uncovered, sample("Rewrite", other), Redo},
		{"rewrite after an index that does not say what it covers", sample("Rewrite", other), uncovered, Redo},
		{"rewrite after a fragment reuse index", sample("Rewrite", 1), &pb.CreateIndex{NewIndices: []*pb.IndexMetadata{indexOf(fragmentReuseIndex, 1, 1)}, RemovedIndices: []*pb.IndexMetadata{segment}}, Compatible},
		{"rewrite after a fragment reuse index among others", sample("Rewrite", 1), &pb.CreateIndex{NewIndices: []*pb.IndexMetadata{indexOf(fragmentReuseIndex, 1, 1)}}, Incompatible},

		{"merge after schema metadata", sample("Merge", 1), schemaMetadata, Redo},
		{"merge after field metadata", sample("Merge", 1), fieldMetadata, Redo},
		{"merge after table metadata", sample("Merge", 1), tableMetadata, Compatible},
		{"schema metadata after a merge", schemaMetadata, sample("Merge", 1), Redo},
		{"restore after field metadata", sample("Restore", 1), fieldMetadata, Incompatible},
		{"field metadata after a restore", fieldMetadata, sample("Restore", 1), Incompatible},
		{"schema metadata after an overwrite", schemaMetadata, sample("Overwrite", 1), Incompatible},
		{"field metadata after an overwrite", fieldMetadata, sample("Overwrite", 1), Incompatible},
		{"table metadata after an overwrite", tableMetadata, sample("Overwrite", 1), Compatible},
		{"schema metadata twice", schemaMetadata, &pb.UpdateConfig{SchemaMetadata: set("b")}, Incompatible},
		{"metadata of one field twice", fieldMetadata, &pb.UpdateConfig{FieldMetadata: map[int32]*pb.UpdateMap{1: set("b")}}, Incompatible},
		{"metadata of two fields", fieldMetadata, &pb.UpdateConfig{FieldMetadata: map[int32]*pb.UpdateMap{2: set("a")}}, Compatible},
		{"one key of table metadata twice", tableMetadata, tableMetadata, Incompatible},
		{"two keys of table metadata", tableMetadata, &pb.UpdateConfig{TableMetadata: set("b")}, Compatible},
		{"table metadata replaced", tableMetadata, &pb.UpdateConfig{TableMetadata: &pb.UpdateMap{Replace: true}}, Incompatible},
		{"config key set after it was deleted", &pb.UpdateConfig{Config: set("a")}, &pb.UpdateConfig{Config: unset("a")}, Incompatible},
		{"config key deleted after it was set", &pb.UpdateConfig{Config: unset("a")}, &pb.UpdateConfig{Config: set("a")}, Incompatible},
		{"config key deleted twice", &pb.UpdateConfig{Config: unset("a")}, &pb.UpdateConfig{Config: unset("a")}, Compatible},

		{"new files after the fragment was removed", sample("DataReplacement", 1), removesOne, Incompatible},
		{"new files after an update removed the fragment", sample("DataReplacement", 1), updateRemoves, Incompatible},
		{"new files after the column was updated in place", sample("DataReplacement", 1), inColumns, Redo},
		{"new files of a column after another was updated in place", &pb.DataReplacement{Replacements: []pb.FileReplacement{{FragmentID: 1, NewFile: pb.DataFile{Fields: []int32{2}}}}}, inColumns, Compatible},
		{"new files of a column after those of another", sample("DataReplacement", 1), &pb.DataReplacement{Replacements: []pb.FileReplacement{{FragmentID: 1, NewFile: pb.DataFile{Fields: []int32{2}}}}}, Compatible},

		{"base path with an id that was taken", &pb.UpdateBases{NewBases: []pb.BasePath{{ID: 3, Path: "/a"}}}, &pb.UpdateBases{NewBases: []pb.BasePath{{ID: 3, Path: "/b"}}}, Incompatible},
		{"base path with a name that was taken", &pb.UpdateBases{NewBases: []pb.BasePath{{Name: &name, Path: "/a"}}}, &pb.UpdateBases{NewBases: []pb.BasePath{{Name: &name, Path: "/b"}}}, Incompatible},

		{"an operation of a later version of the format", sample("Append", 1), &pb.OpaqueOperation{Number: 150}, Incompatible},
		{"a transaction without an operation", sample("Append", 1), nil, Incompatible},
		{"a clone after anything", sample("Clone", 1), &pb.OpaqueOperation{Number: 150}, Compatible},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := (Ours{Operation: c.ours, ReadFragment: fragmentOf}).Check(c.theirs); got != c.want {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}

func TestDeletesOfUnknownRowsAreNotRebased(t *testing.T) {
	for _, name := range []string{"Delete", "Update"} {
		if got := (Ours{Operation: sample(name, 1)}).Check(sample("Delete", 1)); got != Redo {
			t.Errorf("%s after a delete in its fragment: %v, want %v", name, got, Redo)
		}
		if got := (Ours{Operation: sample(name, 1)}).Check(sample("Delete", 2)); got != Compatible {
			t.Errorf("%s after a delete elsewhere: %v, want %v", name, got, Compatible)
		}
	}
}

// An index built while its column was rewritten does not cover the rewritten fragments.
func TestNewIndexIsRebasedOverColumnRewrites(t *testing.T) {
	create := &pb.CreateIndex{NewIndices: []*pb.IndexMetadata{indexOf("a", 1, 1, 2), indexOf("b", 2, 1, 2)}}
	update := &pb.Update{UpdatedFragments: []*pb.Fragment{fragmentOf(1)}, FieldsModified: []uint32{1}, Mode: pb.RewriteColumns}
	rebased, err := Rebased(create, update)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"{2}", "{1,2}"} {
		covers, err := bitmap(rebased.(*pb.CreateIndex).NewIndices[i].FragmentBitmap)
		if err != nil {
			t.Fatal(err)
		}
		if got := covers.String(); got != want {
			t.Errorf("index %d covers %s, want %s", i, got, want)
		}
	}
	if covers, _ := bitmap(create.NewIndices[0].FragmentBitmap); covers.GetCardinality() != 2 {
		t.Error("the operation given was changed")
	}
}

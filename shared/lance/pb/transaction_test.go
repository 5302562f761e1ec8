package pb

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func message(marshal func(*Encoder)) []byte {
	var e Encoder
	marshal(&e)
	return e.B
}

// transactionFiles returns the transactions that native Lance wrote for the tests of
// package manifest.
func transactionFiles(t testing.TB) map[string][]byte {
	t.Helper()
	names, err := filepath.Glob("../manifest/testdata/*/_transactions/*.txn")
	if err != nil || len(names) < 40 {
		t.Fatalf("%d transactions, %v", len(names), err)
	}
	files := map[string][]byte{}
	for _, name := range names {
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = raw
	}
	return files
}

func TestNativeTransactionsAreWrittenAsTheyWereRead(t *testing.T) {
	kinds := map[string]int{}
	same, files := 0, transactionFiles(t)
	for name, raw := range files {
		var txn, again Transaction
		if err := txn.Unmarshal(raw); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		kinds[txn.OperationName()]++
		out := message(txn.Marshal)
		if bytes.Equal(out, raw) {
			same++
		} else if len(out) != len(raw) {
			t.Errorf("%s: got %d bytes, want %d", name, len(out), len(raw))
		}
		if err := again.Unmarshal(out); err != nil {
			t.Errorf("%s: second reading: %v", name, err)
		}
		if diff := cmp.Diff(txn, again); diff != "" {
			t.Errorf("%s (-first +second reading):\n%s", name, diff)
		}
	}
	// Those that differ hold maps, which native writers put in random order.
	if same < len(files)*4/5 || len(kinds) < 11 {
		t.Errorf("%d of %d byte for byte, of kinds %v", same, len(files), kinds)
	}
}

// everyOperation holds each operation with every field set.
func everyOperation() []Operation {
	base := uint32(7)
	version, created := int32(2), uint64(1700)
	text := "x"
	unknown := []byte{0xC0, 0x3E, 1}
	bases := []BasePath{{ID: 1, Name: &text, IsDatasetRoot: true, Path: "s3://b", Unknown: unknown}}
	file := DataFile{Path: "p", Fields: []int32{0, -2}, ColumnIndices: []int32{0, 1}, MajorVersion: 2, MinorVersion: 2, SizeBytes: 9, BaseID: &base, Unknown: unknown}
	fragments := []*Fragment{{
		ID: 3, Files: []DataFile{file}, PhysicalRows: 10,
		DeletionFile: &DeletionFile{FileType: DeletionBitmap, ReadVersion: 4, ID: 1 << 63, DeletedRows: 2, BaseID: &base, Unknown: unknown},
		RowIDs:       []byte{1}, UpdatedAt: []byte{}, CreatedAt: []byte{2}, Unknown: unknown,
	}}
	schema := []*Field{{Name: "f", ID: 2, ParentID: -1, LogicalType: "int32", Nullable: true, PrimaryKey: true, PrimaryKeyPos: 1}}
	indices := []*IndexMetadata{{
		UUID: UUID{1, 15: 9}, Fields: []int32{2}, Name: "i", DatasetVersion: 4, FragmentBitmap: []byte{1},
		Details: &Any{TypeURL: "/lance.table.BTreeIndexDetails", Value: []byte{1}}, IndexVersion: &version, CreatedAt: &created,
		BaseID: &base, Files: []IndexFile{{Path: "a", SizeBytes: 1}}, CoveringFields: []int32{3}, ClusteringID: &base,
		Metadata: map[string]string{"k": "v"}, Unknown: unknown,
	}}
	update := &UpdateMap{Entries: []UpdateMapEntry{{Key: "set", Value: &text}, {Key: "unset"}}, Replace: true}
	pairs := map[string]string{"a": "1", "b": ""}
	return []Operation{
		&Append{fragments, unknown},
		&Delete{fragments, []uint64{1, 1 << 40}, "x > 1", unknown},
		&Overwrite{fragments, schema, pairs, pairs, bases, unknown},
		&CreateIndex{indices, indices, unknown},
		&Rewrite{
			[]RewriteGroup{{fragments, fragments, unknown}},
			[]RewrittenIndex{{UUID{1}, UUID{2}, &Any{TypeURL: "/t"}, 1, []IndexFile{{Path: "f"}}, unknown}}, unknown,
		},
		&Merge{fragments, schema, pairs, true, unknown},
		&Restore{5, unknown},
		&ReserveFragments{6, unknown},
		&Update{
			[]uint64{1}, fragments, fragments, []uint32{4}, [][]byte{{8, 1}}, []uint32{5}, RewriteColumns,
			&KeyExistenceFilter{FieldIDs: []int32{1}, Exact: &KeyHashes{[]uint64{1 << 60}}}, map[uint64][]byte{3: {1}, 4: {2}}, unknown,
		},
		&Update{InsertedRows: &KeyExistenceFilter{Bloom: &BloomFilter{[]byte{255}, 8, 8192, 0.00057}, Unknown: unknown}},
		&Project{schema, true, unknown},
		&UpdateConfig{update, update, update, map[int32]*UpdateMap{1: update, 2: {}}, unknown},
		&DataReplacement{[]FileReplacement{{3, file, unknown}}, unknown},
		&Clone{true, &text, 3, "s3://b", &text, unknown},
		&UpdateBases{bases, unknown},
		&OpaqueOperation{Number: 112, Raw: []byte{8, 1}},
		&OpaqueOperation{Number: 199, Raw: []byte{}},
	}
}

func TestOperationsRoundTripWithAllFields(t *testing.T) {
	for _, op := range everyOperation() {
		t.Run(op.OperationName(), func(t *testing.T) {
			want := Transaction{
				ReadVersion: 1 << 60, UUID: "u", Tag: "t", Operation: op,
				Properties: map[string]string{CommitMessage: "hello"}, Unknown: []byte{0xC0, 0x3E, 1},
			}
			var got Transaction
			if err := got.Unmarshal(message(want.Marshal)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestConfigUpdatesOfOldWritersReadAsThoseOfToday(t *testing.T) {
	pair := func(key, value string) func(*Encoder) {
		return func(e *Encoder) { e.String(1, key); e.String(2, value) }
	}
	raw := message(func(e *Encoder) {
		e.Message(1, pair("set", "1"))
		e.String(2, "gone")
		e.Message(3, pair("schema", "2"))
		e.Message(4, func(e *Encoder) {
			e.Uint64(1, 7)
			e.Message(2, func(e *Encoder) { e.Message(5, pair("field", "3")) })
		})
	})
	value := func(s string) *string { return &s }
	want := UpdateConfig{
		Config:         &UpdateMap{Entries: []UpdateMapEntry{{Key: "set", Value: value("1")}, {Key: "gone"}}},
		SchemaMetadata: &UpdateMap{Entries: []UpdateMapEntry{{Key: "schema", Value: value("2")}}, Replace: true},
		FieldMetadata:  map[int32]*UpdateMap{7: {Entries: []UpdateMapEntry{{Key: "field", Value: value("3")}}, Replace: true}},
	}
	var got UpdateConfig
	if err := got.Unmarshal(raw); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFragmentsShareEqualListsOfIDs(t *testing.T) {
	file := func(ids ...int32) *Fragment {
		return &Fragment{Files: []DataFile{{Fields: ids, ColumnIndices: ids}}}
	}
	want := Manifest{Fragments: []*Fragment{file(0, 1), file(0, 1), file(0, -2), file()}}
	var got Manifest
	if err := got.Unmarshal(message(want.Marshal)); err != nil {
		t.Fatal(err)
	}
	want.Fragments[3].Files[0] = DataFile{}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if a, b := got.Fragments[0].Files[0].Fields, got.Fragments[1].Files[0].Fields; &a[0] != &b[0] {
		t.Error("equal lists are two")
	}
}

func TestDataFilesAreEqualWhenTheySayTheSame(t *testing.T) {
	base, same, other := uint32(1), uint32(1), uint32(2)
	a := DataFile{Path: "a", Fields: []int32{1}, BaseID: &base}
	cases := []struct {
		b    DataFile
		want bool
	}{
		{DataFile{Path: "a", Fields: []int32{1}, BaseID: &same}, true},
		{DataFile{Path: "a", Fields: []int32{1}, BaseID: &other}, false},
		{DataFile{Path: "a", Fields: []int32{1}}, false},
		{DataFile{Path: "a", Fields: []int32{-2}, BaseID: &base}, false},
		{DataFile{Path: "b", Fields: []int32{1}, BaseID: &base}, false},
	}
	for _, c := range cases {
		if got := a.Equal(&c.b); got != c.want {
			t.Errorf("%+v: got %v, want %v", c.b, got, c.want)
		}
	}
}

func FuzzTransaction(f *testing.F) {
	for _, raw := range transactionFiles(f) {
		f.Add(raw)
	}
	for _, op := range everyOperation() {
		f.Add(message((&Transaction{Operation: op}).Marshal))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var txn, again Transaction
		if txn.Unmarshal(b) != nil {
			return
		}
		if err := again.Unmarshal(message(txn.Marshal)); err != nil {
			t.Fatalf("second reading: %v", err)
		}
		if !bytes.Equal(message(txn.Marshal), message(again.Marshal)) {
			t.Fatal("the second reading differs")
		}
	})
}

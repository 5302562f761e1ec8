package dataset_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/datasettest"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/manifest"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/lance/rowid"
	"tiltyard/shared/lance/schema"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/memstore"
)

// Manifests that contradict their files and rows are detected.
func TestManifestsThatDisagreeWithFilesAreCorrupt(t *testing.T) {
	n := openNative(t)
	base := uint32(9)
	cases := []struct {
		name    string
		columns []string
		change  func(m *manifest.Manifest, f *pb.Fragment)
		want    error
	}{
		{"too few row ids", []string{snapshot.RowID}, func(_ *manifest.Manifest, f *pb.Fragment) {
			f.RowIDs = rowid.Range(0, 3).Encode()
		}, lance.ErrCorrupt},
		{"row ids that are none", []string{snapshot.RowID}, func(_ *manifest.Manifest, f *pb.Fragment) {
			f.RowIDs = []byte{0xff}
		}, lance.ErrCorrupt},
		{"too many versions", []string{snapshot.RowCreatedAt}, func(_ *manifest.Manifest, f *pb.Fragment) {
			f.CreatedAt = rowid.SameVersion(1000, 1).Encode()
		}, lance.ErrCorrupt},
		{"versions that are none", []string{snapshot.RowUpdatedAt}, func(_ *manifest.Manifest, f *pb.Fragment) {
			f.UpdatedAt = []byte{0x0a}
		}, lance.ErrCorrupt},
		{"a base that is not", []string{"id"}, func(_ *manifest.Manifest, f *pb.Fragment) {
			f.Files[0].BaseID = &base
		}, lance.ErrCorrupt},
		{"a base that is no location", []string{"id"}, func(m *manifest.Manifest, f *pb.Fragment) {
			f.Files[0].BaseID = &base
			m.BasePaths = []pb.BasePath{{ID: base, Path: "file:///tmp/../etc"}}
		}, objectstore.ErrLocation},
		{"a path out of the table", []string{"id"}, func(_ *manifest.Manifest, f *pb.Fragment) {
			f.Files[0].Path = "../../secret"
		}, objectstore.ErrInvalidKey},
		{"another number of rows", []string{"id"}, func(_ *manifest.Manifest, f *pb.Fragment) {
			f.PhysicalRows--
		}, lance.ErrCorrupt},
		{"another version of a file", []string{"id"}, func(_ *manifest.Manifest, f *pb.Fragment) {
			f.Files[0].MinorVersion = 0
		}, lance.ErrCorrupt},
		{"a column that is in no file and cannot be null", []string{"id"}, func(m *manifest.Manifest, f *pb.Fragment) {
			required := *m.Schema
			required.Fields = slices.Clone(m.Schema.Fields)
			id := *required.Fields[0]
			id.Nullable = false
			required.Fields[0], m.Schema = &id, &required
			f.Files[0].Fields, f.Files[0].ColumnIndices = []int32{1}, []int32{1}
		}, lance.ErrCorrupt},
		{"a struct that is listed without its members", []string{"id"}, func(m *manifest.Manifest, _ *pb.Fragment) {
			nested := *m.Schema
			nested.Fields = slices.Clone(m.Schema.Fields)
			id := *nested.Fields[0]
			member := id
			member.ID, member.ParentID, member.Name = 9, id.ID, "x"
			id.LogicalType, id.Children = "struct", []*schema.Field{&member}
			id.Type = arrow.StructOf(member.Arrow())
			nested.Fields[0], m.Schema = &id, &nested
		}, lance.ErrUnsupported},
		{"a column that is not in the file", []string{"id"}, func(_ *manifest.Manifest, f *pb.Fragment) {
			f.Files[0].ColumnIndices = []int32{7, 8}
		}, lance.ErrCorrupt},
		{"a deletion file in a base that is not", []string{"id"}, func(_ *manifest.Manifest, f *pb.Fragment) {
			f.DeletionFile = &pb.DeletionFile{DeletedRows: 1, BaseID: &base}
		}, lance.ErrCorrupt},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			table := n.table(t, "rows_stable.lance")
			read, err := table.Version(t.Context(), 1)
			if err != nil {
				t.Fatal(err)
			}
			changed := *read.Manifest()
			first := *changed.Fragments[0]
			first.Files = slices.Clone(first.Files)
			changed.Fragments = slices.Concat([]*pb.Fragment{&first}, changed.Fragments[1:])
			c.change(&changed, &first)
			d, err := dataset.OpenManifest(table, &changed)
			if err != nil {
				t.Fatal(err)
			}
			if err := scanError(t, d, c.columns); !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
}

func scanError(t *testing.T, d *dataset.Dataset, columns []string) error {
	t.Helper()
	_, batches, err := d.Scan(t.Context(), snapshot.ScanOptions{Columns: columns})
	if err != nil {
		return err
	}
	for _, err := range batches {
		if err != nil {
			return err
		}
	}
	return nil
}

// Arbitrary contents of tag and branch objects do no harm.
func FuzzRefs(f *testing.F) {
	f.Add([]byte(`{"branch":null,"version":1,"createdAt":"2026-01-02T03:04:05Z","manifestSize":5,"metadata":{}}`))
	f.Add([]byte(`{"parentBranch":"a","identifier":{"version_mapping":[[2,"e74b"]]},"parentVersion":2,"createAt":1,"manifestSize":3}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		store := memstore.New()
		for _, key := range []string{"t.lance/_refs/tags/x.json", "t.lance/_refs/branches/x.json"} {
			if _, err := store.Put(t.Context(), key, data, objectstore.Condition{}); err != nil {
				t.Fatal(err)
			}
		}
		table := datasettest.TableIn(store)
		if _, _, err := table.Refs().Tag(t.Context(), "x"); err != nil && !errors.Is(err, lance.ErrCorrupt) {
			t.Errorf("tag: got %v, want ErrCorrupt", err)
		}
		if _, _, err := table.Refs().Branch(t.Context(), "x"); err != nil && !errors.Is(err, lance.ErrCorrupt) {
			t.Errorf("branch: got %v, want ErrCorrupt", err)
		}
	})
}

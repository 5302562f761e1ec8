package operation

import (
	"archive/zip"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"path"
	"slices"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"
	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"tiltyard/shared/lance/manifest"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/lance/rowid"
)

// A history is the versions of a table that native Lance wrote, oldest first, each with
// the transaction that made it.
type history []step

type step struct {
	*manifest.Manifest
	transaction *pb.Transaction
}

// histories reads testdata/history.zip: the manifests of tables by their names.
func histories(t *testing.T) map[string]history {
	t.Helper()
	archive, err := zip.OpenReader("testdata/history.zip")
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close() //nolint:errcheck // only read
	all := map[string]history{}
	for _, f := range archive.File {
		if f.FileInfo().IsDir() {
			continue
		}
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		file, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		m, err := manifest.Parse(file)
		if err != nil {
			t.Fatalf("%s: %v", f.Name, err)
		}
		txn, err := m.ReadTransaction(t.Context(), nil, "")
		if err != nil {
			t.Fatalf("%s: %v", f.Name, err)
		}
		table := path.Dir(f.Name)
		all[table] = append(all[table], step{m, txn})
	}
	for _, h := range all {
		slices.SortFunc(h, func(a, b step) int { return cmp.Compare(a.Version, b.Version) })
	}
	return all
}

// Apply makes from each version and native operation the manifest that native Lance made.
func TestApplyMakesTheManifestsOfNativeLance(t *testing.T) {
	seen := map[string]int{}
	for table, h := range histories(t) {
		for i, s := range h {
			name := fmt.Sprintf("%s/%d %s", table, s.Version, s.transaction.OperationName())
			t.Run(name, func(t *testing.T) {
				got, err := replay(h, i)
				if err != nil {
					t.Fatal(err)
				}
				if got == nil {
					t.Skip("its base is in another table")
				}
				if diff := gocmp.Diff(readable(t, s.Manifest), readable(t, got), cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("manifest (-native +ours):\n%s", diff)
				}
			})
			seen[s.transaction.OperationName()]++
		}
	}
	for _, op := range []string{"Append", "Delete", "Overwrite", "CreateIndex", "Rewrite", "Merge", "Restore",
		"ReserveFragments", "Update", "Project", "UpdateConfig", "DataReplacement", "Clone", "UpdateBases"} {
		if seen[op] == 0 {
			t.Errorf("no history holds a %s", op)
		}
	}
}

// replay applies the operation that made a version of a history to the version before.
func replay(h history, i int) (*manifest.Manifest, error) {
	op := h[i].transaction.Operation
	switch op := op.(type) {
	case *pb.Clone:
		return nil, nil
	case *pb.Restore:
		old := slices.IndexFunc(h, func(s step) bool { return s.Version == op.Version })
		return Restored(h[i-1].Manifest, h[old].Manifest)
	}
	if i == 0 {
		m := h[i].Manifest
		format, err := m.FileVersion()
		if err != nil {
			return nil, err
		}
		return Create(op.(*pb.Overwrite), format, m.StableRowIDs())
	}
	return Apply(h[i-1].Manifest, op)
}

// Cloned makes the manifest that native Lance made of the same version.
func TestCloneMakesTheManifestOfNativeLance(t *testing.T) {
	all := histories(t)
	for _, table := range []string{"plain", "stable"} {
		clone := all[table+"-clone"][0]
		source := all[table][slices.IndexFunc(all[table], func(s step) bool { return s.Version == clone.Version })]
		got, err := Cloned(source.Manifest, clone.transaction.Operation.(*pb.Clone))
		if err != nil {
			t.Fatal(err)
		}
		if diff := gocmp.Diff(readable(t, clone.Manifest), readable(t, got), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: manifest (-native +ours):\n%s", table, diff)
		}
	}
}

// view is the content of a manifest, independent of its encoding.
type view struct {
	Message   pb.Manifest
	Schema    []*pb.Field
	Metadata  map[string]string
	Fragments []fragmentView
	Indices   []indexView
}

type fragmentView struct {
	pb.Fragment
	IDs, Created, Updated []uint64
}

type indexView struct {
	pb.IndexMetadata
	Covers []uint32
}

// readable drops the writer and time of a manifest and decodes its sections.
func readable(t *testing.T, m *manifest.Manifest) view {
	t.Helper()
	v := view{Message: m.Manifest, Schema: m.Schema.PB(), Metadata: m.Schema.Metadata}
	v.Message.Fragments, v.Message.Timestamp, v.Message.WriterVersion = nil, nil, nil
	v.Message.TransactionFile, v.Message.TransactionSection, v.Message.IndexSection = "", nil, nil
	for _, f := range m.Fragments {
		fv := fragmentView{Fragment: *f, IDs: idsOf64(t, f.RowIDs), Created: versionsOf(t, f.CreatedAt), Updated: versionsOf(t, f.UpdatedAt)}
		fv.RowIDs, fv.CreatedAt, fv.UpdatedAt = nil, nil, nil
		v.Fragments = append(v.Fragments, fv)
	}
	indices, err := m.Indices()
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range indices {
		iv := indexView{IndexMetadata: *x}
		if len(x.FragmentBitmap) > 0 {
			b := roaring.New()
			if _, err := b.ReadFrom(bytes.NewReader(x.FragmentBitmap)); err != nil {
				t.Fatal(err)
			}
			iv.Covers = b.ToArray()
		}
		iv.FragmentBitmap = nil
		v.Indices = append(v.Indices, iv)
	}
	return v
}

func idsOf64(t *testing.T, encoded []byte) []uint64 {
	t.Helper()
	if encoded == nil {
		return nil
	}
	ids, err := rowid.Parse(encoded)
	if err != nil {
		t.Fatal(err)
	}
	return ids.IDs()
}

func versionsOf(t *testing.T, encoded []byte) []uint64 {
	t.Helper()
	if encoded == nil {
		return nil
	}
	versions, err := rowid.ParseVersions(encoded)
	if err != nil {
		t.Fatal(err)
	}
	list := make([]uint64, versions.Len())
	for i := range list {
		list[i] = versions.At(int64(i))
	}
	return list
}

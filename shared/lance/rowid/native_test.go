package rowid

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/lance/internal/deletion"
	"tiltyard/shared/lance/manifest"
	"tiltyard/shared/lance/pb"
)

const nativeTables = "../manifest/testdata/"

// expected is the content of a version with stable row ids as native Lance reads it.
type expected struct {
	Version   uint64
	RowID     []uint64 `json:"_rowid"`
	RowAddr   []uint64 `json:"_rowaddr"`
	CreatedAt []uint64 `json:"_row_created_at_version"`
	UpdatedAt []uint64 `json:"_row_last_updated_at_version"`
}

// nativeVersions returns the versions of the tables with stable row ids.
func nativeVersions(t testing.TB) map[string][]expected {
	t.Helper()
	raw, err := os.ReadFile(nativeTables + "expected.json")
	if err != nil {
		t.Fatal(err)
	}
	var all map[string][]expected
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	tables := map[string][]expected{}
	for table, versions := range all {
		if versions[0].RowID != nil {
			tables[table] = versions
		}
	}
	if len(tables) != 2 {
		t.Fatalf("%d tables with stable row ids", len(tables))
	}
	return tables
}

func nativeManifest(t testing.TB, table string, version uint64) *manifest.Manifest {
	t.Helper()
	raw, err := os.ReadFile(nativeTables + manifest.Key(table, version, manifest.V2))
	if err != nil {
		t.Fatal(err)
	}
	m, err := manifest.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func nativeFragments(t testing.TB) []*pb.Fragment {
	var fragments []*pb.Fragment
	for table, versions := range nativeVersions(t) {
		for _, v := range versions {
			fragments = append(fragments, nativeManifest(t, table, v.Version).Fragments...)
		}
	}
	return fragments
}

func deletions(t *testing.T, table string, f *pb.Fragment) *deletion.Vector {
	t.Helper()
	if f.DeletionFile == nil {
		return nil
	}
	raw, err := os.ReadFile(nativeTables + table + "/" + deletion.Path(f.ID, f.DeletionFile))
	if err != nil {
		t.Fatal(err)
	}
	v, err := deletion.Parse(raw, f)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestNativeSequencesReadAsNativeLanceReadsThem(t *testing.T) {
	for table, versions := range nativeVersions(t) {
		for _, want := range versions {
			t.Run(fmt.Sprintf("%s version %d", table, want.Version), func(t *testing.T) {
				got := expected{Version: want.Version}
				var indexed []Fragment
				for _, f := range nativeManifest(t, table, want.Version).Fragments {
					ids, err1 := Parse(f.RowIDs)
					created, err2 := ParseVersions(f.CreatedAt)
					updated, err3 := ParseVersions(f.UpdatedAt)
					if err1 != nil || err2 != nil || err3 != nil {
						t.Fatal(err1, err2, err3)
					}
					deleted := deletions(t, table, f)
					indexed = append(indexed, Fragment{ID: uint32(f.ID), IDs: ids, Deleted: deleted.Contains})
					for start, end := range deleted.Live(0, int64(f.PhysicalRows)) {
						for k := start; k < end; k++ {
							got.RowID = append(got.RowID, ids.At(k))
							got.RowAddr = append(got.RowAddr, f.ID<<32|uint64(k))
							got.CreatedAt = append(got.CreatedAt, created.At(k))
							got.UpdatedAt = append(got.UpdatedAt, updated.At(k))
						}
					}
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				checkIndex(t, NewIndex(indexed), want)
			})
		}
	}
}

func checkIndex(t *testing.T, x *Index, want expected) {
	t.Helper()
	live := map[uint64]bool{}
	for i, id := range want.RowID {
		live[id] = true
		if at, ok := x.Address(id); !ok || at != want.RowAddr[i] {
			t.Errorf("address of id %d: got %d, %v, want %d", id, at, ok, want.RowAddr[i])
		}
	}
	for id := range uint64(400) {
		if at, ok := x.Address(id); ok && !live[id] {
			t.Errorf("address of deleted id %d: got %d", id, at)
		}
	}
}

// Native writers choose the forms of segments as we do.
func TestNativeSequencesAreWrittenAsTheyWereRead(t *testing.T) {
	for _, f := range nativeFragments(t) {
		s, err := Parse(f.RowIDs)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(f.RowIDs, s.Encode()); diff != "" {
			t.Errorf("fragment %d (-native +got):\n%s", f.ID, diff)
		}
		if len(s.segments) == 1 {
			if diff := cmp.Diff(f.RowIDs, New(s.IDs()).Encode()); diff != "" {
				t.Errorf("fragment %d made anew (-native +got):\n%s", f.ID, diff)
			}
		}
	}
}

func TestIndexPassesOverOverlappingFragments(t *testing.T) {
	gone := func(offsets ...uint32) func(uint32) bool { return deletion.New(offsets...).Contains }
	x := NewIndex([]Fragment{
		{ID: 0, IDs: Range(0, 100), Deleted: gone(5, 50, 99)},
		{ID: 1, IDs: New([]uint64{99, 5}), Deleted: gone(1)},
		{ID: 2, IDs: New([]uint64{50, 5, 1000})},
		{ID: 3, IDs: Range(0, 0)},
	})
	cases := []struct {
		id, want uint64
		ok       bool
	}{
		{0, 0, true}, {4, 4, true}, {5, 2<<32 | 1, true}, {50, 2 << 32, true}, {98, 98, true},
		{99, 1 << 32, true}, {1000, 2<<32 | 2, true}, {100, 0, false}, {999, 0, false}, {1001, 0, false},
	}
	for _, c := range cases {
		if got, ok := x.Address(c.id); got != c.want || ok != c.ok {
			t.Errorf("Address(%d): got %d, %v, want %d, %v", c.id, got, ok, c.want, c.ok)
		}
	}
}

package bitmap

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/index"
	"tiltyard/shared/index/indextest"
	"tiltyard/shared/index/internal/valuebitmaps"
	"tiltyard/shared/lance/rowset"
)

// everything reads the values of a segment, and the rows of each.
func everything(t testing.TB, f indextest.Folder) (arrow.Array, []*rowset.Set) {
	t.Helper()
	file, err := f.Open(t.Context(), valuebitmaps.Bitmaps.File)
	if err != nil {
		t.Fatal(err)
	}
	columns, err := index.ColumnsOf(t.Context(), file, "keys", "bitmaps")
	if err != nil {
		t.Fatal(err)
	}
	read, err := columns.Read(t.Context(), 0, file.NumRows())
	if err != nil {
		t.Fatal(err)
	}
	rows := make([]*rowset.Set, read[0].Len())
	for i := range rows {
		rows[i] = rowset.At()
		if err := index.AddRows(rows[i], read[1].(interface{ Value(int) []byte }).Value(i)); err != nil {
			t.Fatal(err)
		}
	}
	return read[0], rows
}

func matching(values arrow.Array, rows []*rowset.Set, q index.Question) []uint64 {
	order, _ := index.OrderOf(values.DataType())
	var found []uint64
	for i, of := range rows {
		if indextest.Matches(values, i, q, order) {
			found = append(found, slices.Collect(of.All())...)
		}
	}
	return indextest.Distinct(found)
}

func TestSearchesFindTheRowsOfValues(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	all, _ := indextest.Segments(t, valuebitmaps.Bitmaps.File)
	for _, f := range all {
		r, err := Open(t.Context(), f, f.Type(t, valuebitmaps.Bitmaps.File, "keys"))
		if err != nil {
			t.Fatalf("%s: %v", f.Prefix, err)
		}
		values, rows := everything(t, f)
		for range 30 {
			q := indextest.RandomQuestion(random, values)
			got, err := r.Search(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			want := matching(values, rows, q)
			if found := slices.Collect(got.Rows.All()); !slices.Equal(found, want) || !got.Exact {
				t.Errorf("%s: values %s: got %x, want %x", f.Prefix, q, found, want)
			}
			if cost, err := r.Cost(q); err != nil || cost.Pages != got.Pages {
				t.Errorf("%s: values %s: cost %+v of %d pages; error %v", f.Prefix, q, cost, got.Pages, err)
			}
		}
	}
}

// For any content of a segment's file, reading terminates within a memory limit, and answers agree with the
// content.
func FuzzRead(f *testing.F) {
	all, files := indextest.Segments(f, valuebitmaps.Bitmaps.File)
	types := map[string]bool{}
	for _, s := range all {
		if name := s.Type(f, valuebitmaps.Bitmaps.File, "keys").String(); !types[name] {
			types[name] = true
			f.Add(files[s.Prefix+"/"+valuebitmaps.Bitmaps.File], uint64(7))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, seed uint64) {
		ctx, s := indextest.Bounded(t), indextest.FolderOf(t, map[string][]byte{valuebitmaps.Bitmaps.File: data})
		file, err := s.Open(ctx, valuebitmaps.Bitmaps.File)
		if err != nil {
			return
		}
		described, err := file.Schema(ctx)
		if err != nil || described.Field("keys") == nil {
			return
		}
		r, err := Open(ctx, s, described.Field("keys").Type)
		if err != nil || file.NumRows() == 0 {
			return
		}
		if _, err := r.Search(ctx, index.Question{Ranges: []index.Range{{}}, Null: true}); err != nil {
			return
		}
		values, rows := everything(t, s)
		random := rand.New(rand.NewPCG(seed, 1))
		for range 3 {
			q := indextest.RandomQuestion(random, values)
			got, err := r.Search(ctx, q)
			if err != nil {
				t.Fatalf("values %s: %v", q, err)
			}
			if found, want := slices.Collect(got.Rows.All()), matching(values, rows, q); !slices.Equal(found, want) {
				t.Fatalf("values %s: got %x, want %x", q, found, want)
			}
		}
	})
}

func BenchmarkWrite(b *testing.B) { indextest.BenchmarkSorted(b, 100, Write) }

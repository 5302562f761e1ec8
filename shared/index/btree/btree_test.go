package btree

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/index"
	"tiltyard/shared/index/indextest"
	"tiltyard/shared/lance"
)

func valueType(t testing.TB, f indextest.Folder) arrow.DataType { return f.Type(t, dataFile, "values") }

func TestSearchesFindWhatIsInThePages(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	all, _ := indextest.Segments(t, dataFile)
	for _, f := range all {
		r, err := Open(t.Context(), f, valueType(t, f))
		if err != nil {
			t.Fatalf("%s: %v", f.Prefix, err)
		}
		values, ids := everything(t, r)
		for range 30 {
			q := indextest.RandomQuestion(random, values)
			got, err := r.Search(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			want := matching(values, ids, q, r.lookup.order)
			if found := slices.Collect(got.Rows.All()); !slices.Equal(found, want) || !got.Exact {
				t.Errorf("%s: values %s: got %x, want %x", f.Prefix, q, found, want)
			}
			if cost, err := r.Cost(q); err != nil || cost.Pages != got.Pages || cost.Rows > int64(len(want)) {
				t.Errorf("%s: values %s: cost %+v of %d rows in %d pages; error %v", f.Prefix, q, cost, len(want), got.Pages, err)
			}
		}
	}
}

// everything reads all pages of a segment.
func everything(t testing.TB, r *Reader) (arrow.Array, []uint64) {
	t.Helper()
	read, err := r.pages.Read(t.Context(), 0, r.data.NumRows())
	if err != nil {
		t.Fatal(err)
	}
	return read[0], read[1].(*array.Uint64).Uint64Values()
}

func matching(values arrow.Array, ids []uint64, q index.Question, order index.Order) []uint64 {
	var found []uint64
	for i, id := range ids {
		if indextest.Matches(values, i, q, order) {
			found = append(found, id)
		}
	}
	return indextest.Distinct(found)
}

func TestValuesOfAnotherTypeAreNotAskedFor(t *testing.T) {
	all, _ := indextest.Segments(t, dataFile)
	other := array.NewNull(1).DataType()
	if _, err := Open(t.Context(), all[0], other); !errors.Is(err, lance.ErrUnsupported) {
		t.Errorf("a column of another type: got %v, want lance.ErrUnsupported", err)
	}
}

// For any content of a segment's files, reading terminates within a memory limit, and answers agree with
// the content.
func FuzzRead(f *testing.F) {
	all, files := indextest.Segments(f, dataFile)
	types := map[string]bool{}
	for _, s := range all {
		if name := valueType(f, s).String(); !types[name] {
			types[name] = true
			f.Add(files[s.Prefix+"/"+lookupFile], files[s.Prefix+"/"+dataFile], uint64(7))
		}
	}
	f.Fuzz(func(t *testing.T, lookup, data []byte, seed uint64) {
		ctx, s := indextest.Bounded(t), indextest.FolderOf(t, map[string][]byte{lookupFile: lookup, dataFile: data})
		file, err := s.Open(ctx, dataFile)
		if err != nil {
			return
		}
		described, err := file.Schema(ctx)
		if err != nil || described.Field("values") == nil {
			return
		}
		r, err := Open(ctx, s, described.Field("values").Type)
		if err != nil || r.data.NumRows() == 0 {
			return
		}
		random := rand.New(rand.NewPCG(seed, 1))
		everyone, err := r.Search(ctx, index.Question{Ranges: []index.Range{{}}, Null: true})
		if err != nil {
			return
		}
		values, ids := everything(t, r)
		if want := indextest.Distinct(ids); everyone.Rows.Len() != int64(len(want)) {
			t.Fatalf("%d of %d rows have a value or none", everyone.Rows.Len(), len(want))
		}
		for range 3 {
			q := indextest.RandomQuestion(random, values)
			got, err := r.Search(ctx, q)
			if err != nil {
				t.Fatalf("values %s: %v", q, err)
			}
			want := matching(values, ids, q, r.lookup.order)
			if found := slices.Collect(got.Rows.All()); !slices.Equal(found, want) {
				t.Fatalf("values %s: got %x, want %x", q, found, want)
			}
		}
	})
}

func BenchmarkWrite(b *testing.B) { indextest.BenchmarkSorted(b, 1<<40, Write) }

package labellist

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/index"
	"tiltyard/shared/index/indextest"
	"tiltyard/shared/index/internal/valuebitmaps"
	"tiltyard/shared/lance"
	"tiltyard/shared/lance/rowset"
)

func elementType(t testing.TB, f indextest.Folder) arrow.DataType {
	return f.Type(t, valuebitmaps.Bitmaps.File, valuebitmaps.Bitmaps.Keys)
}

// elements reads the elements of a segment, and the rows of each.
func elements(t testing.TB, f indextest.Folder) (arrow.Array, []*rowset.Set) {
	t.Helper()
	file, err := f.Open(t.Context(), valuebitmaps.Bitmaps.File)
	if err != nil {
		t.Fatal(err)
	}
	columns, err := index.ColumnsOf(t.Context(), file, valuebitmaps.Bitmaps.Keys, valuebitmaps.Bitmaps.Rows)
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

// having returns the rows that have one of some elements, by their places.
func having(rows []*rowset.Set, places ...int) []uint64 {
	var found []uint64
	for _, place := range places {
		found = append(found, slices.Collect(rows[place].All())...)
	}
	return indextest.Distinct(found)
}

func TestSearchesFindTheRowsOfElements(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	all, _ := indextest.Segments(t, valuebitmaps.Bitmaps.File)
	for _, f := range all {
		values, rows := elements(t, f)
		r, err := Open(t.Context(), f, arrow.ListOf(values.DataType()))
		if err != nil {
			t.Fatalf("%s: %v", f.Prefix, err)
		}
		order, err := index.OrderOf(values.DataType())
		if err != nil {
			t.Fatal(err)
		}
		for range 30 {
			a, b := random.IntN(values.Len()), random.IntN(values.Len())
			if values.IsNull(a) || values.IsNull(b) {
				continue
			}
			one := func(i int) index.Question {
				return index.Equal(array.NewSlice(values, int64(i), int64(i)+1), order)
			}
			nulls, known, err := r.nulls(t.Context())
			if err != nil || !known {
				t.Fatalf("%s: rows that are NULL are known: %t; error %v", f.Prefix, known, err)
			}
			for _, c := range []struct {
				q      index.Question
				want   []uint64
				others bool
			}{
				{index.Question{All: []index.Question{one(a)}}, having(rows, a), false},
				{index.Question{Any: []index.Question{one(a), one(b)}}, having(rows, a, b), false},
				{index.Question{All: []index.Question{one(a), one(b)}}, slices.DeleteFunc(having(rows, a), func(row uint64) bool { return !rows[b].Contains(row) }), false},
				{index.Question{All: []index.Question{one(a)}, None: []index.Question{one(b)}}, slices.DeleteFunc(having(rows, a), rows[b].Contains), false},
				{index.Question{None: []index.Question{one(a), one(b)}}, indextest.Distinct(append(having(rows, a, b), slices.Collect(nulls.All())...)), true},
			} {
				got, err := r.Search(t.Context(), c.q)
				if err != nil {
					t.Fatal(err)
				}
				if found := slices.Collect(got.Rows.All()); !slices.Equal(found, c.want) || !got.Exact || got.Others != c.others {
					t.Errorf("%s: elements %s: got %x, want %x", f.Prefix, c.q, found, c.want)
				}
				if cost, err := r.Cost(c.q); err != nil || cost.Pages != got.Pages && len(c.q.None) == 0 {
					t.Errorf("%s: elements %s: cost %+v of %d pages; error %v", f.Prefix, c.q, cost, got.Pages, err)
				}
			}
		}
	}
}

func TestOpenRefusesColumnsOtherThanLists(t *testing.T) {
	all, _ := indextest.Segments(t, valuebitmaps.Bitmaps.File)
	for _, column := range []arrow.DataType{elementType(t, all[0]), arrow.ListOf(arrow.Null), arrow.FixedSizeListOf(2, elementType(t, all[0]))} {
		if _, err := Open(t.Context(), all[0], column); !errors.Is(err, lance.ErrUnsupported) {
			t.Errorf("a column of type %s: got %v, want lance.ErrUnsupported", column, err)
		}
	}
}

// For any content of a segment's file, reading terminates within a memory limit, and the rows with both of
// two elements are the intersection of the rows with each.
func FuzzRead(f *testing.F) {
	all, files := indextest.Segments(f, valuebitmaps.Bitmaps.File)
	types := map[string]bool{}
	for _, s := range all {
		if name := elementType(f, s).String(); !types[name] {
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
		if err != nil || described.Field(valuebitmaps.Bitmaps.Keys) == nil {
			return
		}
		r, err := Open(ctx, s, arrow.ListOf(described.Field(valuebitmaps.Bitmaps.Keys).Type))
		if err != nil || file.NumRows() == 0 {
			return
		}
		columns, err := index.ColumnsOf(ctx, file, valuebitmaps.Bitmaps.Keys)
		if err != nil {
			return
		}
		read, err := columns.Read(ctx, 0, file.NumRows())
		if err != nil {
			return
		}
		random := rand.New(rand.NewPCG(seed, 1))
		a, b := indextest.RandomQuestion(random, read[0]), indextest.RandomQuestion(random, read[0])
		var found []*rowset.Set
		for _, q := range []index.Question{{All: []index.Question{a, b}}, a, b} {
			answer, err := r.Search(ctx, q)
			if err != nil {
				return
			}
			found = append(found, answer.Rows)
		}
		_, _ = r.Search(ctx, index.Question{None: []index.Question{a, b}})
		found[1].Intersect(found[2])
		if got, want := slices.Collect(found[0].All()), slices.Collect(found[1].All()); !slices.Equal(got, want) {
			t.Fatalf("elements %s and %s: got %x, want %x", a, b, got, want)
		}
	})
}

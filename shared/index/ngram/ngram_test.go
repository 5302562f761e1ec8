package ngram

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/index"
	"tiltyard/shared/index/indextest"
	"tiltyard/shared/lance/rowset"
)

func TestTokensOfTrigrams(t *testing.T) {
	for trigram, want := range map[string]uint32{
		"000": 1*37*37 + 1*37 + 1,
		"019": 1*37*37 + 2*37 + 10,
		"abz": 11*37*37 + 12*37 + 36,
		"zzz": 37*37*37 - 1,
	} {
		if got := Token(trigram); got != want {
			t.Errorf("%s: got %d, want %d", trigram, got, want)
		}
	}
}

// postings reads the tokens of a segment, and the rows of each.
func postings(t *testing.T, f indextest.Folder) (*array.Uint32, []*rowset.Set) {
	t.Helper()
	file, err := f.Open(t.Context(), format.File)
	if err != nil {
		t.Fatal(err)
	}
	columns, err := index.ColumnsOf(t.Context(), file, format.Keys, format.Rows)
	if err != nil {
		t.Fatal(err)
	}
	read, err := columns.Read(t.Context(), 0, file.NumRows())
	if err != nil {
		t.Fatal(err)
	}
	rows := make([]*rowset.Set, file.NumRows())
	for i := range rows {
		rows[i] = rowset.At()
		if err := index.AddTreemap(rows[i], read[1].(*array.Binary).Value(i)); err != nil {
			t.Fatal(err)
		}
	}
	return read[0].(*array.Uint32), rows
}

func equal(tokens arrow.Array, i int) index.Question {
	bound := index.Bound{Value: array.NewSlice(tokens, int64(i), int64(i)+1)}
	return index.Question{Ranges: []index.Range{{From: bound, To: bound}}}
}

func TestSearchesFindTheRowsOfTrigrams(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	all, _ := indextest.Segments(t, format.File)
	for _, f := range all {
		tokens, rows := postings(t, f)
		r, err := Open(t.Context(), f, arrow.BinaryTypes.String)
		if err != nil {
			t.Fatalf("%s: %v", f.Prefix, err)
		}
		for range 30 {
			a, b, c := random.IntN(len(rows)), random.IntN(len(rows)), random.IntN(len(rows))
			q := index.Question{All: []index.Question{equal(tokens, a), {Any: []index.Question{equal(tokens, b), equal(tokens, c)}}}}
			got, err := r.Search(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			want := slices.DeleteFunc(slices.Collect(rows[a].All()), func(row uint64) bool { return !rows[b].Contains(row) && !rows[c].Contains(row) })
			if found := slices.Collect(got.Rows.All()); !slices.Equal(found, want) || got.Exact {
				t.Errorf("%s: tokens %s: got %x, want %x", f.Prefix, q, found, want)
			}
			if cost, err := r.Cost(q); err != nil || cost.Pages != got.Pages {
				t.Errorf("%s: tokens %s: cost %+v of %d pages; error %v", f.Prefix, q, cost, got.Pages, err)
			}
		}
		if _, found := slices.BinarySearch(tokens.Uint32Values(), Token("alp")); !found {
			t.Errorf("%s: no row has the trigram alp", f.Prefix)
		}
	}
}

// Whatever is in the file of a segment, reading it ends, within a bound of memory.
func FuzzRead(f *testing.F) {
	all, files := indextest.Segments(f, format.File)
	for _, s := range all {
		f.Add(files[s.Prefix+"/"+format.File], uint32(7), uint32(1000))
	}
	f.Fuzz(func(t *testing.T, data []byte, from, to uint32) {
		ctx, s := indextest.Bounded(t), indextest.FolderOf(t, map[string][]byte{format.File: data})
		r, err := Open(ctx, s, arrow.BinaryTypes.String)
		if err != nil {
			return
		}
		b := array.NewUint32Builder(memory.DefaultAllocator)
		b.AppendValues([]uint32{from, to}, nil)
		tokens := b.NewArray()
		q := index.Question{Any: []index.Question{equal(tokens, 0), {Ranges: []index.Range{{From: equal(tokens, 1).Ranges[0].From}}}}}
		_, _ = r.Search(ctx, q)
	})
}

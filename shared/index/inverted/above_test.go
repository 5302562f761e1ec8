package inverted

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"tiltyard/shared/index"
	"tiltyard/shared/index/indextest"
	"tiltyard/shared/index/vector"
)

// locate returns the row of a document, and its list element.
func locate(ctx context.Context, t testing.TB, m *Matches, d *Document) (row uint64, element uint32) {
	t.Helper()
	rows, elements := make([]uint64, 1), make([]uint32, 1)
	if err := m.Locate(ctx, []int64{d.Number}, rows, elements); err != nil {
		t.Fatal(err)
	}
	return rows[0], elements[0]
}

// best returns the k best documents for some terms, and the number of documents that were scored.
func best(ctx context.Context, t testing.TB, r *Reader, terms []string, b Bound, k int, prune bool) (hits []vector.Hit, looked int) {
	t.Helper()
	matches, err := r.Find(ctx, terms, false)
	if err != nil {
		t.Fatal(err)
	}
	top, of := vector.NewTopK(k, vector.Bounds{}), corpus{average: b.AverageLength}
	b.Least = func() float32 { return -top.Limit() }
	var from *Matches
	score := func(d *Document) error {
		looked++
		for _, set := range b.Required {
			if !slices.ContainsFunc(set, func(term int) bool { return d.Frequencies[term] > 0 }) {
				return nil
			}
		}
		sum := float32(0)
		for i, n := range d.Frequencies {
			if n > 0 {
				sum += b.Weights[i] * of.score(n, d.Length)
			}
		}
		row, _ := locate(ctx, t, from, d)
		top.Add(-sum, row)
		return nil
	}
	for _, m := range matches {
		if from = m; prune {
			err = m.EachAbove(ctx, b, score)
		} else {
			err = m.Each(ctx, score)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return top.Hits(), looked
}

// Skipped documents score too little, for any weights of terms and any average length.
func TestSearchesThatLeaveOutDocumentsFindTheBest(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	segments := map[string]index.Files{}
	native, _, _ := native(t)
	for name, s := range native {
		segments[name] = s
	}
	for _, size := range []int{128, 256} {
		segments[fmt.Sprint("blocks of ", size)] = build(t.Context(), t, plain(size, false), randomTexts(random, 12_000)).Folder
	}
	for name, s := range segments {
		r, err := Open(t.Context(), s, Expected{})
		if err != nil {
			t.Fatal(err)
		}
		var all, looked int
		for range 60 {
			b := Bound{AverageLength: 1 + random.Float32()*60}
			var terms []string
			for range 1 + random.IntN(5) {
				if term := fmt.Sprintf("w%d", int(random.ExpFloat64()*20)); !slices.Contains(terms, term) {
					terms = append(terms, term)
					b.Weights = append(b.Weights, random.Float32()*4)
				}
			}
			for range max(0, random.IntN(5)-2) { // often none
				var set []int
				for range random.IntN(6) / 2 {
					set = append(set, random.IntN(len(terms)))
				}
				b.Required = append(b.Required, set)
			}
			k := 1 + random.IntN(20)
			want, n := best(t.Context(), t, r, terms, b, k, false)
			got, m := best(t.Context(), t, r, terms, b, k, true)
			if !slices.Equal(got, want) {
				t.Fatalf("%s: %d best of %q with %+v: got %v, want %v", name, k, terms, b, got, want)
			}
			all, looked = all+n, looked+m
		}
		t.Logf("%s: %d documents of %d were looked at", name, looked, all)
		if len(name) > 9 && looked > all/2 {
			t.Errorf("%s: %d documents of %d were looked at, want less than half", name, looked, all)
		}
	}
}

// Documents with all of some terms come with the places of the terms, as phrases need them.
func TestRequiredTermsHaveTheirPlaces(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 10))
	segments, _, _ := native(t)
	for _, size := range []int{128, 256} {
		segments[fmt.Sprint("blocks of ", size)] = build(t.Context(), t, plain(size, true), randomTexts(random, 3_000)).Folder
	}
	places := func(d *Document) string { return fmt.Sprint(d.Number, d.Length, d.Frequencies, d.Positions) }
	for name, s := range segments {
		r, err := Open(t.Context(), s, Expected{})
		if err != nil {
			t.Fatal(err)
		}
		matches, err := r.Find(t.Context(), []string{"w1", "w9", "w20"}, true)
		if err != nil {
			continue // some native segments have no positions
		}
		b := Bound{Weights: []float32{1, 1, 1}, AverageLength: 10, Required: [][]int{{0}, {1}}, Least: func() float32 { return 0 }}
		for _, m := range matches {
			var want, got []string
			if err := m.Each(t.Context(), func(d *Document) error {
				if d.Frequencies[0] > 0 && d.Frequencies[1] > 0 {
					want = append(want, places(d))
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			if err := m.EachAbove(t.Context(), b, func(d *Document) error {
				got = append(got, places(d))
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s: got %d documents %v, want %d: %v", name, len(got), got, len(want), want)
			}
			if len(name) > 9 && name[:6] == "blocks" && len(want) < 20 {
				t.Errorf("%s: %d documents have both terms, too few", name, len(want))
			}
		}
	}
}

func TestLengthsOfImpactsAreNotLonger(t *testing.T) {
	for length := range uint32(1 << 14) {
		if got := decodeLength(codeLength(length)); got > length || got < length-length/8 {
			t.Fatalf("a length of %d is read as %d", length, got)
		}
	}
}

// Whatever the bytes of blocks and impacts, looking for documents that score enough ends.
func FuzzEachAbove(f *testing.F) {
	of := newListEncoder(coding{block: 128, varint: true}, corpus{documents: 400, average: 9}, false)
	of.begin(300)
	for i := range uint32(300) {
		of.document(i, 1+i%7, 3+i%50)
		of.endDocument()
	}
	of.end()
	at := func(b *binaries, i int) []byte {
		start := int64(0)
		if i > 0 {
			start = b.ends[i-1]
		}
		return b.data[start:b.ends[i]]
	}
	for _, required := range []bool{false, true} {
		f.Add(at(&of.blocks, 0), at(&of.blocks, 1), at(&of.blocks, 2), at(&of.impacts, 0), at(&of.impacts, 3), float32(1), required)
	}
	f.Fuzz(func(t *testing.T, first, second, third, impacts, spanned []byte, weight float32, required bool) {
		ctx := indextest.Bounded(t)
		list := &posting{coding: of.coding, length: 300, blocks: [][]byte{first, second, third}, impacts: [][]byte{impacts, impacts, impacts, spanned}}
		p := &partition{documents: &documents{count: 400, rows: make([]uint64, 400), lengths: make([]uint32, 400)}}
		other := *list
		other.blocks = [][]byte{second, third, first}
		m := &Matches{partition: p, lists: []*posting{list, &other}}
		top := vector.NewTopK(3, vector.Bounds{})
		b := Bound{Weights: []float32{weight, 1}, AverageLength: 9, Least: func() float32 { return -top.Limit() }}
		if required {
			b.Required = [][]int{{1}, {0, 1}}
		}
		seen := uint64(0)
		_ = m.EachAbove(ctx, b, func(d *Document) error {
			seen++
			top.Add(-float32(d.Frequencies[0]), seen)
			return nil
		})
		if seen > 400 {
			t.Fatalf("%d documents of 400", seen)
		}
	})
}

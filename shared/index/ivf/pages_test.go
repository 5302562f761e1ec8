package ivf

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/index/indextest"
	"tiltyard/shared/index/internal/quantize"
	"tiltyard/shared/index/vector"
	"tiltyard/shared/process/memory"
)

// searched is what a search of all partitions of a segment finds, and how many rows it measures.
func searched(t *testing.T, f indextest.Folder, v []float64, params Params, filter Filter) ([]vector.Hit, int) {
	t.Helper()
	x, err := Open(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	s, err := x.Search(t.Context(), v, params)
	if err != nil {
		t.Fatal(err)
	}
	top, measured := vector.NewTopK(params.Candidates, params.Bounds), 0
	share := memory.NewBudget(1<<30, 1<<30).Open()
	defer share.Close()
	ctx := memory.WithShare(t.Context(), share)
	for p, err := range x.Read(ctx, allOf(t, s)) {
		if err != nil {
			t.Fatal(err)
		}
		n, err := s.Look(ctx, p, filter, top)
		if err != nil {
			t.Fatal(err)
		}
		measured += n
	}
	return top.Hits(), measured
}

// A search reads the same graph whether a partition is read as a whole, comes from the cache, or is read by
// the pages that the search visits.
func TestSearchesByPagesFindTheSame(t *testing.T) {
	segments, _ := indextest.Segments(t, storageFile)
	random, narrow := rand.New(rand.NewPCG(1, 2)), 0
	for _, f := range segments {
		x, err := Open(t.Context(), f)
		if err != nil || x.graphs == nil {
			continue
		}
		params := Params{Minimum: x.Partitions(), Maximum: x.Partitions(), K: 10, Candidates: 10}
		fitting, small := f, f
		fitting.Kept = &indextest.Kept{Bytes: 1 << 30, Values: map[string]any{}}
		small.Kept = &indextest.Kept{Bytes: 1, Values: map[string]any{}}
		even := Filter{Share: .5, Accept: func(id uint64) (uint64, bool) { return id, id%2 == 0 }}
		for round := range 6 {
			v, filter := randomVector(random, x.Dim), everyRow
			if round%2 == 1 {
				filter = even
			}
			want, measured := searched(t, f, v, params, filter)
			for name, other := range map[string]indextest.Folder{"kept": fitting, "by pages": small} {
				got, n := searched(t, other, v, params, filter)
				if diff := cmp.Diff(want, got); diff != "" || n != measured {
					t.Errorf("%s: %s: %d rows are measured, want %d; %s: (-want +got):\n%s", f.Prefix, x.Kind, n, measured, name, diff)
				}
			}
		}
		for name := range small.Kept.Values {
			if strings.Contains(name, " by 128 rows") && quantize.ByRow(x.quantizer) {
				narrow++
			}
		}
	}
	if narrow == 0 {
		t.Error("no partition was read by narrow pages")
	}
}

// The rows of a partition that a filter admits are measured, and no others, if they are few.
func TestFewAdmittedRowsAreMeasured(t *testing.T) {
	segments, _ := indextest.Segments(t, storageFile)
	random, few := rand.New(rand.NewPCG(3, 4)), 0
	for _, f := range segments {
		x, err := Open(t.Context(), f)
		if err != nil || x.graphs == nil {
			continue
		}
		s, err := x.Search(t.Context(), randomVector(random, x.Dim), Params{Minimum: x.Partitions(), Maximum: x.Partitions(), K: 1000, Candidates: 1000})
		if err != nil {
			t.Fatal(err)
		}
		filter := Filter{Share: .05, Accept: func(id uint64) (uint64, bool) { return id, id%20 == 3 }}
		for p, err := range x.Read(t.Context(), s.First()) {
			if err != nil {
				t.Fatal(err)
			}
			admitted := 0
			for _, one := range p.graph.read {
				for _, id := range one.ids {
					if id%20 == 3 {
						admitted++
					}
				}
			}
			top := vector.NewTopK(1000, vector.Bounds{})
			measured, err := s.Look(t.Context(), p, filter, top)
			if err != nil {
				t.Fatal(err)
			}
			for _, h := range top.Hits() {
				if h.RowID%20 != 3 {
					t.Errorf("%s: row %d is found", f.Prefix, h.RowID)
				}
			}
			if admitted >= p.Rows()/fewShare {
				continue
			}
			few++
			if len(top.Hits()) != admitted || measured != admitted {
				t.Errorf("%s: %d rows are found, %d measured, want %d", f.Prefix, len(top.Hits()), measured, admitted)
			}
		}
	}
	if few == 0 {
		t.Error("no partition has few admitted rows")
	}
}

// A search of a partition whose pages have left the cache reads them again. If the request has too little
// memory for all, it measures the rows in pieces.
func TestSearchesReadPagesThatLeftTheCache(t *testing.T) {
	segments, _ := indextest.Segments(t, storageFile)
	random, left, pieces := rand.New(rand.NewPCG(5, 6)), 0, 0
	for _, f := range segments {
		x, err := Open(t.Context(), f)
		if err != nil || x.graphs == nil {
			continue
		}
		params := Params{Minimum: x.Partitions(), Maximum: x.Partitions(), K: 10, Candidates: 10}
		kept := f
		kept.Kept = &indextest.Kept{Bytes: 1 << 30, Values: map[string]any{}}
		v := randomVector(random, x.Dim)
		want, _ := searched(t, kept, v, params, everyRow)
		forget := func() {
			for name := range kept.Kept.Values {
				if strings.Contains(name, ", page ") {
					delete(kept.Kept.Values, name)
					left++
				}
			}
		}
		forget()
		if got, _ := searched(t, kept, v, params, everyRow); !cmp.Equal(want, got) {
			t.Errorf("%s: %s: got %v, want %v", f.Prefix, x.Kind, got, want)
		}
		if !quantize.ByRow(x.quantizer) {
			continue
		}
		forget()
		s, err := x.Search(t.Context(), v, params)
		if err != nil {
			t.Fatal(err)
		}
		exact, top := vector.NewTopK(10, vector.Bounds{}), vector.NewTopK(10, vector.Bounds{})
		reopened, err := Open(t.Context(), kept)
		if err != nil {
			t.Fatal(err)
		}
		const columns = 8 << 10 // for pages of the small files
		share := memory.NewBudget(1<<30, 8*pieceRows*x.rowBytes()+columns).Open()
		ctx := memory.WithShare(t.Context(), share)
		one := *s
		one.index = reopened
		for p, err := range reopened.Read(ctx, allOf(t, s)) {
			if err != nil {
				t.Fatal(err)
			}
			if n, err := one.Look(ctx, p, everyRow, top); err != nil {
				t.Fatal(err)
			} else if n == p.Rows() {
				pieces++
			}
		}
		for p, err := range x.Read(t.Context(), allOf(t, s)) {
			if err != nil {
				t.Fatal(err)
			}
			for _, piece := range piecesOf(p) {
				if _, err := s.Look(t.Context(), piece, everyRow, exact); err != nil {
					t.Fatal(err)
				}
			}
		}
		if got := top.Hits(); len(got) != len(exact.Hits()) {
			t.Errorf("%s: %s: %d rows are found in little memory, want %d", f.Prefix, x.Kind, len(got), len(exact.Hits()))
		}
		share.Close()
	}
	if left == 0 || pieces == 0 {
		t.Errorf("%d pages have left the cache, %d partitions were measured in pieces", left, pieces)
	}
}

package ivf

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/index/indextest"
	"tiltyard/shared/index/internal/quantize"
	"tiltyard/shared/index/vector"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/memstore"
)

// everyRow admits all rows.
var everyRow = Filter{Accept: func(id uint64) (uint64, bool) { return id, true }, Share: 1}

// piecesOf returns a partition as pieces without a graph: its pages, if it has some.
func piecesOf(p *Partition) []*Partition {
	if p.graph == nil {
		return []*Partition{p}
	}
	var pieces []*Partition
	for _, one := range p.graph.read {
		pieces = append(pieces, &Partition{Number: p.Number, rows: len(one.ids), ids: one.ids, codes: one.codes})
	}
	return pieces
}

// nearest searches some partitions of a segment.
func nearest(t testing.TB, x *Index, v []float64, params Params) []vector.Hit {
	t.Helper()
	s, err := x.Search(t.Context(), v, params)
	if err != nil {
		t.Fatal(err)
	}
	top := vector.NewTopK(params.Candidates, params.Bounds)
	for p, err := range x.Read(t.Context(), s.First()) {
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Look(t.Context(), p, everyRow, top); err != nil {
			t.Fatal(err)
		}
	}
	return top.Hits()
}

// allOf returns all partitions that a search may probe.
func allOf(t testing.TB, s *Search) []int {
	t.Helper()
	rest, err := s.Rest(t.Context(), math.MaxInt)
	if err != nil {
		t.Fatal(err)
	}
	return append(slices.Clone(s.First()), rest...)
}

func randomVector(random *rand.Rand, dim int) []float64 {
	v := make([]float64, dim)
	for i := range v {
		v[i] = float64(float32(random.NormFloat64()))
	}
	return v
}

// The distances of a partition measured at once equal the distances of its single rows, and a search for
// that many rows finds all.
func TestPartitionsAreMeasuredAsTheirRows(t *testing.T) {
	segments, _ := indextest.Segments(t, storageFile)
	random, read := rand.New(rand.NewPCG(1, 2)), 0
	for _, f := range segments {
		x, err := Open(t.Context(), f)
		if err != nil {
			continue // of a kind that is not read
		}
		read++
		s, err := x.Search(t.Context(), randomVector(random, x.Dim), Params{Minimum: 1, Maximum: 0, K: 1, Candidates: 1})
		if err != nil {
			t.Fatal(err)
		}
		all := allOf(t, s)
		if len(all) != x.Partitions() {
			t.Errorf("%s: %d partitions are ranked of %d", f.Prefix, len(all), x.Partitions())
		}
		rows := 0
		for p, err := range x.Read(t.Context(), all) {
			if err != nil {
				t.Fatal(err)
			}
			rows += p.Rows()
			for _, p := range piecesOf(p) {
				meter, out := s.query.Meter(&p.codes), make([]float32, p.Rows())
				meter.Measure(0, out)
				for i, d := range out {
					if one := meter.One(i); one-d > 1e-4*max(1, d) || d-one > 1e-4*max(1, d) {
						t.Errorf("%s: %s under %s: row %d is %v far, and alone %v", f.Prefix, x.Kind, x.Metric, i, d, one)
					}
				}
			}
		}
		found := nearest(t, x, randomVector(random, x.Dim), Params{Minimum: len(all), Maximum: len(all), K: rows, Candidates: rows})
		if len(found) < rows*9/10 || x.graphs == nil && len(found) != rows {
			t.Errorf("%s: %s: %d rows of %d are found", f.Prefix, x.Kind, len(found), rows)
		}
	}
	if read < 20 {
		t.Errorf("%d segments were read", read)
	}
}

func TestFirstProbesFollowTheDistancesOfCentroids(t *testing.T) {
	distances := []float32{1, 1.1, 1.25, 1.3, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23}
	effort := func(x float64) *float64 { return &x }
	cases := []struct {
		name   string
		metric vector.Metric
		params Params
		want   int
	}{
		{"a fixed number", vector.L2, Params{Minimum: 3, Maximum: 3, K: 10}, 3},
		{"more than there are", vector.L2, Params{Minimum: 99, Maximum: 99, K: 10}, len(distances)},
		{"at least as many as the profile says", vector.L2, Params{Minimum: 1, K: 10}, 6},
		{"no more than the maximum", vector.L2, Params{Minimum: 1, Maximum: 4, K: 10}, 6},
		{"at least the minimum", vector.L2, Params{Minimum: 20, K: 1}, 20},
		{"without a profile, by a factor", vector.Hamming, Params{Minimum: 1, K: 10}, 10},
		{"for very many rows, by another", vector.L2, Params{Minimum: 1, K: 200_000}, len(distances)},
		{"without effort, the minimum", vector.L2, Params{Minimum: 2, K: 10, Effort: effort(0)}, 2},
		{"with little effort, fewer than the profile says", vector.L2, Params{Minimum: 1, K: 10, Effort: effort(0.25)}, 3},
		{"with half of it, what the profile says", vector.L2, Params{Minimum: 1, K: 10, Effort: effort(0.5)}, 6},
		{"with more, more", vector.L2, Params{Minimum: 1, K: 10, Effort: effort(0.75)}, 13},
		{"with all of it, all", vector.L2, Params{Minimum: 1, K: 10, Effort: effort(1)}, len(distances)},
	}
	for _, c := range cases {
		if got := firstProbes(c.metric, c.params, distances); got != c.want {
			t.Errorf("%s: got %d, want %d", c.name, got, c.want)
		}
	}
}

// Whatever is in the files of a segment, a search of it ends, within a bound of memory.
func FuzzSearch(f *testing.F) {
	segments, files := indextest.Segments(f, storageFile)
	kinds := map[string]bool{}
	for _, s := range segments {
		if x, err := Open(f.Context(), s); err == nil && !kinds[x.Kind+x.Metric.String()] {
			kinds[x.Kind+x.Metric.String()] = true
			f.Add(files[s.Prefix+"/"+indexFile], files[s.Prefix+"/"+storageFile], uint64(7))
		}
	}
	f.Fuzz(func(t *testing.T, top, storage []byte, seed uint64) {
		store := memstore.New()
		for name, file := range map[string][]byte{indexFile: top, storageFile: storage} {
			if _, err := store.Put(t.Context(), "x/"+name, file, objectstore.Condition{}); err != nil {
				t.Fatal(err)
			}
		}
		share := memory.NewBudget(64<<20, 64<<20).Open()
		defer share.Close()
		ctx := memory.WithShare(t.Context(), share)
		x, err := Open(ctx, indextest.Folder{Store: store, Prefix: "x"})
		if err != nil {
			return
		}
		s, err := x.Search(t.Context(), randomVector(rand.New(rand.NewPCG(seed, 1)), x.Dim), Params{Minimum: 1, Maximum: 3, K: 5, Candidates: 5})
		if err != nil {
			return
		}
		found := vector.NewTopK(5, vector.Bounds{})
		for p, err := range x.Read(ctx, allOf(t, s)) {
			if err != nil {
				return
			}
			if _, err := s.Look(ctx, p, everyRow, found); err != nil {
				return
			}
		}
		if found.Len() > 5 {
			t.Fatalf("%d rows are found, want 5 at most", found.Len())
		}
	})
}

// A search with less memory than a partition needs finds the same rows as a search without a limit, and
// stays within its limit. Neither uses a graph.
func TestSearchesInLittleMemory(t *testing.T) {
	segments, _ := indextest.Segments(t, storageFile)
	random, pieces := rand.New(rand.NewPCG(1, 2)), 0
	const columns = 8 << 10 // for pages of the small files
	for _, f := range segments {
		x, err := Open(t.Context(), f)
		if err != nil || !quantize.ByRow(x.quantizer) {
			continue
		}
		params := Params{Minimum: 1, Maximum: x.Partitions(), K: 10, Candidates: 10}
		for range 5 {
			v := randomVector(random, x.Dim)
			s, err := x.Search(t.Context(), v, params)
			if err != nil {
				t.Fatal(err)
			}
			want, all := vector.NewTopK(10, vector.Bounds{}), allOf(t, s)
			most := 8*pieceRows*x.rowBytes() + columns
			share := memory.NewBudget(1<<30, most).Open()
			got, last := vector.NewTopK(10, vector.Bounds{}), -1
			reopened, err := Open(t.Context(), f) // it keeps nothing
			if err != nil {
				t.Fatal(err)
			}
			for p, err := range reopened.Read(memory.WithShare(t.Context(), share), all) {
				if err != nil {
					t.Fatal(err)
				}
				if p.From > 0 {
					pieces++
				}
				if (p.From == 0) == (p.Number == last) {
					t.Fatalf("%s: row %d of partition %d comes after partition %d", f.Prefix, p.From, p.Number, last)
				}
				last = p.Number
				if _, err := s.Look(t.Context(), p, everyRow, got); err != nil {
					t.Fatal(err)
				}
			}
			for p, err := range x.Read(t.Context(), all) {
				if err != nil {
					t.Fatal(err)
				}
				for _, p := range piecesOf(p) {
					if _, err := s.Look(t.Context(), p, everyRow, want); err != nil {
						t.Fatal(err)
					}
				}
			}
			if diff := cmp.Diff(want.Hits(), got.Hits()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", f.Prefix, diff)
			}
			if share.Peak() > most || share.Held() > 0 {
				t.Errorf("%s: the search held %d bytes, and still holds %d", f.Prefix, share.Peak(), share.Held())
			}
		}
	}
	if pieces == 0 {
		t.Error("no partition was read in pieces")
	}
}

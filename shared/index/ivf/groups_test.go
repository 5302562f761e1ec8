package ivf

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/index/indextest"
	"tiltyard/shared/index/internal/quantize"
	"tiltyard/shared/index/vector"
	"tiltyard/shared/lance"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/storage/objectstore"
)

// A maze makes vectors like those of texts or pictures: with few degrees of freedom, in clusters.
type maze struct {
	random *rand.Rand
	dim    int
	map1   []float64 // from latent numbers to elements
	hubs   [][]float64
}

const latent = 12

func newMaze(dim int) *maze {
	m := &maze{random: rand.New(rand.NewPCG(21, uint64(dim))), dim: dim}
	for range latent * dim {
		m.map1 = append(m.map1, m.random.NormFloat64())
	}
	for range 60 {
		hub := make([]float64, latent)
		for i := range hub {
			hub[i] = m.random.NormFloat64()
		}
		m.hubs = append(m.hubs, hub)
	}
	return m
}

func (m *maze) vector() []float64 {
	hub, v := m.hubs[m.random.IntN(len(m.hubs))], make([]float64, m.dim)
	for i := range latent {
		x := hub[i] + 0.6*m.random.NormFloat64()
		for j := range v {
			v[j] += x * m.map1[i*m.dim+j]
		}
	}
	return v
}

// grouped writes a segment with groups, of one row in each partition: its centroid.
func grouped(t testing.TB, m *maze, metric vector.Metric, partitions int) indextest.Output {
	t.Helper()
	b := &build{Recipe: Recipe{Kind: "IVF_FLAT", Metric: metric.String()}, metric: metric, element: arrow.FLOAT32, dim: m.dim}
	for range partitions {
		v := m.vector()
		if metric == vector.Cosine {
			square := 0.0
			for _, x := range v {
				square += x * x
			}
			for i := range v {
				v[i] /= math.Sqrt(square)
			}
		}
		for _, x := range v {
			b.centroids = append(b.centroids, float32(x))
		}
	}
	b.table, b.encoder = vector.NewTable(b.grouping(), b.centroids, m.dim), quantize.NewFlatEncoder(arrow.FLOAT32, m.dim)
	out := indextest.NewOutput(t)
	err := b.write(t.Context(), func(yield func([]byte, error) bool) {
		for p := range partitions {
			key := binary.BigEndian.AppendUint32(nil, uint32(p))
			key = binary.BigEndian.AppendUint64(key, uint64(1000+p))
			for _, x := range b.centroids[p*m.dim : (p+1)*m.dim] {
				key = binary.LittleEndian.AppendUint32(key, math.Float32bits(x))
			}
			if !yield(key, nil) {
				return
			}
		}
	}, out)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// wholeOf opens a segment without its groups.
func wholeOf(t testing.TB, files indextest.Folder) *Index {
	t.Helper()
	x, err := open(t.Context(), files)
	if err != nil {
		t.Fatal(err)
	}
	x.files = files
	return x
}

// A search of groups probes the partitions that the ranking of all centroids chooses.
func TestGroupsLeadToTheNearestPartitions(t *testing.T) {
	m := newMaze(48)
	for _, metric := range []vector.Metric{vector.L2, vector.Cosine, vector.Dot} {
		out := grouped(t, m, metric, 3000)
		x, err := Open(t.Context(), out)
		if err != nil {
			t.Fatal(err)
		}
		if x.groups == nil || x.centroids != nil || x.Partitions() != 3000 {
			t.Fatalf("%d partitions, groups %v", x.Partitions(), x.groups)
		}
		whole := wholeOf(t, out.Folder)
		same, all := 0, 0
		for _, params := range []Params{{Minimum: 20, Maximum: 20, K: 10, Candidates: 10}, {Minimum: 1, K: 10, Candidates: 10}} {
			for range 100 {
				v := m.vector()
				got, err := x.Search(t.Context(), v, params)
				if err != nil {
					t.Fatal(err)
				}
				want, err := whole.Search(t.Context(), v, params)
				if err != nil {
					t.Fatal(err)
				}
				for _, p := range want.First() {
					if all++; slices.Contains(got.First(), p) {
						same++
					}
				}
			}
		}
		t.Logf("%s: %d of %d partitions are the same", metric, same, all)
		if same < all*99/100 {
			t.Errorf("%s: %d of %d partitions are the same", metric, same, all)
		}
	}
}

// A search that may go on has all partitions, each once, and finds all rows.
func TestGroupsHaveAllPartitions(t *testing.T) {
	m := newMaze(8)
	out := grouped(t, m, vector.L2, 2000)
	x, err := Open(t.Context(), out)
	if err != nil {
		t.Fatal(err)
	}
	v := m.vector()
	for _, params := range []Params{{Minimum: 1, K: 2000, Candidates: 2000}, {Minimum: 1, Maximum: 2000, K: 2000, Candidates: 2000}} {
		s, err := x.Search(t.Context(), v, params)
		if err != nil {
			t.Fatal(err)
		}
		numbers := allOf(t, s)
		sorted := slices.Clone(numbers)
		slices.Sort(sorted)
		for i, number := range sorted {
			if number != i || len(sorted) != 2000 {
				t.Fatalf("%d partitions, partition %d is number %d", len(sorted), i, number)
			}
		}
		got, want := nearest(t, x, v, params), nearest(t, wholeOf(t, out.Folder), v, params)
		if !slices.Equal(got, want) {
			t.Errorf("found %d rows %v, want %d: %v", len(got), got[:3], len(want), want[:3])
		}
	}
	everything := 1.0
	s, err := x.Search(t.Context(), v, Params{Minimum: 1, K: 1, Candidates: 1, Effort: &everything})
	if err != nil || len(s.First()) != 2000 {
		t.Errorf("a search of the greatest effort probes %d partitions: %v", len(s.First()), err)
	}
}

// groupedCost returns what a cold search of ten partitions reads, from opening the segment on.
func groupedCost(t testing.TB, m *maze, partitions int) (bytes, requests int64) {
	t.Helper()
	out := grouped(t, m, vector.L2, partitions)
	usage := &objectstore.Usage{}
	ctx := objectstore.WithUsage(t.Context(), usage)
	x, err := Open(ctx, indextest.Folder{Store: objectstore.Counting(out.Store), Prefix: out.Prefix})
	if err != nil {
		t.Fatal(err)
	}
	s, err := x.Search(ctx, m.vector(), Params{Minimum: 10, Maximum: 10, K: 10, Candidates: 10})
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range x.Read(ctx, s.First()) {
		if err != nil {
			t.Fatal(err)
		}
	}
	return usage.Bytes(), usage.Requests()
}

// A cold search reads a small part of the centroids.
func TestSearchesOfGroupsReadFewCentroids(t *testing.T) {
	const partitions, dim = 20_000, 64
	if read, _ := groupedCost(t, newMaze(dim), partitions); read > partitions*dim*4/4 {
		t.Errorf("a search reads %d bytes, and all centroids have %d", read, partitions*dim*4)
	}
}

func BenchmarkSearchOfManyPartitions(b *testing.B) {
	for _, partitions := range []int{10_000, 100_000} {
		b.Run(fmt.Sprint(partitions), func(b *testing.B) {
			var bytes, requests int64
			for range b.N {
				bytes, requests = groupedCost(b, newMaze(128), partitions)
			}
			b.ReportMetric(float64(bytes), "read-bytes")
			b.ReportMetric(float64(requests), "requests")
		})
	}
}

// without returns the files of a segment, with other bytes in its groups file, or without the file.
func without(t testing.TB, out indextest.Output, change func(groups []byte) []byte) indextest.Folder {
	t.Helper()
	files := map[string][]byte{}
	for _, name := range out.Names() {
		body, _, err := out.Store.Get(t.Context(), out.Prefix+"/"+name)
		if err != nil {
			t.Fatal(err)
		}
		if name == groupsFile {
			if body = change(bytes.Clone(body)); body == nil {
				continue
			}
		}
		files[name] = body
	}
	return indextest.FolderOf(t, files)
}

// Without a groups file that fits, a search reads all centroids.
func TestGroupsAreNotNeeded(t *testing.T) {
	m := newMaze(8)
	out := grouped(t, m, vector.L2, 500)
	other := grouped(t, m, vector.L2, 400)
	v := m.vector()
	params := Params{Minimum: 5, Maximum: 5, K: 10, Candidates: 10}
	want := nearest(t, wholeOf(t, out.Folder), v, params)
	var stale []byte
	without(t, other, func(groups []byte) []byte { stale = groups; return nil })
	for name, change := range map[string]func([]byte) []byte{
		"missing": func([]byte) []byte { return nil },
		"cut":     func(b []byte) []byte { return b[:len(b)/2] },
		"stale":   func([]byte) []byte { return stale },
	} {
		x, err := Open(t.Context(), without(t, out, change))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := nearest(t, x, v, params); x.groups != nil || !slices.Equal(got, want) {
			t.Errorf("%s: found %v, want %v", name, got, want)
		}
	}
}

// A listed is a segment whose manifest entry lists a groups file, also if that is lost.
type listed struct{ indextest.Folder }

func (l listed) Names() []string { return append(l.Folder.Names(), groupsFile) }

// A lost groups file is like none.
func TestGroupsMayBeLost(t *testing.T) {
	out := grouped(t, newMaze(8), vector.L2, 100)
	x, err := Open(t.Context(), listed{without(t, out, func([]byte) []byte { return nil })})
	if err != nil || x.groups != nil || x.Partitions() != 100 {
		t.Errorf("a segment without the groups that it lists: %v", err)
	}
}

// FuzzGroups searches segments with any bytes as groups.
func FuzzGroups(f *testing.F) {
	m := newMaze(4)
	out := grouped(f, m, vector.L2, 60)
	without(f, out, func(groups []byte) []byte {
		f.Add(groups)
		for i := range 40 {
			changed := bytes.Clone(groups)
			changed[len(changed)*i/40] ^= byte(1 + i*7)
			f.Add(changed)
		}
		return groups
	})
	v := m.vector()
	f.Fuzz(func(t *testing.T, groups []byte) {
		share := memory.NewBudget(64<<20, 64<<20).Open()
		defer share.Close()
		ctx := memory.WithShare(t.Context(), share)
		if err := searchAll(ctx, without(t, out, func([]byte) []byte { return groups }), v); err != nil {
			var refused *memory.Error
			if !errors.Is(err, lance.ErrCorrupt) && !errors.Is(err, lance.ErrUnsupported) && !errors.As(err, &refused) {
				t.Fatal(err)
			}
		}
	})
}

func searchAll(ctx context.Context, files indextest.Folder, v []float64) error {
	x, err := Open(ctx, files)
	if err != nil {
		return err
	}
	if x.Dim != len(v) {
		return fmt.Errorf("%w: dimensions", lance.ErrCorrupt)
	}
	s, err := x.Search(ctx, v, Params{Minimum: 1, K: 5, Candidates: 5})
	if err != nil {
		return err
	}
	rest, err := s.Rest(ctx, math.MaxInt)
	if err != nil {
		return err
	}
	for p, err := range x.Read(ctx, append(slices.Clone(s.First()), rest...)) {
		if err != nil {
			return err
		}
		if _, err := s.Look(ctx, p, everyRow, vector.NewTopK(5, vector.Bounds{})); err != nil {
			return err
		}
	}
	return nil
}

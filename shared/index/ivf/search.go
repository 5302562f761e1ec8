package ivf

import (
	"context"
	"fmt"
	"math"
	"sync"

	"tiltyard/shared/index/internal/keyheap"
	"tiltyard/shared/index/internal/quantize"
	"tiltyard/shared/index/vector"
	"tiltyard/shared/lance"
)

// Params bound the effort of a search.
type Params struct {
	// Minimum and Maximum bound the number of partitions to probe; a Maximum of 0 is all. Between them the
	// distances of the centroids determine the number of first probes, and the search continues while it
	// has found fewer than K rows.
	Minimum, Maximum int
	// Effort, from 0 to 1, scales the number of first probes; nil is 0.5. It does not affect the later
	// probes.
	Effort     *float64
	K          int // requested number of rows
	Candidates int // rows that the search finds, K or more
	// EF is the number of graph nodes that a search keeps as candidates; 0 selects 1.5 times Candidates. It
	// is raised to Candidates if it is less.
	EF int
	// Bounds limit the distances of the rows that are found.
	Bounds vector.Bounds
}

// A Search is one query vector with its ranked partitions of a segment. It belongs to one goroutine.
type Search struct {
	index  *Index
	query  quantize.Prepared
	order  []int // partitions, nearest first
	first  int
	params Params

	unread   []int // groups whose partitions are not ranked
	readMore func(context.Context) error
}

// A Filter selects the rows that a search may return.
type Filter struct {
	// Accept returns the current address of the row with an id, and whether the search may return the row.
	Accept func(id uint64) (address uint64, ok bool)
	// Share is about the share of the rows that Accept admits. If it is 1, a search does not ask whether it
	// admits few rows of a partition.
	Share float64
}

// Search ranks the partitions for a query vector, which must have the dimensions of the index.
func (x *Index) Search(ctx context.Context, values []float64, params Params) (*Search, error) {
	if len(values) != x.Dim {
		return nil, fmt.Errorf("%w: a vector of %d dimensions in an index of %d", lance.ErrUnsupported, len(values), x.Dim)
	}
	v, err := quantize.NewVector(values, x.Element, x.Metric)
	if err != nil {
		return nil, err
	}
	s := &Search{index: x, params: params}
	if s.query, err = x.quantizer.Prepare(v); err != nil {
		return nil, err
	}
	return s, s.rank(ctx, v)
}

// rank sorts the partitions by the distance of their centroids, and drops those beyond the maximum.
func (s *Search) rank(ctx context.Context, v *quantize.Vector) error {
	metric := s.index.Metric
	if metric == vector.Cosine {
		metric = vector.L2 // all are at length 1
	}
	if s.index.groups != nil {
		return s.rankGroups(ctx, metric, v)
	}
	distances := make([]float32, s.index.Partitions())
	if err := measure(metric, v, s.index.centroids, distances); err != nil {
		return err
	}
	s.order = nearestOf(distances, s.params.Maximum)
	sorted := make([]float32, len(s.order))
	for i, number := range s.order {
		sorted[i] = distances[number]
	}
	s.first = firstProbes(s.index.Metric, s.params, sorted)
	return nil
}

// nearestOf returns the indices of the most least distances, ordered by distance and then by index; a most
// of 0 selects all. NaN is ordered before all numbers.
func nearestOf(distances []float32, most int) []int {
	if most <= 0 || most > len(distances) {
		most = len(distances)
	}
	if most == 0 {
		return nil
	}
	var nearest keyheap.Least
	nearest.Reset(most)
	for i, d := range distances {
		nearest.Add(uint64(rankOf(d))<<32 | uint64(i))
	}
	order := make([]int, 0, most)
	for _, key := range nearest.Sorted() {
		order = append(order, int(uint32(key)))
	}
	return order
}

// rankOf maps a distance to an integer with the same order, where -0 equals 0 and NaN comes first.
func rankOf(d float32) uint32 {
	switch {
	case d != d:
		return 0
	case d == 0:
		d = 0 // and not -0
	}
	bits := math.Float32bits(d)
	if bits>>31 != 0 {
		return ^bits
	}
	return bits | 1<<31
}

// measure writes the distances of all centroids from the query. Under Hamming both are bit vectors.
func measure(metric vector.Metric, v *quantize.Vector, centroids *quantize.Tensor, out []float32) error {
	if metric == vector.Hamming {
		query, err := vector.NewQuery(metric, v.Bytes)
		if err == nil {
			query.Distances(centroids.Bytes, out)
		}
		return err
	}
	query, err := vector.NewQuery(metric, v.Values)
	if err == nil {
		query.Distances(centroids.Values, out)
	}
	return err
}

// First returns the partitions that every search probes, nearest first.
func (s *Search) First() []int { return s.order[:s.first] }

// Rest returns the partitions to probe if the first ones have returned too few rows: most of them at least, unless there
// are fewer. Later calls return the same ones, and more.
func (s *Search) Rest(ctx context.Context, most int) ([]int, error) {
	if len(s.order)-s.first < most && len(s.unread) > 0 && (s.params.Maximum <= 0 || len(s.order) < s.params.Maximum) {
		if err := s.readMore(ctx); err != nil {
			return nil, err
		}
	}
	return s.order[s.first:], nil
}

// measured is the number of rows that are measured at a time.
const measured = 1 << 10

// Look adds the near rows of a partition to top. It measures all rows, or follows the graph of the
// partition. It returns the number of rows that it has measured.
func (s *Search) Look(ctx context.Context, p *Partition, f Filter, top *vector.TopK) (measured int, err error) {
	if p.graph != nil {
		return s.walk(ctx, p, f, top)
	}
	return p.Rows(), s.scan(ctx, p, s.query.Meter(&p.codes), f, top)
}

// spaces hold memory for the rows that scans find.
var spaces = sync.Pool{New: func() any { return new([]quantize.Found) }}

// scan measures all rows of a partition. It calls Accept only for rows that are near enough to enter top.
func (s *Search) scan(ctx context.Context, p *Partition, meter quantize.Meter, f Filter, top *vector.TopK) error {
	space := spaces.Get().(*[]quantize.Found)
	defer spaces.Put(space)
	for from := 0; from < p.Rows(); from += measured {
		if err := ctx.Err(); err != nil {
			return err
		}
		*space = meter.Near(from, min(from+measured, p.Rows()), top.Limit(), (*space)[:0])
		for _, found := range *space {
			if found.Distance <= top.Limit() {
				if address, ok := f.Accept(p.ids[found.Row]); ok {
					top.Add(found.Distance, address)
				}
			}
		}
	}
	return nil
}

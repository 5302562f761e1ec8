package kmeans

import (
	"container/heap"
	"context"
	"slices"

	"tiltyard/shared/index/vector"
	"tiltyard/shared/process/memory"
)

// ways is the maximal number of clusters into which one cluster is divided at once.
const ways = 16

// divide makes many clusters: it repeatedly divides the largest cluster, into a number of parts that
// depends on its size, until there are enough.
func divide(ctx context.Context, rows []float32, dim int, o Options) ([]float32, error) {
	n := len(rows) / dim
	held, err := memory.Take(ctx, int64(16*n)+4*int64(o.Clusters*dim))
	if err != nil {
		return nil, err
	}
	defer held.Release()
	all := make([]int32, n)
	for i := range all {
		all[i] = int32(i)
	}
	d := &division{Options: o, rows: rows, dim: dim, share: max(1, n/o.Clusters)}
	// Rows that cannot be divided are equal, so each of them is their mean.
	open, closed := leaves{{members: all, centroid: rows[:dim]}}, leaves{}
	for len(open) > 0 && len(open)+len(closed) < o.Clusters {
		largest := heap.Pop(&open).(leaf)
		parts, err := d.parts(ctx, largest, o.Clusters-len(open)-len(closed))
		if err != nil {
			return nil, err
		}
		if len(parts) < 2 {
			closed = append(closed, largest)
			continue
		}
		for _, part := range parts {
			heap.Push(&open, part)
		}
	}
	var centroids []float32
	for _, l := range append(closed, open...) {
		centroids = append(centroids, l.centroid...)
	}
	return centroids, nil
}

const (
	// refinements is the number of iterations after a division.
	refinements = 2
	// mostProducts bounds the products of elements in these iterations: about a minute of one core.
	mostProducts = 1 << 41
)

// refine adjusts the centroids of a division by iterations over all rows. Each division only considers the
// rows of one cluster, so rows at its edge may be nearer to the centroids of another. Centroids without
// rows keep their place. Native Lance does not refine.
func refine(ctx context.Context, rows []float32, dim int, centroids []float32, o Options) error {
	o.Clusters = len(centroids) / dim
	c, err := newClustering(ctx, rows, dim, o)
	if err != nil {
		return err
	}
	defer c.held.Release()
	c.state = state{centroids: centroids, sizes: make([]int, o.Clusters)}
	times := min(refinements, o.Iterations, int(mostProducts/(float64(len(c.rows))*float64(o.Clusters))))
	for range times {
		before := slices.Clone(centroids)
		if _, _, err := c.assign(ctx, 1/float32(c.n)); err != nil {
			return err
		}
		c.means()
		for i, size := range c.sizes {
			if size == 0 {
				copy(c.centroids[i*dim:(i+1)*dim], before[i*dim:])
			}
		}
		c.normalize()
	}
	return nil
}

// A leaf is a cluster that may be divided.
type leaf struct {
	members  []int32 // numbers of its rows
	centroid []float32
}

// A division divides clusters.
type division struct {
	Options
	rows  []float32
	dim   int
	share int // rows that a cluster has on average
}

// parts divides a cluster into at most room parts. Empty parts are dropped.
func (d *division) parts(ctx context.Context, l leaf, room int) ([]leaf, error) {
	o := d.Options
	o.Clusters = min(max(2, len(l.members)/d.share), ways, room, len(l.members))
	held, err := memory.Take(ctx, 4*int64(min(len(l.members), enough*o.Clusters))*int64(d.dim)+8*int64(len(l.members)))
	if err != nil {
		return nil, err
	}
	defer held.Release()
	centroids, err := lloyd(ctx, d.gather(l.members[:min(len(l.members), enough*o.Clusters)]), d.dim, o)
	if err != nil {
		return nil, err
	}
	parts := make([]leaf, o.Clusters)
	for i := range parts {
		parts[i].centroid = centroids[i*d.dim : (i+1)*d.dim]
	}
	table := vector.NewTable(d.Metric, centroids, d.dim)
	const batch = 16 * assignRows
	numbers, distances := make([]uint32, batch), make([]float32, batch)
	for from := 0; from < len(l.members); from += batch {
		some := l.members[from:min(from+batch, len(l.members))]
		if err := Assign(ctx, table, d.gather(some), nil, numbers[:len(some)], distances[:len(some)], d.Workers); err != nil {
			return nil, err
		}
		for i, member := range some {
			p := &parts[numbers[i]]
			p.members = append(p.members, member)
		}
	}
	kept := parts[:0]
	for _, p := range parts {
		if len(p.members) > 0 {
			kept = append(kept, p)
		}
	}
	return kept, nil
}

// gather copies rows.
func (d *division) gather(members []int32) []float32 {
	rows := make([]float32, 0, len(members)*d.dim)
	for _, m := range members {
		rows = append(rows, d.rows[int(m)*d.dim:(int(m)+1)*d.dim]...)
	}
	return rows
}

// leaves is a heap with the largest leaf on top.
type leaves []leaf

func (l leaves) Len() int           { return len(l) }
func (l leaves) Less(i, j int) bool { return len(l[i].members) > len(l[j].members) }
func (l leaves) Swap(i, j int)      { l[i], l[j] = l[j], l[i] }
func (l *leaves) Push(x any)        { *l = append(*l, x.(leaf)) }

func (l *leaves) Pop() any {
	last := (*l)[len(*l)-1]
	*l = (*l)[:len(*l)-1]
	return last
}

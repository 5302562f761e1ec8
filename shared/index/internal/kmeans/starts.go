package kmeans

import (
	"context"

	"tiltyard/shared/index/vector"
	"tiltyard/shared/process/memory"
)

const (
	// mostStarts is the maximal number of starts.
	mostStarts = 4
	// From fewClusters clusters on, k-means runs once: the recall of searches hardly depends on the start.
	fewClusters = 128
	// trial is the number of iterations after which the starts are compared.
	trial = 5
)

// starts returns the number of starts. It falls with the number of clusters, because the result then
// depends less on the start and each start costs more.
func (o Options) starts() int {
	if o.Clusters < 2 {
		return 1
	}
	return max(1, min(mostStarts, fewClusters/o.Clusters))
}

// best runs several starts and continues with the one of the greatest merit.
func best(ctx context.Context, rows []float32, dim int, o Options) ([]float32, error) {
	c, err := newClustering(ctx, rows, dim, o)
	if err != nil {
		return nil, err
	}
	defer c.held.Release()
	e, err := newExam(ctx, c)
	if err != nil {
		return nil, err
	}
	defer e.held.Release()
	var first state
	highest := 0.0
	for i := range o.starts() {
		c.start()
		if err := c.iterate(ctx, min(trial, o.Iterations)); err != nil {
			return nil, err
		}
		merit, err := e.merit(ctx, c)
		if err != nil {
			return nil, err
		}
		if i == 0 || merit > highest {
			first, highest = c.clone(), merit
		}
	}
	c.state = first
	if err := c.iterate(ctx, o.Iterations-min(trial, o.Iterations)); err != nil {
		return nil, err
	}
	return c.centroids, nil
}

// An exam measures the recall of searches: it compares their results with the exact nearest rows of some
// query rows.
type exam struct {
	held    memory.Hold
	rows    int
	queries int      // the first of the rows
	each    int      // number of nearest rows searched per query
	nearest []uint64 // numbers of the rows nearest to each query
}

const (
	examRows    = 4096
	examQueries = 256
	examNearest = 10
)

// newExam finds the exact nearest rows of some rows, the queries, as the ground truth of the exam. A row is
// not its own neighbour.
func newExam(ctx context.Context, c *clustering) (*exam, error) {
	rows := min(c.n, examRows)
	e := &exam{rows: rows, queries: min(rows, examQueries), each: min(rows-1, examNearest)}
	var err error
	if e.held, err = memory.Take(ctx, 4*int64(rows)+8*int64(e.queries*e.each)); err != nil {
		return nil, err
	}
	distances := make([]float32, rows)
	for i := range e.queries {
		if err := ctx.Err(); err != nil {
			e.held.Release()
			return nil, err
		}
		query, err := vector.NewQuery(c.Metric, c.rows[i*c.dim:(i+1)*c.dim])
		if err != nil {
			e.held.Release()
			return nil, err
		}
		query.Distances(c.rows[:rows*c.dim], distances)
		top := vector.NewTopK(e.each, vector.Bounds{})
		top.AddRun(distances[:i], 0)
		top.AddRun(distances[i+1:], uint64(i+1))
		for _, hit := range top.Hits() {
			e.nearest = append(e.nearest, hit.RowID)
		}
		for len(e.nearest) < (i+1)*e.each { // distances that overflow are not kept
			e.nearest = append(e.nearest, uint64(i))
		}
	}
	return e, nil
}

// merit returns the average recall of searches that probe 1, 2, 4 … up to half of the clusters, less half
// the fraction of rows that they measure. Searches in larger clusters find more, but also cost more. The
// factor of one half avoids a start that finds a row more at twice the work.
func (e *exam) merit(ctx context.Context, c *clustering) (float64, error) {
	table := vector.NewTable(c.Metric, c.centroids, c.dim)
	numbers := c.numbers[:e.rows]
	if err := Assign(ctx, table, c.rows[:e.rows*c.dim], nil, numbers, c.distances[:e.rows], c.Workers); err != nil {
		return 0, err
	}
	sizes, place := make([]int, c.Clusters), make([]int, c.Clusters)
	for _, number := range numbers {
		sizes[number]++
	}
	distances := make([]float32, c.Clusters)
	found, measured := 0, 0
	for i := range e.queries {
		table.Distances(c.rows[i*c.dim:(i+1)*c.dim], distances)
		order := vector.NewTopK(c.Clusters, vector.Bounds{})
		order.AddRun(distances, 0)
		for j := range place {
			place[j] = c.Clusters
		}
		for at, hit := range order.Hits() {
			place[hit.RowID] = at
			measured += sizes[hit.RowID] * searches(at, c.Clusters)
		}
		for _, row := range e.nearest[i*e.each : (i+1)*e.each] {
			found += searches(place[numbers[row]], c.Clusters)
		}
	}
	all := float64(e.queries * searches(0, c.Clusters))
	return float64(found)/(all*float64(e.each)) - float64(measured)/(2*all*float64(e.rows)), nil
}

// searches returns the number of searches that probe the cluster at a place in the ranking of a query.
func searches(place, clusters int) int {
	n := 0
	for probes := 1; probes <= clusters/2; probes *= 2 {
		if place < probes {
			n++
		}
	}
	return n
}

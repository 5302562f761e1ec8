package kmeans

import (
	"context"

	"tiltyard/shared/memory"
	"tiltyard/shared/vector"
)

const (
	// mostStarts is how many times clusters are begun at most.
	mostStarts = 4
	// fewClusters is of how many clusters there is no second start. What searches find by these depends
	// so little on the start that another one is not worth its time.
	fewClusters = 128
	// trial is after how many iterations the starts are compared.
	trial = 5
)

// starts returns how many times clusters are begun. The more there are, the less depends on the start,
// and the more it costs.
func (o Options) starts() int {
	if o.Clusters < 2 {
		return 1
	}
	return max(1, min(mostStarts, fewClusters/o.Clusters))
}

// best begins several times and goes on with the start by which searches find most.
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

// An exam searches for rows near to some of a clustering's rows, among the first of these.
type exam struct {
	held    memory.Hold
	rows    int
	queries int      // the first of the rows
	each    int      // how many are searched for, for each query
	nearest []uint64 // numbers of the rows nearest to each query
}

const (
	examRows    = 4096
	examQueries = 256
	examNearest = 10
)

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

// merit returns what searches in 1, 2, 4 … clusters, in up to half of them, find of the nearest rows,
// on average, less half the share of all rows that they measure. A search in larger clusters finds more
// and costs more. With half of it one start is not chosen for a row that it finds by twice the work.
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

// searches returns how many of the searches look into the cluster at a place in the order of a query.
func searches(place, clusters int) int {
	n := 0
	for probes := 1; probes <= clusters/2; probes *= 2 {
		if place < probes {
			n++
		}
	}
	return n
}

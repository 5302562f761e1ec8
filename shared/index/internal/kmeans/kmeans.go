// Package kmeans divides vectors into clusters around centroids, like native Lance. Lloyd's algorithm
// begins with random vectors and moves each centroid to the mean of its nearest vectors.
//
// Balanced clustering charges large clusters for their size, so that the partitions of an index become
// similar. It runs several times for few clusters, and continues with the start that gives searches the
// best recall. Many clusters are made by division: the largest cluster is divided until there are enough,
// and a few iterations over all rows follow.
//
// Under L2 a centroid is a mean. Under Dot it is the mean scaled to length 1.
package kmeans

import (
	"context"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"tiltyard/shared/index/vector"
	"tiltyard/shared/process/memory"
)

// Options holds the parameters of the clustering.
type Options struct {
	Clusters   int           // 1 at least
	Iterations int           // maximal number
	Metric     vector.Metric // L2 or Dot
	Balanced   bool          // charge large clusters for their size, so that partitions become similar
	Workers    int           // number of goroutines; 0 selects one per core
	Random     *rand.Rand
}

const (
	// most is the maximal number of clusters of one k-means run.
	most = 256
	// enough is the number of training rows per cluster.
	enough = 512
	// tolerance is the relative change of the loss at which the iterations end.
	tolerance = 1e-4
)

// Train returns the centroids of rows, which are contiguous vectors of dim elements in random order. There
// are Options.Clusters of them, or fewer if there are fewer distinct rows.
func Train(ctx context.Context, rows []float32, dim int, o Options) ([]float32, error) {
	if o.Workers == 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	o.Clusters = min(o.Clusters, len(rows)/dim)
	switch {
	case o.Clusters > most:
		centroids, err := divide(ctx, rows, dim, o)
		if err != nil {
			return nil, err
		}
		if err := refine(ctx, rows, dim, centroids, o); err != nil {
			return nil, err
		}
		return centroids, nil
	case o.Balanced && o.starts() > 1:
		return best(ctx, rows, dim, o)
	}
	return lloyd(ctx, rows, dim, o)
}

// A clustering is Lloyd's iterations over rows.
type clustering struct {
	Options
	held      memory.Hold
	rows      []float32
	dim, n    int
	numbers   []uint32 // of the cluster of each row
	distances []float32
	sums      [][]float32 // of the rows of each cluster, by worker
	state
}

// A state is the state of the iterations.
type state struct {
	centroids []float32
	sizes     []int
	loss      float64 // of the last iteration
	charge    float32 // per row of a cluster, in the next iteration
	settled   bool    // the iterations have converged
}

func (s *state) clone() state {
	c := *s
	c.centroids, c.sizes = slices.Clone(s.centroids), slices.Clone(s.sizes)
	return c
}

func (c *clustering) bytes() int64 {
	return int64(8*c.n) + 4*int64(c.Workers+2)*int64(c.Clusters*c.dim) + 2*vector.TableBytes(c.Clusters, c.dim)
}

// newClustering returns a clustering of rows, or of a prefix of them if there are many. The caller releases
// its memory.
func newClustering(ctx context.Context, rows []float32, dim int, o Options) (*clustering, error) {
	n := min(len(rows)/dim, enough*o.Clusters)
	c := &clustering{Options: o, rows: rows[:n*dim], dim: dim, n: n}
	var err error
	if c.held, err = memory.Take(ctx, c.bytes()); err != nil {
		return nil, err
	}
	c.numbers, c.distances = make([]uint32, n), make([]float32, n)
	c.sums = make([][]float32, o.Workers)
	for i := range c.sums {
		c.sums[i] = make([]float32, o.Clusters*dim)
	}
	return c, nil
}

// lloyd clusters rows from a single start.
func lloyd(ctx context.Context, rows []float32, dim int, o Options) ([]float32, error) {
	c, err := newClustering(ctx, rows, dim, o)
	if err != nil {
		return nil, err
	}
	defer c.held.Release()
	c.start()
	if err := c.iterate(ctx, o.Iterations); err != nil {
		return nil, err
	}
	return c.centroids, nil
}

// start makes random rows the centroids.
func (c *clustering) start() {
	c.state = state{sizes: make([]int, c.Clusters), loss: math.MaxFloat64, charge: math.MaxFloat32}
	for _, row := range c.Random.Perm(c.n)[:c.Clusters] {
		c.centroids = append(c.centroids, c.rows[row*c.dim:(row+1)*c.dim]...)
	}
	c.normalize()
}

// iterate runs iterations until they converge, but not more than times.
func (c *clustering) iterate(ctx context.Context, times int) error {
	for range times {
		if c.settled {
			return nil
		}
		charge := min(c.charge, 1/float32(c.n))
		loss, next, err := c.assign(ctx, charge)
		if err != nil {
			return err
		}
		c.move()
		c.settled = math.Abs(c.loss-loss) < tolerance*math.Abs(loss) || loss == 0
		c.loss, c.charge = loss, next
	}
	return nil
}

// normalize scales centroids to length 1 under Dot. Zero vectors stay.
func (c *clustering) normalize() {
	if c.Metric != vector.Dot {
		return
	}
	for i := range c.Clusters {
		centroid, square := c.centroids[i*c.dim:(i+1)*c.dim], 0.0
		for _, x := range centroid {
			square += float64(x) * float64(x)
		}
		if square > 0 {
			for j := range centroid {
				centroid[j] /= float32(math.Sqrt(square))
			}
		}
	}
}

// assign finds the cluster of each row. Balanced clusters are charged by their sizes before. It
// returns the loss and the charge for the next iteration.
func (c *clustering) assign(ctx context.Context, charge float32) (loss float64, next float32, err error) {
	var bias []float32
	if c.Balanced {
		bias = make([]float32, c.Clusters)
		for i, size := range c.sizes {
			bias[i] = charge * float32(size)
		}
	}
	table := vector.NewTable(c.Metric, c.centroids, c.dim)
	if err := Assign(ctx, table, c.rows, bias, c.numbers, c.distances, c.Workers); err != nil {
		return 0, 0, err
	}
	clear(c.sizes)
	radius, losses := make([]float32, c.Clusters), make([]float64, c.Clusters)
	for i, number := range c.numbers {
		c.sizes[number]++
		radius[number] = max(radius[number], c.distances[i])
		losses[number] += float64(c.distances[i])
	}
	largest, squares := 0, 0.0
	for i, size := range c.sizes {
		loss += losses[i]
		squares += float64(size) * float64(size)
		if size > c.sizes[largest] {
			largest = i
		}
	}
	if !c.Balanced {
		return loss, 0, nil
	}
	// The charge per row is chosen so that, if all rows were in the largest cluster, a row at its edge
	// would pay the difference between its distance and the average distance.
	next = (radius[largest] - float32(losses[largest])/float32(c.sizes[largest])) / float32(c.n)
	loss += float64(charge) * (squares - float64(c.n)*float64(c.n)/float64(c.Clusters))
	return loss, next, nil
}

// move moves the centroids to the means of their rows. Empty clusters take over rows of large ones.
func (c *clustering) move() {
	c.means()
	c.fill()
	c.normalize()
}

// means sets each centroid to the mean of its rows, or to zero without rows.
func (c *clustering) means() {
	var group errgroup.Group
	for w, sums := range c.sums {
		group.Go(func() error {
			clear(sums)
			for i := w * c.n / c.Workers; i < (w+1)*c.n/c.Workers; i++ {
				sum := sums[int(c.numbers[i])*c.dim:][:c.dim]
				for j, x := range c.rows[i*c.dim : (i+1)*c.dim] {
					sum[j] += x
				}
			}
			return nil
		})
	}
	_ = group.Wait() // none fails
	copy(c.centroids, c.sums[0])
	for _, sums := range c.sums[1:] {
		for i, x := range sums {
			c.centroids[i] += x
		}
	}
	for i, size := range c.sizes {
		for j := range c.dim {
			c.centroids[i*c.dim+j] /= float32(max(size, 1))
		}
	}
}

// fill splits the largest cluster for each empty one, into two centroids slightly apart.
func (c *clustering) fill() {
	const aside = 1.0 / 1024
	for i := range c.sizes {
		if c.sizes[i] > 0 {
			continue
		}
		largest := 0
		for j, size := range c.sizes {
			if size > c.sizes[largest] {
				largest = j
			}
		}
		if c.sizes[largest] < 2 {
			return
		}
		c.sizes[i] = c.sizes[largest] / 2
		c.sizes[largest] -= c.sizes[i]
		for j := range c.dim {
			x, sign := c.centroids[largest*c.dim+j], float32(aside)
			if j%2 == 1 {
				sign = -aside
			}
			c.centroids[i*c.dim+j], c.centroids[largest*c.dim+j] = x*(1+sign), x*(1-sign)
		}
	}
}

// assignRows is the number of rows that a goroutine assigns at a time.
const assignRows = 1024

// Assign finds for each row the nearest vector of a table, as [vector.Table.Nearest] does, on several
// goroutines.
func Assign(ctx context.Context, table *vector.Table, rows, bias []float32, numbers []uint32, distances []float32, workers int) error {
	if len(numbers) == 0 {
		return nil
	}
	dim := len(rows) / len(numbers)
	var group errgroup.Group
	group.SetLimit(workers)
	for from := 0; from < len(numbers) && ctx.Err() == nil; from += assignRows {
		to := min(from+assignRows, len(numbers))
		group.Go(func() error {
			table.Nearest(rows[from*dim:to*dim], bias, numbers[from:to], distances[from:to])
			return nil
		})
	}
	_ = group.Wait() // none fails
	return ctx.Err()
}

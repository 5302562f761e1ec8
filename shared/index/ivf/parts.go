package ivf

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/index"
	"tiltyard/shared/index/internal/quantize"
	"tiltyard/shared/index/vector"
	"tiltyard/shared/lance"
	"tiltyard/shared/process/memory"
)

// A Model is the trained part of an index that is built in parts: the centroids and the quantizer. It
// encodes a row as a key of partition, row and code.
type Model struct {
	build *build
	held  memory.Hold
}

// newBuild begins a build by a complete recipe.
func newBuild(r Recipe, column arrow.DataType, rows int64) (*build, error) {
	list, _ := vectorsOf(column)
	metric, err := vector.ParseMetric(r.Metric)
	return &build{
		Recipe: r, metric: metric, element: list.Elem().ID(), dim: quantize.DimOf(list.Elem().ID(), int(list.Len())),
		grouped: groupedBytes,
		random:  rand.New(rand.NewPCG(uint64(rows), uint64(list.Len()))),
	}, err
}

// Train learns a model from the vectors of a column, and writes it as a segment without rows. The recipe
// must be complete. It returns false, and writes nothing, if there are too few vectors.
func Train(ctx context.Context, r Recipe, column arrow.DataType, rows index.Source, out index.Output) (bool, error) {
	b, err := newBuild(r, column, rows.Rows())
	if err != nil {
		return false, err
	}
	if trained, err := b.train(ctx, rows); err != nil || !trained {
		return false, err
	}
	return true, b.write(ctx, func(func([]byte, error) bool) {}, out)
}

// OpenModel opens the segment of a model that Train has written with the same recipe. The caller closes the
// model.
func OpenModel(ctx context.Context, r Recipe, column arrow.DataType, files index.Files) (*Model, error) {
	b, err := newBuild(r, column, 0)
	if err != nil {
		return nil, err
	}
	x, err := Open(ctx, files)
	if err != nil {
		return nil, err
	}
	list, _ := vectorsOf(column)
	if x.Kind != r.Kind || x.Metric != b.metric || x.Element != b.element || x.Dim != int(list.Len()) {
		return nil, fmt.Errorf("%w: a model %s of %d times %s under %s, for an index %s on a column of %s", lance.ErrCorrupt, x.Kind, x.Dim, x.Element, x.Metric, r.Kind, column)
	}
	m := &Model{build: b}
	b.centroids = x.centroids.Unpacked()
	if m.held, err = memory.Take(ctx, 3*4*int64(len(b.centroids))+2*x.quantizer.Bytes()); err != nil { // of the tables
		return nil, err
	}
	if b.encoder, err = quantize.EncoderOf(x.quantizer, b.centroids); err != nil {
		m.Close()
		return nil, err
	}
	b.table = vector.NewTable(b.grouping(), b.centroids, b.dim)
	return m, nil
}

// Close releases the memory of the model.
func (m *Model) Close() { m.held.Release() }

// Keys returns the keys of the rows in a batch that have a vector. It is safe for concurrent use.
func (m *Model) Keys(ctx context.Context, batch arrow.RecordBatch) ([][]byte, error) {
	return m.build.keys(ctx, batch)
}

// Loss returns the sum of the distances from the vectors of all Keys to their centroids.
func (m *Model) Loss() float64 { return m.build.loss }

// Write writes the files of a segment from sorted keys. loss is the summed loss of all rows.
func (m *Model) Write(ctx context.Context, keys iter.Seq2[[]byte, error], loss float64, out index.Output) error {
	m.build.loss = loss
	return m.build.write(ctx, keys, out)
}

// Nanos estimates the time, in nanoseconds of one core, to encode the key of one vector and to write it, in
// an index of the given number of rows.
func (r Recipe) Nanos(column arrow.DataType, rows int64) (encode, write float64) {
	const perElement = 0.05 // of a distance
	list, _ := vectorsOf(column)
	dim := float64(list.Len())
	encode, write = dim*perElement*float64(r.partitions(rows)), 500
	if r.quantizer() == "PQ" {
		encode += dim * perElement * float64(int(1)<<r.Bits)
	}
	if r.quantizer() == "RQ" {
		const rotation, products = 12, 60 // for each element
		encode += dim * (rotation + products)
	}
	if r.hasGraph() {
		const visits = 4 // distances for each candidate of a new node
		write += dim * perElement * visits * float64(r.Candidates)
	}
	return encode, write
}

// CodeBytes returns the size of the code of one vector of a column.
func (r Recipe) CodeBytes(column arrow.DataType) int {
	list, _ := vectorsOf(column)
	switch r.quantizer() {
	case "PQ":
		return r.SubVectors * r.Bits / 8
	case "FLAT":
		return int(list.Len()) * list.Elem().(arrow.FixedWidthDataType).Bytes()
	case "RQ":
		const factors = 5 * 4
		return int(list.Len())*r.Bits/8 + factors
	}
	return int(list.Len())
}

package ivf

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/arrow/sortkey"
	"tiltyard/shared/index"
	"tiltyard/shared/index/internal/kmeans"
	"tiltyard/shared/index/internal/quantize"
	"tiltyard/shared/index/vector"
	"tiltyard/shared/process/memory"
)

// sortBytes bounds the codes that are sorted in memory, within the memory share.
const sortBytes = 256 << 20

// A build makes a segment: it finds centroids and trains the quantizer with a sample of the rows,
// passes all rows through both, sorts their codes by partition, and writes these.
type build struct {
	Recipe
	metric  vector.Metric
	element arrow.Type
	dim     int // values of a vector: see quantize.DimOf
	random  *rand.Rand
	watch   func(rows int64) // see Build; may be nil
	grouped int64            // size of centroids from which the segment has groups

	centroids []float32
	table     *vector.Table // of the centroids
	encoder   quantize.Encoder

	mu   sync.Mutex
	loss float64 // sum of the distances from vectors to their centroids
}

// Build writes the files of a segment with the vectors of a column. The recipe must be complete. If there
// are too few vectors to train with, it writes no files. Codes that exceed the memory are sorted in a
// temporary file.
//
// Build calls watch, which may be nil, with the number of newly encoded rows. If the recipe has graphs, it
// counts rows inserted into a graph instead, because that takes most of the time.
func Build(ctx context.Context, r Recipe, column arrow.DataType, rows index.Source, watch func(rows int64), out index.Output) error {
	b, err := newBuild(r, column, rows.Rows())
	if err != nil {
		return err
	}
	b.watch = watch
	if trained, err := b.train(ctx, rows); err != nil || !trained {
		return err
	}
	return b.encode(ctx, rows, out)
}

// encode passes all rows through the centroids and the encoder, and writes the files.
func (b *build) encode(ctx context.Context, rows index.Source, out index.Output) error {
	sorter := sortkey.NewSorter(ctx, sortkey.NoLimit, sortBytes)
	defer sorter.Close()
	for keys, err := range index.Map(ctx, rows, nil, b.keys) {
		if err == nil {
			err = sorter.Add(keys)
		}
		if err != nil {
			return err
		}
		if b.watch != nil && !b.hasGraph() {
			b.watch(int64(len(keys)))
		}
	}
	return b.write(ctx, sorter.Sorted(), out)
}

// grouping is the metric under which vectors are assigned to centroids. Under cosine, vectors have
// length 1, so that L2 has the same order; under hamming they have a value for each bit.
func (b *build) grouping() vector.Metric {
	if b.metric == vector.Dot {
		return vector.Dot
	}
	return vector.L2
}

// keyBytes is the length of a key without the code: partition and row.
const keyBytes = 4 + 8

// keys returns a key for each vector of a batch: partition, row and code.
func (b *build) keys(ctx context.Context, batch arrow.RecordBatch) ([][]byte, error) {
	count, width := quantize.Count(batch.Column(0)), quantize.RowBytes(b.encoder.Columns())
	v := quantize.NewVectors(b.element, b.dim, b.metric, 0)
	const perRow = 64 // numbers, distances and the slice of a key
	if err := memory.FromContext(ctx).Take(ctx, 2*v.Bytes(count)+int64(count)*int64(2*width+perRow)); err != nil {
		return nil, err
	}
	v = quantize.NewVectors(b.element, b.dim, b.metric, count)
	rows, err := v.Append(batch.Column(0))
	if err != nil {
		return nil, err
	}
	ids, ok := batch.Column(1).(*array.Uint64)
	if !ok {
		return nil, fmt.Errorf("rows of type %s", batch.Column(1).DataType())
	}
	numbers, distances := make([]uint32, len(rows)), make([]float32, len(rows))
	b.table.Nearest(v.Values, nil, numbers, distances)
	b.addLoss(distances)
	if b.encoder.Residual() {
		b.subtract(v, numbers)
	}
	codes := make([]byte, len(rows)*width)
	b.encoder.Encode(v, numbers, codes)
	keys, block := make([][]byte, len(rows)), make([]byte, 0, len(rows)*(keyBytes+width))
	for i, row := range rows {
		start := len(block)
		block = binary.BigEndian.AppendUint32(block, numbers[i])
		block = binary.BigEndian.AppendUint64(block, ids.Value(int(row)))
		block = append(block, codes[i*width:(i+1)*width]...)
		keys[i] = block[start:len(block):len(block)]
	}
	return keys, nil
}

// addLoss adds the distances of assigned rows to the loss. It is called from several goroutines.
func (b *build) addLoss(distances []float32) {
	sum := 0.0
	for _, d := range distances {
		sum += float64(d)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.loss += sum
}

// subtract subtracts from each vector the centroid of its partition.
func (b *build) subtract(v *quantize.Vectors, numbers []uint32) {
	for i, number := range numbers {
		centroid := b.centroids[int(number)*b.dim:][:b.dim]
		for j := range centroid {
			v.Values[i*b.dim+j] -= centroid[j]
		}
	}
}

// train computes the centroids and trains the quantizer. It returns false if there are too few vectors.
func (b *build) train(ctx context.Context, rows index.Source) (bool, error) {
	partitions := b.partitions(rows.Rows())
	sample := b.newSample(min(rows.Rows(), max(int64(partitions)*int64(b.SampleRate), b.quantizerSample())))
	defer sample.held.Release()
	if err := sample.fill(ctx, rows); err != nil {
		return false, err
	}
	vectors := sample.vectors
	if vectors.Rows() < b.leastRows() {
		return false, nil
	}
	if sample.seen > 0 {
		partitions = b.supported(partitions, int(sample.seen))
	}
	forCentroids := min(vectors.Rows(), max(partitions*b.SampleRate, partitions))
	var err error
	b.centroids, err = kmeans.Train(ctx, vectors.Values[:forCentroids*b.dim], b.dim, kmeans.Options{
		Clusters: partitions, Iterations: b.Iterations, Metric: b.grouping(), Balanced: true, Random: b.random,
	})
	if err != nil {
		return false, err
	}
	quantize.Round(b.element, b.centroids)
	b.table = vector.NewTable(b.grouping(), b.centroids, b.dim)
	b.encoder, err = b.trainQuantizer(ctx, vectors)
	return true, err
}

// partitions returns the recommended number of partitions for a number of rows.
func (r Recipe) partitions(rows int64) int {
	if r.Partitions != 0 {
		return r.Partitions
	}
	return int(min(max(rows/int64(r.TargetRows), 1), mostPartitions))
}

// mostPartitions is the maximal number of partitions for a recipe that does not specify it.
//
// Source: vector/ivf/builder.rs of crate lance-index, recommended_num_partitions.
const mostPartitions = 4096

// supported returns the possible number of partitions for a small number of vectors. Each centroid needs a
// vector and, for quantizers with a trained codebook, as many vectors as the sample has per centroid.
//
// Source: vector.rs of crate lance, supported_num_partitions.
func (b *build) supported(partitions, vectors int) int {
	if b.Partitions != 0 && b.quantizer() == "PQ" && vectors < partitions*b.SampleRate {
		return min(partitions, max(vectors/b.SampleRate, 1))
	}
	return min(partitions, vectors)
}

// codeRows is the number of training vectors per code of the quantizer.
//
// Source: crate lance-index, vector/pq/builder.rs and vector/sq/builder.rs.
const codeRows = 256

// quantizerSample returns the number of training rows of the quantizer.
func (b *build) quantizerSample() int64 {
	switch b.quantizer() {
	case "SQ", "PQ":
		return codeRows << b.Bits
	}
	return 0
}

// leastRows returns the minimal number of training vectors of the quantizer.
func (b *build) leastRows() int {
	if b.quantizer() == "PQ" {
		return 1 << b.Bits
	}
	return 1
}

// trainQuantizer makes the encoder. It may change the vectors of the sample.
func (b *build) trainQuantizer(ctx context.Context, sample *quantize.Vectors) (quantize.Encoder, error) {
	switch b.quantizer() {
	case "SQ":
		return quantize.NewScalarEncoder(sample), nil
	case "PQ":
		if b.metric != vector.Dot {
			numbers, distances := make([]uint32, sample.Rows()), make([]float32, sample.Rows())
			if err := kmeans.Assign(ctx, b.table, sample.Values, nil, numbers, distances, runtime.GOMAXPROCS(0)); err != nil {
				return nil, err
			}
			b.subtract(sample, numbers)
		}
		return quantize.TrainProduct(ctx, sample, quantize.ProductOptions{
			Places: b.SubVectors, Bits: b.Bits, Iterations: b.Iterations, Random: b.random,
		})
	case "RQ":
		return quantize.NewRabitEncoder(b.metric, b.centroids, b.dim, b.Bits, b.random), nil
	}
	return quantize.NewFlatEncoder(b.element, b.dim), nil
}

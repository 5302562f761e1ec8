package ivf

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/index"
	"tiltyard/shared/index/internal/quantize"
	"tiltyard/shared/index/vector"
	"tiltyard/shared/lance"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/process/memory"
)

// RecipeOf returns the recipe of an existing index, decoded from the details of its manifest entry. Missing
// numbers are 0, among them always the number of partitions, which the details do not record.
func RecipeOf(details []byte) (Recipe, error) {
	var d pb.VectorIndexDetails
	if err := d.Unmarshal(details); err != nil {
		return Recipe{}, fmt.Errorf("%w: details of an index of vectors: %w", lance.ErrCorrupt, err)
	}
	quantizers := map[pb.VectorCompression]string{
		pb.CompressionNone: "FLAT", pb.CompressionFlat: "FLAT", pb.CompressionPQ: "PQ", pb.CompressionSQ: "SQ", pb.CompressionRQ: "RQ",
	}
	metrics := map[pb.VectorMetric]vector.Metric{
		pb.VectorL2: vector.L2, pb.VectorCosine: vector.Cosine, pb.VectorDot: vector.Dot, pb.VectorHamming: vector.Hamming,
	}
	quantizer, known := quantizers[d.Compression]
	metric, measured := metrics[d.Metric]
	if !known || !measured {
		return Recipe{}, fmt.Errorf("%w: an index of vectors of compression %d under metric %d", lance.ErrUnsupported, d.Compression, d.Metric)
	}
	r := Recipe{Kind: "IVF_" + quantizer, Metric: metric.String(), SubVectors: int(d.NumSubVectors), Bits: int(d.NumBits)}
	if d.TargetPartitionSize <= maxRows {
		r.TargetRows = int(d.TargetPartitionSize)
	}
	if d.HNSW != nil {
		r.Kind = "IVF_HNSW_" + quantizer
		r.Edges, r.Candidates = int(d.HNSW.MaxConnections), int(d.HNSW.ConstructionDepth)
	}
	return r, nil
}

// Extends reports whether Extend supports a metric. Under Hamming the centroids are rounded to bits when
// they are stored, so another segment could not assign its vectors in the same way.
func Extends(metric string) bool { return metric != vector.Hamming.String() }

// Extend writes the files of a further segment with the centroids and the quantizer of model. r is the
// recipe of the index. A column whose type no longer fits the model is lance.ErrUnsupported.
func Extend(ctx context.Context, model *Index, r Recipe, column arrow.DataType, rows index.Source, out index.Output) error {
	list, _ := vectorsOf(column)
	if list == nil || model.Element == arrow.UINT8 || list.Elem().ID() != model.Element || int(list.Len()) != model.Dim || r.Kind != model.Kind || r.Metric != model.Metric.String() {
		return fmt.Errorf("%w: an index %s of %d times %s under %s, on a column of %s", lance.ErrUnsupported, model.Kind, model.Dim, model.Element, model.Metric, column)
	}
	r, err := r.Complete(column)
	if err != nil {
		return fmt.Errorf("%w: %w", lance.ErrUnsupported, err)
	}
	held, err := memory.Take(ctx, 3*4*int64(len(model.centroids.Values))+model.quantizer.Bytes()) // of the tables
	if err != nil {
		return err
	}
	defer held.Release()
	b := &build{Recipe: r, metric: model.Metric, element: model.Element, dim: model.Dim, centroids: model.centroids.Values, grouped: groupedBytes}
	if b.encoder, err = quantize.EncoderOf(model.quantizer, b.centroids); err != nil {
		return err
	}
	b.table = vector.NewTable(b.grouping(), b.centroids, b.dim)
	return b.encode(ctx, rows, out)
}

package ivf

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmemory "github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/index/hnsw"
	"tiltyard/shared/index/quantize"
	"tiltyard/shared/lance"
	"tiltyard/shared/memory"
)

// graphFields are the columns of the index file that hold graphs.
var graphFields = []arrow.Field{
	{Name: "__vector_id", Type: arrow.PrimitiveTypes.Uint32, Nullable: true},
	{Name: "__neighbors", Type: arrow.ListOf(arrow.PrimitiveTypes.Uint32), Nullable: true},
	{Name: "_distance", Type: arrow.ListOf(arrow.PrimitiveTypes.Float32), Nullable: true},
}

// writeGraph builds the graph of the partition at hand and writes its rows. It joins the vectors that
// the codes stand for, because these are what a search measures. Residuals of one partition are as far
// from each other as their vectors are.
func (w *writer) writeGraph(ctx context.Context) error {
	decoder, ok := w.encoder.(quantize.Decoder)
	if !ok {
		return fmt.Errorf("%w: a graph of codes that stand for no vectors", lance.ErrUnsupported)
	}
	rows, width := len(w.ids), quantize.RowBytes(decoder.Columns())
	held, err := memory.Take(ctx, 4*int64(rows*w.dim))
	if err != nil {
		return err
	}
	defer held.Release()
	vectors := make([]float32, rows*w.dim)
	for i := range rows {
		decoder.Decode(w.codes[i*width:(i+1)*width], vectors[i*w.dim:(i+1)*w.dim])
	}
	graph, err := hnsw.Build(ctx, vectors, w.dim, hnsw.Options{Metric: w.grouping(), Edges: w.Edges, Candidates: w.Candidates})
	if err != nil {
		return err
	}
	header, err := graph.Header()
	if err != nil {
		return err
	}
	w.graphs = append(w.graphs, header)
	written := int64(0)
	for batch := range graphBatches(graph) {
		if err := w.top.Write(ctx, batch); err != nil {
			return err
		}
		written += batch.NumRows()
	}
	w.around.add(written)
	return nil
}

// graphRows is how many rows of a graph are written at a time.
const graphRows = 16 << 10

// graphBatches returns the rows of a graph.
func graphBatches(graph *hnsw.Built) func(yield func(arrow.RecordBatch) bool) {
	return func(yield func(arrow.RecordBatch) bool) {
		b := array.NewRecordBuilder(arrowmemory.DefaultAllocator, arrow.NewSchema(graphFields, nil))
		nodes := b.Field(0).(*array.Uint32Builder)
		neighbors, distances := b.Field(1).(*array.ListBuilder), b.Field(2).(*array.ListBuilder)
		ends, lengths := neighbors.ValueBuilder().(*array.Uint32Builder), distances.ValueBuilder().(*array.Float32Builder)
		for node, edges := range graph.Rows {
			nodes.Append(node)
			neighbors.Append(true)
			distances.Append(true)
			for _, e := range edges {
				ends.Append(e.Node)
				lengths.Append(e.Distance)
			}
			if nodes.Len() == graphRows && !yield(b.NewRecordBatch()) {
				return
			}
		}
		if nodes.Len() > 0 {
			yield(b.NewRecordBatch())
		}
	}
}

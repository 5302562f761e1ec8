package ivf

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmemory "github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/index/internal/hnsw"
	"tiltyard/shared/index/internal/quantize"
	"tiltyard/shared/lance"
	"tiltyard/shared/lance/datafile"
	"tiltyard/shared/lance/encoding"
	"tiltyard/shared/lance/schema"
	"tiltyard/shared/process/memory"
)

// graphs are the graphs of all partitions, in index.idx:
//
//	__vector_id  u32        the node: the number of a row in the partition
//	__neighbors  list<u32>  the adjacent nodes
//	_distance    list<f32>  their distances, which no reader uses
type graphs struct {
	file    *datafile.File
	fields  []*schema.Field
	headers []*hnsw.Header
	rows    []span // by partition
}

func (g *graphs) bytes() int64 { return 256 * int64(len(g.headers)) }

// newGraphs parses the headers of the graphs, and checks that their rows lie within the file. top is
// index.idx, vectors has the rows of each partition in auxiliary.idx.
func newGraphs(top described, rows, vectors []span) (*graphs, error) {
	var texts []string
	if err := json.Unmarshal([]byte(top.schema.Metadata["lance:hnsw"]), &texts); err != nil {
		return nil, fmt.Errorf("%w: lance:hnsw: %w", lance.ErrCorrupt, err)
	}
	if len(texts) != len(vectors) || len(rows) != len(vectors) {
		return nil, fmt.Errorf("%w: %d graphs in %d places of %d partitions", lance.ErrCorrupt, len(texts), len(rows), len(vectors))
	}
	g := &graphs{file: top.File, rows: rows}
	for i, text := range texts {
		h, err := hnsw.ParseHeader(text)
		if err != nil {
			return nil, err
		}
		if rows[i].count != h.Rows() || rows[i].to() > top.NumRows() {
			return nil, fmt.Errorf("%w: graph %d has %d rows from %d on, of %d", lance.ErrCorrupt, i, h.Rows(), rows[i].from, top.NumRows())
		}
		g.headers = append(g.headers, h)
	}
	for _, name := range []string{"__vector_id", "__neighbors"} {
		field := top.schema.Field(name)
		if field == nil {
			return nil, fmt.Errorf("%w: no column %s", lance.ErrCorrupt, name)
		}
		g.fields = append(g.fields, field)
	}
	return g, nil
}

// read reads the graph of a partition with the given number of vectors.
func (g *graphs) read(ctx context.Context, number, vectors int) (*hnsw.Graph, error) {
	r := g.rows[number]
	if r.count == 0 {
		return hnsw.New(g.headers[number], vectors, nil, nil, nil)
	}
	arrays, err := g.file.ReadRanges(ctx, g.fields, []encoding.RowRange{{From: int(r.from), To: int(r.to())}})
	if err != nil {
		return nil, err
	}
	ids, ok := arrays[0].(*array.Uint32)
	lists, ok2 := arrays[1].(*array.List)
	if !ok || !ok2 || ids.NullN() > 0 || lists.NullN() > 0 {
		return nil, fmt.Errorf("%w: graph of columns %s and %s", lance.ErrCorrupt, arrays[0].DataType(), arrays[1].DataType())
	}
	first, _ := lists.ValueOffsets(0)
	_, last := lists.ValueOffsets(lists.Len() - 1)
	items, ok := array.NewSlice(lists.ListValues(), first, last).(*array.Uint32)
	if !ok || items.NullN() > 0 {
		return nil, fmt.Errorf("%w: neighbours of type %s", lance.ErrCorrupt, lists.ListValues().DataType())
	}
	const perRow = 4 + 4 + 16 // two numbers, and an entry of a map for few of the rows
	if err := memory.FromContext(ctx).Take(ctx, perRow*r.count+3*4*int64(items.Len())); err != nil {
		return nil, err
	}
	ends := make([]int32, lists.Len())
	for i := range ends {
		_, end := lists.ValueOffsets(i)
		ends[i] = int32(end - first)
	}
	neighbors := append([]uint32{}, items.Uint32Values()...)
	return hnsw.New(g.headers[number], vectors, append([]uint32{}, ids.Uint32Values()...), ends, neighbors)
}

// graphFields are the columns of the index file that hold graphs.
var graphFields = []arrow.Field{
	{Name: "__vector_id", Type: arrow.PrimitiveTypes.Uint32, Nullable: true},
	{Name: "__neighbors", Type: arrow.ListOf(arrow.PrimitiveTypes.Uint32), Nullable: true},
	{Name: "_distance", Type: arrow.ListOf(arrow.PrimitiveTypes.Float32), Nullable: true},
}

// writeGraph builds the graph of the current partition and writes its rows. It connects the decoded vectors
// rather than the original ones, because a search measures distances to the codes. Residuals of one
// partition have the same distances from each other as their vectors.
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
	graph, err := hnsw.Build(ctx, vectors, w.dim, hnsw.Options{Metric: w.grouping(), Edges: w.Edges, Candidates: w.Candidates, Watch: w.watch})
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

// graphRows is the number of graph rows per write.
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

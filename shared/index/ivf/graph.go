package ivf

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmemory "github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/index/internal/hnsw"
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

// graphRows are rows of a graph, as in the file. The neighbours of node ids[i] are
// neighbors[ends[i-1]:ends[i]].
type graphRows struct {
	ids       []uint32
	ends      []int32
	neighbors []uint32
}

// cut copies the rows [from, to), so that the memory of the other rows can be freed.
func (r graphRows) cut(from, to int) graphRows {
	first := int32(0)
	if from > 0 {
		first = r.ends[from-1]
	}
	part := graphRows{ids: slices.Clone(r.ids[from:to]), ends: make([]int32, to-from)}
	for i, end := range r.ends[from:to] {
		part.ends[i] = end - first
	}
	if to > from {
		part.neighbors = slices.Clone(r.neighbors[first:r.ends[to-1]])
	}
	return part
}

// readRows reads ranges of rows of a graph. The ranges count from the graph's first row.
func (g *graphs) readRows(ctx context.Context, number int, ranges []encoding.RowRange) (graphRows, error) {
	ranges = slices.Clone(ranges)
	for i := range ranges {
		ranges[i].From, ranges[i].To = ranges[i].From+int(g.rows[number].from), ranges[i].To+int(g.rows[number].from)
	}
	if encoding.CountRows(ranges) == 0 {
		return graphRows{}, nil
	}
	arrays, err := g.file.ReadRanges(ctx, g.fields, ranges)
	if err != nil {
		return graphRows{}, err
	}
	ids, ok := arrays[0].(*array.Uint32)
	lists, ok2 := arrays[1].(*array.List)
	if !ok || !ok2 || ids.NullN() > 0 || lists.NullN() > 0 {
		return graphRows{}, fmt.Errorf("%w: graph of columns %s and %s", lance.ErrCorrupt, arrays[0].DataType(), arrays[1].DataType())
	}
	first, _ := lists.ValueOffsets(0)
	_, last := lists.ValueOffsets(lists.Len() - 1)
	items, ok := array.NewSlice(lists.ListValues(), first, last).(*array.Uint32)
	if !ok || items.NullN() > 0 {
		return graphRows{}, fmt.Errorf("%w: neighbours of type %s", lance.ErrCorrupt, lists.ListValues().DataType())
	}
	if err := memory.FromContext(ctx).Take(ctx, 4*int64(lists.Len())); err != nil {
		return graphRows{}, err
	}
	rows := graphRows{ids: ids.Uint32Values(), ends: make([]int32, lists.Len()), neighbors: items.Uint32Values()}
	for i := range rows.ends {
		start, end := lists.ValueOffsets(i)
		if start > end || end > last {
			return graphRows{}, fmt.Errorf("%w: list of neighbours %d from %d to %d", lance.ErrCorrupt, i, start, end)
		}
		rows.ends[i] = int32(end - first)
	}
	return rows, nil
}

// above makes the graph of a partition from its rows above level 0.
func (g *graphs) above(ctx context.Context, number, vectors int, rows graphRows) (*hnsw.Graph, error) {
	const perRow = 4 + 4 + 32 // two numbers, and an entry of a map
	if err := memory.FromContext(ctx).Take(ctx, perRow*int64(len(rows.ids))+4*int64(len(rows.neighbors))); err != nil {
		return nil, err
	}
	return hnsw.New(g.headers[number], vectors, rows.ids, rows.ends, rows.neighbors)
}

// graphFields are the columns of the index file that hold graphs.
var graphFields = []arrow.Field{
	{Name: "__vector_id", Type: arrow.PrimitiveTypes.Uint32, Nullable: true},
	{Name: "__neighbors", Type: arrow.ListOf(arrow.PrimitiveTypes.Uint32), Nullable: true},
	{Name: "_distance", Type: arrow.ListOf(arrow.PrimitiveTypes.Float32), Nullable: true},
}

// writeGraph builds the graph of the current partition and writes its rows. It connects the vectors that the
// codes stand for rather than the original ones, because a search measures distances to the codes.
func (w *writer) writeGraph(ctx context.Context) error {
	vectors, held, err := w.graphVectors(ctx)
	if err != nil {
		return err
	}
	defer held.Release()
	graph, err := hnsw.Build(ctx, vectors, hnsw.Options{Edges: w.Edges, Candidates: w.Candidates, Watch: w.watch})
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

// writtenNodes is the number of graph rows per write.
const writtenNodes = 16 << 10

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
			if nodes.Len() == writtenNodes && !yield(b.NewRecordBatch()) {
				return
			}
		}
		if nodes.Len() > 0 {
			yield(b.NewRecordBatch())
		}
	}
}

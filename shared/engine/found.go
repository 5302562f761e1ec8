package engine

import (
	"bytes"
	"context"
	"encoding/binary"
	"iter"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/protocol"
	"tiltyard/shared/vector"
)

// fetchRows is how many of the found rows are fetched at a time.
const fetchRows = 4096

// A found row of the table, and for which query. Its distance is what the answer says of
// it, which for words is the score.
type found struct {
	vector.Hit
	query int32
}

// foundRows makes the answer out of the rows that a search has found, best first: those
// that a filter keeps, in the order asked for, after the offset, with the columns of the
// answer. All searches end in it.
type foundRows struct {
	dataset *dataset.Dataset
	out     *output
	where   *dataset.Where // asked of what was found; nil keeps all
	by      *ordering      // of what was found; nil: best first
	offset  int64          // of each query
	queries int
	index   bool // the answer says which query found a row

	kept, order, take, project *step
}

// newFoundRows resolves what becomes of the rows that a step finds. The answer has a
// column named scored of what the search says of each.
func newFoundRows(d *dataset.Dataset, req *protocol.QueryTableRequest, scored string) (*foundRows, error) {
	f := &foundRows{dataset: d, offset: req.Offset, queries: 1}
	var err error
	if f.out, err = plan(req, d, scored); err != nil {
		return nil, err
	}
	if !req.Prefilter && req.Filter != "" {
		if f.where, err = whereFound("filter", req.Filter, d, scored); err != nil {
			return nil, err
		}
	}
	if len(req.OrderBy) > 0 {
		if f.by, err = newOrdering(d, req.OrderBy); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// follow makes the steps that follow on the search.
func (f *foundRows) follow(req *protocol.QueryTableRequest, search *step) {
	last := search
	if f.where != nil {
		f.kept = newStep(f.dataset, stepFilter, last).says("filter=%s", req.Filter).says("columns=%s", list(f.where.Columns))
		last = f.kept
	}
	if f.by != nil {
		f.order = newStep(f.dataset, "Sort", last).says("by=%s", list(orderNames(req.OrderBy))).says("columns=%s", list(f.by.columns))
		last = f.order
	}
	f.take = newStep(f.dataset, stepTake, last).says("columns=%s", list(f.out.sources))
	if f.offset > 0 {
		f.take.says("offset=%d", f.offset)
	}
	f.project = projectStep(f.dataset, f.out, f.take)
}

func (f *foundRows) plan() *step { return f.project }

// of returns the answer of what was found, query by query. The first batch is fetched
// before it returns.
func (f *foundRows) of(ctx context.Context, hits []found) (*protocol.Rows, error) {
	var err error
	if f.where != nil {
		if hits, err = f.keep(ctx, hits); err != nil {
			return nil, err
		}
	}
	if f.by != nil {
		if hits, err = f.sort(ctx, hits); err != nil {
			return nil, err
		}
	}
	return f.stream(ctx, skip(hits, f.offset, f.queries))
}

// keep returns the hits for whose rows the filter is true.
func (f *foundRows) keep(ctx context.Context, hits []found) ([]found, error) {
	defer f.kept.took(f.dataset.Now())
	ctx = f.kept.reading(ctx)
	kept := hits[:0:0]
	for part := range slices.Chunk(hits, fetchRows) {
		batch, err := f.dataset.Take(ctx, f.where.Columns, addresses(part))
		if err != nil {
			return nil, err
		}
		rows, err := f.where.Select(withScore(batch, f.out.scored, scores(part)), nil)
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			kept = append(kept, part[r])
		}
	}
	f.kept.rows.Add(int64(len(kept)))
	return kept, nil
}

// sort returns the hits of each query in the order asked for, better ones first among
// equals.
func (f *foundRows) sort(ctx context.Context, hits []found) ([]found, error) {
	defer f.order.took(f.dataset.Now())
	ctx = f.order.reading(ctx)
	keys := make([][]byte, 0, len(hits))
	for part := range slices.Chunk(hits, fetchRows) {
		batch, err := f.dataset.Take(ctx, f.by.columns, addresses(part))
		if err != nil {
			return nil, err
		}
		for i, h := range part {
			key := binary.BigEndian.AppendUint32(nil, uint32(h.query))
			at := uint64(len(keys))
			keys = append(keys, appendTail(f.by.appendTo(key, batch, i), at, at))
		}
	}
	slices.SortFunc(keys, bytes.Compare)
	sorted := make([]found, len(hits))
	for i, key := range keys {
		sorted[i] = hits[keyAt(key)]
	}
	f.order.rows.Add(int64(len(hits)))
	return sorted, nil
}

// skip leaves out the first offset hits of each query.
func skip(hits []found, offset int64, queries int) []found {
	if offset == 0 {
		return hits
	}
	seen := make([]int64, queries)
	kept := hits[:0]
	for _, h := range hits {
		if seen[h.query]++; seen[h.query] > offset {
			kept = append(kept, h)
		}
	}
	return kept
}

func addresses(hits []found) []uint64 {
	at := make([]uint64, len(hits))
	for i, h := range hits {
		at[i] = h.RowID
	}
	return at
}

// stream fetches found rows a batch at a time.
func (f *foundRows) stream(ctx context.Context, hits []found) (*protocol.Rows, error) {
	schema := f.out.schema
	if f.index {
		metadata := schema.Metadata()
		index := arrow.Field{Name: queryIndexColumn, Type: arrow.PrimitiveTypes.Int32}
		schema = arrow.NewSchema(append([]arrow.Field{index}, schema.Fields()...), &metadata)
	}
	first, err := f.fetch(ctx, schema, hits[:min(fetchRows, len(hits))])
	if err != nil {
		return nil, err
	}
	var batches iter.Seq2[arrow.RecordBatch, error] = func(yield func(arrow.RecordBatch, error) bool) {
		if first.NumRows() == 0 || !yield(first, nil) {
			return
		}
		for part := range slices.Chunk(hits[min(fetchRows, len(hits)):], fetchRows) {
			batch, err := f.fetch(ctx, schema, part)
			if !yield(batch, err) || err != nil {
				return
			}
		}
	}
	return &protocol.Rows{Schema: schema, Batches: f.project.counted(batches)}, nil
}

// fetch returns the answer's columns of some of the found rows.
func (f *foundRows) fetch(ctx context.Context, schema *arrow.Schema, hits []found) (arrow.RecordBatch, error) {
	began := f.dataset.Now()
	read, err := f.dataset.Take(f.take.reading(ctx), f.out.sources, addresses(hits))
	if err != nil {
		return nil, err
	}
	f.take.took(began)
	f.take.made(read)
	batch, err := f.out.batch(read, scores(hits))
	if err != nil || !f.index {
		return batch, err
	}
	queries := make([]int32, len(hits))
	for i, h := range hits {
		queries[i] = h.query
	}
	index := plain(arrow.PrimitiveTypes.Int32, arrow.Int32Traits.CastToBytes(queries), len(hits))
	return array.NewRecordBatch(schema, append([]arrow.Array{index}, batch.Columns()...), batch.NumRows()), nil
}

// scores returns what the search says of found rows.
func scores(hits []found) arrow.Array {
	values := make([]float32, len(hits))
	for i, h := range hits {
		values[i] = h.Distance
	}
	return plain(arrow.PrimitiveTypes.Float32, arrow.Float32Traits.CastToBytes(values), len(hits))
}

// plain makes an array without nulls of values of fixed width.
func plain(t arrow.DataType, values []byte, n int) arrow.Array {
	return array.MakeFromData(array.NewData(t, n, []*memory.Buffer{nil, memory.NewBufferBytes(values)}, nil, 0, 0))
}

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
	account "tiltyard/shared/memory"
	"tiltyard/shared/protocol"
	"tiltyard/shared/vector"
)

// fetchRows is how many of the found rows are fetched at a time.
const fetchRows = 4096

// foundBytes is what a found row takes until it has been fetched: also its address, and a
// copy when it is put into another order.
const foundBytes = 56

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
func newFoundRows(ctx context.Context, d *dataset.Dataset, req *protocol.QueryTableRequest, scored string) (*foundRows, error) {
	f := &foundRows{dataset: d, offset: req.Offset, queries: 1}
	var err error
	if f.out, err = planOutput(ctx, req, d, scored); err != nil {
		return nil, err
	}
	if !req.Prefilter && req.Filter != "" {
		if f.where, err = whereFound(ctx, "filter", req.Filter, d, scored); err != nil {
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
// before it returns. What was found is counted as memory of the request until it ends.
func (f *foundRows) of(ctx context.Context, hits []found) (*protocol.Rows, error) {
	_, err := account.Take(ctx, foundBytes*int64(len(hits)))
	if err != nil {
		return nil, err
	}
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
	for batch, err := range f.dataset.TakeEach(ctx, f.where.Columns, addresses(hits), fetchRows) {
		if err != nil {
			return nil, err
		}
		part := hits[:batch.NumRows()]
		hits = hits[len(part):]
		rows, err := f.where.Select(ctx, withScore(batch, f.out.scored, scores(part)), nil)
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
	keys, size := make([][]byte, 0, len(hits)), int64(0)
	var held account.Hold
	defer func() { held.Release() }()
	for batch, err := range f.dataset.TakeEach(ctx, f.by.columns, addresses(hits), fetchRows) {
		if err != nil {
			return nil, err
		}
		for i, h := range hits[len(keys):][:batch.NumRows()] {
			key := binary.BigEndian.AppendUint32(nil, uint32(h.query))
			at := uint64(len(keys))
			key = appendTail(f.by.appendTo(key, batch, i), at, at)
			keys, size = append(keys, key), size+int64(cap(key))+keyOverhead
		}
		if err := held.Resize(ctx, size); err != nil {
			return nil, err
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
	var first arrow.RecordBatch
	var err error
	for first, err = range f.fetch(ctx, schema, hits) {
		break
	}
	if err != nil {
		return nil, err
	}
	var held account.Hold
	if first != nil {
		if held, err = account.Take(ctx, batchBytes(first)); err != nil {
			return nil, err
		}
	}
	var batches iter.Seq2[arrow.RecordBatch, error] = func(yield func(arrow.RecordBatch, error) bool) {
		if first == nil || !yield(first, nil) {
			return
		}
		held.Release()
		for batch, err := range f.fetch(ctx, schema, hits[first.NumRows():]) {
			if !yield(batch, err) {
				return
			}
		}
	}
	return &protocol.Rows{Schema: schema, Batches: f.project.counted(batches)}, nil
}

// fetch yields the answer's columns of found rows, some of them at a time.
func (f *foundRows) fetch(ctx context.Context, schema *arrow.Schema, hits []found) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		began := f.dataset.Now()
		for read, err := range f.dataset.TakeEach(f.take.reading(ctx), f.out.sources, addresses(hits), fetchRows) {
			if err != nil {
				yield(nil, err)
				return
			}
			f.take.took(began)
			f.take.made(read)
			for batch, err := range f.out.pieces(ctx, read, scores(hits[:read.NumRows()])) {
				if err == nil && f.index {
					batch = withQueries(batch, schema, hits[:batch.NumRows()])
				}
				if !yield(batch, err) || err != nil {
					return
				}
				hits = hits[batch.NumRows():]
			}
			began = f.dataset.Now()
		}
	}
}

// withQueries puts the column before the others that says which query found a row.
func withQueries(batch arrow.RecordBatch, schema *arrow.Schema, hits []found) arrow.RecordBatch {
	queries := make([]int32, len(hits))
	for i, h := range hits {
		queries[i] = h.query
	}
	index := plain(arrow.PrimitiveTypes.Int32, arrow.Int32Traits.CastToBytes(queries), len(hits))
	return array.NewRecordBatch(schema, append([]arrow.Array{index}, batch.Columns()...), batch.NumRows())
}

// batchBytes returns how much memory a batch takes.
func batchBytes(batch arrow.RecordBatch) int64 {
	total := int64(0)
	for _, c := range batch.Columns() {
		total += int64(c.Data().SizeInBytes())
	}
	return total
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

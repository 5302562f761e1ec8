package engine

import (
	"context"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/protocol"
	"tiltyard/shared/vector"
)

// defaultK is how many rows a search returns when the request does not say.
const defaultK = 10

// fetchRows is how many of the found rows are fetched at a time.
const fetchRows = 4096

// A found row of the table, and for which query.
type found struct {
	vector.Hit
	query int32
}

// search answers a query for the rows nearest to one or several vectors, by measuring
// every row.
func (e *Engine) search(ctx context.Context, d *dataset.Dataset, req *protocol.QueryTableRequest) (*protocol.Rows, error) {
	out, err := plan(req, d, true)
	if err != nil {
		return nil, err
	}
	target, err := newTarget(d, req)
	if err != nil {
		return nil, err
	}
	filter, err := where("filter", req.Filter, d)
	if err != nil {
		return nil, err
	}
	k, err := e.searchK(d, req)
	if err != nil {
		return nil, err
	}
	var before *dataset.Where
	if req.Prefilter {
		before = filter
	}
	hits, err := target.nearest(ctx, d, before, k, bounds(req))
	if err != nil {
		return nil, err
	}
	if filter != nil && !req.Prefilter {
		if hits, err = keep(ctx, d, filter, hits); err != nil {
			return nil, err
		}
	}
	hits = skip(hits, req.Offset, target.queries())
	answer := &answerRows{dataset: d, out: out, hits: hits, queryIndex: req.Vector.Several}
	return answer.rows(ctx)
}

// topKsPerRequest is how many of the largest searches one request may hold together.
const topKsPerRequest = 4

// searchK returns how many rows to look for: those to be returned and those to be
// skipped before them. Of a small table it may be all.
func (e *Engine) searchK(d *dataset.Dataset, req *protocol.QueryTableRequest) (int, error) {
	k := int64(defaultK)
	if req.K != nil && *req.K > 0 {
		k = *req.K
	}
	k = min(saturating(k, req.Offset), d.CountRows())
	if k > int64(e.limits.TopK) {
		return 0, protocol.Errorf(protocol.InvalidInput,
			"k and offset together are above %d, the largest vector search of a table with more rows than that", e.limits.TopK)
	}
	if all := k * int64(len(req.Vector.Vectors)); all > topKsPerRequest*int64(e.limits.TopK) {
		return 0, protocol.Errorf(protocol.InvalidInput,
			"%d query vectors of %d results each are too many for one request; send them in several", len(req.Vector.Vectors), k)
	}
	return int(k), nil
}

func bounds(req *protocol.QueryTableRequest) vector.Bounds {
	narrow := func(f *float64) *float32 {
		if f == nil {
			return nil
		}
		v := float32(*f)
		return &v
	}
	return vector.Bounds{Lower: narrow(req.LowerBound), Upper: narrow(req.UpperBound)}
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

// keep returns the hits for whose rows the filter is true.
func keep(ctx context.Context, d *dataset.Dataset, filter *dataset.Where, hits []found) ([]found, error) {
	kept := hits[:0:0]
	for len(hits) > 0 {
		n := min(len(hits), fetchRows)
		batch, err := d.Take(ctx, filter.Columns, addresses(hits[:n]))
		if err != nil {
			return nil, err
		}
		rows, err := filter.Select(batch)
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			kept = append(kept, hits[r])
		}
		hits = hits[n:]
	}
	return kept, nil
}

func addresses(hits []found) []uint64 {
	at := make([]uint64, len(hits))
	for i, h := range hits {
		at[i] = h.RowID
	}
	return at
}

// answerRows fetches found rows a batch at a time.
type answerRows struct {
	dataset    *dataset.Dataset
	out        *output
	hits       []found
	queryIndex bool // the answer says which query found a row
}

// rows returns the answer. The first batch is fetched before it returns.
func (a *answerRows) rows(ctx context.Context) (*protocol.Rows, error) {
	schema := a.out.schema
	if a.queryIndex {
		metadata := schema.Metadata()
		index := arrow.Field{Name: queryIndexColumn, Type: arrow.PrimitiveTypes.Int32}
		schema = arrow.NewSchema(append([]arrow.Field{index}, schema.Fields()...), &metadata)
	}
	first, err := a.fetch(ctx, schema, 0)
	if err != nil {
		return nil, err
	}
	var batches iter.Seq2[arrow.RecordBatch, error] = func(yield func(arrow.RecordBatch, error) bool) {
		batch, err := first, error(nil)
		for from := fetchRows; ; from += fetchRows {
			if batch.NumRows() > 0 && !yield(batch, nil) {
				return
			}
			if from >= len(a.hits) {
				return
			}
			if batch, err = a.fetch(ctx, schema, from); err != nil {
				yield(nil, err)
				return
			}
		}
	}
	return &protocol.Rows{Schema: schema, Batches: batches}, nil
}

func (a *answerRows) fetch(ctx context.Context, schema *arrow.Schema, from int) (arrow.RecordBatch, error) {
	hits := a.hits[min(from, len(a.hits)):min(from+fetchRows, len(a.hits))]
	read, err := a.dataset.Take(ctx, a.out.sources, addresses(hits))
	if err != nil {
		return nil, err
	}
	distances := make([]float32, len(hits))
	queries := make([]int32, len(hits))
	for i, h := range hits {
		distances[i], queries[i] = h.Distance, h.query
	}
	batch, err := a.out.batch(read, plain(arrow.PrimitiveTypes.Float32, arrow.Float32Traits.CastToBytes(distances), len(hits)))
	if err != nil || !a.queryIndex {
		return batch, err
	}
	index := plain(arrow.PrimitiveTypes.Int32, arrow.Int32Traits.CastToBytes(queries), len(hits))
	return array.NewRecordBatch(schema, append([]arrow.Array{index}, batch.Columns()...), batch.NumRows()), nil
}

// plain makes an array without nulls of values of fixed width.
func plain(t arrow.DataType, values []byte, n int) arrow.Array {
	return array.MakeFromData(array.NewData(t, n, []*memory.Buffer{nil, memory.NewBufferBytes(values)}, nil, 0, 0))
}

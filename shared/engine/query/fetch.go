package query

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/arrow/take"
	"tiltyard/shared/engine/internal/condition"
	"tiltyard/shared/engine/internal/explain"
	"tiltyard/shared/index/vector"
	"tiltyard/shared/lance/dataset"
	account "tiltyard/shared/process/memory"
	"tiltyard/shared/protocol"
)

// fetchRows is the number of found rows per fetch.
const fetchRows = 4096

// foundBytes is the memory of a found row until it is fetched, including its address and a copy for
// sorting.
const foundBytes = 72

// found is a row that a search has found for one of its queries. Distance is the value by which the search orders
// the rows: a distance, a score in a search for words, or the relevance in a hybrid search.
type found struct {
	vector.Hit
	query int32
	// In a hybrid search, the distance and the score of the row, and whether the half has found it.
	scored [halves]float32
	ranked [halves]bool
}

// A finder is a planned search.
type finder interface {
	// find returns the best rows of each query, best first, query by query. A search by an index opens the files of
	// the columns ahead while it reads the index.
	find(ctx context.Context, ahead []string) ([]found, error)
	// step returns the plan step of the search, which is above the steps that feed it.
	step() *explain.Step
	// rated returns the columns that the search adds to the answer.
	rated() rating
}

// foundRows makes the answer from the rows that a search has found, best first. It applies the
// requested order and the offset, and fetches the columns of the answer. Every search ends with it.
type foundRows struct {
	dataset *dataset.Dataset
	search  finder
	out     *output
	by      *ordering // order of the found rows; nil: best first
	offset  int64     // per query

	order, take, project *explain.Step
}

// newFoundRows plans the steps after a search.
func newFoundRows(ctx context.Context, r condition.Relation, q *Query, search finder) (*foundRows, error) {
	f := &foundRows{dataset: r.Dataset, search: search, offset: q.Offset}
	var err error
	if f.out, err = planOutput(ctx, q, r, search.rated()); err != nil {
		return nil, err
	}
	last := search.step()
	if len(q.Order) > 0 {
		if f.by, err = newOrdering(r.Dataset, q.Order); err != nil {
			return nil, err
		}
		f.order = explain.New(f.dataset.Now, explain.Sort, last).With("by=%s", explain.List(orderNames(q.Order))).With("columns=%s", explain.List(f.by.columns))
		last = f.order
	}
	f.take = explain.New(f.dataset.Now, explain.Take, last).With("columns=%s", explain.List(f.out.sources))
	if f.offset > 0 {
		f.take.With("offset=%d", f.offset).Like("GlobalLimitExec")
	}
	f.project = projectStep(f.dataset, f.out, f.take)
	return f, nil
}

func (f *foundRows) Plan() *explain.Step { return f.project }

// Rows finds the rows, and returns after the first batch is fetched. The memory of the found rows is charged until
// the answer ends.
func (f *foundRows) Rows(ctx context.Context) (*protocol.Rows, error) {
	hits, err := f.search.find(ctx, f.out.sources)
	if err != nil {
		return nil, err
	}
	if _, err := account.Take(ctx, foundBytes*int64(len(hits))); err != nil {
		return nil, err
	}
	if f.by != nil {
		if hits, err = f.sort(ctx, hits); err != nil {
			return nil, err
		}
	}
	return f.stream(ctx, skip(hits, f.offset))
}

// sort returns the hits of each query in the requested order. Ties are broken by the search's own
// order.
func (f *foundRows) sort(ctx context.Context, hits []found) ([]found, error) {
	defer f.order.Took(f.dataset.Now())
	ctx = f.order.Reading(ctx)
	inPart, part, err := account.Within(ctx)
	if err != nil {
		return nil, err
	}
	defer part.Close()
	keys, err := f.keys(inPart, hits)
	if errors.Is(err, errLongValues) {
		// The keys made so far are dropped. The ranks take their place.
		part.Settle(0)
		defer f.by.close()
		err = f.by.rank(func(add func(context.Context, arrow.RecordBatch) error) error {
			for batch, err := range f.dataset.TakeEach(inPart, f.by.columns, addresses(hits), fetchRows) {
				if err == nil {
					err = add(inPart, batch)
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
		if err == nil {
			keys, err = f.keys(inPart, hits)
		}
	}
	if err != nil {
		return nil, err
	}
	slices.SortFunc(keys, func(a, b []byte) int {
		return cmp.Or(cmp.Compare(hits[keyAt(a)].query, hits[keyAt(b)].query), bytes.Compare(a, b))
	})
	sorted := make([]found, len(hits))
	for i, key := range keys {
		sorted[i] = hits[keyAt(key)]
	}
	f.order.Found(len(hits))
	return sorted, nil
}

// keys returns the sort keys of hits. Each ends with the position of its hit. The context holds
// their memory.
func (f *foundRows) keys(ctx context.Context, hits []found) ([][]byte, error) {
	keys := make([][]byte, 0, len(hits))
	for batch, err := range f.dataset.TakeEach(ctx, f.by.columns, addresses(hits), fetchRows) {
		if err != nil {
			return nil, err
		}
		at := uint64(len(keys))
		part, err := f.by.keys(ctx, batch, noLimit, func(i int) (order, place uint64) { return at + uint64(i), at + uint64(i) })
		if err != nil {
			return nil, err
		}
		keys = append(keys, part...)
	}
	return keys, nil
}

// skip drops the first offset hits of each query.
func skip(hits []found, offset int64) []found {
	if offset == 0 {
		return hits
	}
	kept, query, seen := hits[:0], int32(-1), int64(0)
	for _, h := range hits {
		if h.query != query {
			query, seen = h.query, 0
		}
		if seen++; seen > offset {
			kept = append(kept, h)
		}
	}
	return kept
}

// addresses returns the row addresses of hits.
func addresses(hits []found) []uint64 {
	at := make([]uint64, len(hits))
	for i, h := range hits {
		at[i] = h.RowID
	}
	return at
}

// stream fetches the found rows batch by batch.
func (f *foundRows) stream(ctx context.Context, hits []found) (*protocol.Rows, error) {
	schema := f.out.schema
	if f.out.rated.numbered {
		metadata := schema.Metadata()
		index := arrow.Field{Name: queryIndexColumn, Type: arrow.PrimitiveTypes.Int32}
		schema = arrow.NewSchema(append([]arrow.Field{index}, schema.Fields()...), &metadata)
	}
	// An error of the first batch becomes an error of the request, instead of a broken stream.
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
		if held, err = account.Take(ctx, take.BatchBytes(first)); err != nil {
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
	return &protocol.Rows{Schema: schema, Batches: f.project.Counted(batches)}, nil
}

// fetch yields the answer's columns of the found rows, fetchRows rows at a time.
func (f *foundRows) fetch(ctx context.Context, schema *arrow.Schema, hits []found) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		began := f.dataset.Now()
		for read, err := range f.dataset.TakeEach(f.take.Reading(ctx), f.out.sources, addresses(hits), fetchRows) {
			if err != nil {
				yield(nil, err)
				return
			}
			f.take.Took(began)
			f.take.Made(read)
			for batch, err := range f.out.pieces(ctx, read, f.out.rated.of(hits[:read.NumRows()])) {
				if err == nil && f.out.rated.numbered {
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

// withQueries adds a first column with the number of the query that found each row.
func withQueries(batch arrow.RecordBatch, schema *arrow.Schema, hits []found) arrow.RecordBatch {
	queries := make([]int32, len(hits))
	for i, h := range hits {
		queries[i] = h.query
	}
	index := plain(arrow.PrimitiveTypes.Int32, arrow.Int32Traits.CastToBytes(queries), len(hits))
	return array.NewRecordBatch(schema, append([]arrow.Array{index}, batch.Columns()...), batch.NumRows())
}

// plain makes an array of fixed-width values without nulls.
func plain(t arrow.DataType, values []byte, n int) arrow.Array {
	return array.MakeFromData(array.NewData(t, n, []*memory.Buffer{nil, memory.NewBufferBytes(values)}, nil, 0, 0))
}

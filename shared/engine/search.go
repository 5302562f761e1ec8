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

// defaultK is how many rows a search returns when the request does not say.
const defaultK = 10

// fetchRows is how many of the found rows are fetched at a time.
const fetchRows = 4096

// A found row of the table, and for which query.
type found struct {
	vector.Hit
	query int32
}

// A vectorSearch answers a query for the rows nearest to one or several vectors, by measuring
// every row.
type vectorSearch struct {
	dataset *dataset.Dataset
	out     *output
	target  *target
	where   *dataset.Where
	before  bool // where is asked before the search, not of what it found
	k       int  // rows of each query, those to be skipped among them
	offset  int64
	bounds  vector.Bounds
	by      *ordering // of what was found; nil: by distance

	read, nearest, kept, order, take, project *step
}

// newSearch resolves a query for the nearest rows.
func (e *Engine) newSearch(d *dataset.Dataset, req *protocol.QueryTableRequest) (answer, error) {
	out, err := plan(req, d, true)
	if err != nil {
		return nil, err
	}
	s := &vectorSearch{dataset: d, out: out, before: req.Prefilter, offset: req.Offset, bounds: bounds(req)}
	if s.target, err = newTarget(d, req); err != nil {
		return nil, err
	}
	if s.where, err = where("filter", req.Filter, d); err != nil {
		return nil, err
	}
	if s.k, err = e.searchK(d, req, s.target.queries()); err != nil {
		return nil, err
	}
	if len(req.OrderBy) > 0 {
		if s.by, err = newOrdering(d, req.OrderBy); err != nil {
			return nil, err
		}
	}
	s.describe(req)
	return s, nil
}

// describe makes the steps of the search.
func (s *vectorSearch) describe(req *protocol.QueryTableRequest) {
	opts := dataset.ScanOptions{Columns: []string{s.target.column}}
	if s.before {
		opts.Where = s.where
	}
	s.read = scanStep(s.dataset, req, opts)
	s.nearest = newStep(s.dataset, "Nearest", s.read).says("column=%s", s.target.column).says("metric=%s", s.target.metric).
		says("k=%d", s.k).says("queries=%d", s.target.queries()).says("%s", s.target.index)
	if req.LowerBound != nil {
		s.nearest.says("from=%v", *req.LowerBound)
	}
	if req.UpperBound != nil {
		s.nearest.says("below=%v", *req.UpperBound)
	}
	last := s.nearest
	if s.where != nil && !s.before {
		s.kept = newStep(s.dataset, stepFilter, last).says("filter=%s", req.Filter).says("columns=%s", list(s.where.Columns))
		last = s.kept
	}
	if s.by != nil {
		s.order = newStep(s.dataset, "Sort", last).says("by=%s", list(orderNames(req.OrderBy))).says("columns=%s", list(s.by.columns))
		last = s.order
	}
	s.take = newStep(s.dataset, stepTake, last).says("columns=%s", list(s.out.sources))
	if s.offset > 0 {
		s.take.says("offset=%d", s.offset)
	}
	s.project = projectStep(s.dataset, s.out, s.take)
}

func (s *vectorSearch) plan() *step { return s.project }

func (s *vectorSearch) rows(ctx context.Context) (*protocol.Rows, error) {
	hits, err := s.find(ctx)
	if err != nil {
		return nil, err
	}
	if s.kept != nil {
		began := s.dataset.Now()
		if hits, err = keep(s.kept.reading(ctx), s.dataset, s.where, hits); err != nil {
			return nil, err
		}
		s.kept.took(began)
		s.kept.rows.Add(int64(len(hits)))
	}
	if s.by != nil {
		if err := s.sort(s.order.reading(ctx), hits); err != nil {
			return nil, err
		}
	}
	hits = skip(hits, s.offset, s.target.queries())
	answer := &answerRows{dataset: s.dataset, out: s.out, hits: hits, queryIndex: s.target.batch, take: s.take, project: s.project}
	return answer.rows(ctx)
}

// find returns the k nearest rows of each query, nearest first, query by query.
func (s *vectorSearch) find(ctx context.Context) ([]found, error) {
	began := s.dataset.Now()
	opts := dataset.ScanOptions{Only: s.target.only}
	if s.before {
		opts.Where = s.where
	}
	hits, err := s.target.nearest(s.read.reading(ctx), s.dataset, opts, s.read, s.k, s.bounds)
	s.read.took(began)
	s.nearest.took(began)
	s.nearest.rows.Add(int64(len(hits)))
	return hits, err
}

// topKsPerRequest is how many of the largest searches one request may hold together.
const topKsPerRequest = 4

// searchK returns how many rows to look for: those to be returned and those to be
// skipped before them. Of a small table it may be all.
func (e *Engine) searchK(d *dataset.Dataset, req *protocol.QueryTableRequest, queries int) (int, error) {
	k := int64(defaultK)
	if req.K != nil && *req.K > 0 {
		k = *req.K
	}
	k = min(saturating(k, req.Offset), d.CountRows())
	if k > int64(e.limits.TopK) {
		return 0, protocol.Errorf(protocol.InvalidInput,
			"k and offset together are above %d, the largest vector search of a table with more rows than that", e.limits.TopK)
	}
	if all := k * int64(queries); all > topKsPerRequest*int64(e.limits.TopK) {
		return 0, protocol.Errorf(protocol.InvalidInput,
			"%d query vectors of %d results each are too many for one request; send them in several", queries, k)
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

// sort puts the hits of each query in the order asked for, nearer ones first among equals.
func (s *vectorSearch) sort(ctx context.Context, hits []found) error {
	defer s.order.took(s.dataset.Now())
	keys := make([][]byte, len(hits))
	for from := 0; from < len(hits); from += fetchRows {
		to := min(from+fetchRows, len(hits))
		batch, err := s.dataset.Take(ctx, s.by.columns, addresses(hits[from:to]))
		if err != nil {
			return err
		}
		for i := from; i < to; i++ {
			key := binary.BigEndian.AppendUint32(nil, uint32(hits[i].query))
			keys[i] = appendTail(s.by.appendTo(key, batch, i-from), uint64(i), uint64(i))
		}
	}
	slices.SortFunc(keys, bytes.Compare)
	sorted := make([]found, len(hits))
	for i, key := range keys {
		sorted[i] = hits[keyAt(key)]
	}
	copy(hits, sorted)
	s.order.rows.Add(int64(len(hits)))
	return nil
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

	take, project *step
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
	return &protocol.Rows{Schema: schema, Batches: a.project.counted(batches)}, nil
}

func (a *answerRows) fetch(ctx context.Context, schema *arrow.Schema, from int) (arrow.RecordBatch, error) {
	hits := a.hits[min(from, len(a.hits)):min(from+fetchRows, len(a.hits))]
	began := a.dataset.Now()
	read, err := a.dataset.Take(a.take.reading(ctx), a.out.sources, addresses(hits))
	if err != nil {
		return nil, err
	}
	a.take.took(began)
	a.take.made(read)
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

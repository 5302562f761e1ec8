package engine

import (
	"context"
	"iter"
	"math"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/protocol"
)

// Query answers a query with a stream of rows: those nearest to a vector, or else all,
// in the order of the table; in both cases only where the filter is true.
func (t *Table) Query(ctx context.Context, req *protocol.QueryTableRequest) (*protocol.Rows, error) {
	if err := supportedQuery(req); err != nil {
		return nil, err
	}
	return Read(ctx, t, req.Version, func(ctx context.Context, d *dataset.Dataset) (*protocol.Rows, error) {
		answer := scan
		if !req.Vector.Empty() {
			answer = t.engine.search
		}
		rows, err := answer(ctx, d, req)
		if err != nil {
			return nil, err
		}
		if err := withOneDictionary(rows); err != nil {
			return nil, err
		}
		rows.Version = int64(d.Version())
		rows.Batches = t.translated(ctx, d.Version(), rows.Batches)
		return rows, nil
	})
}

// supportedQuery refuses by name what queries do not do yet.
func supportedQuery(req *protocol.QueryTableRequest) error {
	switch {
	case req.FullTextQuery != nil:
		return protocol.Errorf(protocol.Unsupported, "full_text_query is not supported yet")
	case len(req.OrderBy) > 0:
		return protocol.Errorf(protocol.Unsupported, "order_by is not supported yet")
	}
	return nil
}

// translated gives errors that come up while rows of a version are read their name in
// the protocol.
func (t *Table) translated(ctx context.Context, version uint64, batches iter.Seq2[arrow.RecordBatch, error]) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		for batch, err := range batches {
			if !yield(batch, t.translate(t.cleanedUp(ctx, version, err))) {
				return
			}
		}
	}
}

// scan answers a query without a search.
func scan(ctx context.Context, d *dataset.Dataset, req *protocol.QueryTableRequest) (*protocol.Rows, error) {
	out, err := plan(req, d, false)
	if err != nil {
		return nil, err
	}
	filter, err := where("filter", req.Filter, d)
	if err != nil {
		return nil, err
	}
	opts := dataset.ScanOptions{Columns: out.sources, Where: filter, Offset: req.Offset}
	if req.K != nil {
		opts.Limit = *req.K
	}
	_, batches, err := d.Scan(ctx, opts)
	if err != nil {
		return nil, err
	}
	return &protocol.Rows{Schema: out.schema, Batches: func(yield func(arrow.RecordBatch, error) bool) {
		for read, err := range batches {
			var batch arrow.RecordBatch
			if err == nil {
				batch, err = out.batch(read, nil)
			}
			if !yield(batch, err) || err != nil {
				return
			}
		}
	}}, nil
}

// Count tells how many rows there are, or for how many a predicate is true.
func (t *Table) Count(ctx context.Context, version *int64, predicate string) (*protocol.CountTableRowsResponse, error) {
	return Read(ctx, t, version, func(ctx context.Context, d *dataset.Dataset) (*protocol.CountTableRowsResponse, error) {
		answer := &protocol.CountTableRowsResponse{Version: int64(d.Version()), Count: d.CountRows()}
		filter, err := where("predicate", predicate, d)
		if err != nil || filter == nil {
			return answer, err
		}
		_, batches, err := d.Scan(ctx, dataset.ScanOptions{Columns: []string{}, Where: filter})
		if err != nil {
			return nil, err
		}
		answer.Count = 0
		for batch, err := range batches {
			if err != nil {
				return nil, err
			}
			answer.Count += batch.NumRows()
		}
		return answer, nil
	})
}

// saturating adds counts of which each may be the largest that there is.
func saturating(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

package query

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/engine/internal/condition"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/protocol"
)

// errEnough ends the parts of a scan whose consumer wants no more rows.
var errEnough = errors.New("enough rows")

// rowsElsewhere reads the rows of a large scan in parts, whose answers follow each other. A scan with a limit reads its
// first part here, because that may be enough. rowsElsewhere returns nil if all rows are to be read here.
func (s *tableScan) rowsElsewhere(ctx context.Context, opts *snapshot.ScanOptions) (*protocol.Rows, error) {
	q := *s.query
	q.Offset, q.Limit = 0, nil
	if opts.Limit > 0 {
		q.Limit = new(saturating(opts.Limit, max(0, opts.Offset)))
	}
	divided, err := s.planner.divide(ctx, s.relation, opts, Part{Kind: matching, Query: &q})
	if err != nil || divided == nil {
		return nil, err
	}
	batches := func(yield func(arrow.RecordBatch, error) bool) {
		if q.Limit != nil {
			for batch, err := range s.firstRows(ctx, *opts, divided) {
				if !yield(batch, err) || err != nil {
					return
				}
			}
		}
		here, err := divided.each(s.read.Reading(ctx), toStep(s.read), func(batch arrow.RecordBatch) error {
			if !batch.Schema().Equal(s.out.schema) {
				return fmt.Errorf("the answer of a part has the columns %v", batch.Schema())
			}
			s.read.Made(batch)
			if !yield(batch, nil) {
				return errEnough
			}
			return nil
		})
		switch {
		case here:
			for batch, err := range s.remainingRows(ctx, *opts, divided) {
				if !yield(batch, err) || err != nil {
					return
				}
			}
		case err != nil && !errors.Is(err, errEnough):
			yield(nil, err)
		}
	}
	return &protocol.Rows{Schema: s.out.schema, Batches: s.project.Counted(window(batches, opts.Offset, opts.Limit))}, nil
}

// firstRows reads the first part of a divided scan here, and removes it from the division.
func (s *tableScan) firstRows(ctx context.Context, opts snapshot.ScanOptions, divided *division) iter.Seq2[arrow.RecordBatch, error] {
	only := &division{Spread: divided.Spread, parts: divided.parts[:1]}
	divided.parts = divided.parts[1:]
	return s.remainingRows(ctx, opts, only)
}

// remainingRows reads the rows of a division here.
func (s *tableScan) remainingRows(ctx context.Context, opts snapshot.ScanOptions, divided *division) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		for _, part := range divided.parts {
			spans := spansOf(part.Stretches)
			opts.Only, opts.Span, opts.Offset, opts.Limit = spans.has, spans.of, 0, 0
			rows, err := s.rowsHere(ctx, opts)
			if err != nil {
				yield(nil, err)
				return
			}
			for batch, err := range rows.Batches {
				if !yield(batch, err) || err != nil {
					return
				}
			}
		}
	}
}

// matchingPart returns the rows of a part that match.
func (p *Planner) matchingPart(ctx context.Context, r condition.Relation, part *Part) (*protocol.Rows, error) {
	scan, err := p.scanPart(ctx, r, part)
	if err != nil {
		return nil, err
	}
	answer, err := scan.Rows(ctx)
	if limit := part.Query.Limit; err == nil && limit != nil {
		// The limit of a scan counts the rows of all fragments.
		answer.Batches = window(answer.Batches, 0, *limit)
	}
	return answer, err
}

// scanPart returns the scan of the rows of a part that match, without a limit.
func (p *Planner) scanPart(ctx context.Context, r condition.Relation, part *Part) (*tableScan, error) {
	out, err := planOutput(ctx, part.Query, r, rating{})
	if err != nil {
		return nil, err
	}
	rows, err := condition.NewRows(ctx, r, part.Query.Filter, part.Query.FastSearch, p.Policy)
	if err != nil {
		return nil, err
	}
	part.narrow(&rows)
	return p.scan(r.Dataset, out, rows), nil
}

// window skips rows, and ends after limit rows; a limit of 0 is none.
func window(batches iter.Seq2[arrow.RecordBatch, error], skip, limit int64) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		skip, left := max(0, skip), limit
		for batch, err := range batches {
			if err != nil {
				yield(nil, err)
				return
			}
			from := min(skip, batch.NumRows())
			to := batch.NumRows()
			if skip -= from; limit > 0 {
				to = min(to, from+left)
			}
			if from == to {
				continue
			}
			if from > 0 || to < batch.NumRows() {
				batch = batch.NewSlice(from, to)
			}
			if left -= to - from; !yield(batch, nil) || limit > 0 && left <= 0 {
				return
			}
		}
	}
}

// Package query answers queries on a version of a table: scans, searches for the rows nearest to
// vectors, and searches for words, each with a filter, an order and the columns of the answer.
//
// A query first reads the columns that its filter and its search need, then chooses rows, and then
// fetches the other columns of these rows only.
package query

import (
	"context"
	"log/slog"
	"math"

	"tiltyard/shared/engine/internal/condition"
	"tiltyard/shared/engine/internal/explain"
	"tiltyard/shared/engine/internal/prefilter"
	"tiltyard/shared/protocol"
)

// An Answer is a query that was planned on a version of a table.
type Answer interface {
	// Rows starts the answer. It returns when the first rows are available, or when there are none.
	Rows(ctx context.Context) (*protocol.Rows, error)
	// Plan returns the steps of the answer, with their measurements if the answer was ranged over.
	Plan() *explain.Step
}

// A Planner resolves queries. It is safe for concurrent use.
type Planner struct {
	TopK   int              // rows of a search or sort in memory
	Policy prefilter.Policy // for the use of indices by filters
	Spread *Spread          // nil: queries are not divided
}

// Plan plans a query on a relation. It reads no rows.
func (p *Planner) Plan(ctx context.Context, r condition.Relation, q *Query) (Answer, error) {
	damaged, err := r.DamagedIndices()
	if err != nil {
		return nil, err
	}
	for _, err := range damaged {
		p.Policy.Warn(ctx, "an index is not used", slog.Any("error", err))
	}
	answer, err := p.seen(ctx, r, q)
	if err != nil {
		return nil, err
	}
	return oneDictionary{answer}, nil
}

// seen plans a query in the names of the relation, which may be a view.
func (p *Planner) seen(ctx context.Context, r condition.Relation, q *Query) (Answer, error) {
	if r.View == nil {
		return p.plan(ctx, r, q)
	}
	q, err := ofSource(r, q)
	if err != nil {
		return nil, err
	}
	return p.plan(ctx, r, q)
}

// plan plans a query on the table itself, after names of a view have been replaced.
func (p *Planner) plan(ctx context.Context, r condition.Relation, q *Query) (Answer, error) {
	var search finder
	var err error
	switch {
	case q.Text != nil && q.Nearest != nil:
		search, err = p.newHybridSearch(ctx, r, q)
	case q.Text != nil:
		search, err = p.newTextSearch(ctx, r, q)
	case q.Nearest != nil:
		search, err = p.newSearch(ctx, r, q)
	default:
		return p.newScan(ctx, r, q)
	}
	if err != nil {
		return nil, err
	}
	return newFoundRows(ctx, r, q, search)
}

// saturating adds two counts and returns the largest int64 on overflow.
func saturating(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

package query

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/engine/internal/condition"
	"tiltyard/shared/engine/internal/explain"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/protocol"
)

// A tableScan answers a query that has neither a search nor an order: it returns the rows that
// match the filter, in the order of the table.
type tableScan struct {
	dataset       *dataset.Dataset
	out           *output
	opts          snapshot.ScanOptions
	read, project *explain.Step

	planner  *Planner // divides a large scan with a filter; nil: it is not divided
	relation condition.Relation
	query    *Query
}

// newScan plans a query without a search.
func (p *Planner) newScan(ctx context.Context, r condition.Relation, q *Query) (Answer, error) {
	d := r.Dataset
	out, err := planOutput(ctx, q, r, rating{})
	if err != nil {
		return nil, err
	}
	rows, err := condition.NewRows(ctx, r, q.Filter, q.FastSearch, p.Policy)
	if err != nil {
		return nil, err
	}
	limit := q.Limit
	// The limit of a view applies before the limit of the query.
	if left, bounded := leftOfView(r, q); bounded && (limit == nil || *limit > left) {
		limit = &left
	}
	if limit != nil && *limit == 0 {
		return &noRows{out.schema, projectStep(d, out, nil)}, nil
	}
	if len(q.Order) > 0 {
		return p.newSort(r, q, out, rows, limit)
	}
	s := p.scan(d, out, rows)
	s.planner, s.relation, s.query = p, r, q
	s.opts.Offset = q.Offset
	if q.Offset > 0 {
		s.read.With("offset=%d", q.Offset).Like("GlobalLimitExec")
	}
	if limit != nil {
		s.opts.Limit = *limit
		s.read.With("limit=%d", *limit).Like("GlobalLimitExec")
	}
	s.project = projectStep(d, out, s.read)
	if s.opts.Where != nil {
		p.Spread.describe(s.read, d, func() snapshot.ScanOptions { return s.opts })
	}
	return s, nil
}

// scan returns the scan of some rows, without a limit.
func (p *Planner) scan(d *dataset.Dataset, out *output, rows condition.Rows) *tableScan {
	s := &tableScan{dataset: d, out: out, opts: rows.Options(out.sources), read: rows.Step(d, out.sources)}
	s.project = projectStep(d, out, s.read)
	return s
}

// noRows answers a query that cannot have rows.
type noRows struct {
	schema  *arrow.Schema
	project *explain.Step
}

func (n *noRows) Plan() *explain.Step { return n.project }

func (n *noRows) Rows(context.Context) (*protocol.Rows, error) {
	none := func(func(arrow.RecordBatch, error) bool) {}
	return &protocol.Rows{Schema: n.schema, Batches: n.project.Counted(none)}, nil
}

// projectStep returns the plan step that computes the answer's columns.
func projectStep(d *dataset.Dataset, out *output, from *explain.Step) *explain.Step {
	names := explain.Later(func() string { return fieldList(out.schema, func(f arrow.Field) string { return f.Name }) })
	types := explain.Later(func() string { return fieldList(out.schema, func(f arrow.Field) string { return f.Type.String() }) })
	return explain.New(d.Now, explain.Project, from).With("columns=%s", names).WithMore("types=%s", types)
}

// fieldList lists a text about each field of a schema.
func fieldList(schema *arrow.Schema, text func(arrow.Field) string) string {
	var texts explain.List
	for _, f := range schema.Fields() {
		texts = append(texts, text(f))
	}
	return texts.String()
}

func (s *tableScan) Plan() *explain.Step { return s.project }

func (s *tableScan) Rows(ctx context.Context) (*protocol.Rows, error) {
	opts := s.opts
	if s.planner != nil && opts.Where != nil {
		rows, err := s.rowsElsewhere(ctx, &opts)
		if rows != nil || err != nil {
			return rows, err
		}
	}
	return s.rowsHere(ctx, opts)
}

// rowsHere reads the rows.
func (s *tableScan) rowsHere(ctx context.Context, opts snapshot.ScanOptions) (*protocol.Rows, error) {
	_, batches, err := s.dataset.Scan(s.read.Reading(ctx), opts)
	if err != nil {
		return nil, err
	}
	batches = s.read.Counted(batches)
	return &protocol.Rows{Schema: s.out.schema, Batches: s.project.Counted(s.out.batches(ctx, batches))}, nil
}

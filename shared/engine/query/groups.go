package query

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/engine/apierror"
	"tiltyard/shared/engine/internal/condition"
	"tiltyard/shared/engine/internal/grouping"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/protocol"
	"tiltyard/shared/sql/plan"
	"tiltyard/shared/sql/syntax"
)

// Groups are the groups that a part makes of the rows of its query: those with equal keys, or all rows without keys.
// Numbers are those of the columns of the query.
type Groups struct {
	Keys  []int  `json:"keys,omitempty"`
	Calls []Call `json:"calls,omitempty"`
}

// A Call is a call of an aggregate function.
type Call struct {
	Function string `json:"function"`
	Args     []int  `json:"args,omitempty"`   // none: count(*)
	Filter   *int   `json:"filter,omitempty"` // tells which rows count; nil: all
}

// Bind returns the grouping of rows with a schema, and the schema of the groups: a column for each key, and one for each call.
// An error is one of package sql, or InvalidInput for numbers without a column.
func (g *Groups) Bind(ctx context.Context, rows *arrow.Schema) (*plan.Grouping, *arrow.Schema, error) {
	column := func(i int) (syntax.Expr, error) {
		if i < 0 || i >= rows.NumFields() {
			return nil, protocol.Errorf(protocol.InvalidInput, "part: groups by column %d of %d", i, rows.NumFields())
		}
		return &syntax.Column{Path: []syntax.Name{{Text: rows.Field(i).Name, Quoted: true}}}, nil
	}
	var keys, items []syntax.Expr
	for _, i := range g.Keys {
		key, err := column(i)
		if err != nil {
			return nil, nil, err
		}
		keys = append(keys, key)
	}
	items = slices.Clone(keys)
	for _, c := range g.Calls {
		call := &syntax.Call{Name: c.Function, Star: len(c.Args) == 0}
		for _, i := range c.Args {
			arg, err := column(i)
			if err != nil {
				return nil, nil, err
			}
			call.Args = append(call.Args, arg)
		}
		if c.Filter != nil {
			var err error
			if call.Filter, err = column(*c.Filter); err != nil {
				return nil, nil, err
			}
		}
		items = append(items, call)
	}
	of, err := plan.BindGroups(ctx, keys, items, rows)
	if err != nil {
		return nil, nil, err
	}
	fields := make([]arrow.Field, len(of.Items))
	for i, item := range of.Items {
		fields[i] = arrow.Field{Name: "column" + strconv.Itoa(i), Type: item.Type(), Nullable: item.Nullable()}
	}
	return of, arrow.NewSchema(fields, nil), nil
}

// Groups makes groups of the rows of a query in parts, if it is so large that it is divided; otherwise it returns nil. A
// group has a row for each part that has rows of it. tell is called at the end with what the parts took.
func (p *Planner) Groups(ctx context.Context, r condition.Relation, q *Query, g *Groups, tell func(string)) (*protocol.Rows, error) {
	answer, err := p.seen(ctx, r, q)
	if err != nil {
		return nil, err
	}
	scan, ok := answer.(*tableScan)
	if !ok || scan.opts.Limit > 0 {
		return nil, nil //nolint:nilnil // not divided
	}
	of, schema, err := g.Bind(ctx, scan.out.schema)
	if err != nil {
		return nil, err
	}
	opts := scan.opts
	divided, err := p.divide(ctx, r, &opts, Part{Kind: grouped, Query: scan.query, Groups: g})
	if err != nil || divided == nil {
		return nil, err
	}
	batches := func(yield func(arrow.RecordBatch, error) bool) {
		told := []string{fmt.Sprintf("parts=%d", len(divided.parts))}
		here, err := divided.each(ctx, func(what string, value any) { told = append(told, fmt.Sprintf("%s=%v", what, value)) }, func(batch arrow.RecordBatch) error {
			if !batch.Schema().Equal(schema) {
				return fmt.Errorf("the answer of a part has the columns %v", batch.Schema())
			}
			if !yield(batch, nil) {
				return errEnough
			}
			return nil
		})
		switch {
		case here:
			for batch, err := range scan.groups(ctx, opts, of, schema) {
				if !yield(batch, err) {
					return
				}
			}
		case err == nil:
			tell(strings.Join(told, " "))
		case !errors.Is(err, errEnough):
			yield(nil, err)
		}
	}
	return &protocol.Rows{Schema: schema, Batches: batches}, nil
}

// groups makes the groups of a scan here.
func (s *tableScan) groups(ctx context.Context, opts snapshot.ScanOptions, of *plan.Grouping, schema *arrow.Schema) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		rows, err := s.rowsHere(ctx, opts)
		if err != nil {
			yield(nil, err)
			return
		}
		for batch, err := range grouping.Rows(ctx, of, schema, rows.Batches) {
			if !yield(batch, err) {
				return
			}
		}
	}
}

// groupedPart returns the groups of the rows of a part that match.
func (p *Planner) groupedPart(ctx context.Context, r condition.Relation, part *Part) (*protocol.Rows, error) {
	scan, err := p.scanPart(ctx, r, part)
	if err != nil {
		return nil, err
	}
	of, schema, err := part.Groups.Bind(ctx, scan.out.schema)
	if err != nil {
		return nil, apierror.OfExpression("part", err)
	}
	return &protocol.Rows{Schema: schema, Batches: scan.groups(ctx, scan.opts, of, schema)}, nil
}

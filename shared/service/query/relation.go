package query

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/apierror"
	"tiltyard/shared/engine/query"
	"tiltyard/shared/engine/relation"
	"tiltyard/shared/http/httpapi"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/protocol/queryapi"
	"tiltyard/shared/sql/syntax"
	"tiltyard/shared/tables"
)

// relate runs a statement that no single table answers.
func (s *Service) relate(ctx context.Context, req *queryapi.StatementRequest, statement *syntax.Statement) (*protocol.Rows, error) {
	from := &sources{service: s, request: req, operation: operationOf(statement), opened: map[string]relation.Table{}}
	plan, err := relation.Make(ctx, statement.Query, from, s.tables.Now())
	if err != nil {
		return nil, apierror.OfExpression("query", err)
	}
	switch {
	case req.Describe == queryapi.DescribeParameters:
		return describeParameters(arrow.NewSchema(from.columns, nil), 0, req.Query)
	case req.Describe == queryapi.DescribeColumns && statement.Explain:
		return withoutRows(textRow("")), nil
	case req.Describe == queryapi.DescribeColumns:
		return withoutRows(plan.Rows(ctx)), nil
	case statement.Analyze:
		text, err := plan.Analyze(ctx)
		return textRow(text), apierror.OfExpression("query", err)
	case statement.Explain:
		text, err := plan.Explain(ctx)
		return textRow(text), apierror.OfExpression("query", err)
	}
	rows := plan.Rows(ctx)
	batches := rows.Batches
	rows.Batches = func(yield func(arrow.RecordBatch, error) bool) {
		for batch, err := range batches {
			if !yield(batch, apierror.OfExpression("query", err)) {
				return
			}
		}
	}
	return rows, nil
}

// sources are the tables of a statement. Each has one version in the whole statement.
type sources struct {
	service   *Service
	request   *queryapi.StatementRequest
	operation string // whose right is needed
	opened    map[string]relation.Table
	columns   []arrow.Field // of all tables
}

// A source is a table of a statement.
type source struct {
	in      *sources
	id      []string
	branch  string
	version *int64 // nil until the table was read
}

// Open returns a table, if the sender has the right to read it.
func (s *sources) Open(ctx context.Context, t *syntax.Table) (relation.Table, error) {
	id := idOf(t, s.request.NamespaceID)
	key := fmt.Sprintf("%q %q %q", id, t.Branch, t.Tag)
	if t.Version != nil {
		key += fmt.Sprint(" ", *t.Version)
	}
	if s.opened[key] == nil {
		made, err := s.open(ctx, t, id)
		if err != nil {
			return nil, err
		}
		s.opened[key] = made
	}
	return s.opened[key], nil
}

func (s *sources) open(ctx context.Context, t *syntax.Table, id []string) (relation.Table, error) {
	if other, err := s.service.opened(ctx, s.request, t); other != nil || err != nil {
		return other, err
	}
	if err := httpapi.Reads(ctx, s.operation, id); err != nil {
		return nil, err
	}
	if err := auth.Admit(ctx, s.operation, id); err != nil {
		return nil, err
	}
	made := &source{in: s, id: id, branch: t.Branch, version: t.Version}
	if t.Tag == "" {
		return made, nil
	}
	var err error
	made.branch, made.version, err = s.service.tagged(ctx, id, t.Tag)
	return made, err
}

// read calls work with the table and the query of it that a simple query is.
func read[T any](ctx context.Context, s *source, q *syntax.Query, work func(context.Context, *engine.Table, *plan, engine.AsOf) (T, error)) (T, error) {
	var none T
	plan, err := planOf(q, s.in.request)
	if err != nil {
		return none, err
	}
	if err := plan.request.Validate(); err != nil {
		return none, err
	}
	return tables.Rows(ctx, s.in.service.tables.Open(s.id, s.branch), func(ctx context.Context, rows *engine.Table) (T, error) {
		done, err := work(ctx, rows, plan, asOf(s.version, protocol.LogUse{}))
		return done, plan.placed(err)
	})
}

// Columns asks for no rows, and notes the version that the statement reads.
func (s *source) Columns(ctx context.Context, q *syntax.Query) (*arrow.Schema, error) {
	rows, err := read(ctx, s, q, func(ctx context.Context, rows *engine.Table, p *plan, at engine.AsOf) (*protocol.Rows, error) {
		if err := p.guessVector(ctx, rows); err != nil {
			return nil, err
		}
		query := queryOf(&p.request)
		query.Limit = new(int64(0))
		if query.Nearest != nil {
			query.Limit = new(int64(1)) // a search for no rows is refused
		}
		found, err := rows.Query(ctx, at, query)
		if err != nil {
			return nil, err
		}
		return p.project(found), nil
	})
	if err != nil {
		return nil, err
	}
	if s.version == nil {
		s.version = &rows.Version
	}
	s.in.columns = append(s.in.columns, rows.Schema.Fields()...)
	return rows.Schema, nil
}

// Rows runs a query.
func (s *source) Rows(ctx context.Context, q *syntax.Query) (*protocol.Rows, error) {
	return read(ctx, s, q, func(ctx context.Context, rows *engine.Table, p *plan, at engine.AsOf) (*protocol.Rows, error) {
		query := queryOf(&p.request)
		query.Limit = q.Limit
		found, err := rows.Query(ctx, at, query)
		if err != nil {
			return nil, err
		}
		return p.project(found), nil
	})
}

// Groups makes groups of the rows of a query in parts that run elsewhere.
func (s *source) Groups(ctx context.Context, q *syntax.Query, g *query.Groups, tell func(string)) (*protocol.Rows, error) {
	return read(ctx, s, q, func(ctx context.Context, rows *engine.Table, p *plan, at engine.AsOf) (*protocol.Rows, error) {
		found, err := rows.Groups(ctx, at, queryOf(&p.request), g, tell)
		if found != nil {
			found.Batches = p.placing(found.Batches)
		}
		return found, err
	})
}

// Explain returns the plan of a query.
func (s *source) Explain(ctx context.Context, q *syntax.Query) (string, error) {
	return read(ctx, s, q, func(ctx context.Context, rows *engine.Table, p *plan, at engine.AsOf) (string, error) {
		query := queryOf(&p.request)
		query.Limit = q.Limit
		return rows.Explain(ctx, at, query, false)
	})
}

// Count returns the number of rows.
func (s *source) Count(ctx context.Context) (int64, error) {
	return tables.Rows(ctx, s.in.service.tables.Open(s.id, s.branch), func(ctx context.Context, rows *engine.Table) (int64, error) {
		count, err := rows.Count(ctx, asOf(s.version, protocol.LogUse{}), "")
		return count.Rows, err
	})
}

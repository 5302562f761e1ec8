package query

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"math"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/apierror"
	"tiltyard/shared/engine/relation"
	"tiltyard/shared/http/httpapi"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/protocol/queryapi"
	"tiltyard/shared/sql"
	"tiltyard/shared/sql/syntax"
	"tiltyard/shared/tables"
)

// Execute runs a statement in SQL, with the rights of the operation on the table that does the same.
func (s *Service) Execute(ctx context.Context, req *queryapi.StatementRequest) (*protocol.Rows, error) {
	parameters, err := literals(req.Parameters)
	if err != nil {
		return nil, err
	}
	parse := syntax.ParseStatement
	if req.Describe != queryapi.DescribeNothing {
		parse = syntax.DescribeStatement
	}
	statement, err := parse(req.Query, parameters)
	if err != nil {
		return nil, apierror.OfExpression("query", err)
	}
	return s.Run(ctx, req, statement)
}

// Run runs a parsed statement. Of the request, the text of the query is only used to describe parameters.
func (s *Service) Run(ctx context.Context, req *queryapi.StatementRequest, statement *syntax.Statement) (*protocol.Rows, error) {
	simple := relation.Simple(statement.Query)
	if simple == nil {
		return s.relate(ctx, req, statement)
	}
	other, err := s.opened(ctx, req, simple.Body.(*syntax.Block).From.(*syntax.Table))
	switch {
	case err != nil:
		return nil, apierror.OfExpression("query", err)
	case other != nil:
		return s.relate(ctx, req, statement)
	}
	return s.answer(ctx, req, statement, simple)
}

// opened returns a source that is no table, or nil for a table.
func (s *Service) opened(ctx context.Context, req *queryapi.StatementRequest, t *syntax.Table) (relation.Table, error) {
	if s.beside == nil {
		return nil, nil //nolint:nilnil // a table
	}
	other, err := s.beside(ctx, req, idOf(t, req.NamespaceID))
	if other != nil && (t.Version != nil || t.Branch != "" || t.Tag != "") {
		return nil, sql.Errorf(sql.ErrUnsupported, t.Pos(), "a version of %s, which has none", t.Name[len(t.Name)-1].Text)
	}
	return other, err
}

// answer runs a statement that one table answers.
func (s *Service) answer(ctx context.Context, req *queryapi.StatementRequest, statement *syntax.Statement, q *syntax.Query) (*protocol.Rows, error) {
	plan, err := planOf(q, req)
	if err != nil {
		return nil, apierror.OfExpression("query", err)
	}
	if statement.Explain && plan.count != "" {
		return s.relate(ctx, req, statement)
	}
	if err := plan.request.Validate(); err != nil {
		return nil, err
	}
	operation := operationOf(statement)
	if plan.count != "" {
		operation = "CountTableRows"
	}
	if err := httpapi.Reads(ctx, operation, plan.id); err != nil {
		return nil, err
	}
	if err := auth.Admit(ctx, operation, plan.id); err != nil {
		return nil, err
	}
	if plan.tag != "" {
		if plan.request.Branch, plan.request.Version, err = s.tagged(ctx, plan.id, plan.tag); err != nil {
			return nil, err
		}
	}
	return tables.Rows(ctx, s.tables.Open(plan.id, plan.request.Branch), func(ctx context.Context, rows *engine.Table) (*protocol.Rows, error) {
		switch req.Describe {
		case queryapi.DescribeColumns:
			columns, err := plan.describe(ctx, rows, statement)
			return columns, plan.placed(err)
		case queryapi.DescribeParameters:
			columns, version, err := rows.Columns(ctx)
			if err != nil {
				return nil, err
			}
			return describeParameters(columns, version, req.Query)
		}
		found, err := plan.run(ctx, rows, statement, q.Limit)
		return found, plan.placed(err)
	})
}

// tagged returns the branch and the version that a tag of a table names, with the right to the operation that does so.
func (s *Service) tagged(ctx context.Context, id []string, tag string) (branch string, version *int64, err error) {
	if err := auth.Admit(ctx, "GetTableTagVersion", id); err != nil {
		return "", nil, err
	}
	number, err := tables.Inspect(ctx, s.tables.Open(id, ""), func(ctx context.Context, t tables.Table) (int64, error) {
		found, _, err := t.Data().Refs().Tag(ctx, tag)
		branch = found.BranchName()
		return int64(found.Version), err
	})
	return branch, &number, err
}

// operationOf returns the name of the operation that reads a table as a statement does.
func operationOf(s *syntax.Statement) string {
	switch {
	case s.Analyze:
		return "AnalyzeTableQueryPlan"
	case s.Explain:
		return "ExplainTableQueryPlan"
	}
	return "QueryTable"
}

// run executes a plan over the table.
func (p *plan) run(ctx context.Context, rows *engine.Table, s *syntax.Statement, limit *int64) (*protocol.Rows, error) {
	at, q := asOf(p.request.Version, protocol.LogUse{}), queryOf(&p.request)
	q.Limit = limit // also zero
	switch {
	case s.Analyze:
		text, err := rows.Analyze(ctx, at, q)
		return textRow(text), err
	case s.Explain:
		text, err := rows.Explain(ctx, at, q, false)
		return textRow(text), err
	case p.count != "":
		count, err := rows.Count(ctx, at, q.Filter)
		return numberRow(p.count, count.Rows, count.Version), err
	}
	found, err := rows.Query(ctx, at, q)
	if err != nil {
		return nil, err
	}
	return p.project(found), nil
}

// project reduces an answer to the columns that a statement has chosen.
func (p *plan) project(rows *protocol.Rows) *protocol.Rows {
	var at []int
	var fields []arrow.Field
	add := func(i int) { at, fields = append(at, i), append(fields, rows.Schema.Field(i)) }
	for i, f := range rows.Schema.Fields() {
		if p.outputs == nil && !(p.searches() && isRating(f.Name)) {
			add(i)
		}
	}
	for _, name := range p.outputs {
		add(rows.Schema.FieldIndices(name)[0])
	}
	metadata := rows.Schema.Metadata()
	schema := arrow.NewSchema(fields, &metadata)
	return &protocol.Rows{Schema: schema, Version: rows.Version, Batches: func(yield func(arrow.RecordBatch, error) bool) {
		for batch, err := range p.placing(rows.Batches) {
			if err != nil {
				yield(nil, err)
				return
			}
			columns := make([]arrow.Array, len(at))
			for i, from := range at {
				columns[i] = batch.Column(from)
			}
			chosen := array.NewRecordBatch(schema, columns, batch.NumRows())
			more := yield(chosen, nil)
			chosen.Release()
			if !more {
				return
			}
		}
	}}
}

// placing moves the places of errors of batches, as placed does.
func (p *plan) placing(batches iter.Seq2[arrow.RecordBatch, error]) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		for batch, err := range batches {
			if !yield(batch, p.placed(err)) {
				return
			}
		}
	}
}

// textRow is an answer of one text, the plan of a query.
func textRow(text string) *protocol.Rows {
	b := array.NewStringBuilder(memory.DefaultAllocator)
	b.Append(text)
	return oneRow(arrow.Field{Name: "plan", Type: arrow.BinaryTypes.String}, b.NewArray(), 0)
}

// numberRow is an answer of one number.
func numberRow(name string, n, version int64) *protocol.Rows {
	b := array.NewInt64Builder(memory.DefaultAllocator)
	b.Append(n)
	return oneRow(arrow.Field{Name: name, Type: arrow.PrimitiveTypes.Int64}, b.NewArray(), version)
}

func oneRow(field arrow.Field, column arrow.Array, version int64) *protocol.Rows {
	schema := arrow.NewSchema([]arrow.Field{field}, nil)
	return &protocol.Rows{Schema: schema, Version: version, Batches: func(yield func(arrow.RecordBatch, error) bool) {
		yield(array.NewRecordBatch(schema, []arrow.Array{column}, 1), nil)
	}}
}

// literals returns the values of parameters as literals of SQL.
func literals(parameters map[string]json.RawMessage) (map[string]syntax.Expr, error) {
	all := make(map[string]syntax.Expr, len(parameters))
	for name, raw := range parameters {
		d := json.NewDecoder(bytes.NewReader(raw))
		d.UseNumber()
		var value any
		if err := d.Decode(&value); err != nil {
			return nil, protocol.Errorf(protocol.InvalidInput, "parameters.%s: %v", name, err)
		}
		if _, err := d.Token(); err != io.EOF {
			return nil, protocol.Errorf(protocol.InvalidInput, "parameters.%s is more than one value", name)
		}
		literal, ok := literalOf(value)
		if !ok {
			return nil, protocol.Errorf(protocol.InvalidInput, "parameters.%s is an object; a parameter is null, a number, a text, true, false, or a list of them", name)
		}
		all[name] = literal
	}
	return all, nil
}

// literalOf returns a decoded JSON value as a literal. ok is false for an object.
func literalOf(value any) (e syntax.Expr, ok bool) {
	switch v := value.(type) {
	case nil:
		return new(syntax.Null), true
	case bool:
		return &syntax.Bool{Value: v}, true
	case string:
		return &syntax.Text{Value: v}, true
	case json.Number:
		return &syntax.Number{Text: v.String()}, true
	case []any:
		list := new(syntax.Array)
		for _, item := range v {
			e, ok := literalOf(item)
			if !ok {
				return nil, false
			}
			list.Elems = append(list.Elems, e)
		}
		return list, true
	}
	return nil, false
}

// vectorOf returns the numbers of a list.
func vectorOf(e syntax.Expr) ([]float64, error) {
	list, ok := e.(*syntax.Array)
	if !ok || len(list.Elems) == 0 {
		return nil, fmt.Errorf("%.40s is not a list of numbers", e)
	}
	vector := make([]float64, len(list.Elems))
	for i, item := range list.Elems {
		number, ok := item.(*syntax.Number)
		if !ok {
			return nil, fmt.Errorf("item %d of the vector is %.40s, not a number", i, item)
		}
		var err error
		if vector[i], err = strconv.ParseFloat(number.Text, 64); err != nil || math.IsInf(vector[i], 0) {
			return nil, fmt.Errorf("item %d of the vector, %.40s, is out of range", i, item)
		}
	}
	return vector, nil
}

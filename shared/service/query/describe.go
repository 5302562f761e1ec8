package query

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/apierror"
	"tiltyard/shared/protocol"
	"tiltyard/shared/sql/syntax"
)

// describe returns an answer with the columns of the statement's answer and without rows. It reads no rows.
func (p *plan) describe(ctx context.Context, rows *engine.Table, s *syntax.Statement) (*protocol.Rows, error) {
	switch {
	case s.Explain:
		return withoutRows(textRow("")), nil
	case p.count != "":
		return withoutRows(numberRow(p.count, 0, 0)), nil
	}
	if err := p.guessVector(ctx, rows); err != nil {
		return nil, err
	}
	// The condition is planned with the rest, so that its mistakes are found here, too.
	nothing := syntax.Expr(&syntax.Bool{})
	if filter := p.written[filterField]; filter != nil {
		nothing = syntax.Conjunction([]syntax.Expr{filter, nothing})
	}
	p.request.Filter, p.written[filterField] = nothing.String(), nothing
	q := queryOf(&p.request)
	q.Limit = new(int64(1)) // a search must find something
	found, err := rows.Query(ctx, asOf(p.request.Version, protocol.LogUse{}), q)
	if err != nil {
		return nil, err
	}
	return p.project(found), nil
}

// describeParameters returns an answer whose columns are the parameters of a statement, without rows. Their types are those
// of the columns that they are compared with, or else texts.
func describeParameters(columns *arrow.Schema, version int64, query string) (*protocol.Rows, error) {
	parameters, err := syntax.Parameters(query)
	if err != nil {
		return nil, apierror.OfExpression("query", err)
	}
	fields := make([]arrow.Field, len(parameters))
	for i, p := range parameters {
		fields[i] = arrow.Field{Name: p.Name, Type: arrow.BinaryTypes.String, Nullable: true}
		if p.Count {
			fields[i].Type = arrow.PrimitiveTypes.Int64
		}
		if found, ok := columns.FieldsByName(p.Column); ok {
			fields[i].Type = valueType(found[0].Type)
		}
	}
	return withoutRows(&protocol.Rows{Schema: arrow.NewSchema(fields, nil), Version: version}), nil
}

// valueType returns the type of the values that a column is compared with.
func valueType(t arrow.DataType) arrow.DataType {
	switch t := t.(type) {
	case *arrow.DictionaryType:
		return t.ValueType
	case arrow.ExtensionType:
		return t.StorageType()
	}
	return t
}

// guessVector gives a search without a vector one that fits the column.
func (p *plan) guessVector(ctx context.Context, rows *engine.Table) error {
	if p.request.Vector.Empty() || len(p.request.Vector.Vectors[0]) != 1 {
		return nil
	}
	columns, _, err := rows.Columns(ctx)
	if err != nil {
		return err
	}
	for _, field := range columns.Fields() {
		vectors, ok := field.Type.(*arrow.FixedSizeListType)
		if ok && field.Name == p.request.VectorColumn {
			p.request.Vector.Vectors[0] = make([]float64, vectors.Len())
			p.request.Vector.Vectors[0][0] = 1 // not of length zero, which has no direction
		}
	}
	return nil
}

// withoutRows returns an answer with the columns of another one.
func withoutRows(rows *protocol.Rows) *protocol.Rows {
	rows.Batches = func(func(arrow.RecordBatch, error) bool) {}
	return rows
}

package sql

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/apierror"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/dataapi"
	"tiltyard/shared/sql"
	"tiltyard/shared/sql/cast"
	"tiltyard/shared/sql/plan"
	"tiltyard/shared/sql/syntax"
	"tiltyard/shared/tables"
)

// insert appends rows to a table: values, or the rows of a query.
func (s *Service) insert(ctx context.Context, in *statement, c *syntax.Insert) (*protocol.Rows, error) {
	req := &dataapi.InsertRequest{Common: in.of(in.id(c.Table)), Branch: c.Branch}
	if c.Overwrite {
		req.Mode = dataapi.InsertModeOverwrite
	}
	// The rights to both objects are checked before anything is read of either.
	ctx, err := admit(ctx, "InsertIntoTable", req)
	if err != nil {
		return nil, err
	}
	rows, err := s.inserted(ctx, in, c, req)
	if err != nil {
		return nil, err
	}
	body := newBody(rows)
	defer body.close()
	req.Body = body
	made, err := s.data.Insert(ctx, req)
	if err != nil {
		return nil, err
	}
	return counted(made.NumInsertedRows, made.Version), nil
}

// inserted returns the rows to insert. Their columns have the names and types of the table's.
func (s *Service) inserted(ctx context.Context, in *statement, c *syntax.Insert, req *dataapi.InsertRequest) (*protocol.Rows, error) {
	var rows *protocol.Rows
	width := 0
	if c.Query != nil {
		var err error
		if rows, err = s.queries.Execute(ctx, in.part(c.Query)); err != nil {
			return nil, err
		}
		width = rows.Schema.NumFields()
	} else {
		width = len(c.Values[0])
	}
	columns, err := s.columnsOf(ctx, req.ID, req.Branch)
	if err != nil {
		return nil, err
	}
	target, err := targets(columns, c, width, rows)
	if err != nil {
		return nil, err
	}
	if rows == nil {
		return s.values(ctx, c, target)
	}
	return converted(ctx, rows, target, c.Pos)
}

// columnsOf returns the columns of a table, or nil if it is only declared.
func (s *Service) columnsOf(ctx context.Context, id []string, branch string) (*arrow.Schema, error) {
	return tables.Inspect(ctx, s.tables.Open(id, branch), func(ctx context.Context, t tables.Table) (*arrow.Schema, error) {
		columns, _, err := t.Columns(ctx)
		if engine.IsDeclared(err) {
			return nil, nil
		}
		return columns, err
	})
}

// targets returns the columns of the rows to insert, in their order.
func targets(columns *arrow.Schema, c *syntax.Insert, width int, rows *protocol.Rows) (*arrow.Schema, error) {
	if columns == nil {
		if rows == nil || c.Columns != nil {
			return nil, sql.Errorf(sql.ErrUnsupported, c.Pos, "the table is only declared and has no columns yet; insert the rows of a query without a list of columns, or create it")
		}
		return rows.Schema, nil
	}
	if c.Columns == nil {
		if width != columns.NumFields() {
			return nil, sql.Errorf(sql.ErrType, c.Pos, "the rows have %d columns, and the table has %d; name those that the rows have: INSERT INTO table (column, …)", width, columns.NumFields())
		}
		return plain(columns.Fields()), nil
	}
	if width != len(c.Columns) {
		return nil, sql.Errorf(sql.ErrType, c.Pos, "the rows have %d columns, and the statement names %d", width, len(c.Columns))
	}
	var fields []arrow.Field
	seen := map[string]bool{}
	for _, name := range c.Columns {
		at := columns.FieldIndices(name)
		switch {
		case len(at) == 0:
			return nil, protocol.Errorf(protocol.TableColumnNotFound, "column %q does not exist", name)
		case seen[name]:
			return nil, sql.Errorf(sql.ErrSyntax, c.Pos, "column %q is named twice", name)
		}
		seen[name] = true
		fields = append(fields, columns.Field(at[0]))
	}
	return plain(fields), nil
}

// plain returns fields as the rows to insert have them: nulls are found by the insert, which names the column.
func plain(fields []arrow.Field) *arrow.Schema {
	all := make([]arrow.Field, len(fields))
	for i, f := range fields {
		f.Nullable = true
		if d, ok := f.Type.(*arrow.DictionaryType); ok {
			f.Type = d.ValueType
		}
		all[i] = f
	}
	return arrow.NewSchema(all, nil)
}

// converted returns rows with other names and types of their columns.
func converted(ctx context.Context, rows *protocol.Rows, target *arrow.Schema, pos int) (*protocol.Rows, error) {
	for i, f := range rows.Schema.Fields() {
		if to := target.Field(i); !arrow.TypeEqual(f.Type, to.Type) && !cast.Possible(f.Type, to.Type) {
			return nil, sql.Errorf(sql.ErrType, pos, "column %s of the query is %s, and column %s of the table is %s", f.Name, protocol.TypeText(f.Type), to.Name, protocol.TypeText(to.Type))
		}
	}
	return &protocol.Rows{Schema: target, Version: rows.Version, Batches: func(yield func(arrow.RecordBatch, error) bool) {
		for batch, err := range rows.Batches {
			if err == nil {
				batch, err = convert(ctx, batch, target)
			}
			if !yield(batch, err) || err != nil {
				return
			}
		}
	}}, nil
}

func convert(ctx context.Context, batch arrow.RecordBatch, target *arrow.Schema) (arrow.RecordBatch, error) {
	columns := make([]arrow.Array, batch.NumCols())
	for i, values := range batch.Columns() {
		to := target.Field(i).Type
		if columns[i] = values; arrow.TypeEqual(values.DataType(), to) {
			continue
		}
		var err error
		if columns[i], err = cast.Convert(ctx, values, to); err != nil {
			return nil, ofStatement(err)
		}
	}
	return array.NewRecordBatch(target, columns, batch.NumRows()), nil
}

// values computes the rows of VALUES. The expressions have the types of the table's columns, as in an update.
func (s *Service) values(ctx context.Context, c *syntax.Insert, target *arrow.Schema) (*protocol.Rows, error) {
	columns := make([]arrow.Array, target.NumFields())
	one := array.NewRecordBatch(arrow.NewSchema(nil, nil), nil, 1)
	for i, field := range target.Fields() {
		parts := make([]arrow.Array, len(c.Values))
		for at, row := range c.Values {
			var err error
			if parts[at], err = s.value(ctx, row[i], field.Type, one); err != nil {
				return nil, err
			}
		}
		var err error
		if columns[i], err = array.Concatenate(parts, memory.DefaultAllocator); err != nil {
			return nil, fmt.Errorf("join the values of %s: %w", field.Name, err)
		}
	}
	batch := array.NewRecordBatch(target, columns, int64(len(c.Values)))
	return &protocol.Rows{Schema: target, Batches: func(yield func(arrow.RecordBatch, error) bool) { yield(batch, nil) }}, nil
}

// value computes one value.
func (s *Service) value(ctx context.Context, e syntax.Expr, typ arrow.DataType, one arrow.RecordBatch) (arrow.Array, error) {
	if _, ok := e.(*syntax.Null); ok { // which fits every type, including types unknown to SQL
		return array.MakeArrayOfNull(memory.DefaultAllocator, typ, 1), nil
	}
	bound, err := plan.BindAs(ctx, e, one.Schema(), s.tables.Now(), typ)
	if err != nil {
		return nil, apierror.OfFilter(ofStatement(err))
	}
	return bound.Eval(ctx, one)
}

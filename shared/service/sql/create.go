package sql

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/arrow/arrowipc"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/dataapi"
	"tiltyard/shared/protocol/indexapi"
	"tiltyard/shared/protocol/namespaceapi"
	"tiltyard/shared/protocol/refapi"
	"tiltyard/shared/sql"
	"tiltyard/shared/sql/plan"
	"tiltyard/shared/sql/syntax"
)

// createTable creates a table of columns without rows, or of the rows of a query.
func (s *Service) createTable(ctx context.Context, in *statement, c *syntax.CreateTable) (*protocol.Rows, error) {
	id := in.id(c.Name)
	req := &dataapi.CreateTableRequest{Common: in.of(id)}
	switch {
	case c.Replace:
		req.Mode = protocol.CreateModeOverwrite
	case c.IfNotExists:
		req.Mode = protocol.CreateModeExistOk
	}
	columns, err := schemaOf(c.Columns)
	if err != nil {
		return nil, err
	}
	ctx, err = admit(ctx, "CreateTable", req)
	if err != nil {
		return nil, err
	}
	rows := &protocol.Rows{Schema: columns, Batches: func(func(arrow.RecordBatch, error) bool) {}}
	if c.Query != nil {
		if rows, err = s.queries.Execute(ctx, in.part(c.Query)); err != nil {
			return nil, err
		}
	}
	number := int64(0)
	body := newBody(countRows(rows, &number))
	defer body.close()
	req.Body = body
	made, err := s.data.Create(ctx, req)
	if err != nil {
		return nil, err
	}
	if c.Query != nil {
		return counted(number, made.Version), nil
	}
	if c.IfNotExists {
		return done("there is a table "+syntax.TableName(id), made.Version), nil
	}
	return done("created table "+syntax.TableName(id), made.Version), nil
}

// countRows returns rows that are counted as they are read.
func countRows(rows *protocol.Rows, number *int64) *protocol.Rows {
	counted := *rows
	counted.Batches = func(yield func(arrow.RecordBatch, error) bool) {
		for batch, err := range rows.Batches {
			if err == nil {
				*number += batch.NumRows()
			}
			if !yield(batch, err) {
				return
			}
		}
	}
	return &counted
}

// schemaOf returns the schema of columns.
func schemaOf(columns []syntax.ColumnDefinition) (*arrow.Schema, error) {
	fields := make([]arrow.Field, len(columns))
	seen := map[string]bool{}
	for i, c := range columns {
		if seen[c.Name] {
			return nil, sql.Errorf(sql.ErrSyntax, c.Pos, "column %q is defined twice", c.Name)
		}
		seen[c.Name] = true
		typ, err := typeOf(c.Type)
		if err != nil {
			return nil, err
		}
		fields[i] = arrow.Field{Name: c.Name, Type: typ, Nullable: c.Nullable}
	}
	return arrow.NewSchema(fields, nil), nil
}

// typeOf returns the type that a column of a table has.
func typeOf(t syntax.ColumnType) (arrow.DataType, error) {
	typ := plan.Type(t.Name)
	if typ == nil {
		return nil, sql.Errorf(sql.ErrUnsupported, t.Pos, "type %s", t.Name)
	}
	for _, n := range t.Lengths {
		if typ = arrow.ListOf(typ); n > 0 {
			typ = arrow.FixedSizeListOf(int32(n), typ.(*arrow.ListType).Elem())
		}
	}
	return typ, nil
}

// createNamespace creates a namespace.
func (s *Service) createNamespace(ctx context.Context, in *statement, c *syntax.CreateNamespace) (*protocol.Rows, error) {
	id := in.id(c.Name)
	req := &namespaceapi.CreateRequest{Common: in.of(id)}
	if c.IfNotExists {
		req.Mode = protocol.CreateModeExistOk
	}
	if _, err := do(ctx, "CreateNamespace", req, s.namespaces.Create); err != nil {
		return nil, err
	}
	return done("created namespace "+syntax.TableName(id), 0), nil
}

// createIndex creates an index, mostly by a job.
func (s *Service) createIndex(ctx context.Context, in *statement, c *syntax.CreateIndex) (*protocol.Rows, error) {
	req, err := indexRequest(c)
	if err != nil {
		return nil, err
	}
	id := in.id(c.Table)
	req.Common, req.Column, req.Type, req.Name, req.Branch, req.Replace = in.of(id), c.Column, strings.ToUpper(c.Kind), c.Name, c.Branch, new(false)
	began, err := do(ctx, "CreateTableIndex", req, s.indices.Create)
	switch {
	case err != nil:
		return nil, err
	case began.JobID == "":
		return done("created an index of "+syntax.TableName(id), 0), nil
	}
	return begun(began.JobID), nil
}

// ofStatementOnly has the fields of a request that the statement sets by its words.
var ofStatementOnly = map[string]bool{"id": true, "identity": true, "context": true, "column": true, "index_type": true, "name": true, "branch": true, "replace": true}

// indexRequest returns a request with the options of a statement, which are the fields of the request.
func indexRequest(c *syntax.CreateIndex) (*indexapi.CreateRequest, error) {
	req := new(indexapi.CreateRequest)
	for _, o := range c.Options {
		value, err := json.Marshal(map[string]any{o.Name: jsonOf(o.Value)})
		if err != nil {
			return nil, err
		}
		d := json.NewDecoder(bytes.NewReader(value))
		d.DisallowUnknownFields()
		if ofStatementOnly[o.Name] || d.Decode(req) != nil {
			return nil, sql.Errorf(sql.ErrUnsupported, o.Pos, "option %s = %s; options are the parameters of CreateTableIndex, such as distance_type = 'cosine'", o.Name, o.Value)
		}
	}
	return req, nil
}

// jsonOf returns a literal as a value for JSON.
func jsonOf(e syntax.Expr) any {
	switch e := e.(type) {
	case *syntax.Bool:
		return e.Value
	case *syntax.Number:
		return json.Number(e.Text)
	case *syntax.Text:
		return e.Value
	}
	return nil
}

// createTag gives a version a name.
func (s *Service) createTag(ctx context.Context, in *statement, c *syntax.CreateTag) (*protocol.Rows, error) {
	id := in.id(c.Table)
	req := &refapi.SetTagRequest{Common: in.of(id), Tag: c.Name, Version: c.Version, Branch: c.Branch}
	if _, err := do(ctx, "CreateTableTag", req, s.refs.CreateTag); err != nil {
		return nil, err
	}
	return done("created tag "+syntax.TableName([]string{c.Name})+" of "+syntax.TableName(id), 0), nil
}

// createBranch makes a branch from a version.
func (s *Service) createBranch(ctx context.Context, in *statement, c *syntax.CreateBranch) (*protocol.Rows, error) {
	id := in.id(c.Table)
	req := &refapi.CreateBranchRequest{Common: in.of(id), Name: c.Name, FromVersion: c.Version, FromBranch: c.Branch}
	if _, err := do(ctx, "CreateTableBranch", req, s.refs.CreateBranch); err != nil {
		return nil, err
	}
	return done("created branch "+syntax.TableName([]string{c.Name})+" of "+syntax.TableName(id), 0), nil
}

// schemaBody returns the body of an upload with columns and without rows.
func schemaBody(columns *arrow.Schema) (*bytes.Buffer, error) {
	var b bytes.Buffer
	return &b, arrowipc.NewStreamWriter(&b, columns, arrowipc.Uncompressed).Close()
}

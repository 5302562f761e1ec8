package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/local/rowfile"
	"tiltyard/shared/client"
	"tiltyard/shared/protocol/dataapi"
	"tiltyard/shared/protocol/refapi"
	"tiltyard/shared/protocol/versionapi"
)

// addWrites adds the tools that change tables.
func (s *server) addWrites() {
	add(s, "create_table", adds("Create a table"),
		"Create a table with the given columns, and rows if there are any. It must not exist, and its namespace must.", createTable)
	add(s, "insert_rows", adds("Insert rows"),
		"Add rows to a table, all of them or none. A field that a row lacks is null. Large numbers of rows belong into a file and the command tiltyard insert.", insertRows)
	add(s, "delete_rows", removes("Delete rows"),
		"Delete the rows of a table where a filter is true. count_rows tells how many these are. restore_version brings them back.", deleteRows)
	add(s, "tag_version", adds("Tag a version"),
		"Give a name to a version of a table, which then is kept. The name must be new in the table.", tagVersion)
	add(s, "restore_version", removes("Restore a version"),
		"Make a new version of a table that equals an old one. The versions between them are kept.", restoreVersion)
}

type newColumn struct {
	Name string `json:"name"`
	Type string `json:"type" jsonschema:"bool, int8 to int64, uint8 to uint64, float32, float64, utf8 for texts, date32 (2026-01-31), timestamp (UTC, milliseconds, 2026-01-31T12:00:00Z), binary (base64), vector[N] of N float32, such as vector[384], or list<TYPE>"`
}

type createArguments struct {
	tableArguments
	Columns []newColumn       `json:"columns"`
	Rows    []json.RawMessage `json:"rows,omitempty" jsonschema:"objects whose fields are columns"`
}

type changed struct {
	Table   string `json:"table"`
	Version int64  `json:"version"` // the one that the change made
	Rows    *int64 `json:"rows,omitempty"`
}

func createTable(ctx context.Context, c *call, in createArguments) (any, error) {
	id, err := c.object(in.Table)
	if err != nil {
		return nil, err
	}
	schema, err := newSchema(in.Columns)
	if err != nil {
		return nil, err
	}
	rows, err := sourceOf(ctx, schema, in.Rows)
	if err != nil {
		return nil, err
	}
	made, err := c.client.CreateTable(ctx, &dataapi.CreateTableRequest{Common: id}, rows)
	if err != nil {
		return nil, err
	}
	return &changed{c.name(id.ID), made.Version, new(int64(len(in.Rows)))}, nil
}

// newSchema returns the columns of a new table.
func newSchema(columns []newColumn) (*arrow.Schema, error) {
	if len(columns) == 0 {
		return nil, errors.New("columns is empty; a table has at least one column")
	}
	fields := make([]arrow.Field, len(columns))
	for i, column := range columns {
		typ, err := rowfile.ParseType(column.Type)
		if err != nil {
			return nil, fmt.Errorf("column %q: %w", column.Name, err)
		}
		fields[i] = arrow.Field{Name: column.Name, Type: typ, Nullable: true}
	}
	return arrow.NewSchema(fields, nil), nil
}

// sourceOf returns objects as rows of a schema. A field that an object lacks is null.
func sourceOf(ctx context.Context, schema *arrow.Schema, objects []json.RawMessage) (client.Source, error) {
	return rowfile.Read(ctx, bytes.NewReader(slices.Concat(objects...)), rowfile.JSON, schema, false)
}

type insertArguments struct {
	tableArguments
	Rows []json.RawMessage `json:"rows" jsonschema:"objects whose fields are columns of the table; bytes are base64; at most 4 MiB in all"`
}

func insertRows(ctx context.Context, c *call, in insertArguments) (any, error) {
	id, err := c.object(in.Table)
	if err != nil {
		return nil, err
	}
	if len(in.Rows) == 0 {
		return nil, errors.New("rows is empty; give at least one row")
	}
	schema, err := c.client.Schema(ctx, id, "")
	if err != nil {
		return nil, err
	}
	rows, err := sourceOf(ctx, schema, in.Rows)
	if err != nil {
		return nil, err
	}
	made, err := c.client.InsertIntoTable(ctx, &dataapi.InsertRequest{Common: id}, rows)
	if err != nil {
		return nil, err
	}
	return &changed{c.name(id.ID), made.Version, &made.NumInsertedRows}, nil
}

type deleteArguments struct {
	tableArguments
	Filter string `json:"filter" jsonschema:"an SQL condition over the columns; the rows where it is true are deleted"`
}

func deleteRows(ctx context.Context, c *call, in deleteArguments) (any, error) {
	id, err := c.object(in.Table)
	if err != nil {
		return nil, err
	}
	if strings.TrimSpace(in.Filter) == "" {
		return nil, errors.New("filter is empty; to delete all rows, give the filter true")
	}
	made, err := c.client.DeleteFromTable(ctx, &dataapi.DeleteRequest{Common: id, Predicate: in.Filter})
	if err != nil {
		return nil, err
	}
	return &changed{c.name(id.ID), made.Version, &made.NumDeletedRows}, nil
}

type tagArguments struct {
	tableArguments
	Tag     string `json:"tag" jsonschema:"letters, digits, dots, dashes and underscores"`
	Version int64  `json:"version"`
}

func tagVersion(ctx context.Context, c *call, in tagArguments) (any, error) {
	id, err := c.object(in.Table)
	if err != nil {
		return nil, err
	}
	if _, err := c.client.CreateTableTag(ctx, &refapi.SetTagRequest{Common: id, Tag: in.Tag, Version: &in.Version}); err != nil {
		return nil, err
	}
	return &changed{Table: c.name(id.ID), Version: in.Version}, nil
}

type restoreArguments struct {
	tableArguments
	Version int64 `json:"version" jsonschema:"the old version; list_versions shows them"`
}

func restoreVersion(ctx context.Context, c *call, in restoreArguments) (any, error) {
	id, err := c.object(in.Table)
	if err != nil {
		return nil, err
	}
	if _, err := c.client.RestoreTable(ctx, &versionapi.RestoreRequest{Common: id, Version: &in.Version}); err != nil {
		return nil, err
	}
	now, err := c.schema(ctx, id, nil)
	if err != nil {
		return nil, err
	}
	return &changed{Table: c.name(id.ID), Version: *now.Version}, nil
}

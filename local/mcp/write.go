package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/arrow/rowjson"
	"tiltyard/shared/client"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/dataapi"
	"tiltyard/shared/protocol/queryapi"
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
	Type string `json:"type" jsonschema:"bool, int32, int64, float32, float64, string, date (2026-01-31), timestamp (UTC, 2026-01-31T12:00:00Z), binary (base64), or vector[N] of N float32, such as vector[384]"`
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
	rows, err := sourceOf(schema, in.Rows)
	if err != nil {
		return nil, err
	}
	made, err := c.client.CreateTable(ctx, &dataapi.CreateTableRequest{Common: id}, rows)
	if err != nil {
		return nil, err
	}
	return &changed{c.name(id.ID), made.Version, new(int64(len(in.Rows)))}, nil
}

// newTypes are the types of new columns except vectors, by their names.
var newTypes = map[string]arrow.DataType{
	"bool":      arrow.FixedWidthTypes.Boolean,
	"int32":     arrow.PrimitiveTypes.Int32,
	"int64":     arrow.PrimitiveTypes.Int64,
	"float32":   arrow.PrimitiveTypes.Float32,
	"float64":   arrow.PrimitiveTypes.Float64,
	"string":    arrow.BinaryTypes.String,
	"date":      arrow.FixedWidthTypes.Date32,
	"timestamp": arrow.FixedWidthTypes.Timestamp_us,
	"binary":    arrow.BinaryTypes.Binary,
}

var vectorType = regexp.MustCompile(`^vector\[([1-9][0-9]{0,4})\]$`)

// newSchema returns the columns of a new table.
func newSchema(columns []newColumn) (*arrow.Schema, error) {
	if len(columns) == 0 {
		return nil, errors.New("columns is empty; a table has at least one column")
	}
	fields := make([]arrow.Field, len(columns))
	for i, column := range columns {
		typ, known := newTypes[column.Type]
		if length := vectorType.FindStringSubmatch(column.Type); length != nil {
			n, _ := strconv.ParseInt(length[1], 10, 32) // at most five digits
			typ, known = arrow.FixedSizeListOf(int32(n), arrow.PrimitiveTypes.Float32), true
		}
		if !known {
			return nil, fmt.Errorf("column %q has the type %q; it must be bool, int32, int64, float32, float64, string, date, timestamp, binary, or vector[N] with N from 1 to 99999", column.Name, column.Type)
		}
		fields[i] = arrow.Field{Name: column.Name, Type: typ, Nullable: true}
	}
	return arrow.NewSchema(fields, nil), nil
}

// sourceOf converts objects to rows of a schema. A field that an object lacks is null.
func sourceOf(schema *arrow.Schema, objects []json.RawMessage) (client.Source, error) {
	builder := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer builder.Release()
	for i, object := range objects {
		if _, err := rowjson.Fields(object, schema); err != nil {
			return client.Source{}, fmt.Errorf("row %d: %w", i+1, err)
		}
		if err := builder.UnmarshalJSON(object); err != nil {
			return client.Source{}, fmt.Errorf("row %d: %w", i+1, err)
		}
	}
	return client.Batches(schema, builder.NewRecordBatch()), nil
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
	schema, err := c.arrowSchema(ctx, id)
	if err != nil {
		return nil, err
	}
	rows, err := sourceOf(schema, in.Rows)
	if err != nil {
		return nil, err
	}
	made, err := c.client.InsertIntoTable(ctx, &dataapi.InsertRequest{Common: id}, rows)
	if err != nil {
		return nil, err
	}
	return &changed{c.name(id.ID), made.Version, &made.NumInsertedRows}, nil
}

// arrowSchema returns the columns of a table in Arrow types, from a query without rows.
func (c *call) arrowSchema(ctx context.Context, id protocol.Common) (*arrow.Schema, error) {
	rows, err := c.client.QueryTable(ctx, &queryapi.Request{Common: id, Filter: "false", K: new(int64(1))})
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	return rows.Schema(), nil
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

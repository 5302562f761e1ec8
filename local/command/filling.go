package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/spf13/cobra"

	"tiltyard/local/rowfile"
	"tiltyard/shared/arrow/rowjson"
	"tiltyard/shared/client"
	"tiltyard/shared/protocol"
)

// A filling is a table that gets the rows of a file.
type filling struct {
	client *client.Client
	id     protocol.Common
	branch string
	isNew  bool                      // the rows make the table
	types  map[string]arrow.DataType // of columns of a new table; the others are inferred
	sparse bool                      // columns that the rows lack are not part of the source
}

// source returns the rows of a file. It shows the inferred columns of a new table. name is the file in errors.
func (f filling) source(ctx context.Context, cmd *cobra.Command, in io.Reader, name string, format rowfile.Format) (source client.Source, err error) {
	var schema *arrow.Schema
	switch {
	case format.IsTyped():
	case f.isNew:
		if schema, in, err = f.infer(in, format); err != nil {
			return source, fmt.Errorf("%s: %w", name, err)
		}
		saySchema(cmd, schema)
	default:
		if schema, err = f.client.Schema(ctx, f.id, f.branch); err != nil {
			return source, advised(err, protocol.TableNotFound, createIt)
		}
		schema = wholeSchema(schema, blobColumns(schema), nil) // their values in the file are bytes, in base64
	}
	source, err = rowfile.Read(ctx, in, format, schema, f.sparse)
	switch {
	case errors.Is(err, rowfile.ErrPipe):
		return source, &UsageError{err}
	case err != nil:
		return source, fmt.Errorf("%s: %w", name, err)
	}
	return source, nil
}

// infer returns the columns of a new table, and a reader of the whole file.
func (f filling) infer(in io.Reader, format rowfile.Format) (*arrow.Schema, io.Reader, error) {
	schema, whole, err := rowfile.Infer(in, format, f.types)
	var unknown *rowjson.UnknownColumnError
	if errors.As(err, &unknown) {
		err = usagef("--type names %q, which is no column of the file", unknown.Column)
	}
	return schema, whole, err
}

// formatOf returns the given format, or else the format of a file's extension.
func formatOf(given, name string) (rowfile.Format, error) {
	switch format := rowfile.Format(given); format {
	case rowfile.Arrow, rowfile.Parquet, rowfile.CSV, rowfile.JSON:
		return format, nil
	case "":
	default:
		return "", usagef("--format is %q; it must be arrow, parquet, csv or jsonl", given)
	}
	if format := rowfile.FormatOf(name); format != "" {
		return format, nil
	}
	return "", usagef("give --format arrow, parquet, csv or jsonl: the name of the file does not say it")
}

// columnTypes parses the values of --type.
func columnTypes(texts []string) (map[string]arrow.DataType, error) {
	types := map[string]arrow.DataType{}
	for _, text := range texts {
		name, word, err := assignment(text)
		if err != nil {
			return nil, usagef("--type: %w", err)
		}
		if types[name] != nil {
			return nil, usagef("--type names column %q twice", name)
		}
		if types[name], err = rowfile.ParseType(word); err != nil {
			return nil, usagef("--type: %w", err)
		}
	}
	return types, nil
}

// saySchema writes the columns that are created.
func saySchema(cmd *cobra.Command, schema *arrow.Schema) {
	var columns []string
	for _, field := range schema.Fields() {
		columns = append(columns, printable(field.Name+" "+rowfile.TypeWord(field.Type), false))
	}
	say(cmd, "columns: %s", strings.Join(columns, ", "))
}

// advisedType adds the flag that changes an inferred type to an error, which may be nil.
func advisedType(err error) error {
	var value *rowfile.ValueError
	if errors.As(err, &value) {
		return &advice{err, fmt.Sprintf("the column is %s, by the first rows or by --type; --type '%s=TYPE' sets another type, and utf8 takes every text", rowfile.TypeWord(value.Type), value.Column)}
	}
	var unknown *rowjson.UnknownColumnError
	if errors.As(err, &unknown) {
		return &advice{err, fmt.Sprintf("the first rows have no %s; --type '%s=TYPE' adds it", unknown.Column, unknown.Column)}
	}
	return err
}

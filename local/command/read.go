package command

import (
	"bufio"
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/client"
)

// The formats of files with rows.
const (
	formatArrow   = "arrow"
	formatParquet = "parquet"
	formatCSV     = "csv"
	formatJSON    = "jsonl"
)

// formatOf returns the given format, or else the format of a file's extension.
func formatOf(given, name string) (string, error) {
	switch given {
	case formatArrow, formatParquet, formatCSV, formatJSON:
		return given, nil
	case "":
	default:
		return "", usagef("--format is %q; it must be arrow, parquet, csv or jsonl", given)
	}
	switch strings.ToLower(filepath.Ext(name)) {
	case ".arrow", ".arrows", ".ipc", ".feather":
		return formatArrow, nil
	case ".parquet", ".pq":
		return formatParquet, nil
	case ".csv":
		return formatCSV, nil
	case ".jsonl", ".ndjson", ".json":
		return formatJSON, nil
	}
	return "", usagef("give --format arrow, parquet, csv or jsonl: the name of the file does not say it")
}

// open returns the rows of a file. schema contains the columns of the table, for formats without types. If sparse is true,
// columns that the rows lack are not part of the source.
func open(ctx context.Context, in io.Reader, format string, schema *arrow.Schema, sparse bool) (client.Source, error) {
	switch format {
	case formatArrow:
		return openArrow(in)
	case formatParquet:
		return openParquet(ctx, in)
	case formatCSV:
		return openCSV(in, schema)
	}
	return openJSON(in, schema, sparse)
}

// openArrow reads an Arrow stream, or an Arrow file as a stream: after its first eight bytes it has
// the same messages.
func openArrow(in io.Reader) (client.Source, error) {
	magic := []byte("ARROW1\x00\x00")
	buffered := bufio.NewReaderSize(in, 1<<20)
	if start, _ := buffered.Peek(len(magic)); bytes.Equal(start, magic) {
		_, _ = buffered.Discard(len(magic)) // cannot fail after Peek
		for start, _ = buffered.Peek(4); bytes.Equal(start, make([]byte, 4)); start, _ = buffered.Peek(4) {
			_, _ = buffered.Discard(4) // some writers pad the beginning to 64 bytes
		}
	}
	if start, err := buffered.Peek(4); err != nil || !bytes.Equal(start, []byte{0xff, 0xff, 0xff, 0xff}) {
		return client.Source{}, errors.New("it is no Arrow stream and no Arrow file")
	}
	reader, err := ipc.NewReader(buffered)
	if err != nil {
		return client.Source{}, err
	}
	return client.FromReader(reader), nil
}

// openCSV reads CSV with a header of column names. An empty field is null, except in text columns
// that are not nullable.
func openCSV(in io.Reader, schema *arrow.Schema) (client.Source, error) {
	reader := newCSVReader(in)
	header, err := headerOf(reader)
	if err != nil {
		return client.Source{}, err
	}
	fields := make([]arrow.Field, len(header))
	for i, name := range header {
		at := schema.FieldIndices(name)
		if len(at) != 1 {
			return client.Source{}, fmt.Errorf("the header has %q, which is no column of the table", name)
		}
		fields[i] = schema.Field(at[0])
	}
	line := 1
	read := func(b *array.RecordBuilder) error {
		record, err := reader.Read()
		if err != nil {
			return err
		}
		line, _ = reader.FieldPos(0)
		for i, text := range record {
			if !isText(fields[i].Type) {
				text = zoned(strings.TrimSpace(text), fields[i].Type)
			}
			if text == "" && fields[i].Nullable {
				b.Field(i).AppendNull()
			} else if err := b.Field(i).AppendValueFromString(text); err != nil || !hasWholeLists(b.Field(i)) {
				return &valueError{fields[i].Name, strconv.Quote(text), fields[i].Type}
			}
		}
		return nil
	}
	return textSource(arrow.NewSchema(fields, nil), read, func() string { return fmt.Sprintf("line %d", line) }), nil
}

// newCSVReader reads CSV whose separator is a comma, a tab or a semicolon, whichever is most frequent in the first line.
func newCSVReader(in io.Reader) *csv.Reader {
	buffered := bufio.NewReaderSize(in, 1<<20)
	start, _ := buffered.Peek(64 << 10)
	line, _, _ := bytes.Cut(start, []byte("\n"))
	reader := csv.NewReader(buffered)
	for _, one := range "\t;" {
		if bytes.Count(line, []byte(string(one))) > bytes.Count(line, []byte(string(reader.Comma))) {
			reader.Comma = one
		}
	}
	return reader
}

// headerOf reads the names of columns. The third column without a name is column_3.
func headerOf(reader *csv.Reader) ([]string, error) {
	header, err := reader.Read()
	if err != nil {
		return nil, fmt.Errorf("read the header: %w", err)
	}
	header[0] = strings.TrimPrefix(header[0], "\ufeff")
	for i, name := range header {
		if name == "" {
			header[i] = fmt.Sprintf("column_%d", i+1)
		}
	}
	return header, nil
}

func isText(typ arrow.DataType) bool {
	return typ.ID() == arrow.STRING || typ.ID() == arrow.LARGE_STRING
}

// zoned adds the zone to a time without one if the column is in UTC.
func zoned(text string, typ arrow.DataType) string {
	moment, ok := typ.(*arrow.TimestampType)
	if !ok || moment.TimeZone != "UTC" {
		return text
	}
	if parts := momentText.FindStringSubmatch(text); parts != nil && parts[3] == "" {
		return text + "Z"
	}
	return text
}

// hasWholeLists reports whether each fixed-size list in a builder has all of its elements. Arrow does not check their number.
func hasWholeLists(b array.Builder) bool {
	switch b := b.(type) {
	case *array.FixedSizeListBuilder:
		n := int(b.Type().(*arrow.FixedSizeListType).Len())
		return b.ValueBuilder().Len() == b.Len()*n && hasWholeLists(b.ValueBuilder())
	case array.ListLikeBuilder:
		return hasWholeLists(b.ValueBuilder())
	case *array.StructBuilder:
		for i := range b.NumField() {
			if !hasWholeLists(b.FieldBuilder(i)) {
				return false
			}
		}
	}
	return true
}

// textRows is the number of rows per batch of a text format.
const textRows = 4096

// textSource returns a source of rows that read adds to a builder one by one until io.EOF. place
// returns the position of the last row for errors.
func textSource(schema *arrow.Schema, read func(*array.RecordBuilder) error, place func() string) client.Source {
	return client.Source{Schema: schema, Once: true, Batches: func(yield func(arrow.RecordBatch, error) bool) {
		builder := array.NewRecordBuilder(memory.DefaultAllocator, schema)
		defer builder.Release()
		for ended := false; !ended; {
			rows := 0
			for ; rows < textRows; rows++ {
				err := read(builder)
				if errors.Is(err, io.EOF) {
					ended = true
					break
				}
				if err != nil {
					yield(nil, fmt.Errorf("%s: %w", place(), err))
					return
				}
			}
			if rows > 0 && !yield(builder.NewRecordBatch(), nil) {
				return
			}
		}
	}}
}

package rowfile

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/client"
)

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
				return &ValueError{fields[i].Name, strconv.Quote(text), fields[i].Type}
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

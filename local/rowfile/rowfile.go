// Package rowfile reads and writes files of rows: Arrow, Parquet, CSV and JSON. A source of rows reads
// its file while the rows are sent, so a file may be larger than the memory.
//
// CSV and JSON have no types. Their values become those of the columns of a table, see [Read], or of
// columns that [Infer] finds by the first rows:
//
//	id,at,v
//	1,2024-02-29T01:02:03Z,"[0.5, 1]"
//
// has the columns id int64, at timestamp and v vector[2].
package rowfile

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/client"
)

// A Format is a format of files, by the word of the command line.
type Format string

// The formats.
const (
	Arrow   Format = "arrow" // a stream or a file
	Parquet Format = "parquet"
	CSV     Format = "csv"   // with a header
	JSON    Format = "jsonl" // objects in sequence, or in one array
)

// FormatOf returns the format for the extension of a name, or "" if it says none.
func FormatOf(name string) Format {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".arrow", ".arrows", ".ipc", ".feather":
		return Arrow
	case ".parquet", ".pq":
		return Parquet
	case ".csv":
		return CSV
	case ".jsonl", ".ndjson", ".json":
		return JSON
	}
	return ""
}

// IsTyped reports whether files of the format have the types of their columns.
func (f Format) IsTyped() bool { return f == Arrow || f == Parquet }

// Read returns the rows of a file, which it reads while they are taken. schema has the columns of the table, for formats
// without types. If sparse is true, columns that the rows lack are not part of the source. The errors of values are
// [*ValueError] and [*rowjson.UnknownColumnError], with the line or the number of the row in front.
func Read(ctx context.Context, in io.Reader, format Format, schema *arrow.Schema, sparse bool) (client.Source, error) {
	switch format {
	case Arrow:
		return openArrow(in)
	case Parquet:
		return openParquet(ctx, in)
	case CSV:
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

package arrowipc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// millionRows returns a million rows of (id, x, y, s), about 43 MB, in 16 batches.
func millionRows() (*arrow.Schema, []arrow.RecordBatch) {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64},
		{Name: "x", Type: arrow.PrimitiveTypes.Float64},
		{Name: "y", Type: arrow.PrimitiveTypes.Float64},
		{Name: "s", Type: arrow.BinaryTypes.String},
	}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	var batches []arrow.RecordBatch
	const rows, perBatch = 1_000_000, 65_536
	for i := range rows {
		b.Field(0).(*array.Int64Builder).Append(int64(i))
		b.Field(1).(*array.Float64Builder).Append(float64(i) * 0.5)
		b.Field(2).(*array.Float64Builder).Append(float64(i) / 3)
		b.Field(3).(*array.StringBuilder).Append(fmt.Sprintf("string %08d", i))
		if (i+1)%perBatch == 0 || i+1 == rows {
			batches = append(batches, b.NewRecordBatch())
		}
	}
	return schema, batches
}

func encode(tb testing.TB, schema *arrow.Schema, batches []arrow.RecordBatch, c Compression) []byte {
	tb.Helper()
	var out bytes.Buffer
	w := NewStreamWriter(&out, schema, c)
	for _, batch := range batches {
		if err := w.Write(batch); err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}

// BenchmarkReader reads a million rows: from a socket, in one message, in many messages, and compressed.
// Bytes are the bytes of the arrays.
func BenchmarkReader(b *testing.B) {
	schema, batches := millionRows()
	plain := encode(b, schema, batches, Uncompressed)
	one := oneBatch(b, schema, batches)
	cases := []struct {
		name   string
		stream []byte
	}{
		{"batches", plain},
		{"one batch", encode(b, schema, []arrow.RecordBatch{one}, Uncompressed)},
		{"lz4", encode(b, schema, batches, LZ4)},
		{"zstd", encode(b, schema, batches, ZSTD)},
	}
	for _, c := range cases {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(plain)))
			b.ReportAllocs()
			for b.Loop() {
				drain(b, struct{ io.Reader }{bytes.NewReader(c.stream)})
			}
		})
	}
}

// oneBatch joins batches to one.
func oneBatch(b *testing.B, schema *arrow.Schema, batches []arrow.RecordBatch) arrow.RecordBatch {
	b.Helper()
	columns := make([]arrow.Array, schema.NumFields())
	for i := range columns {
		var chunks []arrow.Array
		for _, batch := range batches {
			chunks = append(chunks, batch.Column(i))
		}
		var err error
		if columns[i], err = array.Concatenate(chunks, memory.DefaultAllocator); err != nil {
			b.Fatal(err)
		}
	}
	return array.NewRecordBatch(schema, columns, -1)
}

func drain(b *testing.B, r io.Reader) {
	b.Helper()
	reader, err := NewReader(b.Context(), r, Limits{})
	if err != nil {
		b.Fatal(err)
	}
	for err == nil {
		_, err = reader.Next()
	}
	if !errors.Is(err, io.EOF) {
		b.Fatal(err)
	}
}

// BenchmarkWriter writes the same rows into memory that is there already.
func BenchmarkWriter(b *testing.B) {
	schema, batches := millionRows()
	size := int64(len(encode(b, schema, batches, Uncompressed)))
	out := bytes.NewBuffer(make([]byte, 0, 64<<20))
	for _, c := range []struct {
		name        string
		compression Compression
	}{{"plain", Uncompressed}, {"lz4", LZ4}, {"zstd", ZSTD}} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(size)
			b.ReportAllocs()
			for b.Loop() {
				out.Reset()
				w := NewStreamWriter(out, schema, c.compression)
				for _, batch := range batches {
					if err := w.Write(batch); err != nil {
						b.Fatal(err)
					}
				}
				if err := w.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

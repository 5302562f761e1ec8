package arrowipc

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// fixtures returns the streams in testdata by name.
func fixtures(t testing.TB) map[string][]byte {
	t.Helper()
	paths, err := filepath.Glob("testdata/*.arrows")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no fixtures: %v", err)
	}
	streams := make(map[string][]byte, len(paths))
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		streams[strings.TrimSuffix(filepath.Base(path), ".arrows")] = data
	}
	return streams
}

// readAll reads a stream to its end and checks each batch in full.
func readAll(r io.Reader, limits Limits) (*arrow.Schema, []arrow.RecordBatch, error) {
	reader, err := NewReader(context.Background(), r, limits)
	if err != nil {
		return nil, nil, err
	}
	var batches []arrow.RecordBatch
	for {
		batch, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return reader.Schema(), batches, nil
		}
		if err != nil {
			return nil, nil, err
		}
		batches = append(batches, batch)
	}
}

// trustingReadAll reads a stream with the Arrow library, the reference for well-formed streams.
func trustingReadAll(t *testing.T, data []byte) (*arrow.Schema, []arrow.RecordBatch) {
	t.Helper()
	reader, err := ipc.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	var batches []arrow.RecordBatch
	for reader.Next() {
		batch := reader.RecordBatch()
		batch.Retain()
		batches = append(batches, batch)
	}
	if err := reader.Err(); err != nil {
		t.Fatal(err)
	}
	return reader.Schema(), batches
}

// unviewed converts view columns like our reader, to strings and binaries.
func unviewed(schema *arrow.Schema, batches []arrow.RecordBatch) (*arrow.Schema, []arrow.RecordBatch) {
	metadata := schema.Metadata()
	fields := slices.Clone(schema.Fields())
	plain := map[arrow.Type]arrow.DataType{arrow.STRING_VIEW: arrow.BinaryTypes.String, arrow.BINARY_VIEW: arrow.BinaryTypes.Binary}
	for i, f := range fields {
		if to := plain[f.Type.ID()]; to != nil {
			fields[i].Type = to
		}
	}
	schema = arrow.NewSchema(fields, &metadata)
	out := make([]arrow.RecordBatch, len(batches))
	for b, batch := range batches {
		columns := slices.Clone(batch.Columns())
		for i, column := range columns {
			if fields[i].Type == column.DataType() {
				continue
			}
			builder := array.NewBuilder(memory.DefaultAllocator, fields[i].Type)
			for row := range column.Len() {
				if column.IsNull(row) {
					builder.AppendNull()
				} else if err := builder.AppendValueFromString(column.ValueStr(row)); err != nil {
					panic(err)
				}
			}
			columns[i] = builder.NewArray()
		}
		out[b] = array.NewRecordBatch(schema, columns, batch.NumRows())
	}
	return schema, out
}

func TestReadsWhatPyarrowWrote(t *testing.T) {
	for name, data := range fixtures(t) {
		if strings.HasPrefix(name, "refused_") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			wantSchema, want := unviewed(trustingReadAll(t, data))
			schema, got, err := readAll(bytes.NewReader(data), Limits{})
			if err != nil {
				t.Fatal(err)
			}
			if !schema.Equal(wantSchema) || !schema.Metadata().Equal(wantSchema.Metadata()) {
				t.Errorf("got schema %v, want %v", schema, wantSchema)
			}
			if len(got) != len(want) {
				t.Fatalf("got %d batches, want %d", len(got), len(want))
			}
			for i := range want {
				if err := array.ValidateRecordFull(got[i]); err != nil {
					t.Errorf("batch %d: %v", i, err)
				}
				if got[i].NumRows() != want[i].NumRows() || !array.RecordEqual(got[i], want[i]) {
					t.Errorf("batch %d: got %v, want %v", i, got[i], want[i])
				}
			}
		})
	}
}

func TestRefusesTypesByName(t *testing.T) {
	for name, data := range fixtures(t) {
		want, ok := strings.CutPrefix(name, "refused_")
		if !ok {
			continue
		}
		want, _, _ = strings.Cut(want, "_dense")
		want, _, _ = strings.Cut(want, "_sparse")
		_, err := NewReader(context.Background(), bytes.NewReader(data), Limits{})
		var e *Error
		if !errors.As(err, &e) || !errors.Is(err, ErrUnsupported) || e.Column != "column" || e.Reason != "type "+want {
			t.Errorf("%s: got %v, want type %s of column refused as unsupported", name, err, want)
		}
	}
}

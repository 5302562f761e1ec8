package arrowipc

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// writeFile writes batches in the file form.
func writeFile(schema *arrow.Schema, batches []arrow.RecordBatch, c Compression) ([]byte, error) {
	var out bytes.Buffer
	w, err := NewFileWriter(&out, schema, c)
	if err != nil {
		return nil, err
	}
	for _, batch := range batches {
		if err := w.Write(batch); err != nil {
			return nil, err
		}
	}
	err = w.Close()
	return out.Bytes(), err
}

func TestWritesStreamsThatReadBackEqual(t *testing.T) {
	for name, data := range fixtures(t) {
		if strings.HasPrefix(name, "refused_") {
			continue
		}
		schema, batches, err := readAll(bytes.NewReader(data), Limits{})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []Compression{Uncompressed, LZ4, ZSTD} {
			again, got, err := readAll(bytes.NewReader(encode(t, schema, batches, c)), Limits{})
			if err != nil {
				t.Errorf("%s, compression %d: %v", name, c, err)
				continue
			}
			if !again.Equal(schema) || len(got) != len(batches) {
				t.Errorf("%s, compression %d: got %d batches of %v, want %d of %v", name, c, len(got), again, len(batches), schema)
				continue
			}
			for i := range got {
				if !array.RecordEqual(got[i], batches[i]) {
					t.Errorf("%s, compression %d, batch %d: got %v, want %v", name, c, i, got[i], batches[i])
				}
			}
		}
	}
}

func TestWritesFilesWithAndWithoutBatches(t *testing.T) {
	schema, batches, err := readAll(bytes.NewReader(fixtures(t)["primitives"]), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	sliced := []arrow.RecordBatch{batches[0].NewSlice(2, 5), batches[1]}
	for _, want := range [][]arrow.RecordBatch{nil, batches, sliced} {
		data, err := writeFile(schema, want, Uncompressed)
		if err != nil {
			t.Fatal(err)
		}
		r, err := ipc.NewFileReader(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		if !r.Schema().Equal(schema) || r.NumRecords() != len(want) {
			t.Fatalf("got %d batches of %v, want %d of %v", r.NumRecords(), r.Schema(), len(want), schema)
		}
		for i := range want {
			got, err := r.RecordBatchAt(i)
			if err != nil || !array.RecordEqual(got, want[i]) {
				t.Errorf("batch %d: got %v, %v, want %v", i, got, err, want[i])
			}
		}
		if _, err := NewReader(context.Background(), bytes.NewReader(data), Limits{}); !errors.Is(err, ErrInvalid) {
			t.Errorf("a file read as a stream: got %v, want ErrInvalid", err)
		}
	}
}

func TestFileRefusesSecondDictionary(t *testing.T) {
	schema, batches, err := readAll(bytes.NewReader(fixtures(t)["dictionary_replaced"]), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := writeFile(schema, batches, Uncompressed); err == nil {
		t.Error("got no error for a second dictionary in a file")
	}
}

// flushed counts the written bytes.
type flushed struct{ n int }

func (f *flushed) Write(p []byte) (int, error) {
	f.n += len(p)
	return len(p), nil
}

func TestWriteLeavesNothingBehind(t *testing.T) {
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema(numbers, nil))
	b.Field(0).(*array.Int32Builder).Append(1)
	batch := b.NewRecordBatch()
	var out flushed
	w := NewStreamWriter(&out, batch.Schema(), Uncompressed)
	if err := w.Write(batch); err != nil {
		t.Fatal(err)
	}
	before := out.n
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if got := out.n - before; got != 8 {
		t.Errorf("Close wrote %d bytes, want the 8 of the end marker", got)
	}
}

func TestWriterReportsErrorsOfTheOutput(t *testing.T) {
	read, write := io.Pipe()
	broken := errors.New("client has gone")
	_ = read.CloseWithError(broken)
	w := NewStreamWriter(write, arrow.NewSchema(numbers, nil), Uncompressed)
	if err := w.Close(); !errors.Is(err, broken) {
		t.Errorf("got %v, want it to wrap %v", err, broken)
	}
}

package arrowipc_test

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	account "tiltyard/shared/process/memory"

	"tiltyard/shared/arrow/arrowipc"
)

// zeros returns a stream of batches of rows zeros each, which compress to almost no bytes.
func zeros(t *testing.T, batches, rows int) []byte {
	t.Helper()
	schema := arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64}}, nil)
	b := array.NewInt64Builder(memory.DefaultAllocator)
	b.AppendValues(make([]int64, rows), nil)
	values := b.NewArray()
	var out bytes.Buffer
	w := ipc.NewWriter(&out, ipc.WithSchema(schema), ipc.WithZstd())
	for range batches {
		if err := w.Write(array.NewRecordBatch(schema, []arrow.Array{values}, int64(rows))); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestReaderTakesMemoryBeforeItDecompressesABatch(t *testing.T) {
	const rows = 1 << 20 // 8 MiB
	stream := zeros(t, 3, rows)
	cases := []struct {
		name  string
		limit int64
		ok    bool
	}{
		{"room for one batch at a time", 12 << 20, true},
		{"no room for one", 7 << 20, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			budget := account.NewBudget(c.limit, c.limit)
			share := budget.Open()
			reader, err := arrowipc.NewReader(account.WithShare(t.Context(), share), io.MultiReader(bytes.NewReader(stream)), arrowipc.Limits{})
			for err == nil {
				_, err = reader.Next()
				if err == nil && share.Held() < rows*8 {
					t.Errorf("a batch of %d bytes holds %d", rows*8, share.Held())
				}
			}
			var refused *account.Error
			switch {
			case c.ok && !errors.Is(err, io.EOF):
				t.Error(err)
			case !c.ok && !errors.As(err, &refused):
				t.Errorf("got %v, want that memory was refused", err)
			}
			if !c.ok && share.Peak() > c.limit/2 {
				t.Errorf("%d bytes were taken before the refusal", share.Peak())
			}
			if share.Held() != 0 {
				t.Errorf("%d bytes are held after the end", share.Held())
			}
		})
	}
}

// A claimed size costs nothing: memory is reserved as the bytes arrive.
func TestReaderTakesMemoryAsTheBodyComes(t *testing.T) {
	var whole bytes.Buffer
	schema := arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64}}, nil)
	b := array.NewInt64Builder(memory.DefaultAllocator)
	b.AppendValues(make([]int64, 16<<20/8), nil)
	w := ipc.NewWriter(&whole, ipc.WithSchema(schema))
	if err := w.Write(array.NewRecordBatch(schema, []arrow.Array{b.NewArray()}, -1)); err != nil {
		t.Fatal(err)
	}
	share := account.NewBudget(64<<20, 64<<20).Open()
	ctx := account.WithShare(t.Context(), share)
	reader, err := arrowipc.NewReader(ctx, io.MultiReader(bytes.NewReader(whole.Bytes()[:1<<20])), arrowipc.Limits{})
	if err == nil {
		_, err = reader.Next()
	}
	if !errors.Is(err, arrowipc.ErrInvalid) || share.Peak() > 6<<20 {
		t.Errorf("got %v after %d bytes were taken for one MiB that came", err, share.Peak())
	}
}

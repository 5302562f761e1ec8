package datafile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/schema"
)

// manyColumns returns a batch large enough for concurrent encoding. Each column fills several
// pages, later columns sooner.
func manyColumns() arrow.RecordBatch {
	const columns, rows = 4, 300_000
	random := rand.New(rand.NewPCG(1, 2))
	var fields []arrow.Field
	var arrays []arrow.Array
	for c := range columns {
		b := array.NewFixedSizeListBuilder(memory.DefaultAllocator, int32(8+4*c), arrow.PrimitiveTypes.Uint8)
		for range rows {
			b.Append(true)
			for range 8 + 4*c {
				b.ValueBuilder().(*array.Uint8Builder).Append(uint8(random.Uint32()))
			}
		}
		arrays = append(arrays, b.NewArray())
		fields = append(fields, arrow.Field{Name: fmt.Sprint(c), Type: arrays[c].DataType(), Nullable: true})
	}
	return array.NewRecordBatch(arrow.NewSchema(fields, nil), arrays, rows)
}

func TestColumnsSideBySideMakeTheSameFile(t *testing.T) {
	batch := manyColumns()
	want, _ := writeFile(t, batch.Schema(), lance.V2_2, batch)
	for range 2 {
		if got, _ := writeFile(t, batch.Schema(), lance.V2_2, batch); !bytes.Equal(got, want) {
			t.Fatalf("another file of %d bytes, want that of %d bytes again", len(got), len(want))
		}
	}
	sch, err := schema.FromArrow(batch.Schema())
	if err != nil {
		t.Fatal(err)
	}
	var one bytes.Buffer
	w, err := NewWriter(&one, sch, lance.V2_2)
	if err != nil {
		t.Fatal(err)
	}
	w.alone = true
	if err := w.Write(batch); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(one.Bytes(), want) {
		t.Errorf("columns one after another make another file")
	}
}

func TestColumnsSideBySideEndTogether(t *testing.T) {
	batch := manyColumns()
	sch, err := schema.FromArrow(batch.Schema())
	if err != nil {
		t.Fatal(err)
	}
	whole, _ := writeFile(t, batch.Schema(), lance.V2_2, batch)
	for tenth := 0; tenth < 10; tenth += 3 {
		w, err := NewWriter(&failingWriter{len(whole) * tenth / 10}, sch, lance.V2_2)
		if err != nil {
			t.Fatal(err)
		}
		err = w.Write(batch)
		if err == nil {
			_, err = w.Close()
		}
		if !errors.Is(err, errFull) {
			t.Errorf("after %d tenths of the file: got %v, want %v", tenth, err, errFull)
		}
	}
	if w, err := NewWriter(io.Discard, sch, lance.V2_2); err != nil || w.Write(batch) != nil {
		t.Errorf("without a fault: %v", err)
	}
}

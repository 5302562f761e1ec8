package datafile

import (
	"context"
	"fmt"
	"math/rand"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/schema"
	"tiltyard/shared/storage/objectstore"
)

// BenchmarkReadRange reads whole columns whose file is in memory; MB/s are of Arrow
// memory.
func BenchmarkReadRange(b *testing.B) {
	for name, column := range benchmarkColumns(400_000) {
		b.Run(name, func(b *testing.B) {
			f, fields := benchmarkFile(b, column)
			size := 0
			for _, buffer := range append(column.Data().Buffers(), childBuffers(column)...) {
				if buffer != nil {
					size += buffer.Len()
				}
			}
			b.SetBytes(int64(size))
			for b.Loop() {
				if _, err := f.ReadRange(context.Background(), fields, 0, f.NumRows()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkTake takes 100 scattered rows.
func BenchmarkTake(b *testing.B) {
	for name, column := range benchmarkColumns(400_000) {
		b.Run(name, func(b *testing.B) {
			f, fields := benchmarkFile(b, column)
			var rows []int64
			for row := int64(17); len(rows) < 100; row += f.NumRows()/100 - 1 {
				rows = append(rows, row)
			}
			for b.Loop() {
				if _, err := f.Take(context.Background(), fields, rows); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func benchmarkColumns(n int) map[string]arrow.Array {
	rng := rand.New(rand.NewSource(1))
	mem := memory.DefaultAllocator
	ids := array.NewInt64Builder(mem)
	holes := array.NewInt64Builder(mem)
	doubles := array.NewFloat64Builder(mem)
	words := array.NewStringBuilder(mem)
	texts := array.NewStringBuilder(mem)
	lists := array.NewListBuilder(mem, arrow.PrimitiveTypes.Int64)
	items := lists.ValueBuilder().(*array.Int64Builder)
	for i := range n {
		ids.Append(1_700_000_000_000 + int64(i))
		doubles.Append(rng.Float64())
		words.Append(fmt.Sprint("word number ", rng.Intn(1000)))
		texts.Append(fmt.Sprint("text ", rng.Int63()))
		if rng.Intn(10) == 0 {
			holes.AppendNull()
		} else {
			holes.Append(rng.Int63n(1 << 20))
		}
		lists.Append(true)
		for range rng.Intn(4) {
			items.Append(rng.Int63n(1000))
		}
	}
	vectors := array.NewFixedSizeListBuilder(mem, 128, arrow.PrimitiveTypes.Float32)
	floats := vectors.ValueBuilder().(*array.Float32Builder)
	row := make([]float32, 128)
	for range n / 4 {
		for k := range row {
			row[k] = rng.Float32()
		}
		vectors.Append(true)
		floats.AppendValues(row, nil)
	}
	return map[string]arrow.Array{
		"int64": ids.NewArray(), "int64 with nulls": holes.NewArray(), "float64": doubles.NewArray(),
		"words": words.NewArray(), "texts": texts.NewArray(), "lists": lists.NewArray(), "vectors": vectors.NewArray(),
	}
}

func benchmarkFile(b *testing.B, column arrow.Array) (*File, []*schema.Field) {
	b.Helper()
	as := arrow.NewSchema([]arrow.Field{{Name: "c", Type: column.DataType(), Nullable: true}}, nil)
	data, _ := writeFile(b, as, lance.V2_2, array.NewRecordBatch(as, []arrow.Array{column}, int64(column.Len())))
	f, err := openBytes(data)
	if err != nil {
		b.Fatal(err)
	}
	s, err := f.Schema(context.Background())
	if err != nil {
		b.Fatal(err)
	}
	f.store = inMemory{data: data}
	return f, s.Fields
}

// inMemory is a store of one object whose reads do not copy.
type inMemory struct {
	objectstore.Store
	data []byte
}

func (m inMemory) GetRanges(_ context.Context, _ string, ranges ...objectstore.Range) ([][]byte, objectstore.Info, error) {
	got := make([][]byte, len(ranges))
	for i, r := range ranges {
		got[i] = m.data[r.Offset : r.Offset+r.Length]
	}
	return got, objectstore.Info{Size: int64(len(m.data))}, nil
}

func childBuffers(a arrow.Array) []*memory.Buffer {
	var buffers []*memory.Buffer
	for _, child := range a.Data().Children() {
		buffers = append(buffers, child.Buffers()...)
	}
	return buffers
}

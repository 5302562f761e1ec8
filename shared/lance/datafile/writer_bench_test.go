package datafile_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/datafile"
	"tiltyard/shared/lance/schema"
)

const benchRows = 100_000

func BenchmarkWriter(b *testing.B) {
	mem := memory.DefaultAllocator
	random := rand.New(rand.NewPCG(1, 2))
	vectors := array.NewFixedSizeListBuilder(mem, 128, arrow.PrimitiveTypes.Float32)
	sequence, noise := array.NewInt64Builder(mem), array.NewInt64Builder(mem)
	nullable, names, kinds := array.NewInt32Builder(mem), array.NewStringBuilder(mem), array.NewStringBuilder(mem)
	lists := array.NewListBuilder(mem, arrow.PrimitiveTypes.Int32)
	for i := range benchRows {
		vectors.Append(true)
		for range 128 {
			vectors.ValueBuilder().(*array.Float32Builder).Append(random.Float32())
		}
		sequence.Append(int64(i))
		noise.Append(int64(random.Uint64()))
		if i%10 == 0 {
			nullable.AppendNull()
		} else {
			nullable.Append(int32(i))
		}
		names.Append(fmt.Sprintf("name of row %x", random.Uint32()))
		kinds.Append([]string{"red", "green", "blue"}[i%3])
		lists.Append(true)
		for range i % 20 {
			lists.ValueBuilder().(*array.Int32Builder).Append(random.Int32())
		}
	}
	cases := []struct {
		name string
		arr  arrow.Array
	}{
		{"vector128", vectors.NewArray()},
		{"int64 sequence", sequence.NewArray()},
		{"int64 random", noise.NewArray()},
		{"int32 with nulls", nullable.NewArray()},
		{"strings", names.NewArray()},
		{"few strings", kinds.NewArray()},
		{"lists", lists.NewArray()},
	}
	for _, c := range cases {
		b.Run(c.name, func(b *testing.B) { benchmarkWrite(b, c.arr) })
	}
}

func benchmarkWrite(b *testing.B, arr arrow.Array) {
	as := arrow.NewSchema([]arrow.Field{{Name: "c", Type: arr.DataType(), Nullable: true}}, nil)
	sch, err := schema.FromArrow(as)
	if err != nil {
		b.Fatal(err)
	}
	rec := array.NewRecordBatch(as, []arrow.Array{arr}, int64(arr.Len()))
	b.SetBytes(int64(arr.Data().SizeInBytes()))
	b.ReportAllocs()
	for b.Loop() {
		w, err := datafile.NewWriter(io.Discard, sch, lance.V2_2)
		if err != nil {
			b.Fatal(err)
		}
		if err := w.Write(rec); err != nil {
			b.Fatal(err)
		}
		if _, err := w.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

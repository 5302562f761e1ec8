package datafile

import (
	"context"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/schema"
)

// Shapes of columns that pages are cut or filled in a way of their own for.
func TestColumnsOfLittleAreSmallAndRead(t *testing.T) {
	lists := func(rows, every int) arrow.Array {
		b := array.NewListBuilder(memory.DefaultAllocator, arrow.PrimitiveTypes.Int32)
		for i := range rows {
			b.Append(i%3 != 0)
			if i%3 != 0 && i%every == 1 {
				b.ValueBuilder().(*array.Int32Builder).Append(int32(i))
			}
		}
		return b.NewArray()
	}
	unpaired := func(rows int) arrow.Array { // levels unsuited to run-length encoding, between others that suit it
		b := array.NewListBuilder(memory.DefaultAllocator, arrow.PrimitiveTypes.Int32)
		for i := range rows {
			b.Append(i < rows/2 || i%2 == 0)
			if i%10_000 == 0 {
				b.ValueBuilder().(*array.Int32Builder).Append(int32(i))
			}
		}
		return b.NewArray()
	}
	nulls := func(rows int) arrow.Array {
		b := array.NewInt64Builder(memory.DefaultAllocator)
		for i := range rows {
			b.Append(int64(i/500) << 40)
			if i%2 == 1 {
				b.AppendNull()
			}
		}
		return b.NewArray()
	}
	vectors := func(rows int) arrow.Array {
		b := array.NewFixedSizeListBuilder(memory.DefaultAllocator, 33, arrow.PrimitiveTypes.Float32)
		for i := range rows {
			b.Append(i%5 != 0)
			for range 33 {
				b.ValueBuilder().AppendNull()
			}
		}
		return b.NewArray()
	}
	cases := []struct {
		name   string
		column arrow.Array
		most   map[lance.Version]int // bytes of the file
	}{
		{"sparse lists", lists(200_000, 70), map[lance.Version]int{lance.V2_1: 85_000, lance.V2_2: 85_000}},
		{"very sparse lists", lists(200_000, 5000), map[lance.Version]int{lance.V2_1: 80_000, lance.V2_2: 80_000}},
		{"null and empty lists in turn", unpaired(200_000), map[lance.Version]int{lance.V2_1: 120_000, lance.V2_2: 120_000}},
		{"nulls in runs", nulls(20_000), map[lance.Version]int{lance.V2_1: 8000, lance.V2_2: 8000}},
		{"vectors of nulls", vectors(2000), map[lance.Version]int{lance.V2_1: 13_000, lance.V2_2: 13_000}},
	}
	for _, c := range cases {
		for _, v := range []lance.Version{lance.V2_0, lance.V2_1, lance.V2_2} {
			t.Run(c.name+" in "+v.String(), func(t *testing.T) {
				as := arrow.NewSchema([]arrow.Field{{Name: "c", Type: c.column.DataType(), Nullable: true}}, nil)
				rows := array.NewRecordBatch(as, []arrow.Array{c.column}, int64(c.column.Len()))
				data, _ := writeFile(t, as, v, rows)
				if most, ok := c.most[v]; ok && len(data) > most {
					t.Errorf("got a file of %d bytes, want at most %d", len(data), most)
				}
				f, err := openBytes(data)
				if err != nil {
					t.Fatal(err)
				}
				sch, err := schema.FromArrow(as)
				if err != nil {
					t.Fatal(err)
				}
				got, err := f.ReadRange(context.Background(), sch.Fields, 0, rows.NumRows())
				checkColumns(t, "rows", got, err, rows)
			})
		}
	}
}

package indextest

import (
	"context"
	"iter"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/index"
)

// Shuffled returns rows to index, in batches: the numbers below count in random order, each modulo distinct,
// as numbers or as texts.
func Shuffled(t arrow.DataType, count, distinct int) []arrow.RecordBatch {
	random := rand.New(rand.NewPCG(1, 2))
	numbers := random.Perm(count)
	var batches []arrow.RecordBatch
	const together = 8192
	for from := 0; from < count; from += together {
		to := min(from+together, count)
		values := array.NewBuilder(memory.DefaultAllocator, t)
		rows := array.NewUint64Builder(memory.DefaultAllocator)
		for i := from; i < to; i++ {
			text := strconv.Itoa(numbers[i] % distinct)
			if t.ID() == arrow.STRING {
				text = "value " + text
			}
			if err := values.AppendValueFromString(text); err != nil {
				panic(err)
			}
			rows.Append(uint64(i))
		}
		schema := arrow.NewSchema([]arrow.Field{{Name: "value", Type: t}, {Name: "row", Type: arrow.PrimitiveTypes.Uint64}}, nil)
		batches = append(batches, array.NewRecordBatch(schema, []arrow.Array{values.NewArray(), rows.NewArray()}, int64(to-from)))
	}
	return batches
}

// BenchmarkSorted measures the build of an index from sorted keys.
func BenchmarkSorted(b *testing.B, distinct int, write func(ctx context.Context, t arrow.DataType, keys iter.Seq2[[]byte, error], out index.Output) error) {
	for _, c := range []struct {
		name string
		t    arrow.DataType
		rows int
	}{
		{"int64/100k", arrow.PrimitiveTypes.Int64, 100_000},
		{"int64/1M", arrow.PrimitiveTypes.Int64, 1_000_000},
		{"string/100k", arrow.BinaryTypes.String, 100_000},
	} {
		b.Run(c.name, func(b *testing.B) {
			batches := Shuffled(c.t, c.rows, min(distinct, c.rows))
			b.ReportAllocs()
			for b.Loop() {
				sorter, err := index.SortRows(b.Context(), c.t, func(yield func(arrow.RecordBatch, error) bool) {
					for _, batch := range batches {
						if !yield(batch, nil) {
							return
						}
					}
				})
				if err == nil {
					err = write(b.Context(), c.t, sorter.Sorted(), NewOutput(b))
				}
				if err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(c.rows), "ns/row")
		})
	}
}

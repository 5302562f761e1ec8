package indices_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmemory "github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/enginetest"
	"tiltyard/shared/engine/indexbuild"
	"tiltyard/shared/engine/indices"
	"tiltyard/shared/engine/query"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/indexmeta"
)

// The build of an index of long values uses at most the memory of its request, and queries can use the index.
func TestCreateIndexesLongValuesInLittleMemory(t *testing.T) {
	const share = 128 << 20
	for _, c := range []struct {
		name        string
		kind        indexmeta.Kind
		rows, bytes int
		filter      string
	}{
		{"BTREE", indexmeta.BTree, 1_500, 100_000, "text = '%s'"},
		{"FM", indexmeta.FM, 6_000, 2_000, "contains(text, '%s')"},
	} {
		t.Run(c.name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(1, 2))
			columns := arrow.NewSchema([]arrow.Field{{Name: "text", Type: arrow.BinaryTypes.String}}, nil)
			var one string
			table := enginetest.CreateOf(t, dataset.Rows{Schema: columns, Batches: func(yield func(arrow.RecordBatch, error) bool) {
				for from := 0; from < c.rows; from += 100 {
					texts := array.NewStringBuilder(arrowmemory.DefaultAllocator)
					for range 100 {
						text := make([]byte, c.bytes)
						for i := range text {
							text[i] = 'a' + byte(random.IntN(26))
						}
						one = string(text)
						texts.Append(one)
					}
					if !yield(array.NewRecordBatch(columns, []arrow.Array{texts.NewArray()}, 100), nil) {
						return
					}
				}
			}}, dataset.CreateOptions{})
			ctx, held := enginetest.WithMemory(t, share)
			if _, err := indices.Create(ctx, table, indexbuild.Index{Name: "i", Column: "text", Kind: c.kind}); err != nil {
				t.Fatalf("%v; at most %d bytes were held", err, held.Peak())
			}
			answer, err := table.Query(ctx, engine.AsOf{}, &query.Query{Filter: fmt.Sprintf(c.filter, one[:min(len(one), 60_000)])})
			rows := int64(0)
			if err == nil {
				for batch, err := range answer.Batches {
					if err != nil {
						t.Fatal(err)
					}
					rows += batch.NumRows()
				}
			}
			want := int64(1)
			if len(one) > 60_000 {
				want = 0 // filters are no longer than that
			}
			if err != nil || rows != want {
				t.Errorf("got %d rows, want %d; error %v", rows, want, err)
			}
		})
	}
}

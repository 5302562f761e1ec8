package engine_test

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/enginetest"
	"tiltyard/shared/engine/indexbuild"
	"tiltyard/shared/engine/indices"
	"tiltyard/shared/engine/query"
	"tiltyard/shared/index/ivf"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/datasettest"
	"tiltyard/shared/lance/indexmeta"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/faultstore"
	"tiltyard/shared/storage/objectstore/memstore"
)

// What a search in 20 of 125 partitions asks the storage for does not rise unnoticed, when it measures 100 of
// 50,000 vectors again: at first, and after a dozen searches.
func TestRefinedSearchesMakeFewRequests(t *testing.T) {
	if testing.Short() {
		t.Skip("builds an index of 50,000 vectors")
	}
	const rows, dim = 50_000, 128
	store, random := memstore.New(), rand.New(rand.NewPCG(1, 2))
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64}, {Name: "vector", Type: arrow.FixedSizeListOf(dim, arrow.PrimitiveTypes.Float32)},
	}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	for id := range int64(rows) {
		b.Field(0).(*array.Int64Builder).Append(id)
		b.Field(1).(*array.FixedSizeListBuilder).Append(true)
		for range dim {
			b.Field(1).(*array.FixedSizeListBuilder).ValueBuilder().(*array.Float32Builder).Append(random.Float32())
		}
	}
	batch := b.NewRecordBatch()
	table := enginetest.Table(store, engine.Limits{})
	if _, err := table.Create(t.Context(), dataset.Rows{Schema: schema, Batches: func(yield func(arrow.RecordBatch, error) bool) { yield(batch, nil) }}); err != nil {
		t.Fatal(err)
	}
	_, err := indices.Create(t.Context(), table, indexbuild.Index{Name: "near", Column: "vector", Kind: indexmeta.Vector, Params: ivf.Recipe{
		Kind: "IVF_PQ", Metric: "l2", Partitions: 125, SubVectors: 16, SampleRate: 64, Iterations: 2,
	}})
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		counted := faultstore.New(datasettest.Far(store), nil)
		at := objectstore.Location{URI: "memory://test/t.lance", Store: counted, Prefix: "t.lance"}
		table := engine.New(dataset.NewSession(0, time.Now), engine.Limits{}).Table([]string{"t"}, at)
		k, refine := int64(10), int64(10)
		search := func() faultstore.Counts {
			counted.Recorder.Reset()
			vector := make([]float64, dim)
			for i := range vector {
				vector[i] = float64(random.Float32())
			}
			q := &query.Query{
				Nearest: &query.Nearest{Vectors: [][]float64{vector}, MinProbes: 20, MaxProbes: 20, Refine: &refine},
				Limit:   &k, Columns: []query.Column{{Name: "id"}, {Name: "_distance"}},
			}
			if found := enginetest.Neighbors(t, table, engine.AsOf{}, q); len(found) != int(k) {
				t.Fatalf("found %d rows", len(found))
			}
			synctest.Wait()
			return counted.Recorder.Snapshot()
		}
		cold := search()
		if cold.Requests > 56 || cold.Depth > 5 || cold.ReadBytes > 6<<20 {
			t.Errorf("the first search makes %d requests, %d deep, for %d bytes", cold.Requests, cold.Depth, cold.ReadBytes)
		}
		for range 12 {
			search()
		}
		warm := search()
		if warm.Requests > 3 || warm.Depth > 1 {
			t.Errorf("a later search makes %d requests, %d deep", warm.Requests, warm.Depth)
		}
		t.Logf("at first %d requests, %d deep, for %d bytes; later %d, %d deep", cold.Requests, cold.Depth, cold.ReadBytes, warm.Requests, warm.Depth)
	})
}

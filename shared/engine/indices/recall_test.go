package indices_test

import (
	"math"
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
	"tiltyard/shared/index/ivf"
	"tiltyard/shared/index/vector"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/indexmeta"
)

const clusteredDim = 16

// clustered returns vectors around 50 centers, with their numbers.
func clustered(n int) (dataset.Rows, [][]float64) {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64}, {Name: "v", Type: arrow.FixedSizeListOf(clusteredDim, arrow.PrimitiveTypes.Float32)},
	}, nil)
	random := rand.New(rand.NewPCG(1, 2))
	b := array.NewRecordBuilder(arrowmemory.DefaultAllocator, schema)
	ids, lists := b.Field(0).(*array.Int64Builder), b.Field(1).(*array.FixedSizeListBuilder)
	values := lists.ValueBuilder().(*array.Float32Builder)
	centers, all := make([][clusteredDim]float32, 50), make([][]float64, n)
	for i := range centers {
		for j := range centers[i] {
			centers[i][j] = float32(3 * random.NormFloat64())
		}
	}
	for i := range n {
		ids.Append(int64(i))
		lists.Append(true)
		for _, middle := range centers[random.IntN(len(centers))] {
			value := middle + float32(random.NormFloat64())
			values.Append(value)
			all[i] = append(all[i], float64(value))
		}
	}
	batch := b.NewRecordBatch()
	return dataset.Rows{Schema: schema, Batches: func(yield func(arrow.RecordBatch, error) bool) { yield(batch, nil) }}, all
}

// The recall that is stored with an index is about that of later searches with the same effort.
func TestCreateMeasuresTheRecallOfAVectorIndex(t *testing.T) {
	rows, vectors := clustered(6000)
	table := enginetest.CreateOf(t, rows, dataset.CreateOptions{})
	for _, recipe := range []ivf.Recipe{
		{Kind: "IVF_PQ", Metric: "l2", Partitions: 64, SubVectors: 4},
		{Kind: "IVF_RQ", Metric: "cosine", Partitions: 64, Bits: 1},
		{Kind: "IVF_HNSW_SQ", Metric: "l2"},
		{Kind: "IVF_FLAT", Metric: "dot", Partitions: 64},
	} {
		if _, err := indices.Create(t.Context(), table, indexbuild.Index{Name: "v", Column: "v", Kind: indexmeta.Vector, Params: recipe, Replace: true}); err != nil {
			t.Fatal(err)
		}
		x, err := enginetest.Index(t.Context(), table, "v")
		if err != nil {
			t.Fatal(err)
		}
		if x.Kind.Recall == nil || x.Kind.Recall.Queries != 32 {
			t.Fatalf("%s: the recall is %+v", recipe.Kind, x.Kind.Recall)
		}
		for _, s := range x.Kind.Recall.Searches {
			if got := recallOf(t, table, recipe.Metric, s, vectors); math.Abs(got-s.Recall) > 0.1 {
				t.Errorf("%s, %+v: later searches have a recall of %.3f", recipe.Kind, s, got)
			}
		}
	}
}

// recallOf returns the recall of searches for every 60th row.
func recallOf(t *testing.T, table *engine.Table, metric string, s indexmeta.MeasuredSearch, vectors [][]float64) float64 {
	t.Helper()
	measure, err := vector.ParseMetric(metric)
	if err != nil {
		t.Fatal(err)
	}
	columns := []query.Column{{Name: "id"}, {Name: "_distance"}}
	found, wanted := 0, 0
	for i := 0; i < len(vectors); i += 60 {
		k := int64(11)
		near := &query.Nearest{Column: "v", Metric: &measure, Vectors: [][]float64{vectors[i]}, MinProbes: s.Nprobes, MaxProbes: s.Nprobes, EF: s.EF}
		if s.RefineFactor > 0 {
			factor := int64(s.RefineFactor)
			near.Refine = &factor
		}
		got := enginetest.Neighbors(t, table, engine.AsOf{}, &query.Query{Columns: columns, Limit: &k, Nearest: near})
		near.BypassIndex = true
		want := enginetest.Neighbors(t, table, engine.AsOf{}, &query.Query{Columns: columns, Limit: &k, Nearest: near})
		for _, w := range want {
			if w.ID == int64(i) {
				continue
			}
			wanted++
			for _, g := range got {
				if g.ID == w.ID {
					found++
				}
			}
		}
	}
	return float64(found) / float64(wanted)
}

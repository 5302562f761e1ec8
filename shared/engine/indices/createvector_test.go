package indices_test

import (
	"strings"
	"sync/atomic"
	"testing"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/enginetest"
	"tiltyard/shared/engine/indexbuild"
	"tiltyard/shared/engine/indices"
	"tiltyard/shared/index/ivf"
	"tiltyard/shared/index/vector"
	"tiltyard/shared/lance/indexmeta"
	"tiltyard/shared/protocol"
)

// A search of all partitions of a new index finds nearly the same rows as a search without the index.
func TestCreateBuildsVectorIndicesThatFindTheNearestRows(t *testing.T) {
	x := enginetest.OpenSearched(t)
	built := map[string]bool{}
	for _, c := range x.Cases {
		if built[c.Table+c.Column] {
			continue
		}
		built[c.Table+c.Column] = true
		name := "built on " + c.Column
		metric := map[string]string{"u8": "hamming", "many": "cosine"}[c.Column]
		if metric == "" {
			metric = "l2"
		}
		for _, kind := range ivf.Kinds() {
			if metric == "hamming" && !strings.HasSuffix(kind, "FLAT") {
				continue
			}
			table, recipe := x.Table(c.Table, enginetest.NoWarnings(t)), ivf.Recipe{Kind: kind, Metric: metric, Partitions: 3}
			if strings.HasSuffix(kind, "PQ") {
				recipe.SubVectors, recipe.Bits = 8, 4 // the tables have too few rows for 8 bits
			}
			var watched atomic.Int64
			made, err := indices.Create(t.Context(), table, indexbuild.Index{
				Name: name, Column: c.Column, Kind: indexmeta.Vector, Params: recipe, Replace: true,
				Watch: func(rows int64) { watched.Add(rows) },
			})
			if err != nil {
				t.Fatalf("%s of %s: %v", kind, c.Table, err)
			}
			if watched.Load() == 0 {
				t.Errorf("%s of %s: the build reported no rows", kind, c.Table)
			}
			for _, old := range indicesOn(t, table, c.Column) {
				if old != name {
					if made, err = indices.Drop(t.Context(), table, old); err != nil {
						t.Fatal(err)
					}
				}
			}
			checkFound(t, table, c, made.Version, kind, metric)
		}
	}
	if len(built) < 9 {
		t.Errorf("indices of %d columns were built", len(built))
	}
}

// indicesOn returns the names of the vector indices of a column.
func indicesOn(t *testing.T, table *engine.Table, column string) []string {
	t.Helper()
	indices, err := indices.List(t.Context(), table, nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, x := range indices {
		if x.Kind.IsVector() && x.Columns[0] == column {
			names = append(names, x.Name)
		}
	}
	return names
}

// checkFound checks that a search by the index finds nine of the ten nearest rows if it measures the rows that the index
// returns again.
func checkFound(t *testing.T, table *engine.Table, c enginetest.SearchedCase, version int64, kind, metric string) {
	t.Helper()
	refine, k := int64(5), int64(10)
	measure, err := vector.ParseMetric(metric)
	if err != nil {
		t.Fatal(err)
	}
	at, q := engine.AsOf{Version: &version}, c.Query(t)
	near := q.Nearest
	q.Limit, q.Filter, q.FastSearch = &k, "", false
	near.Metric, near.MinProbes, near.MaxProbes, near.Refine = &measure, 99, 99, &refine
	near.Lower, near.Upper, near.BypassIndex = nil, nil, false
	plan, err := table.Explain(t.Context(), at, q, false)
	if err != nil || !strings.Contains(plan, "SearchIndex: index=built on "+c.Column+", type="+kind) {
		t.Fatalf("%s of %s: no index in\n%s; error %v", kind, c.Table, plan, err)
	}
	found := enginetest.Neighbors(t, table, at, q)
	near.BypassIndex = true
	want, common := enginetest.Neighbors(t, table, at, q), 0
	for _, w := range want {
		for _, g := range found {
			if g.ID == w.ID {
				common++
			}
		}
	}
	if common < len(want)*9/10 {
		t.Errorf("%s of %s: found %v, want %v", kind, c.Table, found, want)
	}
}

func TestCheckRefusesUnsuitableRecipes(t *testing.T) {
	x := enginetest.OpenSearched(t)
	c := x.Cases[0]
	table := x.Table(c.Table, enginetest.NoWarnings(t))
	for what, n := range map[string]indexbuild.Index{
		"a column of numbers":    {Column: "id", Params: ivf.Recipe{Kind: "IVF_FLAT", Metric: "l2"}},
		"L2 of bytes":            {Column: "u8", Params: ivf.Recipe{Kind: "IVF_FLAT", Metric: "l2"}},
		"codes of bytes":         {Column: "u8", Params: ivf.Recipe{Kind: "IVF_SQ", Metric: "hamming"}},
		"L2 of lists":            {Column: "many", Params: ivf.Recipe{Kind: "IVF_FLAT", Metric: "l2"}},
		"another metric":         {Column: c.Column, Params: ivf.Recipe{Kind: "IVF_FLAT", Metric: "hamming"}},
		"too many sub-vectors":   {Column: c.Column, Params: ivf.Recipe{Kind: "IVF_PQ", Metric: "l2", SubVectors: 1 << 20}},
		"too many iterations":    {Column: c.Column, Params: ivf.Recipe{Kind: "IVF_SQ", Metric: "l2", Iterations: 1 << 30}},
		"ten bits of RQ":         {Column: c.Column, Params: ivf.Recipe{Kind: "IVF_RQ", Metric: "l2", Bits: 10}},
		"codes of another width": {Column: c.Column, Params: ivf.Recipe{Kind: "IVF_SQ", Metric: "l2", Bits: 4}},
	} {
		n.Name, n.Kind = "x", indexmeta.Vector
		enginetest.WantCode(t, what, indices.Check(t.Context(), table, n), protocol.InvalidInput)
	}
	unknown := indexbuild.Index{Name: "x", Column: c.Column, Kind: indexmeta.Vector, Params: ivf.Recipe{Kind: "IVF_HNSW_RQ", Metric: "l2"}}
	enginetest.WantCode(t, "a kind that is not built", indices.Check(t.Context(), table, unknown), protocol.Unsupported)
}

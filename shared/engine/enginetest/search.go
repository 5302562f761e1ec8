package enginetest

import (
	"encoding/json"
	"log/slog"
	"math"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/query"
	"tiltyard/shared/index/vector"
	"tiltyard/shared/protocol/queryapi"
	"tiltyard/shared/storage/objectstore"
)

// Searched holds tables that native Lance has made with indices of vectors, and its answers to searches.
type Searched struct {
	Store objectstore.Store
	Keys  []string // of all files in the store
	Cases []SearchedCase
}

// A SearchedCase is a search of a version of a table, with the ids of the rows that native Lance found and their
// distances.
type SearchedCase struct {
	Table     string
	Version   int64
	Kind      string
	Column    string
	Vector    json.RawMessage
	K         int64
	Filter    string
	Prefilter bool
	Fast      bool
	NProbes   *int64
	Minimum   *int64 `json:"minimum_nprobes"`
	Maximum   *int64 `json:"maximum_nprobes"`
	Refine    *int64 `json:"refine_factor"`
	UseIndex  *bool  `json:"use_index"`
	Metric    string
	Range     [2]*float64 `json:"distance_range"`
	IDs       []int64
	Distances []any
}

// OpenSearched returns the tables in the test data of package ivf.
func OpenSearched(t testing.TB) *Searched {
	t.Helper()
	x := new(Searched)
	x.Store, x.Keys = unpack(t, "ivf", &x.Cases)
	return x
}

// Table opens a table. logger may be nil.
func (x *Searched) Table(name string, logger *slog.Logger) *engine.Table {
	return named(x.Store, name, engine.Limits{}, logger)
}

// AsOf returns the version of the case.
func (c SearchedCase) AsOf() engine.AsOf { return engine.AsOf{Version: &c.Version} }

// Query returns the search of the case.
func (c SearchedCase) Query(t testing.TB) *query.Query {
	t.Helper()
	var given queryapi.Vector
	if err := json.Unmarshal(c.Vector, &given); err != nil {
		t.Fatal(err)
	}
	near := &query.Nearest{
		Vectors: given.Vectors, Numbered: given.Several, Column: c.Column, Lower: c.Range[0], Upper: c.Range[1],
		Refine: c.Refine, BypassIndex: c.UseIndex != nil && !*c.UseIndex,
	}
	for _, probes := range []struct{ least, most *int64 }{{c.NProbes, c.NProbes}, {c.Minimum, c.Maximum}} {
		if probes.least != nil {
			near.MinProbes = int(*probes.least)
		}
		if probes.most != nil {
			near.MaxProbes = int(*probes.most)
		}
	}
	if c.Metric != "" {
		metric, err := vector.ParseMetric(c.Metric)
		if err != nil {
			t.Fatal(err)
		}
		near.Metric = &metric
	}
	return &query.Query{
		Nearest: near, Limit: &c.K, Filter: c.Filter, Prefilter: c.Prefilter, FastSearch: c.Fast,
		Columns: []query.Column{{Name: "id"}, {Name: "_distance"}},
	}
}

// Want returns the rows that native Lance found.
func (c SearchedCase) Want() []Neighbor {
	var want []Neighbor
	for i, id := range c.IDs {
		d, ok := c.Distances[i].(float64)
		if !ok {
			d = math.Inf(1)
		}
		want = append(want, Neighbor{id, d})
	}
	return want
}

// A Neighbor is a row that a search has found.
type Neighbor struct {
	ID       int64
	Distance float64
}

// Neighbors runs a search whose columns are id and _distance.
func Neighbors(t testing.TB, table *engine.Table, at engine.AsOf, q *query.Query) []Neighbor {
	t.Helper()
	rows, err := table.Query(t.Context(), at, q)
	if err != nil {
		t.Fatal(err)
	}
	var found []Neighbor
	for batch, err := range rows.Batches {
		if err != nil {
			t.Fatal(err)
		}
		ids := batch.Column(0).(*array.Int64).Int64Values()
		for i, d := range batch.Column(1).(*array.Float32).Float32Values() {
			found = append(found, Neighbor{ids[i], float64(d)})
		}
	}
	return found
}

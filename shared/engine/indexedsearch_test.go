package engine_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/query"
	"tiltyard/shared/index/vector"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/protocol/queryapi"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/memstore"
)

// searched are the tables that native Lance has made with indices of vectors, and what it answers.
type searched struct {
	store objectstore.Store
	keys  []string // of all files
	cases []searchedCase
}

// A searchedCase is a query of a version of a table, with the ids of the rows and their distances.
type searchedCase struct {
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

func openSearched(t testing.TB) *searched {
	t.Helper()
	x := new(searched)
	x.store, x.keys = unpack(t, "../index/ivf/testdata/native.zip", &x.cases)
	return x
}

func (x *searched) table(t *testing.T, name string) *engine.Table {
	at := objectstore.Location{URI: "memory://test/" + name, Store: x.store, Prefix: name + ".lance"}
	table := engine.New(dataset.NewSession(64<<20, time.Now), engine.Limits{}).Table([]string{name}, at, 0)
	table.Engine().Logger = slog.New(failing{t})
	return table
}

func (c searchedCase) asOf() engine.AsOf { return engine.AsOf{Version: &c.Version} }

func (c searchedCase) query(t testing.TB) *query.Query {
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

// A nearRow is a row that a search has found.
type nearRow struct {
	id       int64
	distance float64
}

// nearRows returns what a search finds.
func nearRows(t testing.TB, table *engine.Table, at engine.AsOf, q *query.Query) []nearRow {
	t.Helper()
	rows, err := table.Query(context.Background(), at, q)
	if err != nil {
		t.Fatal(err)
	}
	var found []nearRow
	for batch, err := range rows.Batches {
		if err != nil {
			t.Fatal(err)
		}
		ids := batch.Column(0).(*array.Int64).Int64Values()
		for i, d := range batch.Column(1).(*array.Float32).Float32Values() {
			found = append(found, nearRow{ids[i], float64(d)})
		}
	}
	return found
}

func (c searchedCase) want() []nearRow {
	var want []nearRow
	for i, id := range c.IDs {
		d, ok := c.Distances[i].(float64)
		if !ok {
			d = math.Inf(1)
		}
		want = append(want, nearRow{id, d})
	}
	return want
}

// agree compares two answers. Rows that are equally far, within a tolerance, may change places, and one
// at the end may be another one. Native Lance says that rows are infinitely far which it has not
// measured.
func agree(got, want []nearRow, tolerance float64) bool {
	if len(got) != len(want) {
		return false
	}
	if slices.ContainsFunc(want, func(r nearRow) bool { return math.IsInf(r.distance, 1) }) {
		byID := func(a, b nearRow) int { return int(a.id - b.id) }
		got, want = slices.SortedFunc(slices.Values(got), byID), slices.SortedFunc(slices.Values(want), byID)
		return slices.EqualFunc(got, want, func(a, b nearRow) bool { return a.id == b.id })
	}
	for i, g := range got {
		if math.Abs(g.distance-want[i].distance) > tolerance*math.Max(1, math.Abs(want[i].distance)) {
			return false
		}
		near := func(r nearRow) bool {
			return r.id == g.id && math.Abs(r.distance-g.distance) <= tolerance*math.Max(1, math.Abs(g.distance))
		}
		last := want[len(want)-1].distance
		if !slices.ContainsFunc(want, near) && math.Abs(g.distance-last) > tolerance*math.Max(1, math.Abs(last)) {
			return false
		}
	}
	return true
}

// overlap reports whether two answers have the first row in common, and three of four of all.
func overlap(got, want []nearRow, tolerance float64) bool {
	common := 0
	for _, g := range got {
		if slices.ContainsFunc(want, func(w nearRow) bool { return w.id == g.id }) {
			common++
		}
	}
	return len(got) == len(want) && agree(got[:1], want[:1], tolerance) && 4*common >= 3*len(want)
}

func TestSearchesFindByIndexWhatNativeLanceFinds(t *testing.T) {
	x := openSearched(t)
	tables := map[string]*engine.Table{}
	for _, c := range x.cases {
		if tables[c.Table] == nil {
			tables[c.Table] = x.table(t, c.Table)
		}
		at, q := c.asOf(), c.query(t)
		tolerance := 1e-3
		if c.Kind == "IVF_RQ" {
			tolerance = 5e-3 // native Lance rounds the tables that it measures codes with
		}
		got := nearRows(t, tables[c.Table], at, q)
		same := agree
		if c.Column == "many" && strings.HasPrefix(c.Kind, "IVF_HNSW_") {
			same = overlap // native Lance misses vectors that are in the graph, which changes how far others count
		}
		if want := c.want(); !same(got, want, tolerance) {
			plan, err := tables[c.Table].Analyze(t.Context(), at, q)
			if err != nil {
				t.Fatal(err)
			}
			t.Errorf("%s at %d, %s, k %d, filter %q: got\n%v, want\n%v\n%s", c.Table, c.Version, c.Column, c.K, c.Filter, got, want, plan)
		} else if c.UseIndex == nil && c.Metric == "" {
			plan, err := tables[c.Table].Explain(t.Context(), at, q, false)
			if err != nil || !strings.Contains(plan, "SearchIndex: index=") {
				t.Errorf("%s at %d: no index in\n%s; error %v", c.Table, c.Version, plan, err)
			}
		}
	}
}

// An index of which a file is damaged, cut off or gone is done without: the log is told, and the answer is
// that of measuring all rows.
func TestSearchesDoWithoutAnIndexThatCannotBeRead(t *testing.T) {
	x := openSearched(t)
	c := x.cases[0]
	exact := c.query(t)
	exact.Nearest.BypassIndex = true
	want := nearRows(t, x.table(t, c.Table), c.asOf(), exact)
	for name, spoil := range map[string]func(data []byte) []byte{
		"cut off": func(data []byte) []byte { return data[:len(data)/2] },
		"zeros":   func(data []byte) []byte { return make([]byte, len(data)) },
	} {
		spoiled := memstore.New()
		for _, key := range x.keys {
			data, _, err := x.store.Get(t.Context(), key)
			if err != nil {
				continue // what native Lance answers
			}
			if strings.HasSuffix(key, ".idx") {
				data = spoil(data)
			}
			if _, err := spoiled.Put(t.Context(), key, data, objectstore.Condition{}); err != nil {
				t.Fatal(err)
			}
		}
		table := (&searched{store: spoiled}).table(t, c.Table)
		told := &strings.Builder{}
		table.Engine().Logger = slog.New(slog.NewTextHandler(told, nil))
		if got := nearRows(t, table, c.asOf(), c.query(t)); !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
		if !strings.Contains(told.String(), "an index is not used") {
			t.Errorf("%s: the log is told %q", name, told)
		}
	}
}

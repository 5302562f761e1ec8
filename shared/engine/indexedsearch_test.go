package engine_test

import (
	"log/slog"
	"math"
	"slices"
	"strings"
	"testing"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/enginetest"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/memstore"
)

// agree compares two answers. Rows that are equally far, within a tolerance, may change places, and one
// at the end may be another one. Native Lance says that rows are infinitely far which it has not
// measured.
func agree(got, want []enginetest.Neighbor, tolerance float64) bool {
	if len(got) != len(want) {
		return false
	}
	if slices.ContainsFunc(want, func(r enginetest.Neighbor) bool { return math.IsInf(r.Distance, 1) }) {
		byID := func(a, b enginetest.Neighbor) int { return int(a.ID - b.ID) }
		got, want = slices.SortedFunc(slices.Values(got), byID), slices.SortedFunc(slices.Values(want), byID)
		return slices.EqualFunc(got, want, func(a, b enginetest.Neighbor) bool { return a.ID == b.ID })
	}
	for i, g := range got {
		if math.Abs(g.Distance-want[i].Distance) > tolerance*math.Max(1, math.Abs(want[i].Distance)) {
			return false
		}
		near := func(r enginetest.Neighbor) bool {
			return r.ID == g.ID && math.Abs(r.Distance-g.Distance) <= tolerance*math.Max(1, math.Abs(g.Distance))
		}
		last := want[len(want)-1].Distance
		if !slices.ContainsFunc(want, near) && math.Abs(g.Distance-last) > tolerance*math.Max(1, math.Abs(last)) {
			return false
		}
	}
	return true
}

// overlap reports whether two answers have the first row in common, and three of four of all.
func overlap(got, want []enginetest.Neighbor, tolerance float64) bool {
	common := 0
	for _, g := range got {
		if slices.ContainsFunc(want, func(w enginetest.Neighbor) bool { return w.ID == g.ID }) {
			common++
		}
	}
	return len(got) == len(want) && agree(got[:1], want[:1], tolerance) && 4*common >= 3*len(want)
}

func TestSearchesFindTheRowsOfNativeLanceByIndex(t *testing.T) {
	x := enginetest.OpenSearched(t)
	tables := map[string]*engine.Table{}
	for _, c := range x.Cases {
		if tables[c.Table] == nil {
			tables[c.Table] = x.Table(c.Table, enginetest.NoWarnings(t))
		}
		at, q := c.AsOf(), c.Query(t)
		tolerance := 1e-3
		if c.Kind == "IVF_RQ" {
			tolerance = 5e-3 // native Lance rounds the tables that it measures codes with
		}
		got := enginetest.Neighbors(t, tables[c.Table], at, q)
		same := agree
		if c.Column == "many" && strings.HasPrefix(c.Kind, "IVF_HNSW_") {
			same = overlap // native Lance misses vectors that are in the graph, which changes how far others count
		}
		if want := c.Want(); !same(got, want, tolerance) {
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
	x := enginetest.OpenSearched(t)
	c := x.Cases[0]
	exact := c.Query(t)
	exact.Nearest.BypassIndex = true
	want := enginetest.Neighbors(t, x.Table(c.Table, enginetest.NoWarnings(t)), c.AsOf(), exact)
	for name, spoil := range map[string]func(data []byte) []byte{
		"cut off": func(data []byte) []byte { return data[:len(data)/2] },
		"zeros":   func(data []byte) []byte { return make([]byte, len(data)) },
	} {
		spoiled := memstore.New()
		for _, key := range x.Keys {
			data, _, err := x.Store.Get(t.Context(), key)
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
		log := &strings.Builder{}
		table := (&enginetest.Searched{Store: spoiled}).Table(c.Table, slog.New(slog.NewTextHandler(log, nil)))
		if got := enginetest.Neighbors(t, table, c.AsOf(), c.Query(t)); !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
		if !strings.Contains(log.String(), "an index is not used") {
			t.Errorf("%s: the log is %q", name, log)
		}
	}
}

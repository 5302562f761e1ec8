package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/enginetest"
	"tiltyard/shared/engine/indexbuild"
	"tiltyard/shared/engine/indices"
	"tiltyard/shared/engine/maintenance"
	"tiltyard/shared/engine/query"
	"tiltyard/shared/engine/selection"
	"tiltyard/shared/index/ivf"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/segments"
	"tiltyard/shared/lance/indexmeta"
	"tiltyard/shared/protocol"
)

// createIndexed creates a table whose vectors have an index of two segments, which lacks the last rows.
func createIndexed(t *testing.T, recipe ivf.Recipe) *engine.Table {
	t.Helper()
	table, random := createPoints(t), rand.New(rand.NewPCG(3, 4))
	recipe.Metric, recipe.Partitions = "l2", 12
	if _, err := indices.Create(t.Context(), table, indexbuild.Index{Name: "near", Column: "v", Kind: indexmeta.Vector, Params: recipe}); err != nil {
		t.Fatal(err)
	}
	insert := func(from, to int) {
		if _, err := table.Insert(t.Context(), enginetest.Rows(t, pointSchema, pointsOf(from, to, random))); err != nil {
			t.Fatal(err)
		}
	}
	insert(9700, 11_000)
	all := func(context.Context, *dataset.Dataset, segments.Fold) (bool, error) { return true, nil }
	if _, err := maintenance.FoldIndex(t.Context(), table, "", all, indexbuild.Extender{}); err != nil {
		t.Fatal(err)
	}
	insert(11_000, 11_100)
	if _, err := table.Delete(t.Context(), "id % 17 = 4"); err != nil {
		t.Fatal(err)
	}
	return table
}

// probes are searches of the index.
func probes() map[string]*query.Query {
	near := func(q query.Query, change func(*query.Nearest)) *query.Query {
		q.Columns = []query.Column{{Name: "id"}}
		q.Nearest = &query.Nearest{Vectors: [][]float64{{.5, .5, 1, 0}}, MinProbes: 5, MaxProbes: 5}
		if change != nil {
			change(q.Nearest)
		}
		return &q
	}
	ten := new(int64(10))
	return map[string]*query.Query{
		"nearest":                near(query.Query{Limit: ten}, nil),
		"only what is indexed":   near(query.Query{Limit: ten, FastSearch: true}, nil),
		"skipped":                near(query.Query{Limit: ten, Offset: 5}, nil),
		"all partitions":         near(query.Query{Limit: ten}, func(n *query.Nearest) { n.Effort, n.MaxProbes = new(1.0), 0 }),
		"as many as needed":      near(query.Query{Limit: new(int64(3000))}, func(n *query.Nearest) { n.MinProbes, n.MaxProbes = 2, 0 }),
		"refined":                near(query.Query{Limit: ten, FastSearch: true}, func(n *query.Nearest) { n.Refine = new(int64(4)) }),
		"within bounds":          near(query.Query{Limit: ten}, func(n *query.Nearest) { n.Lower, n.Upper = new(.01), new(.02) }),
		"filtered":               near(query.Query{Limit: ten, Filter: "id % 3 = 1 AND name <> 'n5'", Prefilter: true}, nil),
		"filtered to a few rows": near(query.Query{Limit: ten, Filter: "id IN (1, 777, 9801, 11050)", Prefilter: true}, nil),
		"filtered late":          near(query.Query{Limit: ten, Filter: "id % 3 = 1"}, nil),
		"several": near(query.Query{Limit: new(int64(4))}, func(n *query.Nearest) {
			n.Vectors, n.Numbered = append(n.Vectors, []float64{0, 0, 0, 1}, []float64{1, 0, 1, 1}), true
		}),
	}
}

func TestADividedSearchOfAnIndexHasTheSameAnswer(t *testing.T) {
	for _, recipe := range []ivf.Recipe{{Kind: "IVF_FLAT"}, {Kind: "IVF_PQ", SubVectors: 2, SampleRate: 16}, {Kind: "IVF_HNSW_SQ"}} {
		table := createIndexed(t, recipe)
		for name, q := range probes() {
			want := enginetest.Show(t, table, q)
			for _, most := range []int{1, 2, 5, 100} {
				var e elsewhere
				got := enginetest.Show(t, e.spread(table, most), q)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s: %s, in %d parts (-whole +divided):\n%s", recipe.Kind, name, most, diff)
				}
				if n := slices.IndexFunc(e.parts, func(p query.Part) bool { return p.Kind == "probes" }); n < 0 {
					t.Errorf("%s: %s, in %d parts: no part searched the index", recipe.Kind, name, most)
				}
			}
		}
	}
}

func TestPartitionsAreInOnePartEach(t *testing.T) {
	table := createIndexed(t, ivf.Recipe{Kind: "IVF_FLAT"})
	q := probes()["several"]
	q.FastSearch = true
	var e elsewhere
	enginetest.Show(t, e.spread(table, 4), q)
	part, segments := map[string]int{}, map[string]bool{}
	for i, p := range e.parts {
		for _, s := range p.Probes.Segments {
			segments[s.Segment] = true
			for _, number := range slices.Concat(s.Partitions...) {
				name := fmt.Sprint(s.Segment, number)
				if other, has := part[name]; has && other != i {
					t.Errorf("partition %d of %s is in the parts %d and %d", number, s.Segment, other, i)
				}
				part[name] = i
			}
		}
	}
	if len(e.parts) < 2 || len(e.parts) > 4 || len(part) < 10 || len(segments) != 2 {
		t.Errorf("%d partitions of %d segments in %d parts", len(part), len(segments), len(e.parts))
	}
}

// A part that reads what another release has not, or an index with another name, makes the query do the work itself.
func TestSearchesOfAnIndexThatRunNowhere(t *testing.T) {
	table := createIndexed(t, ivf.Recipe{Kind: "IVF_FLAT"})
	for name, q := range probes() {
		want := enginetest.Show(t, table, q)
		for _, refused := range []error{errNowhere, errCrowded, errBusy} {
			var e elsewhere
			divided := e.spread(table, 5)
			e.before = func(n int) error {
				if n < 2 {
					return refused
				}
				return nil
			}
			if diff := cmp.Diff(want, enginetest.Show(t, divided, q)); diff != "" {
				t.Errorf("%s, some parts are refused: %v (-want +got):\n%s", name, refused, diff)
			}
		}
	}
}

// Rows that a caller sends with a part are no way around the view that the caller sees the table through.
func TestRowsOfAPartAreThoseOfTheView(t *testing.T) {
	table := createIndexed(t, ivf.Recipe{Kind: "IVF_FLAT"})
	text := "SELECT id, name, v FROM points WHERE id % 2 = 0"
	seen, err := selection.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	q := probes()["filtered"]
	q.FastSearch = true
	var e elsewhere
	enginetest.Show(t, e.spread(table, 3), q)
	part := e.parts[0]
	if part.Probes.Among == nil {
		t.Fatal("no rows were sent")
	}
	if _, err := table.WithView(seen).Part(t.Context(), &part); protocol.CodeOf(err) != protocol.ServiceUnavailable {
		t.Errorf("a part of no view: got %v", err)
	}
	var viewed elsewhere
	plain := *q
	plain.Filter = ""
	want := enginetest.Show(t, table.WithView(seen), &plain)
	if diff := cmp.Diff(want, enginetest.Show(t, viewed.spread(table.WithView(seen), 3), &plain)); diff != "" {
		t.Errorf("through a view (-whole +divided):\n%s", diff)
	}
	for _, p := range viewed.parts {
		if p.Kind == "probes" {
			t.Error("a search through a view with a filter was divided")
		}
	}
	// The same part with the view's name, as a caller may make it up.
	var counting elsewhere
	if _, err := counting.spread(table.WithView(seen), 3).Count(t.Context(), engine.AsOf{}, "id >= 0"); err != nil {
		t.Fatal(err)
	}
	part.View = counting.parts[0].View
	rows, err := table.WithView(seen).Part(t.Context(), &part)
	if err != nil {
		t.Fatal(err)
	}
	even := map[string]bool{} // row ids, which are addresses here
	for _, line := range enginetest.Show(t, table, &query.Query{Columns: []query.Column{{Name: "id"}}, WithRowID: true, Filter: "id % 2 = 0"}) {
		_, address, _ := strings.Cut(line, "_rowid=")
		even[address] = true
	}
	found := 0
	for batch, err := range rows.Batches {
		if err != nil {
			t.Fatal(err)
		}
		for i := range int(batch.NumRows()) {
			found++
			if address := batch.Column(1).ValueStr(i); !even[address] {
				t.Errorf("row %s is not one of the view", address)
			}
		}
	}
	if found == 0 {
		t.Error("nothing was found")
	}
}

func TestBadProbesAreRefused(t *testing.T) {
	table := createIndexed(t, ivf.Recipe{Kind: "IVF_FLAT"})
	q := probes()["nearest"]
	q.FastSearch = true
	var e elsewhere
	enginetest.Show(t, e.spread(table, 3), q)
	good, err := json.Marshal(e.parts[0])
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change func(*query.Part)
		code   protocol.Code
	}{
		"no partitions":       {func(p *query.Part) { p.Probes = nil }, protocol.InvalidInput},
		"rows, too":           {func(p *query.Part) { p.Stretches = []query.Stretch{{To: 5}} }, protocol.InvalidInput},
		"another kind":        {func(p *query.Part) { p.Kind = "nearest" }, protocol.InvalidInput},
		"an effort":           {func(p *query.Part) { p.Query.Nearest.Effort = new(1.5) }, protocol.InvalidInput},
		"a refine factor":     {func(p *query.Part) { p.Query.Nearest.Refine = new(int64(0)) }, protocol.InvalidInput},
		"another index":       {func(p *query.Part) { p.Probes.Index = "far" }, protocol.Unsupported},
		"an unknown number":   {func(p *query.Part) { p.Probes.Segments[0].Partitions[0] = []int{99} }, protocol.Unsupported},
		"a number twice":      {func(p *query.Part) { a := p.Probes.Segments[0].Partitions; a[0] = append(a[0], a[0]...) }, protocol.Unsupported},
		"of too many queries": {func(p *query.Part) { s := &p.Probes.Segments[0]; s.Partitions = append(s.Partitions, nil) }, protocol.Unsupported},
	} {
		var p query.Part
		if err := json.Unmarshal(good, &p); err != nil {
			t.Fatal(err)
		}
		c.change(&p)
		text, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		sent, err := query.ParsePart(text)
		if err == nil {
			_, err = table.Part(t.Context(), sent)
		}
		if protocol.CodeOf(err) != c.code {
			t.Errorf("%s: got %v, want the code %v", name, err, c.code)
		}
	}
}

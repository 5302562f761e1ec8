package condition_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/engine/internal/condition"
	"tiltyard/shared/engine/internal/prefilter"
	"tiltyard/shared/engine/selection"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/datasettest"
	"tiltyard/shared/protocol"
	"tiltyard/shared/sql/plan"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/memstore"
)

// people is a table of the rows 0 to 99 of [datasettest.People].
func people(t *testing.T) *dataset.Dataset {
	t.Helper()
	at := objectstore.Location{URI: "memory://test/t.lance", Store: memstore.New(), Prefix: "t.lance"}
	made, err := dataset.NewSession(64<<20, time.Now).Table(at, 0).Create(t.Context(), dataset.Rows{
		Schema: datasettest.People, Batches: datasettest.BatchesOf(datasettest.UpTo(100)...),
	})
	if err != nil {
		t.Fatal(err)
	}
	return made.Dataset
}

// seen is the relation that a query makes of the people; an empty one makes the table itself.
func seen(t *testing.T, d *dataset.Dataset, query string) condition.Relation {
	t.Helper()
	var q *selection.Query
	if query != "" {
		var err error
		if q, err = selection.Parse(query); err != nil {
			t.Fatal(err)
		}
	}
	r, err := condition.RelationOf(t.Context(), d, q)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

const adults = "SELECT id AS number, id * 2 AS twice, name FROM people WHERE id >= 90"

func TestFilterKeepsTheRowsOfTheViewThatPass(t *testing.T) {
	d := people(t)
	cases := []struct {
		name, query, filter string
		want                []int64
	}{
		{"the table, no condition", "", "", datasettest.UpTo(100)},
		{"the table", "", "id IN (3, 5, 300)", []int64{3, 5}},
		{"by a row column", "", "_rowid < 2", []int64{0, 1}},
		{"nothing passes", "", "id IS NULL", nil},
		{"the view alone", adults, "", datasettest.UpTo(100)[90:]},
		{"by the view's name of a column", adults, "number < 92", []int64{90, 91}},
		{"by a column that the view computes", adults, "twice = 190", []int64{95}},
		{"by both, in parentheses", adults, "number = 3 OR number = 97", []int64{97}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			f, err := condition.New(t.Context(), "filter", c.filter, seen(t, d, c.query), prefilter.Policy{})
			if err != nil {
				t.Fatal(err)
			}
			if keepsAll := c.query == "" && c.filter == ""; keepsAll != (f.Where == nil) {
				t.Errorf("the filter has a condition: %v, want %v", f.Where != nil, !keepsAll)
			}
			got := datasettest.IDsOf(t, d, f.Options([]string{"id", "name", "v"}))
			if !slices.Equal(got, c.want) {
				t.Errorf("rows %v, want %v", got, c.want)
			}
		})
	}
}

func TestNewRefusesAConditionThatDoesNotFit(t *testing.T) {
	d := people(t)
	for name, c := range map[string]struct{ query, filter string }{
		"no SQL":                           {"", "id =="},
		"no such column":                   {"", "nobody = 1"},
		"no condition":                     {"", "id + 1"},
		"a source's column under its name": {adults, "id = 95"},
		"a column that the view leaves":    {adults, "v IS NULL"},
	} {
		_, err := condition.New(t.Context(), "the filter", c.filter, seen(t, d, c.query), prefilter.Policy{})
		var bad *protocol.Error
		if !errors.As(err, &bad) || !slices.Contains([]protocol.Code{protocol.InvalidInput, protocol.TableColumnNotFound}, bad.Code) {
			t.Errorf("%s: got %v, want a refusal", name, err)
		}
	}
}

func TestSeenRefusesQueriesOfMaterializedViews(t *testing.T) {
	d := people(t)
	for _, query := range []string{
		"SELECT name, count(*) AS n FROM people GROUP BY name",
		"SELECT id, x FROM people, UNNEST(v) AS x",
		"SELECT nobody FROM people",
	} {
		q, err := selection.Parse(query)
		if err != nil {
			t.Fatal(err)
		}
		_, err = condition.RelationOf(t.Context(), d, q)
		var bad *protocol.Error
		if !errors.As(err, &bad) || bad.Code != protocol.InvalidInput {
			t.Errorf("%s: got %v, want InvalidInput", query, err)
		}
	}
}

func TestColumnsOfARelationLeadToThoseOfTheTable(t *testing.T) {
	r := seen(t, people(t), adults)
	var names []string
	for _, f := range r.Columns().Fields() {
		names = append(names, f.Name)
	}
	if diff := cmp.Diff([]string{"number", "twice", "name"}, names); diff != "" {
		t.Errorf("columns (-want +got):\n%s", diff)
	}
	for name, want := range map[string]string{"number": "id", "name": "name", "_rowid": "_rowid"} {
		if got, err := r.Source(name); err != nil || got != want {
			t.Errorf("the source of %s is %q (%v), want %q", name, got, err, want)
		}
	}
	for name, want := range map[string]protocol.Code{"twice": protocol.InvalidInput, "id": protocol.TableColumnNotFound} {
		var bad *protocol.Error
		if _, err := r.Source(name); !errors.As(err, &bad) || bad.Code != want {
			t.Errorf("the source of %s: %v, want the code %v", name, err, want)
		}
	}
	for name, computed := range map[string]bool{"twice": true, "number": false, "nobody": false} {
		if got := r.Computed(name) != nil; got != computed {
			t.Errorf("%s is computed: %v, want %v", name, got, computed)
		}
	}
	if got, err := seen(t, r.Dataset, "").Source("anything"); err != nil || got != "anything" {
		t.Errorf("a column of the table itself is %q (%v), want as it is", got, err)
	}
}

// An expression over the columns of a view is bound over those of its source.
func TestBindReadsTheColumnsOfTheSource(t *testing.T) {
	r := seen(t, people(t), adults)
	bound, err := r.Bind(t.Context(), "columns", "twice + number", plan.Bind)
	if err != nil {
		t.Fatal(err)
	}
	if got := bound.Columns(); !slices.Equal(got, []string{"id"}) {
		t.Errorf("it reads %v, want id alone", got)
	}
}

func TestFilterTextNamesTheFilterOfTheView(t *testing.T) {
	d := people(t)
	view := seen(t, d, adults)
	for _, c := range []struct {
		r           condition.Relation
		asked, want string
	}{
		{seen(t, d, ""), "a = 1", "a = 1"},
		{view, "", view.View.Query.Filter},
		{view, "a = 1", "(" + view.View.Query.Filter + ") of the view AND (a = 1)"},
	} {
		if got := c.r.FilterText(c.asked); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

package engine_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/enginetest"
	"tiltyard/shared/engine/merge"
	"tiltyard/shared/engine/query"
	"tiltyard/shared/index/vector"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/queryapi"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/faultstore"
	"tiltyard/shared/storage/objectstore/memstore"
)

var pairs = arrow.NewSchema([]arrow.Field{
	{Name: "id", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
	{Name: "v", Type: arrow.BinaryTypes.String, Nullable: true},
}, nil)

// What native Lance 14 makes of the same merges, row for row.
func TestMergeAsNativeLance(t *testing.T) {
	triples := arrow.NewSchema(append(slices.Clone(pairs.Fields()), arrow.Field{Name: "w", Type: arrow.PrimitiveTypes.Float64, Nullable: true}), nil)
	upsert := merge.Spec{On: []string{"id"}, UpdateAll: true, InsertAll: true}
	cases := []struct {
		name           string
		schema         *arrow.Schema
		target, source string
		spec           merge.Spec
		want           []string
		done           engine.Written
	}{
		{
			"null keys match nothing", pairs,
			`[{"id":1,"v":"a"},{"id":2,"v":"b"},{"id":3,"v":"c"},{"id":null,"v":"n"}]`,
			`[{"id":2,"v":"B"},{"id":null,"v":"N"},{"id":9,"v":"z"}]`, upsert,
			[]string{"id=1 v=a", "id=3 v=c", "id=(null) v=n", "id=2 v=B", "id=(null) v=N", "id=9 v=z"},
			engine.Written{Version: 2, Updated: 1, Inserted: 2},
		},
		{
			"doubled new keys are all inserted", pairs, `[{"id":1,"v":"a"}]`, `[{"id":7,"v":"x"},{"id":7,"v":"y"}]`, upsert,
			[]string{"id=1 v=a", "id=7 v=x", "id=7 v=y"}, engine.Written{Version: 2, Inserted: 2},
		},
		{
			"doubled rows of the table are all updated", pairs,
			`[{"id":1,"v":"a"},{"id":1,"v":"b"},{"id":2,"v":"c"}]`, `[{"id":1,"v":"X"}]`, upsert,
			[]string{"id=2 v=c", "id=1 v=X", "id=1 v=X"}, engine.Written{Version: 2, Updated: 2},
		},
		{
			"insert only", pairs, `[{"id":1,"v":"a"}]`, `[{"id":1,"v":"X"},{"id":5,"v":"Y"},{"id":5,"v":"Z"}]`,
			merge.Spec{On: []string{"id"}, InsertAll: true},
			[]string{"id=1 v=a", "id=5 v=Y", "id=5 v=Z"}, engine.Written{Version: 2, Inserted: 2},
		},
		{
			"update only", pairs, `[{"id":1,"v":"a"},{"id":2,"v":"b"}]`, `[{"id":1,"v":"X"},{"id":2,"v":"Y"},{"id":5,"v":"Z"}]`,
			merge.Spec{On: []string{"id"}, UpdateAll: true},
			[]string{"id=1 v=X", "id=2 v=Y"}, engine.Written{Version: 2, Updated: 2},
		},
		{
			"nothing to do is a version all the same", pairs, `[{"id":1,"v":"a"}]`, `[{"id":1,"v":"X"}]`,
			merge.Spec{On: []string{"id"}, InsertAll: true}, []string{"id=1 v=a"}, engine.Written{Version: 2},
		},
		{
			"rows that the source lacks are deleted", pairs, `[{"id":1,"v":"a"},{"id":2,"v":"b"},{"id":3,"v":"c"}]`, `[{"id":1,"v":"1"},{"id":8,"v":"8"}]`,
			merge.Spec{On: []string{"id"}, UpdateAll: true, InsertAll: true, BySource: true},
			[]string{"id=1 v=1", "id=8 v=8"}, engine.Written{Version: 2, Updated: 1, Inserted: 1, Deleted: 2},
		},
		{
			"two keys", triples, `[{"id":1,"v":"a","w":1},{"id":1,"v":"b","w":2}]`, `[{"id":1,"v":"b","w":20},{"id":2,"v":"b","w":30}]`,
			merge.Spec{On: []string{"id", "v"}, UpdateAll: true, InsertAll: true},
			[]string{"id=1 v=a w=1", "id=1 v=b w=20", "id=2 v=b w=30"}, engine.Written{Version: 2, Updated: 1, Inserted: 1},
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			table := enginetest.Create(t, c.schema, c.target)
			done, err := table.Merge(t.Context(), enginetest.Rows(t, c.schema, c.source), c.spec)
			if err != nil {
				t.Fatal(err)
			}
			done.Transaction = "" // random
			c.done.Attempts = 1
			if diff := cmp.Diff(c.done, done); diff != "" {
				t.Errorf("counts (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.want, enginetest.Show(t, table, &query.Query{})); diff != "" {
				t.Errorf("rows (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMergeOfSomeColumnsKeepsTheOthers(t *testing.T) {
	triples := arrow.NewSchema(append(slices.Clone(pairs.Fields()), arrow.Field{Name: "w", Type: arrow.PrimitiveTypes.Float64, Nullable: true}), nil)
	table := enginetest.Create(t, triples, `[{"id":1,"v":"a","w":1},{"id":2,"v":"c","w":2}]`)
	_, err := table.Merge(t.Context(), enginetest.Rows(t, pairs, `[{"id":1,"v":"X"},{"id":5,"v":"Y"}]`), merge.Spec{On: []string{"id"}, UpdateAll: true, InsertAll: true})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"id=2 v=c w=2", "id=1 v=X w=1", "id=5 v=Y w=(null)"}
	if diff := cmp.Diff(want, enginetest.Show(t, table, &query.Query{})); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

func TestMergeRefuses(t *testing.T) {
	ctx := t.Context()
	table := enginetest.Create(t, pairs, `[{"id":1,"v":"a"}]`)
	upsert := merge.Spec{On: []string{"id"}, UpdateAll: true, InsertAll: true}
	_, err := table.Merge(ctx, enginetest.Rows(t, pairs, `[{"id":1,"v":"X"},{"id":1,"v":"Y"}]`), upsert)
	enginetest.WantCode(t, "two rows for one", err, protocol.InvalidInput)
	_, err = table.Merge(ctx, enginetest.Rows(t, pairs, `[]`), merge.Spec{On: []string{"id"}})
	enginetest.WantCode(t, "no clause", err, protocol.InvalidInput)
	_, err = table.Merge(ctx, enginetest.Rows(t, pairs, `[]`), merge.Spec{On: []string{"nope"}, UpdateAll: true})
	enginetest.WantCode(t, "unknown key", err, protocol.TableColumnNotFound)
	other := arrow.NewSchema([]arrow.Field{{Name: "id", Type: arrow.BinaryTypes.String}}, nil)
	_, err = table.Merge(ctx, enginetest.Rows(t, other, `[{"id":"1"}]`), upsert)
	enginetest.WantCode(t, "key of another type", err, protocol.TableSchemaValidationError)
	small := enginetest.Table(memstore.New(), engine.Limits{MergeBytes: 4})
	if _, err := small.Create(ctx, enginetest.Rows(t, pairs, `[{"id":1,"v":"a"}]`)); err != nil {
		t.Fatal(err)
	}
	_, err = small.Merge(ctx, enginetest.Rows(t, pairs, `[{"id":1,"v":"long enough"}]`), upsert)
	var problem *protocol.Error
	if !errors.As(err, &problem) || !problem.TooLarge {
		t.Errorf("source above the limit: %v, want too large", err)
	}
	if d, err := table.Data().Latest(ctx); err != nil || d.Version() != 1 {
		t.Errorf("after refused merges the version is %d, %v; want 1", d.Version(), err)
	}
}

func TestConcurrentMergesOfOneKeyInsertItOnce(t *testing.T) {
	ctx := t.Context()
	store := memstore.New()
	if _, err := enginetest.Table(store, engine.Limits{}).Create(ctx, enginetest.Rows(t, pairs, `[{"id":0,"v":"a"}]`)); err != nil {
		t.Fatal(err)
	}
	errs := make(chan error, 8)
	for i := range 8 {
		go func() {
			table := enginetest.Table(store, engine.Limits{}) // a process of its own
			_, err := table.Merge(ctx, enginetest.Rows(t, pairs, fmt.Sprintf(`[{"id":7,"v":"%d"}]`, i)), merge.Spec{On: []string{"id"}, UpdateAll: true, InsertAll: true})
			errs <- err
		}()
	}
	for range 8 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if got := enginetest.Show(t, enginetest.Table(store, engine.Limits{}), &query.Query{Filter: "id = 7"}); len(got) != 1 {
		t.Errorf("after eight merges of one key there are %q, want one row", got)
	}
}

// An update changes the rows for which the predicate was true when it was evaluated.
func TestUpdateLooksAtRowsOnce(t *testing.T) {
	ctx, rows := t.Context(), []string{}
	for id := range 100 {
		rows = append(rows, fmt.Sprintf(`{"id":%d,"v":"a"}`, id))
	}
	table := enginetest.Create(t, pairs, "["+strings.Join(rows, ",")+"]")
	total := int64(0)
	for range 5 {
		done, err := table.Update(ctx, []engine.Assignment{{"v", "v || 'b'"}}, "random() < 0.5")
		if err != nil {
			t.Fatal(err)
		}
		total += done.Updated
	}
	marks := 0
	for _, row := range enginetest.Show(t, table, &query.Query{}) {
		marks += strings.Count(row, "b")
	}
	if marks != int(total) || total == 0 || total == 500 {
		t.Errorf("%d rows were said to be updated, %d were; want the same, and some", total, marks)
	}
}

func TestQueryComputesColumns(t *testing.T) {
	point := arrow.StructOf(arrow.Field{Name: "x", Type: arrow.PrimitiveTypes.Int32, Nullable: true})
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "p", Type: point, Nullable: true},
	}, nil)
	table := enginetest.Create(t, schema, `[{"id":1,"p":{"x":10}},{"id":2,"p":null},{"id":3,"p":{"x":30}}]`)
	got := enginetest.Show(t, table, &query.Query{
		Columns:   []query.Column{{Name: "twice", Expression: "id * 2"}, {Name: "p.x"}, {Name: "_rowoffset"}},
		WithRowID: true, Filter: "p.x > 5",
	})
	want := []string{"twice=2 p.x=10 _rowoffset=0 _rowid=0", "twice=6 p.x=30 _rowoffset=2 _rowid=2"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	for name, q := range map[string]*query.Query{
		"unknown column":       {Columns: []query.Column{{Name: "nope"}}},
		"unknown member":       {Columns: []query.Column{{Name: "p.nope"}}},
		"unknown in a formula": {Columns: []query.Column{{Name: "a", Expression: "nope + 1"}}},
	} {
		_, err := table.Query(t.Context(), engine.AsOf{}, q)
		enginetest.WantCode(t, name, err, protocol.TableColumnNotFound)
	}
	for name, q := range map[string]*query.Query{
		"unknown in filter":       {Filter: "nope > 1"},
		"malformed filter":        {Filter: "id >"},
		"filter that is a number": {Filter: "id + 1"},
		"search without vectors":  {Nearest: &query.Nearest{Vectors: [][]float64{{1}}}},
		"text without a column":   {Text: &queryapi.FullTextQuery{Text: "fox"}},
	} {
		_, err := table.Query(t.Context(), engine.AsOf{}, q)
		enginetest.WantCode(t, name, err, protocol.InvalidInput)
	}
}

func TestSearchSkipsNullsAndChecksDimensions(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "vector", Type: arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Float64), Nullable: true},
		{Name: "half", Type: arrow.FixedSizeListOf(2, arrow.FixedWidthTypes.Float16), Nullable: true},
		{Name: "bits", Type: arrow.FixedSizeListOf(1, arrow.PrimitiveTypes.Uint8), Nullable: true},
	}, nil)
	table := enginetest.Create(t, schema, `[
		{"id":1,"vector":[1,0],"half":[1,0],"bits":[255]},
		{"id":2,"vector":null,"half":null,"bits":null},
		{"id":3,"vector":[0,2],"half":[0,2],"bits":[15]},
		{"id":4,"vector":[null,0],"half":[0,0],"bits":[0]}]`)
	ids := func(near query.Nearest, vector ...float64) []string {
		near.Vectors = [][]float64{vector}
		return enginetest.Show(t, table, &query.Query{Nearest: &near, Columns: []query.Column{{Name: "id"}}, Prefilter: true})
	}
	cases := []struct {
		name string
		got  []string
		want []string
	}{
		{"float64, l2", ids(query.Nearest{}, 1, 0), []string{"id=1 _distance=0", "id=3 _distance=5"}},
		{"float64, cosine", ids(query.Nearest{Metric: new(vector.Cosine)}, 2, 0), []string{"id=1 _distance=0", "id=3 _distance=1"}},
		{"float64, dot", ids(query.Nearest{Metric: new(vector.Dot)}, 0, 1), []string{"id=3 _distance=-1", "id=1 _distance=1"}},
		{"float16", ids(query.Nearest{Column: "half"}, 0, 2), []string{"id=3 _distance=0", "id=4 _distance=4", "id=1 _distance=5"}},
		{"bytes", ids(query.Nearest{Column: "bits"}, 15), []string{"id=3 _distance=0", "id=1 _distance=4", "id=4 _distance=4"}},
	}
	for _, c := range cases {
		if diff := cmp.Diff(c.want, c.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
	_, err := table.Query(t.Context(), engine.AsOf{}, &query.Query{Nearest: &query.Nearest{Vectors: [][]float64{{1, 2, 3}}}})
	enginetest.WantCode(t, "wrong dimension", err, protocol.InvalidInput)
	_, err = table.Query(t.Context(), engine.AsOf{}, &query.Query{Nearest: &query.Nearest{Column: "bits", Metric: new(vector.L2), Vectors: [][]float64{{1}}}})
	enginetest.WantCode(t, "l2 of bytes", err, protocol.InvalidInput)
	_, err = table.Query(t.Context(), engine.AsOf{}, &query.Query{Nearest: &query.Nearest{Column: "id", Vectors: [][]float64{{1}}}})
	enginetest.WantCode(t, "search of a column of numbers", err, protocol.InvalidInput)
}

func TestTopKIsBoundedUnlessTheTableIs(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "vector", Type: arrow.FixedSizeListOf(1, arrow.PrimitiveTypes.Float32), Nullable: true}}, nil)
	table := enginetest.Table(memstore.New(), engine.Limits{TopK: 2})
	if _, err := table.Create(t.Context(), enginetest.Rows(t, schema, `[{"vector":[1]},{"vector":[2]},{"vector":[3]}]`)); err != nil {
		t.Fatal(err)
	}
	k := int64(math.MaxInt64)
	q := &query.Query{Limit: &k, Offset: 1, Nearest: &query.Nearest{Vectors: [][]float64{{0}}}}
	_, err := table.Query(t.Context(), engine.AsOf{}, q)
	enginetest.WantCode(t, "k above the limit in a larger table", err, protocol.InvalidInput)
	table.Engine().Planner().TopK = 3
	if got := enginetest.Show(t, table, q); len(got) != 2 {
		t.Errorf("all but the first row are %q, want two", got)
	}
}

// A commit that was sent and has not arrived may still arrive, so its caller must read the table
// again.
func TestCommitThatIsNotThereIsUnknown(t *testing.T) {
	inner := memstore.New()
	if _, err := enginetest.Table(inner, engine.Limits{}).Create(t.Context(), enginetest.Rows(t, pairs, `[{"id":1,"v":"a"}]`)); err != nil {
		t.Fatal(err)
	}
	faulty := faultstore.New(inner, func(call faultstore.Call) faultstore.Fault {
		if call.Kind == faultstore.PutIfAbsent {
			return faultstore.Fault{Err: objectstore.ErrUnknownOutcome}
		}
		return faultstore.Fault{}
	})
	_, err := enginetest.Table(faulty, engine.Limits{}).Insert(t.Context(), enginetest.Rows(t, pairs, `[{"id":2,"v":"b"}]`))
	enginetest.WantCode(t, "insert whose commit was lost on its way", err, protocol.ServiceUnavailable)
}

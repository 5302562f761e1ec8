package simulation_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/selection"
	"tiltyard/shared/engine/view"
	"tiltyard/shared/engine/view/materialize"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/storage/objectstore"
)

// views are one materialized view of one table, both of which others write to, while jobs refresh it and
// compact both. The witness compares the rows of each version of the view with those that the query gives
// of the version of its source that it shows. The source may be dropped and made again.
var views = domain{
	name: "views", setup: setupViews, draw: drawViews, finale: finishViews, works: true,
	look: func(o *witness) func(context.Context, *engine.Table, *dataset.Dataset) string { return o.lookAtViews },
}

const (
	sourceTable = "/v1/table/source/"
	viewTable   = "/v1/table/shown/"
	viewPath    = "/v1/materialized_view/shown/"
)

// viewQueries are the queries of views, of which each history has one, and the rows that a row of the
// source gives.
var viewQueries = []struct {
	text  string
	limit int
	of    func(id, n int64, pair []int64) []string
}{
	{"SELECT id, n + 1 AS m FROM source WHERE n > 2", 0, func(id, n int64, _ []int64) []string { return []string{fmt.Sprint(id, " ", n+1)} }},
	{"SELECT id, item FROM source, UNNEST(pair) AS item WHERE n > 2", 0, func(id, _ int64, pair []int64) []string {
		var rows []string
		for _, item := range pair {
			rows = append(rows, fmt.Sprint(id, " ", item))
		}
		return rows
	}},
	{"SELECT id, n FROM source WHERE n > 2 LIMIT 7", 7, func(id, n int64, _ []int64) []string { return []string{fmt.Sprint(id, " ", n)} }},
}

func setupViews(c *client) {
	c.makeSource()
	c.do(c.beginning("views", "create the view", post(viewPath+"create", map[string]any{"query": viewQueries[c.world.seed%3].text})))
	c.workAll()
}

// noTable and tableExists are codes of refusals, as are noVersion and invalid.
const noTable, tableExists, noVersion, invalid = 4, 5, 11, 13

// makeSource makes the source with stable row ids, as a native writer does.
func (c *client) makeSource() {
	var place string
	declare := anything("views", "declare the source", post(sourceTable+"declare", map[string]any{}), tableExists)
	declare.learn = func(o outcome) {
		var told struct{ Location string }
		if o.ok() {
			o.decode(&told)
			place = strings.TrimPrefix(told.Location, "s3://bucket/")
		}
	}
	c.do(declare)
	if place != "" {
		_, err := c.world.writable(place).CreateAs(background, sourceRows(100*c.number, 12), dataset.CreateOptions{StableRowIDs: true})
		if err != nil {
			c.world.note("create the source: %v", err)
		}
	}
}

// remakeSource puts another source in the place of the one that there is.
func (c *client) remakeSource() {
	c.do(anything("views", "drop the source", post(sourceTable+"drop", map[string]any{}), noTable))
	c.makeSource()
}

func (c *client) insertSource() *op {
	rows := encode(sourceBatch(1000*c.value(), 1+c.rng.IntN(6)))
	return anything("views", "insert rows", request{path: sourceTable + "insert", body: rows}, noTable)
}

// writable returns a table for a writer that is not disturbed.
func (w *world) writable(place string) *engine.Table {
	store := &direct{func(_ context.Context, s *sent) verdict { return verdict{answer: w.carryOut(s)} }}
	rows := engine.New(dataset.NewSession(1<<20, w.nowClock), engine.Limits{})
	return rows.Table([]string{place}, objectstore.Location{URI: "s3://bucket/" + place, Store: store, Prefix: place})
}

var sourceSchema = arrow.NewSchema([]arrow.Field{
	{Name: "id", Type: arrow.PrimitiveTypes.Int64},
	{Name: "n", Type: arrow.PrimitiveTypes.Int64},
	{Name: "pair", Type: arrow.ListOf(arrow.PrimitiveTypes.Int64), Nullable: true},
}, nil)

// sourceRows returns rows with ids from a number on.
func sourceRows(from, count int) dataset.Rows {
	batch := sourceBatch(from, count)
	return dataset.Rows{Schema: sourceSchema, Batches: func(yield func(arrow.RecordBatch, error) bool) { yield(batch, nil) }}
}

func sourceBatch(from, count int) arrow.RecordBatch {
	b := array.NewRecordBuilder(memory.DefaultAllocator, sourceSchema)
	for id := from; id < from+count; id++ {
		b.Field(0).(*array.Int64Builder).Append(int64(id))
		b.Field(1).(*array.Int64Builder).Append(int64(id % 9))
		pair := b.Field(2).(*array.ListBuilder)
		pair.Append(true)
		for i := range id % 3 {
			pair.ValueBuilder().(*array.Int64Builder).Append(int64(100*id + i))
		}
	}
	return b.NewRecordBatch()
}

func drawViews(c *client) *op {
	some := func(most int) string { return fmt.Sprintf("id %% %d = %d", most, c.rng.IntN(most)) }
	switch n := c.rng.IntN(26); n {
	case 0, 1, 2:
		return c.insertSource()
	case 3:
		return anything("views", "delete rows", post(sourceTable+"delete", map[string]any{"predicate": some(6)}), noTable)
	case 4, 5:
		return anything("views", "update rows", post(sourceTable+"update", map[string]any{
			"predicate": some(5), "updates": [][2]string{{"n", fmt.Sprint("(n + ", 1+c.rng.IntN(5), ") % 9")}},
		}), noTable)
	case 6:
		return anything("views", "restore the source", post(sourceTable+"restore", map[string]any{"version": 1 + c.rng.IntN(4)}), noTable, noVersion)
	case 7:
		return c.maintainViews(sourceTable)
	case 8:
		return c.maintainViews(viewTable)
	case 9:
		return anything("views", "delete old versions of the source", post(sourceTable+"version/delete", map[string]any{
			"ranges": []map[string]int{{"start_version": 1, "end_version": 2 + c.rng.IntN(5)}},
		}), noTable)
	case 10:
		return anything("views", "delete rows of the view", post(viewTable+"delete", map[string]any{"predicate": some(4)}))
	case 11:
		if c.rng.IntN(4) == 0 {
			c.remakeSource()
		}
	case 12, 13, 14:
		return c.refreshView(map[string]any{})
	case 15:
		return c.refreshView(map[string]any{"full": true})
	case 16:
		return c.refreshView(map[string]any{"source_version": 1 + c.rng.IntN(6)})
	}
	if o := c.drawWork("views"); o != nil {
		return o
	}
	return c.refreshView(map[string]any{})
}

func (c *client) refreshView(body map[string]any) *op {
	return c.beginning("views", fmt.Sprint("refresh the view ", body), post(viewPath+"refresh", body), noTable, noVersion, invalid)
}

func (c *client) maintainViews(table string) *op {
	return c.beginning("views", "maintain "+table, post(table+"maintain", map[string]any{"compact": true, "cleanup": c.rng.IntN(2) == 0}), noTable)
}

// finishViews lets all jobs end. Then a refresh makes the view show the newest version of its source.
func finishViews(c *client) {
	fails := func(failure string) bool {
		return strings.Contains(failure, "the source of the view") || strings.Contains(failure, "has no such version") ||
			strings.Contains(failure, "has no data") || strings.Contains(failure, "does not exist") ||
			strings.Contains(failure, "there is no such table")
	}
	c.finishWork("views", fails)
	if !c.do(c.insertSource()).ok() { // there is none, or it is only declared
		c.remakeSource()
	}
	c.do(c.refreshView(map[string]any{}))
	c.finishWork("views", fails)
	o := c.world.witness
	mark, err := materialize.Shown(background, o.at(c.placeOf("shown")))
	if err != nil || mark == nil || (sourceMoment{mark.Source, mark.SourceTS}) != o.source {
		o.saw("in the end, the view shows %v, want %v; %v", mark, o.source, err)
	}
}

// A moment of a source is a version of one of the tables of its name.
type sourceMoment struct{ version, nanos uint64 }

// lookAtViews computes what the query gives of a version of the source, or compares a version of the
// view with that.
func (o *witness) lookAtViews(ctx context.Context, t *engine.Table, d *dataset.Dataset) string {
	q := viewQueries[o.world.seed%3]
	if d.Schema().Field(selection.SourceRowID) == nil {
		rows, err := queryFromScratch(ctx, d, q.of)
		if errors.Is(err, objectstore.ErrNotExist) {
			return "" // it was dropped while somebody wrote to it, and no view shows that
		}
		if err != nil {
			return err.Error()
		}
		o.source = sourceMoment{d.Version(), uint64(d.Manifest().Time().UnixNano())}
		o.sources[o.source] = rows
		return ""
	}
	var marks []view.Watermark
	txn, err := d.Transaction(ctx)
	if err != nil {
		return err.Error()
	}
	if mark, ok := view.WatermarkOf(txn.Properties); ok {
		marks = append(marks, mark)
		o.counts["mode "+txn.Properties["tiltyard.refresh"]]++
	}
	if mark, ok := view.StampOf(d.Schema().Metadata, d.Version()); ok {
		marks = append(marks, mark)
		o.counts["stamps"]++
	}
	shown, err := materialize.Shown(ctx, t)
	if err != nil {
		return err.Error()
	}
	if shown != nil {
		marks = append(marks, *shown)
	}
	if len(marks) == 0 {
		return ""
	}
	rows, err := viewRows(ctx, d)
	if err != nil {
		return err.Error()
	}
	for _, mark := range marks {
		want, known := o.sources[sourceMoment{mark.Source, mark.SourceTS}]
		switch {
		case !known:
			return fmt.Sprintf("the view shows version %d of its source of %v, which there was not", mark.Source, time.Unix(0, int64(mark.SourceTS)))
		case q.limit > 0:
			left := slices.DeleteFunc(slices.Clone(rows), func(row string) bool { return slices.Contains(want, row) })
			if len(left) > 0 || len(rows) != min(q.limit, len(want)) || len(slices.Compact(slices.Clone(rows))) != len(rows) {
				return fmt.Sprintf("the view has the rows %q, want %d of %q, version %d of the source", rows, min(q.limit, len(want)), want, mark.Source)
			}
		case !slices.Equal(rows, want):
			return fmt.Sprintf("the view has the rows %q, want %q, those of version %d of the source", rows, want, mark.Source)
		}
	}
	return ""
}

// queryFromScratch returns the rows that a query gives, in order.
func queryFromScratch(ctx context.Context, d *dataset.Dataset, of func(id, n int64, pair []int64) []string) ([]string, error) {
	_, batches, err := d.Scan(ctx, snapshot.ScanOptions{Columns: []string{"id", "n", "pair"}})
	if err != nil {
		return nil, err
	}
	var rows []string
	for batch, err := range batches {
		if err != nil {
			return nil, err
		}
		ids, numbers, pairs := batch.Column(0).(*array.Int64), batch.Column(1).(*array.Int64), batch.Column(2).(*array.List)
		for i := range int(batch.NumRows()) {
			if numbers.Value(i) > 2 {
				from, to := pairs.ValueOffsets(i)
				rows = append(rows, of(ids.Value(i), numbers.Value(i), pairs.ListValues().(*array.Int64).Int64Values()[from:to])...)
			}
		}
	}
	slices.Sort(rows)
	return rows, nil
}

// viewRows returns the rows of a view, in order.
func viewRows(ctx context.Context, d *dataset.Dataset) ([]string, error) {
	_, batches, err := d.Scan(ctx, snapshot.ScanOptions{})
	if err != nil {
		return nil, err
	}
	var rows []string
	for batch, err := range batches {
		if err != nil {
			return nil, err
		}
		for i := range int(batch.NumRows()) {
			rows = append(rows, batch.Column(0).ValueStr(i)+" "+batch.Column(1).ValueStr(i))
		}
	}
	slices.Sort(rows)
	return rows, nil
}

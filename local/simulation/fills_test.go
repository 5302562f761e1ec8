package simulation_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/engine"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/manifest"
	"tiltyard/shared/protocol/tableapi"
)

// fills are computed columns of one table, which jobs fill in one step or in rounds of parts while rows come,
// change and go and the table is compacted. An expression computes twice, twice the number of a row, and
// versions of a function compute the columns made1 and so on (functions_test.go). In each version the witness
// finds that each value was computed from a number that the row has had, and in the end, when all columns
// were filled once more, from the one that it has.
var fills = domain{
	name: "fills", setup: setupFills, draw: drawFills, finale: finishFills, works: true, upkeep: cleanFilled,
	look: func(o *witness) func(context.Context, *engine.Table, *dataset.Dataset) string { return o.lookAtFills },
}

const filledTable = "/v1/table/filled/"

// backfillKind is that of the jobs that fill a column.
const backfillKind = "refresh_column"

// filledSchema is that of the table from the beginning.
var filledSchema = arrow.NewSchema([]arrow.Field{
	{Name: "id", Type: arrow.PrimitiveTypes.Int64},
	{Name: "n", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
}, nil)

// mostNumber bounds the numbers of rows.
const mostNumber = 100

// filledRows encodes rows with ids from a number on.
func filledRows(from, count int) []byte {
	b := array.NewRecordBuilder(memory.DefaultAllocator, filledSchema)
	for id := from; id < from+count; id++ {
		b.Field(0).(*array.Int64Builder).Append(int64(id))
		b.Field(1).(*array.Int64Builder).Append(int64(id * 7 % mostNumber))
	}
	return encode(b.NewRecordBatch())
}

func setupFills(c *client) {
	c.do(anything("fills", "create a table", request{path: filledTable + "create", body: filledRows(0, 13)}))
	c.do(anything("fills", "insert rows", request{path: filledTable + "insert", body: filledRows(20, 5)}))
	c.do(anything("fills", "declare twice", post(filledTable+"add_columns", map[string]any{
		"new_columns": []map[string]string{{"name": "twice", "computed": "n * 2"}},
	})))
	c.do(c.writeSecret("create"))
	c.do(c.createFunction(1))
	c.workAll()
	c.useFunction(1)
}

func drawFills(c *client) *op {
	some := func(most int) string { return fmt.Sprintf("id %% %d = %d", most, c.rng.IntN(most)) }
	switch n := c.rng.IntN(32); n {
	case 0, 1:
		return anything("fills", "insert rows", request{path: filledTable + "insert", body: filledRows(1000*c.value(), 1+c.rng.IntN(8))}, invalid, badSchema)
	case 2, 3:
		return anything("fills", "update rows", post(filledTable+"update", map[string]any{
			"predicate": some(4), "updates": [][2]string{{"n", fmt.Sprintf("(n + %d) %% %d", 1+c.rng.IntN(40), mostNumber)}},
		}))
	case 4:
		return anything("fills", "delete rows", post(filledTable+"delete", map[string]any{"predicate": some(7)}))
	case 5:
		return c.maintain("fills", filledTable, map[string]any{"compact": true, "cleanup": c.rng.IntN(2) == 0})
	case 6, 7:
		return c.fill("twice")
	case 8, 9, 10:
		return c.fill(fmt.Sprint("made", 1+c.rng.IntN(functionCodes)))
	case 11:
		return c.createFunction(1 + c.rng.IntN(functionCodes))
	case 12:
		return dropFunction()
	case 13:
		return listFunctions()
	case 14:
		c.useFunction(1 + c.rng.IntN(functionCodes))
	case 15:
		return anything("fills", "drop a column", post(filledTable+"drop_columns", map[string]any{
			"columns": []string{fmt.Sprint("made", 1+c.rng.IntN(functionCodes))},
		}), invalid, noColumn)
	case 16, 17:
		return c.writeSecret("alter")
	case 18:
		return c.writeSecret("create")
	case 19:
		return c.dropSecret()
	case 20:
		return describeSecret()
	}
	if o := c.drawWork("fills"); o != nil {
		return o
	}
	return c.fill("twice")
}

// fillConditions are those of fills that compute some rows.
var fillConditions = map[string]func(n int64) bool{
	"n >= 50":   func(n int64) bool { return n >= 50 },
	"n % 3 = 1": func(n int64) bool { return n%3 == 1 },
	"n < 20":    func(n int64) bool { return n < 20 },
}

// fill begins a job that fills a column, sometimes some rows of it.
func (c *client) fill(column string) *op {
	body := map[string]any{"column": column}
	if c.rng.IntN(3) == 0 {
		all := slices.Sorted(maps.Keys(fillConditions))
		body["where"] = all[c.rng.IntN(len(all))]
	}
	if c.rng.IntN(2) == 0 {
		body["commit_granularity"] = 1 + c.rng.IntN(2)
	}
	if c.rng.IntN(4) == 0 {
		body["num_frags"] = 1 + c.rng.IntN(2)
	}
	return c.beginning("fills", fmt.Sprint("fill ", body), post(filledTable+"backfill_column", body), invalid, noColumn, badSchema)
}

// fillFails says whether a job may have failed so: its column, function or secret may be gone.
func fillFails(failure string) bool {
	return slices.ContainsFunc([]string{
		"column", "does not exist", "another one", "another function", "has no version", "disabled", "given up",
	}, func(why string) bool { return strings.Contains(failure, why) })
}

// finishFills lets all jobs end, and then fills all columns. Each row has its values then, and the failures
// of functions are told.
func finishFills(c *client) {
	c.finishWork("fills", fillFails)
	c.do(c.writeSecret("create"))
	const last = functionCodes + 1
	c.do(c.createFunction(last))
	c.workAll()
	c.tellFunctions()
	if !c.useFunction(last) {
		c.world.witness.saw("in the end, a function cannot be used")
	}
	o := c.world.witness
	jobs := map[string]string{}
	for _, column := range append(o.columns(), "twice") {
		before := len(c.world.queue.begun)
		text := "fill all rows of " + column
		if c.do(c.beginning("fills", text, post(filledTable+"backfill_column", map[string]any{"column": column}), invalid)).ok() && len(c.world.queue.begun) > before {
			jobs[column] = c.world.queue.begun[before]
		}
	}
	c.finishWork("fills", fillFails)
	for _, column := range []string{"twice", fmt.Sprint("made", last)} {
		if jobs[column] == "" {
			o.saw("in the end, no job fills %s", column)
		}
	}
	for column, id := range jobs {
		_, result := o.job(id)
		if result == "" {
			if column == "twice" || column == fmt.Sprint("made", last) {
				o.saw("in the end, %s is not filled", column)
			}
			continue // its function was dropped
		}
		failed := o.lookAtFilled(column)
		var told struct{ Records []tableapi.RowError }
		listed := c.do(anything("fills", "list failures", post(filledTable+"errors", map[string]any{"job_id": id, "column": column})))
		if listed.ok() {
			listed.decode(&told)
		}
		var counted engine.Backfilled
		if err := json.Unmarshal([]byte(result), &counted); err != nil || len(told.Records) != failed || counted.Failed != int64(failed) {
			o.saw("in the end, %d rows of %s failed; %d are told, and the result is %s", failed, column, len(told.Records), result)
		}
		o.counts["filled at last"]++
	}
	c.do(c.writeSecret("alter")) // what is given to functions from now on is the new value
	for range 2 {
		c.do(c.beginning("fills", "fill some rows", post(filledTable+"backfill_column", map[string]any{"column": fmt.Sprint("made", last), "where": "n < 20"})))
		c.finishWork("fills", fillFails)
	}
	c.lookForSecrets()
}

// columns returns the columns that functions compute.
func (o *witness) columns() (names []string) {
	err := engine.Do(background, o.at(o.placeOf("filled")), nil, func(_ context.Context, d *dataset.Dataset) error {
		for _, f := range d.Schema().Fields {
			if strings.HasPrefix(f.Name, "made") {
				names = append(names, f.Name)
			}
		}
		return nil
	})
	if err != nil {
		o.saw("in the end: %v", err)
	}
	return names
}

func (o *witness) placeOf(name string) string {
	return (&client{history: &history{world: o.world}}).placeOf(name)
}

// valueOf returns the value of a column of a row with a number, and whether it has one.
func valueOf(column string, n int64) (int64, bool) {
	if column == "twice" {
		return 2 * n, true
	}
	var code int64
	_, _ = fmt.Sscanf(column, "made%d", &code)
	return functionOf(code, n)
}

// lookAtFilled compares the values of a column that was filled with those that it has to have, and returns how
// many rows have none.
func (o *witness) lookAtFilled(column string) (failed int) {
	err := engine.Do(background, o.at(o.placeOf("filled")), nil, func(ctx context.Context, d *dataset.Dataset) error {
		rows, err := scanFilled(ctx, d)
		for _, row := range rows {
			got, has := row.values[column]
			want, should := valueOf(column, row.n)
			if !should {
				failed++
			}
			if has != should || has && got != want {
				o.saw("in the end, row %d with n = %d has %d in %s (%v), want %d (%v)", row.id, row.n, got, column, has, want, should)
			}
		}
		return err
	})
	if err != nil {
		o.saw("in the end: %v", err)
	}
	return failed
}

// A filledRow is a row with those values that it has.
type filledRow struct {
	id, n  int64
	values map[string]int64
}

func scanFilled(ctx context.Context, d *dataset.Dataset) ([]filledRow, error) {
	_, batches, err := d.Scan(ctx, snapshot.ScanOptions{})
	if err != nil {
		return nil, err
	}
	var rows []filledRow
	for batch, err := range batches {
		if err != nil {
			return nil, err
		}
		for i := range int(batch.NumRows()) {
			row := filledRow{values: map[string]int64{}}
			for at, f := range batch.Schema().Fields() {
				switch column := batch.Column(at).(*array.Int64); {
				case f.Name == "id":
					row.id = column.Value(i)
				case f.Name == "n":
					row.n = column.Value(i)
				case column.IsValid(i):
					row.values[f.Name] = column.Value(i)
				}
			}
			rows = append(rows, row)
		}
	}
	slices.SortFunc(rows, func(a, b filledRow) int { return int(a.id - b.id) })
	return rows, nil
}

// lookAtFills compares the values of each row with the numbers that it has had. A fill changes nothing else.
func (o *witness) lookAtFills(ctx context.Context, _ *engine.Table, d *dataset.Dataset) string {
	rows, err := scanFilled(ctx, d)
	if err != nil {
		return err.Error()
	}
	var present strings.Builder
	for i, row := range rows {
		if i > 0 && rows[i-1].id == row.id {
			return fmt.Sprintf("row %d is there twice", row.id)
		}
		fmt.Fprintf(&present, "%d:%d ", row.id, row.n)
		if o.numbers[row.id] == nil {
			o.numbers[row.id] = map[int64]bool{}
		}
		o.numbers[row.id][row.n] = true
		for column, got := range row.values {
			known := false
			for n := range o.numbers[row.id] {
				want, should := valueOf(column, n)
				known = known || should && got == want
			}
			if !known {
				return fmt.Sprintf("row %d with n = %d has %d in %s, which none of its numbers gives: %v", row.id, row.n, got, column, o.numbers[row.id])
			}
		}
	}
	txn, err := d.Transaction(ctx)
	if err != nil {
		return err.Error()
	}
	kind := strings.TrimPrefix(fmt.Sprintf("%T", txn.Operation), "*pb.")
	if o.counts[kind]++; kind == "DataReplacement" && present.String() != o.present {
		return fmt.Sprintf("a fill has changed the rows from %s to %s", o.present, present.String())
	}
	o.present = present.String()
	return ""
}

// cleanFilled maintains the table and the catalog. Then there is no file of the table that no version needs,
// and no artifact of no function.
func cleanFilled(c *client) {
	c.do(c.maintain("fills", filledTable, map[string]any{"compact": true, "cleanup": true, "older_than": "1h"}))
	c.workAll()
	c.do(anything("fills", "sweep", post(sweepPath, nil)))
	o, place := c.world.witness, c.placeOf("filled")
	named := map[string]bool{}
	for _, key := range c.world.bucket.keys {
		if strings.HasPrefix(key, place+"/_versions/") && strings.HasSuffix(key, ".manifest") {
			m, err := manifest.Parse(c.world.bucket.objects[key].data)
			if err != nil {
				o.saw("manifest %s: %v", key, err)
				return
			}
			for _, f := range m.Fragments {
				for _, file := range f.Files {
					named[file.Path] = true
				}
			}
		}
	}
	for _, key := range c.world.bucket.keys {
		if strings.HasPrefix(key, place+"/data/") && !named[path.Base(key)] {
			o.saw("%s is left behind", key)
		}
	}
	o.lookAtArtifacts()
}

func TestColumnsAreFilledInEachVersion(t *testing.T) {
	playDomain(t, fills, 80, "DataReplacement", "filled at last", "refresh_column Succeeded", "refresh_column ended in stage commit",
		"create_function Succeeded", "secrets read", "functions told")
}

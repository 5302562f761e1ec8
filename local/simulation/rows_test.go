package simulation_test

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// rows are what one table holds. The facts are "newest", the number of the newest version,
// and "<number>", the rows of each: their ids and values, in order of both. A version that
// was deleted is also "gone <number>".
var rows = domain{name: "rows", setup: setupRows, draw: drawRows, finale: finishRows}

const rowsTable = "/v1/table/rows/"

// firstRows are in the table from the start.
const firstRows = 4

func setupRows(c *client) {
	created := "rows"
	if c.rng.IntN(3) == 0 { // commits go through the catalog
		c.do(&op{
			domain: "rows", text: "declare a table with managed versions", request: post(rowsTable+"declare", map[string]any{
				"properties": map[string]string{"managed_versioning": "true"},
			}),
			apply: reading(func(_ facts, o outcome) bool { return o.ok() }),
		})
	}
	first := map[int]int{}
	for id := range firstRows {
		first[id] = 0
	}
	c.do(&op{
		domain: "rows", text: "create table " + created, request: request{path: rowsTable + "create", body: stream(first)},
		apply: func(_ facts, o outcome) []facts {
			if !o.ok() {
				return nil
			}
			return []facts{facts("").with("newest", "1").with("1", textOf(first))}
		},
	})
}

func drawRows(c *client) *op {
	id := func() int { return c.rng.IntN(2 * firstRows) }
	switch c.rng.IntN(13) {
	case 12:
		return deleteVersions(1 + c.rng.IntN(3))
	case 0, 1, 2:
		return c.insert()
	case 3, 4:
		return merge(id(), c.value())
	case 5:
		return update(id(), c.value())
	case 6, 7:
		return remove(id())
	case 8:
		return restore(1 + c.rng.IntN(3))
	case 9:
		return queryVersion(1 + c.rng.IntN(4))
	default:
		return queryRows()
	}
}

func finishRows(c *client) {
	c.do(queryRows())
	if c.do(c.insert()).lostRace() { // against a version that it has made for a dead writer
		c.do(c.insert())
	}
	c.haveSettled()
	c.do(merge(1, c.value()))
	c.do(update(1, c.value()))
	c.do(remove(1))
	c.do(queryRows())
	version, _ := strconv.Atoi(fmt.Sprint(c.memory["newest"]))
	c.do(restore(version))
	c.do(queryRows())
	for version := 1; version <= 3; version++ {
		c.do(queryVersion(version))
	}
}

// value is one that no other operation writes.
func (c *client) value() int { return 1000*(c.number+1) + c.sent }

// newest returns the number and the rows of the newest version.
func newest(f facts) (version int, rows map[int]int) {
	text, _ := f.get("newest")
	version, _ = strconv.Atoi(text)
	return version, rowsOf(f, version)
}

// rowsOf reads the rows of a version: values by id.
func rowsOf(f facts, version int) map[int]int {
	rows := map[int]int{}
	text, _ := f.get(strconv.Itoa(version))
	for row := range strings.FieldsSeq(text) {
		id, value, _ := strings.Cut(row, ":")
		n, _ := strconv.Atoi(id)
		rows[n], _ = strconv.Atoi(value)
	}
	return rows
}

func textOf(rows map[int]int) string {
	var parts []string
	for id, value := range rows {
		parts = append(parts, strconv.Itoa(id)+":"+strconv.Itoa(value))
	}
	slices.Sort(parts)
	return strings.Join(parts, " ")
}

// counts is what a write is told about itself. Missing ones are zero.
type counts struct {
	Version  int
	Deleted  int    `json:"num_deleted_rows"`
	Updated  int    `json:"updated_rows"`
	Merged   int    `json:"num_updated_rows"`
	Inserted int    `json:"num_inserted_rows"`
	ID       string `json:"transaction_id"`
}

// madeBy returns what a write was told, with the version that it made; nil when it was told
// nothing.
func madeBy(o outcome) *counts {
	if !o.ok() {
		return nil
	}
	told := new(counts)
	o.decode(told)
	if told.Version == 0 { // a restore tells it in the name of its transaction
		version, _, _ := strings.Cut(strings.TrimPrefix(told.ID, "v"), "-")
		told.Version, _ = strconv.Atoi(version)
	}
	return told
}

// A change returns what the rows may be after a write that was told counts, nil when it was
// told nothing.
//
// Writes are isolated as in Lance: which rows match is found on the version that a write
// began with, and a row that was added since is missed. So a write that matched nothing may
// come after the row.
type change func(f facts, rows map[int]int, told *counts) []map[int]int

// write is an operation that makes the next version, from the rows of the one before. One
// that changes nothing need not make one.
//
// Inserts that meet in one instance become one version.
func write(text string, r request, change change) *op {
	joins := strings.HasPrefix(text, "insert")
	read := once(madeBy)
	made := func(o outcome) int {
		if told := read(o); told != nil {
			return told.Version
		}
		return 0
	}
	return &op{domain: "rows", text: text, request: r, made: made, apply: func(f facts, o outcome) []facts {
		version, rows := newest(f)
		told := read(o)
		var next []facts
		switch {
		case o.lostRace():
			return []facts{f}
		case o.unknown:
			next = []facts{f}
		case told == nil:
			return nil
		}
		for _, after := range change(f, rows, told) {
			if maps.Equal(after, rows) && told != nil && told.Version == version {
				next = append(next, f)
			}
			if joins && (told == nil && o.taken[version] || told != nil && told.Version == version) {
				next = append(next, f.with(strconv.Itoa(version), textOf(after)))
			}
			_, taken := o.taken[version+1]
			if told == nil && !taken || told != nil && told.Version == version+1 {
				next = append(next, f.with("newest", strconv.Itoa(version+1)).with(strconv.Itoa(version+1), textOf(after)))
			}
		}
		return next
	}}
}

// set returns the rows with another value.
func set(rows map[int]int, id, value int) map[int]int {
	rows = maps.Clone(rows)
	rows[id] = value
	return rows
}

func (c *client) insert() *op {
	value := c.value()
	r := request{path: rowsTable + "insert", body: stream(map[int]int{value: value})}
	o := write(fmt.Sprintf("insert %d", value), r, func(_ facts, rows map[int]int, _ *counts) []map[int]int {
		return []map[int]int{set(rows, value, value)}
	})
	o.learn = func(o outcome) {
		var told counts
		if o.ok() {
			o.decode(&told)
			c.memory["newest"] = told.Version
		}
	}
	return o
}

func merge(id, value int) *op {
	r := request{
		path: rowsTable + "merge_insert?on=id&when_matched_update_all=true&when_not_matched_insert_all=true",
		body: stream(map[int]int{id: value}),
	}
	return write(fmt.Sprintf("merge %d:%d", id, value), r, func(_ facts, rows map[int]int, told *counts) []map[int]int {
		_, there := rows[id]
		if told != nil && (there != (told.Merged == 1) || there == (told.Inserted == 1)) {
			return nil
		}
		return []map[int]int{set(rows, id, value)}
	})
}

// matching is a change of one row, where it is found.
func matching(id int, matched func(*counts) int, then func(rows map[int]int) map[int]int) change {
	return func(_ facts, rows map[int]int, told *counts) []map[int]int {
		_, there := rows[id]
		switch {
		case told != nil && matched(told) == 1 && there:
			return []map[int]int{then(rows)}
		case told != nil && matched(told) == 0, told == nil && !there:
			return []map[int]int{rows}
		case told == nil:
			return []map[int]int{then(rows), rows}
		}
		return nil
	}
}

func update(id, value int) *op {
	r := post(rowsTable+"update", map[string]any{
		"predicate": fmt.Sprintf("id = %d", id), "updates": [][2]string{{"value", strconv.Itoa(value)}},
	})
	return write(fmt.Sprintf("update %d:%d", id, value), r, matching(id, func(c *counts) int { return c.Updated },
		func(rows map[int]int) map[int]int { return set(rows, id, value) }))
}

func remove(id int) *op {
	r := post(rowsTable+"delete", map[string]any{"predicate": fmt.Sprintf("id = %d", id)})
	return write(fmt.Sprintf("delete %d", id), r, matching(id, func(c *counts) int { return c.Deleted },
		func(rows map[int]int) map[int]int {
			rows = maps.Clone(rows)
			delete(rows, id)
			return rows
		}))
}

func restore(version int) *op {
	o := write(fmt.Sprintf("restore version %d", version), post(rowsTable+"restore", map[string]any{"version": version}),
		func(f facts, _ map[int]int, _ *counts) []map[int]int { return []map[int]int{rowsOf(f, version)} })
	known := o.apply
	o.apply = func(f facts, got outcome) []facts {
		switch there := f.has(strconv.Itoa(version)); {
		case there && !got.refusedWith(11):
			return known(f, got)
		case !there && (got.unknown || got.lostRace() || got.refusedWith(11)):
			return []facts{f}
		case got.refusedWith(11) && f.has("gone "+strconv.Itoa(version)):
			return []facts{f}
		}
		return nil
	}
	return o
}

// deleteVersions deletes the first versions, up to a number, but not the newest. Instances that
// have seen one may go on answering it, as they keep what cannot change, and a put that nobody
// had an answer to may make another of that number: "gone <number>" says that it need not be
// there, nor be what it was.
func deleteVersions(upTo int) *op {
	return &op{
		domain: "rows", text: fmt.Sprintf("delete versions up to %d", upTo),
		request: post(rowsTable+"version/delete", map[string]any{
			"ranges": []map[string]int{{"start_version": 1, "end_version": upTo + 1}},
		}),
		// One after the other, at any time while it runs.
		parts: []func(f facts) []facts{func(f facts) []facts { return []facts{f, goneUpTo(f, upTo)} }},
		apply: usual(func(f facts, _ outcome) (facts, bool) { return goneUpTo(f, upTo), true },
			func(facts, outcome) bool { return false }),
	}
}

func goneUpTo(f facts, version int) facts {
	number, _ := newest(f)
	for ; version > 0; version-- {
		if version < number && f.has(strconv.Itoa(version)) {
			f = f.with("gone "+strconv.Itoa(version), "")
		}
	}
	return f
}

// once reads the answer of an operation the first time only: the search for an order of a
// history asks for it many times.
func once[T any](read func(outcome) T) func(outcome) T {
	var is *T
	return func(o outcome) T {
		if !o.ok() {
			return read(o)
		}
		if is == nil {
			v := read(o)
			is = &v
		}
		return *is
	}
}

func rowsTold(o outcome) string { return rowsIn(o.body) }

func queryRows() *op {
	told := once(rowsTold)
	return &op{
		domain: "rows", text: "query", request: post(rowsTable+"query", map[string]any{"columns": []string{"id", "value"}}),
		apply: reading(func(f facts, o outcome) bool {
			_, rows := newest(f)
			return o.ok() && told(o) == textOf(rows)
		}),
	}
}

func queryVersion(version int) *op {
	told := once(rowsTold)
	return &op{
		domain: "rows", text: fmt.Sprintf("query version %d", version),
		request: post(rowsTable+"query", map[string]any{"columns": []string{"id", "value"}, "version": version}),
		apply: reading(func(f facts, o outcome) bool {
			if !o.ok() {
				return o.refusedWith(11) && (!f.has(strconv.Itoa(version)) || f.has("gone "+strconv.Itoa(version)))
			}
			return f.has("gone "+strconv.Itoa(version)) || f.has(strconv.Itoa(version)) && told(o) == textOf(rowsOf(f, version))
		}),
	}
}

var rowSchema = arrow.NewSchema([]arrow.Field{
	{Name: "id", Type: arrow.PrimitiveTypes.Int64},
	{Name: "value", Type: arrow.PrimitiveTypes.Int64},
}, nil)

// stream encodes rows for an upload.
func stream(rows map[int]int) []byte {
	b := array.NewRecordBuilder(memory.DefaultAllocator, rowSchema)
	ids := make([]int, 0, len(rows))
	for id := range rows {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		b.Field(0).(*array.Int64Builder).Append(int64(id))
		b.Field(1).(*array.Int64Builder).Append(int64(rows[id]))
	}
	return encode(b.NewRecordBatch())
}

// encode returns the stream of batches.
func encode(batches ...arrow.RecordBatch) []byte {
	var out bytes.Buffer
	w := ipc.NewWriter(&out, ipc.WithSchema(batches[0].Schema()))
	for _, batch := range batches {
		if err := w.Write(batch); err != nil {
			panic(err)
		}
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return out.Bytes()
}

// rowsIn reads the answer of a query. Of rows with one id all are in the text.
func rowsIn(file []byte) string {
	r, err := ipc.NewFileReader(bytes.NewReader(file))
	if err != nil {
		return err.Error()
	}
	var parts []string
	for i := range r.NumRecords() {
		batch, err := r.RecordBatch(i)
		if err != nil {
			return err.Error()
		}
		ids, values := batch.Column(0).(*array.Int64), batch.Column(1).(*array.Int64)
		for row := range ids.Len() {
			parts = append(parts, fmt.Sprintf("%d:%d", ids.Value(row), values.Value(row)))
		}
	}
	slices.Sort(parts)
	return strings.Join(parts, " ")
}

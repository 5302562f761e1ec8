package simulation_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// divided are tables whose queries run as parts in other instances, while rows come, change and go, the tables change
// their names, and the caller of the queries loses its right to read and gets it back. Each answer must be that of one
// version, the newest at some time while the query ran.
//
// The facts are "at <name>", the table that has a name; "<table> i<number>", rows that were inserted; and
// "<table> d<class>" and "<table> u<class>", what was deleted and updated of the rows that a table has from the start,
// by classes of their numbers. Of the right there are facts of their own: "right" is "taken" or not there.
var divided = domain{name: "divided", setup: setupDivided, draw: drawDivided, finale: finishDivided, divides: true}

const (
	dividedRows    = 3 << 10 // of a table from the start: three parts
	dividedClasses = 7       // of these rows
	insertedRows   = 8       // of one insert
	spacing        = 10      // of the ids of rows, between which are those of inserted ones
)

var dividedNames, dividedTables = []string{"one", "two", "three"}, []string{"a", "b"}

func setupDivided(c *client) {
	for n, name := range dividedNames[:2] {
		table := dividedTables[n]
		c.do(&op{
			domain: "divided", text: "create table " + name,
			request: request{path: "/v1/table/" + name + "/create", body: numbered(dividedModel{table: table}.rows())},
			apply: func(f facts, o outcome) []facts {
				if !o.ok() {
					return nil
				}
				return []facts{f.with("at "+name, table)}
			},
		})
	}
}

func drawDivided(c *client) *op {
	name := func() string { return dividedNames[min(c.rng.IntN(6), 2)/2] } // most often the first
	class := c.rng.IntN(dividedClasses)
	switch c.rng.IntN(20) {
	case 0, 1, 2:
		return c.insertNumbered(name())
	case 3, 4:
		return changeClass("delete", name(), class, "d", post("/v1/table/", map[string]any{"predicate": ofClass(class)}))
	case 5:
		return changeClass("update", name(), class, "u", post("/v1/table/", map[string]any{"predicate": ofClass(class), "updates": [][2]string{{"value", "value % 1000 + 1000"}}}))
	case 6:
		c.do(renameDivided("one", "three"))
		return renameDivided("two", "one")
	case 7:
		return renameDivided(dividedNames[c.rng.IntN(3)], dividedNames[c.rng.IntN(3)])
	case 8, 9:
		return c.haveRight([]string{"give", "take"}[c.rng.IntN(2)])
	case 10, 11, 12:
		return nearestDivided(name(), c.rng.IntN(dividedRows*spacing))
	case 13, 14, 15:
		return matchingDivided(name(), c.rng.IntN(40))
	default:
		return countDivided(name(), c.rng.IntN(3))
	}
}

func finishDivided(c *client) {
	c.do(c.haveRight("give"))
	for _, name := range dividedNames {
		c.do(countDivided(name, 1))
		c.do(matchingDivided(name, 3))
		c.do(nearestDivided(name, dividedRows*spacing/2))
	}
	c.do(c.haveRight("take"))
	c.do(countDivided("one", 1))
	c.do(c.haveRight("give"))
	for _, name := range dividedNames {
		c.do(c.insertNumbered(name))
		c.do(countDivided(name, 2))
	}
}

// ofClass are the rows of a class that a table has from the start.
func ofClass(class int) string {
	return fmt.Sprintf("id %% %d = 0 AND (id / %d) %% %d = %d", spacing, spacing, dividedClasses, class)
}

// A dividedModel is what a table holds.
type dividedModel struct {
	table    string
	facts    facts
	inserted []int
}

// dividedAt returns the model of the table that has a name, if one has.
func dividedAt(f facts, name string) (m dividedModel, exists bool) {
	m.facts = f
	m.table, exists = f.get("at " + name)
	for _, number := range f.names(m.table + " i") {
		n, _ := strconv.Atoi(number)
		m.inserted = append(m.inserted, n)
	}
	return m, exists
}

// A numberedRow is a row of such a table. Its vector is the id.
type numberedRow struct{ id, value int }

// rows returns all rows.
func (m dividedModel) rows() []numberedRow {
	var deleted, updated [dividedClasses]bool
	for class := range dividedClasses {
		deleted[class] = m.facts.has(fmt.Sprintf("%s d%d", m.table, class))
		times, _ := m.facts.get(fmt.Sprintf("%s u%d", m.table, class))
		updated[class] = times != ""
	}
	rows := make([]numberedRow, 0, dividedRows+len(m.inserted)*insertedRows)
	for n := range dividedRows {
		class := n % dividedClasses
		row := numberedRow{id: n * spacing, value: (n + len(m.table) + int(m.table[0])) % 89}
		if updated[class] {
			row.value += 1000
		}
		if !deleted[class] {
			rows = append(rows, row)
		}
	}
	for _, n := range m.inserted {
		rows = append(rows, insertedOf(n)...)
	}
	return rows
}

// insertedOf returns the rows of an insert, between two of those that were there.
func insertedOf(n int) []numberedRow {
	rows := make([]numberedRow, insertedRows)
	for i := range rows {
		rows[i] = numberedRow{id: n*97%dividedRows*spacing + 1 + i, value: (n + i) % 40}
	}
	return rows
}

// changesOneOf is the meaning of an operation that changes the table of a name: the one that has it now, or another
// that had it when the operation looked.
func changesOneOf(name string, change func(f facts, table string) facts) func(f facts, o outcome) []facts {
	return func(f facts, o outcome) []facts {
		var next []facts
		switch {
		case o.lostRace(), o.refusedWith(noTable) && !f.has("at "+name):
			return []facts{f}
		case o.unknown:
			next = []facts{f}
		case !o.ok():
			return nil
		}
		if table, exists := f.get("at " + name); exists {
			next = append(next, change(f, table))
		}
		return next
	}
}

func (c *client) insertNumbered(name string) *op {
	n := c.value()
	return &op{
		domain: "divided", text: fmt.Sprintf("insert %d into %s", n, name),
		request: request{path: "/v1/table/" + name + "/insert", body: numbered(insertedOf(n))},
		apply: changesOneOf(name, func(f facts, table string) facts {
			return f.with(fmt.Sprintf("%s i%d", table, n), "")
		}),
	}
}

// changeClass deletes or updates the rows of a class. A second update changes nothing.
func changeClass(verb, name string, class int, mark string, r request) *op {
	r.path += name + "/" + verb
	return &op{
		domain: "divided", text: fmt.Sprintf("%s class %d of %s", verb, class, name), request: r,
		apply: changesOneOf(name, func(f facts, table string) facts {
			return f.with(fmt.Sprintf("%s %s%d", table, mark, class), "yes")
		}),
	}
}

func renameDivided(from, to string) *op {
	return &op{
		domain: "divided", text: fmt.Sprintf("rename %s to %s", from, to),
		request: post("/v1/table/"+from+"/rename", map[string]any{"new_table_name": to}),
		apply: usual(func(f facts, _ outcome) (facts, bool) {
			table, exists := f.get("at " + from)
			return f.without("at "+from).with("at "+to, table), exists && !f.has("at "+to)
		}, func(f facts, o outcome) bool {
			return o.refusedWith(noTable) && !f.has("at "+from) || o.refusedWith(tableExists) && f.has("at "+to)
		}),
	}
}

// haveRight gives the reader its right, or takes it.
func (c *client) haveRight(verb string) *op {
	return &op{
		domain: "right", text: verb + " the right to read", request: request{path: rightPath + verb},
		apply: usual(func(f facts, _ outcome) (facts, bool) {
			if verb == "take" {
				return f.with("right", "taken"), true
			}
			return f.without("right"), true
		}, func(facts, outcome) bool { return false }),
	}
}

// denied is the code of a refusal for a missing right.
const denied = 15

// dividedQuery is a query of the reader. right reports whether an answer is that of a table.
func dividedQuery(text, name string, r request, right func(m dividedModel, o outcome) bool) *op {
	r.token = readerToken
	verdicts := map[facts]bool{}
	rows := &op{domain: "divided", text: text, apply: reading(func(f facts, o outcome) bool {
		m, exists := dividedAt(f, name)
		switch {
		case !exists:
			return o.refusedWith(noTable, denied)
		case !o.ok():
			return o.refusedWith(denied)
		}
		verdict, known := verdicts[f]
		if !known {
			verdict = right(m, o)
			verdicts[f] = verdict
		}
		return verdict
	})}
	allowed := &op{domain: "right", text: text, apply: reading(func(f facts, o outcome) bool {
		return o.refusedWith(denied) == f.has("right")
	})}
	return &op{text: text, request: r, objects: []*op{allowed, rows}}
}

func countDivided(name string, rest int) *op {
	r := post("/v1/table/"+name+"/count_rows", map[string]any{"predicate": fmt.Sprintf("value %% 3 = %d", rest)})
	return dividedQuery(fmt.Sprintf("count values of %s that leave %d", name, rest), name, r, func(m dividedModel, o outcome) bool {
		want, got := 0, -1
		for _, row := range m.rows() {
			if row.value%3 == rest {
				want++
			}
		}
		return json.Unmarshal(o.body, &got) == nil && got == want
	})
}

func matchingDivided(name string, value int) *op {
	r := post("/v1/table/"+name+"/query", map[string]any{"columns": []string{"id", "value"}, "filter": fmt.Sprintf("value %% 1000 = %d", value)})
	return dividedQuery(fmt.Sprintf("rows of %s with the value %d", name, value), name, r, func(m dividedModel, o outcome) bool {
		rows := slices.DeleteFunc(m.rows(), func(row numberedRow) bool { return row.value%1000 != value })
		return sameNumbered(o, rows)
	})
}

// nearestDivided searches for rows near to a number, of which no two are as far away.
func nearestDivided(name string, to int) *op {
	const k = 6
	point := float64(to) + .25
	r := post("/v1/table/"+name+"/query", map[string]any{"columns": []string{"id", "value"}, "vector": []float64{point, 0}, "k": k})
	return dividedQuery(fmt.Sprintf("rows of %s near to %v", name, point), name, r, func(m dividedModel, o outcome) bool {
		rows := m.rows()
		slices.SortFunc(rows, func(a, b numberedRow) int {
			return cmp.Compare(math.Abs(float64(a.id)-point), math.Abs(float64(b.id)-point))
		})
		return sameNumbered(o, rows[:k])
	})
}

// sameNumbered reports whether an answer has some rows, in any order.
func sameNumbered(o outcome, want []numberedRow) bool {
	got, err := numberedIn(o.body)
	compare := func(a, b numberedRow) int { return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.value, b.value)) }
	slices.SortFunc(got, compare)
	slices.SortFunc(want, compare)
	return err == nil && slices.Equal(got, want)
}

var numberedSchema = arrow.NewSchema([]arrow.Field{
	{Name: "id", Type: arrow.PrimitiveTypes.Int64},
	{Name: "value", Type: arrow.PrimitiveTypes.Int64},
	{Name: "v", Type: arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Float32)},
}, nil)

// numbered encodes rows for an upload.
func numbered(rows []numberedRow) []byte {
	b := array.NewRecordBuilder(memory.DefaultAllocator, numberedSchema)
	vectors := b.Field(2).(*array.FixedSizeListBuilder)
	for _, row := range rows {
		b.Field(0).(*array.Int64Builder).Append(int64(row.id))
		b.Field(1).(*array.Int64Builder).Append(int64(row.value))
		vectors.Append(true)
		vectors.ValueBuilder().(*array.Float32Builder).AppendValues([]float32{float32(row.id), 0}, nil)
	}
	return encode(b.NewRecordBatch())
}

// numberedIn reads the answer of a query.
func numberedIn(file []byte) (rows []numberedRow, err error) {
	r, err := ipc.NewFileReader(bytes.NewReader(file))
	if err != nil {
		return nil, err
	}
	for i := range r.NumRecords() {
		batch, err := r.RecordBatch(i)
		if err != nil {
			return nil, err
		}
		ids, values := batch.Column(0).(*array.Int64), batch.Column(1).(*array.Int64)
		for row := range ids.Len() {
			rows = append(rows, numberedRow{int(ids.Value(row)), int(values.Value(row))})
		}
	}
	return rows, nil
}

func TestQueriesInPartsReadOneVersion(t *testing.T) {
	playDomain(t, divided, 160, "parts", "parts sent twice", "parts refused", "parts without an instance")
}

package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/enginetest"
	"tiltyard/shared/engine/query"
	"tiltyard/shared/engine/scatter"
	"tiltyard/shared/engine/selection"
	"tiltyard/shared/index/vector"
	"tiltyard/shared/protocol"
)

var pointSchema = arrow.NewSchema([]arrow.Field{
	{Name: "id", Type: arrow.PrimitiveTypes.Int64},
	{Name: "name", Type: arrow.BinaryTypes.String, Nullable: true},
	{Name: "v", Type: arrow.FixedSizeListOf(4, arrow.PrimitiveTypes.Float32), Nullable: true},
}, nil)

// pointsOf returns rows as JSON. Every tenth vector and every seventh name is null.
func pointsOf(from, to int, random *rand.Rand) string {
	rows := make([]string, 0, to-from)
	for id := from; id < to; id++ {
		name, v := fmt.Sprintf("%q", fmt.Sprint("n", id%23)), fmt.Sprintf("[%v,%v,%v,%v]", random.Float32(), random.Float32(), random.IntN(2), random.IntN(2))
		if id%7 == 0 {
			name = "null"
		}
		if id%10 == 0 {
			v = "null"
		}
		rows = append(rows, fmt.Sprintf(`{"id":%d,"name":%s,"v":%s}`, id, name, v))
	}
	return "[" + strings.Join(rows, ",") + "]"
}

// createPoints creates a table of fragments of several sizes, one of them above the unit of division, with deleted rows.
func createPoints(t *testing.T) *engine.Table {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	table := enginetest.Create(t, pointSchema, pointsOf(0, 5000, random))
	for _, part := range [][2]int{{5000, 5003}, {5003, 6500}, {6500, 9700}} {
		if _, err := table.Insert(t.Context(), enginetest.Rows(t, pointSchema, pointsOf(part[0], part[1], random))); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := table.Delete(t.Context(), "id % 11 = 3 OR id BETWEEN 5003 AND 5100"); err != nil {
		t.Fatal(err)
	}
	return table
}

// elsewhere runs parts of queries of a table with another handle of it, as they are sent.
type elsewhere struct {
	mu     sync.Mutex
	on     *engine.Table
	parts  []query.Part
	before func(n int) error // is called before the part of a number, from 0

	dollars func(query.Usage) float64
}

func (e *elsewhere) call(ctx context.Context, p *query.Part) (*query.Answered, error) {
	text, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	n := len(e.parts)
	e.parts = append(e.parts, *p)
	e.mu.Unlock()
	if e.before != nil {
		if err := e.before(n); err != nil {
			return nil, err
		}
	}
	sent, err := query.ParsePart(text)
	if err != nil {
		return nil, err
	}
	rows, err := e.on.Part(ctx, sent)
	if err != nil {
		return nil, err
	}
	rows, usage, known := query.UsageOf(rows)
	if !known {
		return nil, errors.New("the answer does not tell what it took")
	}
	return &query.Answered{Rows: rows, Usage: usage}, nil
}

// errBusy is an error of a part that may be repeated, and errNowhere one that means that nothing runs elsewhere.
var errBusy, errNowhere = errors.New("busy"), errors.New("nowhere")

// errCrowded means that no instance is free for a part.
var errCrowded = errors.New("crowded")

// spread returns the table with queries that are divided, however small they are.
func (e *elsewhere) spread(table *engine.Table, most int) *engine.Table {
	e.on, e.parts = table, nil
	return table.SpreadWith(&query.Spread{
		Call: e.call, PartBytes: 1, Most: most, Dollars: e.dollars,
		Here:    func(err error) bool { return errors.Is(err, errNowhere) },
		Busy:    func(err error) bool { return errors.Is(err, errCrowded) },
		Options: scatter.Options{Together: 3, Pause: time.Millisecond, Passing: func(err error) bool { return errors.Is(err, errBusy) }},
	})
}

// questions are queries that are divided.
func questions() map[string]*query.Query {
	near := func(q *query.Query, change func(*query.Nearest)) *query.Query {
		q.Nearest = &query.Nearest{Vectors: [][]float64{{.5, .5, 1, 0}}}
		if change != nil {
			change(q.Nearest)
		}
		return q
	}
	ids := []query.Column{{Name: "id"}}
	by := func(names ...string) (order []query.Order) {
		for _, name := range names {
			name, down := strings.CutSuffix(name, " desc")
			order = append(order, query.Order{Column: name, Descending: down, NullsFirst: down})
		}
		return order
	}
	return map[string]*query.Query{
		"nearest":                near(&query.Query{Columns: ids, Limit: new(int64(10))}, nil),
		"nearest, skipped":       near(&query.Query{Columns: ids, Limit: new(int64(10)), Offset: 7}, nil),
		"nearest, filtered":      near(&query.Query{Columns: ids, Limit: new(int64(10)), Filter: "id % 3 = 1 AND name <> 'n5'", Prefilter: true}, nil),
		"nearest, filtered late": near(&query.Query{Columns: ids, Limit: new(int64(30)), Filter: "id % 3 = 1"}, nil),
		"nearest by cosine":      near(&query.Query{Limit: new(int64(5))}, func(n *query.Nearest) { n.Metric = new(vector.Cosine) }),
		"nearest within bounds":  near(&query.Query{Limit: new(int64(50))}, func(n *query.Nearest) { n.Lower, n.Upper = new(.01), new(.02) }),
		"nearest of several": near(&query.Query{Columns: ids, Limit: new(int64(4))}, func(n *query.Nearest) {
			n.Vectors, n.Numbered = append(n.Vectors, []float64{0, 0, 0, 1}), true
		}),
		"nearest, sorted":       near(&query.Query{Columns: ids, Limit: new(int64(9)), Order: by("name desc", "id")}, nil),
		"matching":              {Columns: ids, Filter: "id % 97 = 5"},
		"matching none":         {Columns: ids, Filter: "id < 0"},
		"matching, row ids":     {Columns: []query.Column{{Name: "name"}, {Name: "twice", Expression: "id * 2"}}, WithRowID: true, Filter: "name = 'n3'"},
		"matching, a window":    {Columns: ids, Filter: "id % 2 = 0", Offset: 1500, Limit: new(int64(1000))},
		"matching, a small one": {Columns: ids, Filter: "id % 2 = 0", Limit: new(int64(10))},
		"matching, one too far": {Columns: ids, Filter: "id % 2 = 0", Offset: 100_000, Limit: new(int64(10))},
		"sorted":                {Columns: ids, Order: by("name", "v desc")[:1], Limit: new(int64(20))},
		"sorted down":           {Columns: ids, Order: by("name desc"), Limit: new(int64(20)), Offset: 900},
		"sorted by two":         {Columns: ids, Order: by("name", "id desc"), Filter: "id > 4000", Limit: new(int64(500))},
	}
}

func TestADividedQueryHasTheSameAnswer(t *testing.T) {
	table := createPoints(t)
	for name, q := range questions() {
		want := enginetest.Show(t, table, q)
		for _, most := range []int{1, 2, 5, 100} {
			var e elsewhere
			got := enginetest.Show(t, e.spread(table, most), q)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s, in %d parts (-whole +divided):\n%s", name, most, diff)
			}
			if len(e.parts) == 0 && name != "matching, a small one" && !strings.HasPrefix(name, "sorted") {
				t.Errorf("%s, in %d parts: nothing was called", name, most)
			}
		}
	}
	for _, filter := range []string{"id % 2 = 0", "name IS NULL OR id < 5001", "id < 0", ""} {
		var e elsewhere
		want, err := table.Count(t.Context(), engine.AsOf{}, filter)
		got, err2 := e.spread(table, 7).Count(t.Context(), engine.AsOf{}, filter)
		if err != nil || err2 != nil || want != got || (len(e.parts) == 0) != (filter == "") {
			t.Errorf("count of %q: got %v (%v) in %d parts, want %v (%v)", filter, got, err2, len(e.parts), want, err)
		}
	}
}

func TestADividedViewHasTheSameAnswer(t *testing.T) {
	table := createPoints(t)
	view := func(text string) *selection.Query {
		q, err := selection.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		return q
	}
	seen := view("SELECT id AS number, name, v AS w FROM points WHERE id % 5 <> 2")
	var e elsewhere
	for name, q := range map[string]*query.Query{
		"matching": {Filter: "number % 13 = 4", Columns: []query.Column{{Name: "number"}, {Name: "w"}}},
		"nearest":  {Filter: "number > 100", Prefilter: true, Limit: new(int64(9)), Nearest: &query.Nearest{Vectors: [][]float64{{1, 0, 1, 0}}}},
	} {
		want := enginetest.Show(t, table.WithView(seen), q)
		if diff := cmp.Diff(want, enginetest.Show(t, e.spread(table.WithView(seen), 4), q)); diff != "" || len(e.parts) == 0 {
			t.Errorf("%s, %d parts (-whole +divided):\n%s", name, len(e.parts), diff)
		}
	}
	divided := e.spread(table.WithView(seen), 4)
	for name, other := range map[string]*engine.Table{
		"another view": table.WithView(view("SELECT id AS number, name, v AS w FROM points WHERE id % 5 <> 3")), "no view": table,
	} {
		e.on = other
		if _, err := divided.Count(t.Context(), engine.AsOf{}, "number > 7"); protocol.CodeOf(err) != protocol.ServiceUnavailable {
			t.Errorf("%s in the parts: got %v, want ServiceUnavailable", name, err)
		}
	}
}

func TestPartsReadTheVersionOfTheQuery(t *testing.T) {
	table := createPoints(t)
	var e elsewhere
	divided := e.spread(table, 5)
	e.before = func(n int) error {
		if n != 1 {
			return nil
		}
		_, err := table.Delete(context.Background(), "id > 10")
		return err
	}
	want, err := table.Count(t.Context(), engine.AsOf{}, "id % 2 = 0")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := divided.Count(t.Context(), engine.AsOf{}, "id % 2 = 0"); err != nil || got != want {
		t.Errorf("got %v (%v), want %v", got, err, want)
	}
}

// onePart returns the first part of a count of a table.
func onePart(t *testing.T, table *engine.Table) query.Part {
	t.Helper()
	var e elsewhere
	if _, err := e.spread(table, 3).Count(t.Context(), engine.AsOf{}, "id >= 0"); err != nil {
		t.Fatal(err)
	}
	return e.parts[0]
}

// Another table with a version of that number and with such rows has the name when the parts come.
func TestPartsReadTheTableOfTheQuery(t *testing.T) {
	table, other := createPoints(t), createPoints(t)
	var e elsewhere
	divided := e.spread(table, 5)
	e.on = other
	if n, err := divided.Count(t.Context(), engine.AsOf{}, "id % 2 = 0"); protocol.CodeOf(err) != protocol.ServiceUnavailable {
		t.Errorf("got %d, %v of another table, want ServiceUnavailable", n, err)
	}
}

// One part in three goes to another release, which does not take it.
func TestPartsOfOtherReleases(t *testing.T) {
	table := createPoints(t)
	for _, other := range []int{0, 1, 2} {
		var e elsewhere
		divided := e.spread(table, 5)
		e.before = func(n int) error {
			if n%3 == other {
				return errNowhere
			}
			return nil
		}
		for name, q := range questions() {
			if diff := cmp.Diff(enginetest.Show(t, table, q), enginetest.Show(t, divided, q)); diff != "" {
				t.Errorf("%s, parts from the number %d on run nowhere (-want +got):\n%s", name, other, diff)
			}
		}
	}
}

func TestNowIsTheSameInAllParts(t *testing.T) {
	table := createPoints(t)
	p := onePart(t, table)
	p.Query, p.Stretches = &query.Query{Filter: "now() > timestamp '2020-01-01' AND id >= 0"}, []query.Stretch{{To: 100}}
	for year, want := range map[int]int64{2010: 0, 2021: 91} {
		p.Time = time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC)
		rows, err := table.Part(t.Context(), &p)
		if err != nil {
			t.Fatal(err)
		}
		for batch, err := range rows.Batches {
			if got := batch.Column(0).(*array.Int64).Value(0); err != nil || got != want {
				t.Errorf("in %d: got %d rows (%v), want %d", year, got, err, want)
			}
		}
	}
	var e elsewhere
	if _, err := e.spread(table, 5).Count(t.Context(), engine.AsOf{}, "now() IS NOT NULL"); err != nil {
		t.Fatal(err)
	}
	for _, p := range e.parts {
		if p.Time.IsZero() || !p.Time.Equal(e.parts[0].Time) {
			t.Errorf("a part has the time %v, another one %v", p.Time, e.parts[0].Time)
		}
	}
}

func TestPartsThatFail(t *testing.T) {
	table := createPoints(t)
	want := enginetest.Show(t, table, questions()["nearest"])
	var e elsewhere
	divided := e.spread(table, 5)
	e.before = func(n int) error {
		if n < 2 { // three attempts, of the two parts that are called first or of one of them
			return errBusy
		}
		return nil
	}
	if diff := cmp.Diff(want, enginetest.Show(t, divided, questions()["nearest"])); diff != "" {
		t.Errorf("parts that are busy (-want +got):\n%s", diff)
	}
	e.before = func(int) error { return errNowhere }
	for name, q := range questions() {
		if diff := cmp.Diff(enginetest.Show(t, table, q), enginetest.Show(t, divided, q)); diff != "" {
			t.Errorf("%s, nothing runs elsewhere (-want +got):\n%s", name, diff)
		}
	}
	e.before = func(n int) error {
		if n%3 > 0 {
			return errCrowded
		}
		return nil
	}
	for name, q := range questions() {
		if diff := cmp.Diff(enginetest.Show(t, table, q), enginetest.Show(t, divided, q)); diff != "" {
			t.Errorf("%s, most parts run here (-want +got):\n%s", name, diff)
		}
	}
	refused := protocol.Errorf(protocol.PermissionDenied, "no longer permitted")
	e.parts = nil
	e.before = func(n int) error {
		if n == 2 {
			return refused
		}
		return nil
	}
	if _, err := divided.Count(t.Context(), engine.AsOf{}, "id > 3"); !errors.Is(err, refused) {
		t.Errorf("a right was revoked in between: got %v", err)
	}
}

func TestThePlanShowsTheParts(t *testing.T) {
	table := createPoints(t)
	var e elsewhere
	divided := e.spread(table, 4)
	plan, err := divided.Explain(t.Context(), engine.AsOf{}, questions()["nearest"], false)
	if err != nil || !strings.Contains(plan, "parts=3") {
		t.Errorf("got %v, without its parts:\n%s", err, plan)
	}
	whole, err := table.Explain(t.Context(), engine.AsOf{}, questions()["nearest"], false)
	if err != nil || strings.Contains(whole, "parts") {
		t.Errorf("got %v, want no parts:\n%s", err, whole)
	}
	if plan, err = divided.Analyze(t.Context(), engine.AsOf{}, questions()["nearest"]); strings.Contains(plan, "parts_dollars") {
		t.Errorf("got %v, with a price that nobody knows:\n%s", err, plan)
	}
	e.dollars = func(query.Usage) float64 { return 0.25 }
	plan, err = e.spread(table, 4).Analyze(t.Context(), engine.AsOf{}, questions()["nearest"])
	for _, want := range []string{"parts=3", "parts_dollars=0.75", "parts_bytes_read=", "slowest_part=", "repeated_parts=0"} {
		if err != nil || !strings.Contains(plan, want) {
			t.Errorf("got %v, without %s:\n%s", err, want, plan)
		}
	}
}

func TestQueriesBelowTheSizeAreNotDivided(t *testing.T) {
	table := createPoints(t)
	var e elsewhere
	e.on = table
	divided := table.SpreadWith(&query.Spread{Call: e.call, Bytes: 1 << 20, PartBytes: 1 << 10, Most: 9})
	for name, q := range questions() {
		if diff := cmp.Diff(enginetest.Show(t, table, q), enginetest.Show(t, divided, q)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if len(e.parts) > 0 {
		t.Errorf("%d parts were called", len(e.parts))
	}
}

func TestBadPartsAreRefused(t *testing.T) {
	table := createPoints(t)
	good := onePart(t, table)
	for name, c := range map[string]struct {
		change func(*query.Part)
		code   protocol.Code
	}{
		"another format":     {func(p *query.Part) { p.Format++ }, protocol.Unsupported},
		"no version":         {func(p *query.Part) { p.Version = 0 }, protocol.InvalidInput},
		"no origin":          {func(p *query.Part) { p.Origin = "" }, protocol.InvalidInput},
		"no query":           {func(p *query.Part) { p.Query = nil }, protocol.InvalidInput},
		"no rows":            {func(p *query.Part) { p.Stretches = nil }, protocol.InvalidInput},
		"rows the wrong way": {func(p *query.Part) { p.Stretches = []query.Stretch{{From: 3, To: 2}} }, protocol.InvalidInput},
		"a limit below 0":    {func(p *query.Part) { p.Query = &query.Query{Limit: new(int64(-1))} }, protocol.InvalidInput},
		"an offset":          {func(p *query.Part) { p.Query = &query.Query{Offset: 1} }, protocol.InvalidInput},
		"vectors that differ": {func(p *query.Part) {
			p.Kind, p.Query = "nearest", &query.Query{Nearest: &query.Nearest{Vectors: [][]float64{{1, 2, 3, 4}, {1}}}}
		}, protocol.InvalidInput},
		"an unknown metric": {func(p *query.Part) {
			p.Kind, p.Query = "nearest", &query.Query{Nearest: &query.Nearest{Vectors: [][]float64{{1, 2, 3, 4}}, Metric: new(vector.Metric(99))}}
		}, protocol.InvalidInput},
		"nearest to nothing": {func(p *query.Part) { p.Kind = "nearest" }, protocol.InvalidInput},
		"no groups":          {func(p *query.Part) { p.Kind = "groups" }, protocol.InvalidInput},
		"groups of nothing":  {func(p *query.Part) { p.Kind, p.Groups = "groups", new(query.Groups) }, protocol.InvalidInput},
		"groups of a count":  {func(p *query.Part) { p.Groups = &query.Groups{Keys: []int{0}} }, protocol.InvalidInput},
	} {
		p := good
		c.change(&p)
		text, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := query.ParsePart(text); protocol.CodeOf(err) != c.code {
			t.Errorf("%s: got %v, want the code %v", name, err, c.code)
		}
	}
	for _, kind := range []query.Kind{"sum", "rows", "first"} {
		p := good
		p.Kind, p.Query, p.Stretches = kind, &query.Query{}, []query.Stretch{{Fragment: 77, To: 1 << 40}, {To: 1 << 40}}
		_, err := table.Part(t.Context(), &p)
		if (err == nil) != (kind == "rows") {
			t.Errorf("kind %s: got %v", kind, err)
		}
	}
	for name, groups := range map[string]*query.Groups{
		"a key that is no column":       {Keys: []int{3}},
		"an argument that is no column": {Calls: []query.Call{{Function: "sum", Args: []int{-1}}}},
		"a filter that is no column":    {Calls: []query.Call{{Function: "count", Filter: new(9)}}},
		"a filter of another type":      {Calls: []query.Call{{Function: "count", Filter: new(0)}}},
		"an unknown function":           {Calls: []query.Call{{Function: "total", Args: []int{0}}}},
		"a key of another type":         {Keys: []int{2}},
	} {
		p := good
		p.Kind, p.Version, p.Groups = "groups", 5, groups
		_, err := table.Part(t.Context(), &p)
		if code := protocol.CodeOf(err); code != protocol.InvalidInput && code != protocol.Unsupported {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if !slices.Contains([]protocol.Code{protocol.TableVersionNotFound}, protocol.CodeOf(func() error { p := good; p.Version = 99; _, err := table.Part(t.Context(), &p); return err }())) {
		t.Error("a version that does not exist is read")
	}
}

func TestADividedSortHasTheSameAnswer(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	rows := make([]string, 6000)
	for n := range rows {
		text := make([]byte, 200)
		for i := range text {
			text[i] = byte(random.UintN(256))
		}
		rows[n] = fmt.Sprintf(`{"key":"k%d","n":%d,"text":"%x"}`, n, n*7919%6000, text)
	}
	table := enginetest.Create(t, enginetest.Numbered(0, 1, 1).Schema, "["+strings.Join(rows, ",")+"]")
	for name, q := range map[string]*query.Query{
		"down":             {Order: []query.Order{{Column: "n", Descending: true}}, Limit: new(int64(5))},
		"filtered":         {Order: []query.Order{{Column: "n"}}, Filter: "n % 7 = 3", Limit: new(int64(5)), Offset: 300},
		"equal keys":       {Order: []query.Order{{Column: "n"}}, Limit: new(int64(3)), Filter: "n < 2"},
		"more than it has": {Order: []query.Order{{Column: "n"}}, Limit: new(int64(300)), Filter: "n > 5900"},
	} {
		q.Columns = []query.Column{{Name: "key"}, {Name: "text"}}
		want := enginetest.Show(t, table, q)
		var e elsewhere
		divided := e.spread(table, 5)
		if diff := cmp.Diff(want, enginetest.Show(t, divided, q)); diff != "" || len(e.parts) < 2 {
			t.Errorf("%s, %d parts (-whole +divided):\n%s", name, len(e.parts), diff)
		}
		e.before = func(int) error { return errNowhere }
		if diff := cmp.Diff(want, enginetest.Show(t, divided, q)); diff != "" {
			t.Errorf("%s, nothing runs elsewhere (-whole +divided):\n%s", name, diff)
		}
	}
}

package relation_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmemory "github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/arrow/take"
	"tiltyard/shared/engine/relation"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/protocol"
	"tiltyard/shared/sql"
	"tiltyard/shared/sql/plan"
	"tiltyard/shared/sql/syntax"
)

// tables are tables in memory, by name. They note the queries that they have answered.
type tables map[string]*table

// A table is rows in memory.
type table struct {
	batches []arrow.RecordBatch
	asked   []*syntax.Query
	yielded int // batches
}

func (t tables) Open(_ context.Context, of *syntax.Table) (relation.Table, error) {
	return t[of.Name[len(of.Name)-1].Text], nil
}

func (t *table) Columns(_ context.Context, q *syntax.Query) (*arrow.Schema, error) {
	var fields []arrow.Field
	for _, out := range q.Body.(*syntax.Block).Outputs {
		if out.Expr == nil {
			return t.batches[0].Schema(), nil
		}
		f, _ := t.batches[0].Schema().FieldsByName(out.Name)
		fields = append(fields, f...)
	}
	return arrow.NewSchema(fields, nil), nil
}

func (t *table) Rows(ctx context.Context, q *syntax.Query) (*protocol.Rows, error) {
	t.asked = append(t.asked, q)
	s, err := t.Columns(ctx, q)
	if err != nil {
		return nil, err
	}
	var keep *plan.Bound
	if where := q.Body.(*syntax.Block).Where; where != nil {
		if keep, err = plan.BindFilter(ctx, where, t.batches[0].Schema(), time.Now()); err != nil {
			return nil, err
		}
	}
	return &protocol.Rows{Schema: s, Batches: func(yield func(arrow.RecordBatch, error) bool) {
		for _, batch := range t.batches {
			if keep != nil {
				rows, err := keep.Select(ctx, batch, nil)
				if err == nil {
					batch, err = take.Batch(batch, rows)
				}
				if err != nil {
					yield(nil, err)
					return
				}
			}
			var columns []arrow.Array
			for _, f := range s.Fields() {
				columns = append(columns, batch.Column(batch.Schema().FieldIndices(f.Name)[0]))
			}
			if t.yielded++; !yield(array.NewRecordBatch(s, columns, batch.NumRows()), nil) {
				return
			}
		}
	}}, nil
}

func (t *table) Explain(_ context.Context, q *syntax.Query) (string, error) {
	b := q.Body.(*syntax.Block)
	text := "Scan:"
	for _, out := range b.Outputs {
		text += " " + out.Name
	}
	if b.Where != nil {
		text += " where " + b.Where.String()
	}
	return text, nil
}

func (t *table) Count(context.Context) (n int64, err error) {
	for _, batch := range t.batches {
		n += batch.NumRows()
	}
	return n, nil
}

// columns makes batches of int64 columns.
func columns(names []string, rows, batch int, value func(column, row int) int64) *table {
	fields := make([]arrow.Field, len(names))
	for i, name := range names {
		fields[i] = arrow.Field{Name: name, Type: arrow.PrimitiveTypes.Int64, Nullable: true}
	}
	s := arrow.NewSchema(fields, nil)
	t := &table{}
	for from := 0; from < rows || from == 0; from += batch {
		b := array.NewRecordBuilder(arrowmemory.DefaultAllocator, s)
		for row := from; row < min(from+batch, rows); row++ {
			for c := range names {
				if v := value(c, row); v == null {
					b.Field(c).AppendNull()
				} else {
					b.Field(c).(*array.Int64Builder).Append(v)
				}
			}
		}
		t.batches = append(t.batches, b.NewRecordBatch())
	}
	return t
}

const null = -1 << 63

func run(ctx context.Context, in tables, text string) ([]string, error) {
	s, err := syntax.ParseStatement(text, nil)
	if err != nil {
		return nil, err
	}
	p, err := relation.Make(ctx, s.Query, in, time.Now())
	if err != nil {
		return nil, err
	}
	var lines []string
	for batch, err := range p.Rows(ctx).Batches {
		if err != nil {
			return nil, err
		}
		for i := range int(batch.NumRows()) {
			line := ""
			for _, c := range batch.Columns() {
				line += c.ValueStr(i) + " "
			}
			lines = append(lines, line)
		}
	}
	return lines, nil
}

// Joins and groups give what a loop over all pairs gives, whatever the sizes of the sides and of the batches are.
func TestJoinsPairEqualKeys(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 60 {
		left, right := rng.IntN(300), rng.IntN(300)
		random := func(rows int) *table {
			values := map[[2]int]int64{}
			return columns([]string{"id", "k"}, rows, 1+rng.IntN(100), func(c, row int) int64 {
				if c == 0 {
					return int64(row)
				}
				if _, ok := values[[2]int{c, row}]; !ok {
					values[[2]int{c, row}] = int64(rng.IntN(20))
					if rng.IntN(8) == 0 {
						values[[2]int{c, row}] = null
					}
				}
				return values[[2]int{c, row}]
			})
		}
		in := tables{"l": random(left), "r": random(right)}
		for _, kind := range []syntax.JoinKind{syntax.InnerJoin, syntax.LeftJoin, syntax.RightJoin, syntax.FullJoin, syntax.LeftSemi, syntax.LeftAnti} {
			for _, more := range []string{"", " AND l.id < r.id"} {
				text := fmt.Sprintf("SELECT l.id AS a, r.id AS b FROM l %s JOIN r ON l.k = r.k%s", kind, more)
				if kind == syntax.LeftSemi || kind == syntax.LeftAnti {
					text = fmt.Sprintf("SELECT l.id AS a FROM l %s JOIN r ON l.k = r.k%s", kind, more)
				}
				got, err := run(t.Context(), in, text)
				if err != nil {
					t.Fatal(err)
				}
				want := pairs(in["l"], in["r"], kind, more != "")
				slices.Sort(got)
				slices.Sort(want)
				if !slices.Equal(got, want) {
					t.Fatalf("%s of %d and %d rows:\n got %v\nwant %v", text, left, right, got, want)
				}
			}
		}
	}
}

// pairs joins by a loop over all pairs.
func pairs(l, r *table, kind syntax.JoinKind, ordered bool) (lines []string) {
	rows := func(t *table) (rows [][2]string) {
		for _, b := range t.batches {
			for i := range int(b.NumRows()) {
				rows = append(rows, [2]string{b.Column(0).ValueStr(i), b.Column(1).ValueStr(i)})
			}
		}
		return rows
	}
	number := func(text string) (n int) {
		_, _ = fmt.Sscan(text, &n)
		return n
	}
	left, right := rows(l), rows(r)
	matched := make([]bool, len(right))
	for _, a := range left {
		found := false
		for i, b := range right {
			if a[1] == b[1] && a[1] != array.NullValueStr && (!ordered || number(a[0]) < number(b[0])) {
				found, matched[i] = true, true
				if kind != syntax.LeftSemi && kind != syntax.LeftAnti {
					lines = append(lines, a[0]+" "+b[0]+" ")
				}
			}
		}
		switch {
		case kind == syntax.LeftSemi && found, kind == syntax.LeftAnti && !found:
			lines = append(lines, a[0]+" ")
		case !found && (kind == syntax.LeftJoin || kind == syntax.FullJoin):
			lines = append(lines, a[0]+" "+array.NullValueStr+" ")
		}
	}
	for i, b := range right {
		if !matched[i] && (kind == syntax.RightJoin || kind == syntax.FullJoin) {
			lines = append(lines, array.NullValueStr+" "+b[0]+" ")
		}
	}
	return lines
}

// INTERSECT and EXCEPT give what a loop over all rows gives: distinct rows, in which nulls are equal.
func TestIntersectAndExceptCompareRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 60 {
		random := func(rows int) *table {
			return columns([]string{"a", "b"}, rows, 1+rng.IntN(50), func(int, int) int64 {
				if rng.IntN(5) == 0 {
					return null
				}
				return int64(rng.IntN(5))
			})
		}
		in := tables{"l": random(rng.IntN(60)), "r": random(rng.IntN(300))}
		left, err := run(t.Context(), in, "SELECT DISTINCT a, b FROM l")
		if err != nil {
			t.Fatal(err)
		}
		right, err := run(t.Context(), in, "SELECT a, b FROM r")
		if err != nil {
			t.Fatal(err)
		}
		for _, op := range []string{"INTERSECT", "EXCEPT"} {
			want := slices.DeleteFunc(slices.Clone(left), func(row string) bool { return slices.Contains(right, row) != (op == "INTERSECT") })
			got, err := run(t.Context(), in, "SELECT a, b FROM l "+op+" SELECT a, b FROM r")
			if err != nil {
				t.Fatal(err)
			}
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Fatalf("%s: got %v, want %v", op, got, want)
			}
		}
	}
}

// Set operators associate and bind as in SQL, their types fit both sides, and conditions pass through them.
func TestSetOperators(t *testing.T) {
	for text, want := range map[string]string{
		"VALUES (1), (2), (3) EXCEPT VALUES (1), (2) INTERSECT VALUES (2)":                                  "1  3 ",
		"(VALUES (1), (2), (3) EXCEPT VALUES (1), (2)) INTERSECT VALUES (2), (3)":                           "3 ",
		"VALUES (1), (2) EXCEPT VALUES (1) UNION ALL VALUES (2)":                                            "2  2 ",
		"VALUES (1), (1), (NULL), (NULL) INTERSECT VALUES (1.0), (NULL)":                                    "(null)  1 ",
		"VALUES (1, NULL), (NULL, 1) EXCEPT VALUES (NULL, 1)":                                               "1 (null) ",
		"SELECT x FROM (VALUES (1), (2), (3) EXCEPT VALUES (2)) AS d (x) WHERE x > 1":                       "3 ",
		"VALUES (1), (2), (3) INTERSECT VALUES (3), (2) ORDER BY 1 DESC LIMIT 1":                            "3 ",
		"SELECT 1 WHERE EXISTS (VALUES (1))":                                                                "1 ",
		"SELECT 1 WHERE NOT EXISTS (VALUES (1))":                                                            "",
		"SELECT 1 WHERE EXISTS (SELECT 1 WHERE false) OR NOT EXISTS (SELECT 2 LIMIT 0)":                     "1 ",
		"SELECT EXISTS (VALUES (1)) AS a, NOT EXISTS (VALUES (1) EXCEPT VALUES (1)) AS b":                   "true true ",
		"SELECT x FROM (VALUES (1), (2)) AS v (x) WHERE x > 1 AND EXISTS (SELECT 1 FROM (VALUES (1)) AS w)": "2 ",
	} {
		got, err := run(t.Context(), nil, text)
		slices.Sort(got)
		if joined := strings.Join(got, " "); err != nil || joined != want {
			t.Errorf("%s: got %q, %v, want %q", text, joined, err, want)
		}
	}
}

// The query of EXISTS ends at its first row, and without rows nothing else is read.
func TestExistsReadsOneRow(t *testing.T) {
	for text, want := range map[string]int{
		"SELECT id FROM l WHERE EXISTS (SELECT id FROM r WHERE k + 1 > 0)":     1,
		"SELECT id FROM l WHERE NOT EXISTS (SELECT id FROM r WHERE k + 1 > 0)": 0,
	} {
		in := tables{}
		for _, name := range []string{"l", "r"} {
			in[name] = columns([]string{"id", "k"}, 1000, 10, func(_, row int) int64 { return int64(row) })
		}
		if _, err := run(t.Context(), in, text); err != nil {
			t.Fatal(err)
		}
		if got := len(in["l"].asked); got != want || in["r"].yielded != 1 {
			t.Errorf("%s: asks for rows of l %d times, want %d, and reads %d batches of r", text, got, want, in["r"].yielded)
		}
	}
}

// Names have as many parts of the name of a table as are needed.
func TestNamesOfColumns(t *testing.T) {
	in := tables{"t": columns([]string{"id", "k"}, 2, 2, func(c, row int) int64 { return int64(10*c + row) })}
	for text, want := range map[string]string{
		"SELECT n.t.id, t.k FROM n.t WHERE n.t.id = 1":                                      "1 11 ",
		"SELECT m.n.t.id + n.t.k AS x FROM m.n.t ORDER BY -m.n.t.id":                        "12  10 ",
		"SELECT n.t.* FROM n.t, m.t WHERE n.t.id = 1 AND m.t.id = 0":                        "1 11 ",
		"SELECT count(*) AS n FROM n.t JOIN m.t ON n.t.id = m.t.id":                         "2 ",
		"SELECT N.T.ID FROM n.t WHERE t.id = 0":                                             "0 ",
		"SELECT n.t.id FROM n.t AS a":                                                       "no column n.t.id",
		"SELECT t.id FROM n.t, m.t":                                                         "is in n.t and in m.t",
		"SELECT t.* FROM n.t, m.t":                                                          "n.t and m.t have",
		"SELECT n.t.id FROM n.t, n.t":                                                       "two sources in FROM have the name n.t",
		"SELECT o.t.id FROM n.t":                                                            "o",
		`SELECT "n.t.id", "m.t.k" FROM (SELECT * FROM n.t, m.t WHERE n.t.id > m.t.id) AS d`: "1 10 ",
	} {
		got, err := run(t.Context(), in, text)
		joined := strings.Join(got, " ")
		if err != nil {
			joined = err.Error()
		}
		if joined != want && (err == nil || !strings.Contains(joined, want)) {
			t.Errorf("%s: got %q, want %q", text, joined, want)
		}
	}
}

// Queries that name each other twice do not make a plan of endless size.
func TestPlansAreBounded(t *testing.T) {
	text := "WITH q0 AS (SELECT k FROM l)"
	for i := range 40 {
		text += fmt.Sprintf(", q%d AS (SELECT a.k FROM q%d a JOIN q%d b ON a.k = b.k)", i+1, i, i)
	}
	in := tables{"l": columns([]string{"k"}, 1, 1, func(_, row int) int64 { return int64(row) })}
	if _, err := run(t.Context(), in, text+" SELECT k FROM q40"); !errors.Is(err, sql.ErrTooLarge) {
		t.Errorf("got %v, want an error about the number of queries", err)
	}
	if _, err := run(t.Context(), in, text+" SELECT k FROM q4"); err != nil {
		t.Error(err)
	}
}

// Conditions are tested by the tables, and columns that no step needs are not read.
func TestTablesAreAskedForWhatIsNeeded(t *testing.T) {
	for text, want := range map[string]string{
		"SELECT a.x FROM l a JOIN r b ON a.k = b.k WHERE a.y > 1 AND b.y < 2 AND a.x + b.x = 3": `Project: columns=[` + "`a.x`" + ` AS x]
  Filter: condition=` + "`a.x` + `b.x`" + ` = 3
    HashJoin: kind=INNER on=[` + "`a.k` = `b.k`" + `] in_memory=right
      Table: l
        Scan: x k where ` + "`y`" + ` > 1
      Table: r
        Scan: x k where ` + "`y`" + ` < 2
`,
		"SELECT a.x FROM l a LEFT JOIN r b ON a.k = b.k AND b.y = 1 WHERE a.y = 2": `Project: columns=[` + "`a.x`" + ` AS x]
  HashJoin: kind=LEFT on=[` + "`a.k` = `b.k`" + `] in_memory=right
    Table: l
      Scan: x k where ` + "`y`" + ` = 2
    Table: r
      Scan: k where ` + "`y`" + ` = 1
`,
		"SELECT n FROM (SELECT k, count(*) AS n FROM l GROUP BY k) AS g WHERE k = 3 AND n > 1": `Project: columns=[` + "`g.n`" + ` AS n]
  Filter: condition=` + "`g.n`" + ` > 1
    Project: columns=[` + "`count(*)`" + ` AS g.n]
      Group: by=[` + "`l.k`" + `] calls=[count(*)]
        Project: columns=[` + "`l.k`" + ` AS key0]
          Table: l
            Scan: k where ` + "`k`" + ` = 3
`,
	} {
		in := tables{}
		for _, name := range []string{"l", "r"} {
			in[name] = columns([]string{"x", "y", "k"}, 10, 10, func(_, row int) int64 { return int64(row) })
		}
		s, err := syntax.ParseStatement(text, nil)
		if err != nil {
			t.Fatal(err)
		}
		p, err := relation.Make(t.Context(), s.Query, in, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if got, err := p.Explain(t.Context()); err != nil || got != want {
			t.Errorf("%s: got %v\n%s\nwant\n%s", text, err, got, want)
		}
	}
}

// The keys of a small side are a condition of the table on the other side.
func TestSmallSideNarrowsTheOther(t *testing.T) {
	for text, want := range map[string]string{
		"SELECT b.id FROM big b JOIN small s ON b.k = s.k WHERE s.id > 7": "`k` IN (8, 9)",
		"SELECT id FROM big WHERE k IN (SELECT k FROM small)":             "`k` IN (0, 1, 2, 3, 4, 5, 6, 7, 8, 9)",
		"SELECT b.id FROM big b LEFT JOIN small s ON b.k = s.k":           "",
		"SELECT id FROM big WHERE k NOT IN (SELECT k FROM small)":         "",
		"SELECT k FROM big INTERSECT SELECT k FROM small WHERE id > 7":    "`k` IN (8, 9)",
		"SELECT k FROM big INTERSECT SELECT nullif(k, 8) FROM small":      "",
		"SELECT k FROM big EXCEPT SELECT k FROM small":                    "",
	} {
		in := tables{}
		for name, rows := range map[string]int{"big": 1000, "small": 10} {
			in[name] = columns([]string{"id", "k"}, rows, 100, func(_, row int) int64 { return int64(row) })
		}
		if _, err := run(t.Context(), in, text); err != nil {
			t.Fatal(err)
		}
		got := ""
		if where := in["big"].asked[0].Body.(*syntax.Block).Where; where != nil {
			got = where.String()
		}
		if got != want {
			t.Errorf("%s: big is asked for rows where %q, want %q", text, got, want)
		}
	}
}

func BenchmarkStatement(b *testing.B) {
	const rows = 1_000_000
	rng := rand.New(rand.NewPCG(1, 2))
	in := tables{
		"f": columns([]string{"id", "k", "g", "x"}, rows, 8192, func(c, row int) int64 {
			return []int64{int64(row), rng.Int64N(100_000), rng.Int64N(1000), rng.Int64N(1 << 40)}[c]
		}),
		"d": columns([]string{"k", "label"}, 100_000, 8192, func(c, row int) int64 { return int64(row) % []int64{1 << 40, 37}[c] }),
	}
	for name, text := range map[string]string{
		"FewGroups":  "SELECT g, count(*) AS n, sum(x) AS s FROM f GROUP BY g",
		"ManyGroups": "SELECT k, max(x) AS m FROM f GROUP BY k",
		"Join":       "SELECT d.label, count(*) AS n FROM f JOIN d ON f.k = d.k GROUP BY d.label",
		"TopK":       "SELECT id FROM f ORDER BY x * 2 DESC LIMIT 10",
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				share := memory.NewBudget(512<<20, 512<<20).Open()
				if _, err := run(memory.WithShare(b.Context(), share), in, text); err != nil {
					b.Fatal(err)
				}
				share.Close()
			}
		})
	}
}

package engine_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/query"
	"tiltyard/shared/engine/relation"
	"tiltyard/shared/engine/selection"
	"tiltyard/shared/protocol"
	"tiltyard/shared/sql/syntax"
)

// statements opens one table for statements, whatever its name is.
type statements struct{ on *engine.Table }

func (s statements) Open(context.Context, *syntax.Table) (relation.Table, error) { return s, nil }

func (s statements) queryOf(q *syntax.Query) *query.Query {
	b := q.Body.(*syntax.Block)
	made := &query.Query{Limit: q.Limit}
	for _, out := range b.Outputs {
		if out.Expr != nil {
			made.Columns = append(made.Columns, query.Column{Name: out.Name, Expression: out.Expr.String()})
		}
	}
	if b.Where != nil {
		made.Filter = b.Where.String()
	}
	return made
}

func (s statements) Columns(ctx context.Context, q *syntax.Query) (*arrow.Schema, error) {
	rows, err := s.on.Query(ctx, engine.AsOf{}, s.queryOf(q))
	if err != nil {
		return nil, err
	}
	return rows.Schema, nil
}

func (s statements) Rows(ctx context.Context, q *syntax.Query) (*protocol.Rows, error) {
	return s.on.Query(ctx, engine.AsOf{}, s.queryOf(q))
}

func (s statements) Explain(ctx context.Context, q *syntax.Query) (string, error) {
	return s.on.Explain(ctx, engine.AsOf{}, s.queryOf(q), false)
}

func (s statements) Count(ctx context.Context) (int64, error) {
	count, err := s.on.Count(ctx, engine.AsOf{}, "")
	return count.Rows, err
}

func (s statements) Groups(ctx context.Context, q *syntax.Query, g *query.Groups, tell func(string)) (*protocol.Rows, error) {
	return s.on.Groups(ctx, engine.AsOf{}, s.queryOf(q), g, tell)
}

// answered returns the rows of a statement as sorted text, and its plan after a run.
func answered(t *testing.T, table *engine.Table, statement string) (rows []string, plan string, err error) {
	t.Helper()
	parsed, err := syntax.ParseStatement(statement, nil)
	if err != nil {
		t.Fatal(err)
	}
	made, err := relation.Make(t.Context(), parsed.Query, statements{table}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	answer := made.Rows(t.Context())
	for batch, err := range answer.Batches {
		if err != nil {
			return nil, "", err
		}
		for i := range int(batch.NumRows()) {
			row := make([]string, batch.NumCols())
			for c := range row {
				row[c] = fmt.Sprintf("%s %s", batch.Column(c).DataType(), batch.Column(c).ValueStr(i))
			}
			rows = append(rows, strings.Join(row, ", "))
		}
	}
	slices.Sort(rows)
	plan, err = made.Analyze(t.Context())
	return rows, plan, err
}

func TestDividedGroupsAreTheSame(t *testing.T) {
	table := createPoints(t)
	for statement, divided := range map[string]bool{
		"SELECT name, count(*), sum(id), avg(id), min(id), max(id) FROM points GROUP BY name":                         true,
		"SELECT id % 7 AS k, count(name) AS n FROM points WHERE id % 3 = 1 GROUP BY id % 7 HAVING count(name) > 150":  true,
		"SELECT count(*) + 1, avg(id / 2), max(name) FROM points WHERE id > 4000":                                     true,
		"SELECT count(*), sum(id), avg(id), min(name) FROM points WHERE id < 0 AND name = 'none'":                     true,
		"SELECT name, count(*) FILTER (WHERE id % 2 = 0), avg(id) FILTER (WHERE id > 9000) FROM points GROUP BY name": true,
		"SELECT DISTINCT name FROM points": true,
		"SELECT id % 5, bool_and(id > 3), bool_or(name IS NULL), bit_xor(id), bit_or(id) FROM points GROUP BY id % 5": true,
		"SELECT upper(name), id % 2, count(*) FROM points GROUP BY upper(name), id % 2":                               true,
		"SELECT sum(CAST(id AS DOUBLE) / 4), avg(CAST(id AS FLOAT)), sum(CAST(id % 100 AS INT UNSIGNED)) FROM points": true,
		"SELECT name, median(id) FROM points GROUP BY name":                                                           false,
		"SELECT count(DISTINCT name) FROM points":                                                                     false,
		"SELECT sum(CAST(id AS DECIMAL(20, 2))), avg(CAST(id AS DECIMAL(20, 2))) FROM points":                         false,
		"SELECT name, stddev(id) FROM points GROUP BY name":                                                           false,
		"SELECT random() > 2, count(*) FROM points GROUP BY random() > 2":                                             false,
	} {
		want, whole, err := answered(t, table, statement)
		if err != nil || strings.Contains(whole, "parts=") {
			t.Fatalf("%s: %v\n%s", statement, err, whole)
		}
		for _, most := range []int{2, 5, 100} {
			var e elsewhere
			got, plan, err := answered(t, e.spread(table, most), statement)
			if err != nil {
				t.Fatalf("%s, in %d parts: %v", statement, most, err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s, in %d parts (-whole +divided):\n%s", statement, most, diff)
			}
			grouped := slices.ContainsFunc(e.parts, func(p query.Part) bool { return p.Kind == "groups" })
			if shown := strings.Contains(plan, " parts="); grouped != divided || shown != divided {
				t.Errorf("%s: groups in parts: %v, shown in the plan: %v, want %v\n%s", statement, grouped, shown, divided, plan)
			}
		}
	}
}

func TestDividedGroupsThatFail(t *testing.T) {
	table := createPoints(t)
	const statement = "SELECT name, sum(id) FROM points GROUP BY name"
	want, _, err := answered(t, table, statement)
	if err != nil {
		t.Fatal(err)
	}
	var e elsewhere
	divided := e.spread(table, 5)
	e.before = func(int) error { return errNowhere }
	if got, _, err := answered(t, divided, statement); err != nil || !slices.Equal(got, want) {
		t.Errorf("nothing runs elsewhere: got %d groups (%v), want %d", len(got), err, len(want))
	}
	e.before = func(n int) error { return map[bool]error{true: errCrowded}[n%2 == 0] }
	if got, _, err := answered(t, divided, statement); err != nil || !slices.Equal(got, want) {
		t.Errorf("half of the parts run here: got %d groups (%v), want %d", len(got), err, len(want))
	}
	e.before = nil
	if _, _, err := answered(t, divided, "SELECT sum(10 / (id - 7000)) FROM points"); err == nil || !strings.Contains(err.Error(), "10 / (`id` - 7000)") {
		t.Errorf("a part divides by zero: got %v, want an error that names the expression", err)
	}
}

func TestDividedGroupsOfAView(t *testing.T) {
	table := createPoints(t)
	for text, divided := range map[string]bool{
		"SELECT id AS number, name FROM points WHERE id % 5 <> 2": true,
		"SELECT id AS number, name FROM points LIMIT 4000":        false,
	} {
		seen, err := selection.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		const statement = "SELECT name, sum(number), count(*) FROM points GROUP BY name"
		want, _, err := answered(t, table.WithView(seen), statement)
		if err != nil {
			t.Fatal(err)
		}
		var e elsewhere
		got, plan, err := answered(t, e.spread(table.WithView(seen), 5), statement)
		if err != nil || !slices.Equal(got, want) || strings.Contains(plan, " parts=") != divided {
			t.Errorf("%s: got %q (%v), want %q, in parts: %v\n%s", text, got, err, want, divided, plan)
		}
	}
}

package syntax

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/sql"
)

func TestParseStatement(t *testing.T) {
	five := &Number{Text: "-5"}
	for _, c := range []struct {
		text       string
		parameters map[string]Expr
		want       string
	}{
		{"select * from t", nil, "SELECT * FROM t"},
		{"EXPLAIN ANALYZE SELECT a FROM t;;", nil, "EXPLAIN ANALYZE SELECT a AS a FROM t"},
		{`explain select a.b, "A b", upper(c), (d) from n."my t" version as of 3 branch 'it''s'`, nil, "EXPLAIN SELECT a.b AS b, `A b` AS A b, upper(c) AS upper(c), d AS (d) FROM n.my t VERSION 3 BRANCH it's"},
		{"SELECT a x, b AS y FROM t WHERE a > 1 AND b = 'x' LIMIT 10 OFFSET 2", nil, "SELECT a AS x, b AS y FROM t WHERE a > 1 AND b = 'x' LIMIT 10 OFFSET 2"},
		{"SELECT a FROM t ORDER BY a, b ASC NULLS FIRST, c DESC, d DESC NULLS LAST LIMIT ALL", nil, "SELECT a AS a FROM t ORDER BY a, b NULLS FIRST, c DESC NULLS FIRST, d DESC"},
		{"SELECT version FROM branch WHERE version = 1", nil, "SELECT version AS version FROM branch WHERE version = 1"},
		{"SELECT - $a FROM t WHERE x = $a AND y = $b LIMIT $n", map[string]Expr{"a": five, "b": &Text{Value: "it's"}, "n": &Number{Text: "3"}}, "SELECT -(-5) AS -$a FROM t WHERE x = -5 AND y = 'it''s' LIMIT 3"},
		{"SELECT a FROM sample.table_2.select WHERE a = 1", nil, "SELECT a AS a FROM sample.table_2.select WHERE a = 1"},
		{"SELECT 1, upper('a') u", nil, "SELECT 1 AS 1, upper('a') AS u"},
		{"SELECT DISTINCT a.*, b.x y FROM t a, n.u AS b (x, \"Y\") WHERE a.id = b.x", nil, "SELECT DISTINCT a.*, b.x AS y FROM (t AS a INNER n.u AS b(x, Y)) WHERE a.id = b.x"},
		{"SELECT * FROM a JOIN b ON a.x = b.x LEFT OUTER JOIN c USING (y, z) CROSS JOIN d", nil, "SELECT * FROM (((a INNER b ON a.x = b.x) LEFT c USING (y, z)) INNER d)"},
		{"SELECT * FROM (a FULL JOIN b ON a.x = b.x), c LEFT ANTI JOIN d ON c.y = d.y", nil, "SELECT * FROM ((a FULL b ON a.x = b.x) INNER (c LEFT ANTI d ON c.y = d.y))"},
		{"SELECT k, count(*) AS n, sum(DISTINCT v) FILTER (WHERE v > 0) FROM t GROUP BY k, 2 HAVING count(*) > 1", nil, "SELECT k AS k, count(*) AS n, sum(DISTINCT v) FILTER (WHERE v > 0) AS sum(DISTINCT v) FILTER (WHERE v > 0) FROM t GROUP BY k, 2 HAVING count(*) > 1"},
		{"WITH q (a) AS (SELECT 1), r AS (SELECT a FROM q) SELECT a FROM r WHERE a NOT IN (SELECT b FROM u)", nil, "WITH q(a) AS (SELECT 1 AS 1), r AS (SELECT a AS a FROM q) SELECT a AS a FROM r WHERE a NOT IN (SELECT …)"},
		{"(SELECT a FROM t ORDER BY a LIMIT 1) UNION ALL VALUES (1), (2) UNION SELECT b FROM u ORDER BY 1 OFFSET 1 ROWS", nil, "(((SELECT a AS a FROM t ORDER BY a LIMIT 1) UNION ALL VALUES (1), (2)) UNION SELECT b AS b FROM u) ORDER BY 1 OFFSET 1"},
		{"SELECT CAST((SELECT max(b) FROM u) AS varchar) AS m FROM t WHERE a::int8 > 1", nil, "SELECT CAST((SELECT …) AS string) AS m FROM t WHERE CAST(a AS bigint) > 1"},
		{"SELECT d.a FROM (SELECT a FROM t) AS d (a) JOIN (VALUES (1, 'x')) v (n, s) ON v.n = d.a", nil, "SELECT d.a AS a FROM ((SELECT a AS a FROM t) AS d(a) INNER (VALUES (1, 'x')) AS v(n, s) ON v.n = d.a)"},
		{"SELECT 1 EXCEPT SELECT 2 INTERSECT SELECT 3 UNION ALL SELECT 4", nil, "((SELECT 1 AS 1 EXCEPT (SELECT 2 AS 2 INTERSECT SELECT 3 AS 3)) UNION ALL SELECT 4 AS 4)"},
		{"(VALUES (1) INTERSECT DISTINCT VALUES (2) INTERSECT VALUES (3)) EXCEPT (SELECT 1 LIMIT 1) ORDER BY 1 LIMIT 2", nil, "((((VALUES (1) INTERSECT VALUES (2)) INTERSECT VALUES (3))) EXCEPT (SELECT 1 AS 1 LIMIT 1)) ORDER BY 1 LIMIT 2"},
		{"SELECT a FROM t WHERE NOT EXISTS (SELECT 1 FROM u) AND (exists (VALUES (1)) OR NOT (NOT EXISTS ((SELECT 1))))", nil, "SELECT a AS a FROM t WHERE NOT EXISTS (SELECT …) AND (EXISTS (SELECT …) OR EXISTS (SELECT …))"},
		{"SELECT n.t.a, n.t.*, t.*, n.t.b.c FROM n.t", nil, "SELECT n.t.a AS a, n.t.*, t.*, n.t.b.c AS c FROM n.t"},
		{"SELECT a FROM t TAG 'it''s' AS x, u TAG 'v' tag, w tag", nil, "SELECT a AS a FROM ((t TAG it's AS x INNER u TAG v AS tag) INNER w AS tag)"},
	} {
		s, err := ParseStatement(c.text, c.parameters)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if diff := cmp.Diff(c.want, s.describe()); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", c.text, diff)
		}
	}
}

func TestTableNameIsReadAgain(t *testing.T) {
	for want, id := range map[string][]string{"sample.films": {"sample", "films"}, `a."My Docs"."it""s"._1`: {"a", "My Docs", `it"s`, "_1"}, `"1"`: {"1"}} {
		got := TableName(id)
		s, err := ParseStatement("SELECT * FROM "+got, nil)
		if err != nil || got != want {
			t.Errorf("%q: got %s, %v, want %s", id, got, err, want)
			continue
		}
		var read []string
		for _, part := range s.Query.Body.(*Block).From.(*Table).Name {
			read = append(read, part.Text)
		}
		if diff := cmp.Diff(id, read); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", got, diff)
		}
	}
}

func TestParseStatementNamesTheMistake(t *testing.T) {
	for text, want := range map[string]string{
		"":                                                "a query is",
		"UPDATE t SET a = 1":                              "\"UPDATE\"",
		"SELECT a, FROM t":                                "\"FROM\"",
		"SELECT a FROM My":                                "write \"My\"",
		"SELECT a FROM t AS X":                            "write \"X\"",
		"SELECT a AS B FROM t":                            "write \"B\"",
		"SELECT a FROM t VERSION AS OF x":                 "whole number",
		"SELECT a FROM t BRANCH b":                        "\"BRANCH\"",
		"SELECT a FROM t LIMIT 1L":                        "whole number",
		"SELECT a FROM t OFFSET -1":                       "OFFSET -1",
		"SELECT a FROM t LIMIT 99999999999999999999":      "whole number",
		"SELECT a FROM t ORDER a":                         "\"ORDER\"",
		"SELECT a FROM t LIMIT 1 WHERE a":                 "\"WHERE\"",
		"SELECT a FROM t JOIN u":                          "expected ON or USING",
		"SELECT a FROM t JOIN u USING":                    "in parentheses",
		"SELECT a FROM t NATURAL JOIN u":                  "NATURAL",
		"SELECT a FROM t INTERSECT ALL SELECT a FROM u":   "INTERSECT ALL",
		"SELECT a FROM t EXCEPT ALL SELECT a FROM u":      "EXCEPT ALL",
		"SELECT a FROM t TAG 'a' BRANCH 'b'":              "\"BRANCH\"",
		"SELECT a FROM t BRANCH 'b' TAG 'a'":              "a tag names the version of a branch",
		"SELECT a FROM t VERSION AS OF 1 TAG 'a'":         "a tag names the version of a branch",
		"SELECT a FROM t TAG ''":                          "at least one letter",
		"SELECT a, row_number() OVER (ORDER BY a) FROM t": "OVER after a function call",
		"WITH RECURSIVE q AS (SELECT 1) SELECT * FROM q":  "RECURSIVE",
		"SELECT a FROM range(3)":                          "functions in FROM",
		"SELECT a FROM t, UNNEST(b)":                      "UNNEST in FROM",
		"SELECT a FROM t WHERE EXISTS (a)":                "a query is",
		"SELECT a FROM t WHERE a = (SELECT 1":             "expected \")\"",
		"SELECT a FROM t GROUP BY ROLLUP (a)":             "ROLLUP",
		"SELECT * EXCEPT (a) FROM t":                      "* EXCEPT",
		"VALUES (1), (2, 3)":                              "row 2 of VALUES has 2 columns",
		"SELECT DISTINCT ON (a) a FROM t":                 "DISTINCT ON",
		"SELECT $ FROM t":                                 "without the name",
		"SELECT $p FROM t":                                "$p has no value",
		strings.Repeat("SELECT a FROM (", 100):            "nested more than",
	} {
		_, err := ParseStatement(text, nil)
		var bad *sql.Error
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want an error with %q", text, err, want)
		}
	}
	if _, err := ParseSelect("SELECT a FROM t WHERE a = $p"); err == nil || !strings.Contains(err.Error(), "parameter $p in a query that is stored") {
		t.Errorf("a stored query with a parameter: got %v", err)
	}
}

// Whatever the text and the values are, the expressions of a statement can be printed and parsed as filters.
func FuzzParseStatement(f *testing.F) {
	f.Add("EXPLAIN SELECT a, b + $n AS c FROM n.t VERSION AS OF 1 WHERE a > $n AND b = $t ORDER BY a DESC LIMIT 1 OFFSET 2", "it's", "-1.5e3")
	f.Add("SELECT * FROM \"a b\" BRANCH 'x' WHERE $t LIKE 'a' ORDER BY distance(v, [$n, 1]) LIMIT 2", "\\'", "7")
	f.Add("WITH q (a) AS (SELECT 1) SELECT DISTINCT x.*, count(*) FROM q x LEFT JOIN (VALUES (1)) v USING (a) WHERE a IN (SELECT 1) GROUP BY a HAVING a > $n UNION ALL (SELECT 2) ORDER BY 1", "", "1")
	f.Add("SELECT n.t.*, a.b.c.d FROM n.t TAG 'x' WHERE NOT EXISTS (SELECT 1) AND NOT a INTERSECT SELECT 1 EXCEPT VALUES ($n)", "", "1")
	f.Fuzz(func(t *testing.T, text, value, number string) {
		parameters := map[string]Expr{}
		if strings.Contains(text, "$t") && utf8.ValidString(value) {
			parameters["t"] = &Text{Value: value}
		}
		if n, err := Parse(number); err == nil && strings.Contains(text, "$n") {
			if n, ok := n.(*Number); ok {
				parameters["n"] = n
			}
		}
		s, err := ParseStatement(text, parameters)
		if err != nil {
			return
		}
		s.describe()
		block, ok := s.Query.Body.(*Block)
		if !ok || block.Where == nil || strings.Contains(block.Where.String(), "(SELECT …)") {
			return
		}
		printed := block.Where.String()
		again, err := Limits{Bytes: 1 << 30}.Parse(printed)
		if err != nil {
			var bad *sql.Error
			if errors.As(err, &bad) && (errors.Is(err, sql.ErrTooLarge) || strings.Contains(err.Error(), "GROUP BY") || strings.Contains(err.Error(), "after a function call") || strings.Contains(err.Error(), "in the arguments")) {
				return // calls of aggregate functions, which filters refuse by name
			}
			t.Fatalf("%q was printed as %q: %v", text, printed, err)
		}
		if again.String() != printed {
			t.Fatalf("%q was printed as %q, and then as %q", text, printed, again)
		}
	})
}

// describe returns a statement in one line.
func (s *Statement) describe() string {
	var d describer
	d.word(s.Explain, "EXPLAIN ")
	d.word(s.Analyze, "ANALYZE ")
	d.query(s.Query)
	return d.String()
}

// A describer writes parts of statements.
type describer struct{ strings.Builder }

func (d *describer) word(is bool, text string) {
	if is {
		d.WriteString(text)
	}
}

func (d *describer) query(q *Query) {
	for i, c := range q.With {
		d.WriteString([]string{"WITH ", ", "}[min(i, 1)] + c.Name.Text)
		d.columns(c.Columns)
		d.WriteString(" AS (")
		d.query(c.Query)
		d.WriteString(")")
	}
	d.word(q.With != nil, " ")
	d.body(q.Body)
	for i, key := range q.Order {
		d.WriteString([]string{" ORDER BY ", ", "}[min(i, 1)] + key.Expr.String())
		d.word(key.Descending, " DESC")
		d.word(key.NullsFirst, " NULLS FIRST")
	}
	if q.Limit != nil {
		fmt.Fprintf(d, " LIMIT %d", *q.Limit)
	}
	if q.Offset != nil {
		fmt.Fprintf(d, " OFFSET %d", *q.Offset)
	}
}

func (d *describer) body(b Body) {
	switch b := b.(type) {
	case *Query:
		d.WriteString("(")
		d.query(b)
		d.WriteString(")")
	case *Values:
		for i, row := range b.Rows {
			d.WriteString([]string{"VALUES ", ", "}[min(i, 1)] + "(" + joinExprs(row) + ")")
		}
	case *SetOperation:
		d.WriteString("(")
		d.body(b.L)
		d.WriteString(" " + string(b.Op) + " ")
		d.word(b.All, "ALL ")
		d.body(b.R)
		d.WriteString(")")
	case *Block:
		d.block(b)
	}
}

func (d *describer) block(b *Block) {
	d.WriteString("SELECT ")
	d.word(b.Distinct, "DISTINCT ")
	for i, out := range b.Outputs {
		d.word(i > 0, ", ")
		switch {
		case out.Of != nil:
			for _, part := range out.Of {
				d.WriteString(part.Text + ".")
			}
			d.WriteString("*")
		case out.Expr == nil:
			d.WriteString("*")
		default:
			d.WriteString(out.Expr.String() + " AS " + out.Name)
		}
	}
	if b.From != nil {
		d.WriteString(" FROM ")
		d.source(b.From)
	}
	if b.Where != nil {
		d.WriteString(" WHERE " + b.Where.String())
	}
	if b.Group != nil {
		d.WriteString(" GROUP BY " + joinExprs(b.Group))
	}
	if b.Having != nil {
		d.WriteString(" HAVING " + b.Having.String())
	}
}

func (d *describer) source(s Source) {
	switch s := s.(type) {
	case *Table:
		for i, part := range s.Name {
			d.word(i > 0, ".")
			d.WriteString(part.Text)
		}
		if s.Version != nil {
			fmt.Fprintf(d, " VERSION %d", *s.Version)
		}
		d.word(s.Branch != "", " BRANCH "+s.Branch)
		d.word(s.Tag != "", " TAG "+s.Tag)
		d.alias(s.Alias)
	case *Derived:
		d.WriteString("(")
		d.query(s.Query)
		d.WriteString(")")
		d.alias(s.Alias)
	case *Join:
		d.WriteString("(")
		d.source(s.L)
		d.WriteString(" " + string(s.Kind) + " ")
		d.source(s.R)
		if s.On != nil {
			d.WriteString(" ON " + s.On.String())
		}
		d.word(s.Using != nil, " USING ")
		d.columns(s.Using)
		d.WriteString(")")
	}
}

func (d *describer) alias(a Alias) {
	if a.Name != nil {
		d.WriteString(" AS " + a.Name.Text)
		d.columns(a.Columns)
	}
}

func (d *describer) columns(names []Name) {
	for i, name := range names {
		d.WriteString([]string{"(", ", "}[min(i, 1)] + name.Text)
	}
	d.word(names != nil, ")")
}

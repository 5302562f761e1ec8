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
		for _, part := range s.From {
			read = append(read, part.Text)
		}
		if diff := cmp.Diff(id, read); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", got, diff)
		}
	}
}

func TestParseStatementNamesTheMistake(t *testing.T) {
	for text, want := range map[string]string{
		"":                                "a statement is",
		"UPDATE t SET a = 1":              "\"UPDATE\"",
		"SELECT a":                        "expected FROM",
		"SELECT a, FROM t":                "\"FROM\"",
		"SELECT *, a FROM t":              "beside *",
		"SELECT a, * FROM t":              "* beside",
		"SELECT a FROM My":                "write \"My\"",
		"SELECT a FROM t AS x":            "another name",
		"SELECT a FROM t VERSION AS OF x": "whole number",
		"SELECT a FROM t BRANCH b":        "\"BRANCH\"",
		"SELECT a FROM t LIMIT 1L":        "whole number",
		"SELECT a FROM t OFFSET -1":       "OFFSET -1",
		"SELECT a FROM t LIMIT 99999999999999999999": "whole number",
		"SELECT a FROM t ORDER a":                    "\"ORDER\"",
		"SELECT a FROM t LIMIT 1 WHERE a":            "\"WHERE\"",
		"SELECT a FROM t JOIN u":                     "\"JOIN\"",
		"SELECT $ FROM t":                            "without the name",
		"SELECT $p FROM t":                           "$p has no value",
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
		if err != nil || s.Where == nil {
			return
		}
		printed := s.Where.String()
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
	var b strings.Builder
	for _, word := range []struct {
		is   bool
		text string
	}{{s.Explain, "EXPLAIN "}, {s.Analyze, "ANALYZE "}} {
		if word.is {
			b.WriteString(word.text)
		}
	}
	b.WriteString("SELECT ")
	if s.Outputs == nil {
		b.WriteString("*")
	}
	for i, out := range s.Outputs {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(out.Expr.String() + " AS " + out.Name)
	}
	b.WriteString(" FROM ")
	for i, name := range s.From {
		if i > 0 {
			b.WriteString(".")
		}
		b.WriteString(name.Text)
	}
	if s.Version != nil {
		fmt.Fprintf(&b, " VERSION %d", *s.Version)
	}
	if s.Branch != "" {
		b.WriteString(" BRANCH " + s.Branch)
	}
	if s.Where != nil {
		b.WriteString(" WHERE " + s.Where.String())
	}
	for i, key := range s.Order {
		b.WriteString([]string{" ORDER BY ", ", "}[min(i, 1)] + key.Expr.String())
		if key.Descending {
			b.WriteString(" DESC")
		}
		if key.NullsFirst {
			b.WriteString(" NULLS FIRST")
		}
	}
	if s.Limit != nil {
		fmt.Fprintf(&b, " LIMIT %d", *s.Limit)
	}
	if s.Offset != nil {
		fmt.Fprintf(&b, " OFFSET %d", *s.Offset)
	}
	return b.String()
}

package syntax

import (
	"slices"
	"testing"
)

func TestParametersKnowWhatTheyAreComparedWith(t *testing.T) {
	for src, want := range map[string][]Parameter{
		"SELECT a FROM t WHERE b >= $x AND $y < c LIMIT $z":                 {{Name: "x", Column: "b"}, {Name: "y", Column: "c"}, {Name: "z", Count: true}},
		"SELECT a FROM t WHERE b BETWEEN ? AND ? OR \"C\" IN (1, ?)":        {{Name: "1", Column: "b"}, {Name: "2", Column: "b"}, {Name: "3", Column: "C"}},
		"SELECT a FROM t VERSION AS OF $v ORDER BY distance(v, $v) LIMIT 1": {{Name: "v", Count: true}},
		"SELECT $x FROM t WHERE s.m = $y AND match(text, $z)":               {{Name: "x", Column: "SELECT"}, {Name: "y"}, {Name: "z", Column: "text"}},
		"$x":         {{Name: "x"}},
		"'$x' -- $y": nil,
	} {
		if got, err := Parameters(src); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: got %+v, %v", src, got, err)
		}
	}
	if _, err := Parameters("$"); err == nil {
		t.Error("$ without a name is no error")
	}
}

func TestReads(t *testing.T) {
	for src, want := range map[string]bool{
		"SELECT 1": true, " /* x */ explain select": true, "-- x\nDELETE FROM t": false, "insert into t": false, "": false, "show tables": true, "'": true,
	} {
		if got := Reads(src); got != want {
			t.Errorf("Reads(%q) is %t", src, got)
		}
	}
}

func TestDescribedStatementNeedsNoValues(t *testing.T) {
	const src = "SELECT a FROM t WHERE b = $x LIMIT ?"
	if _, err := ParseStatement(src, nil); err == nil {
		t.Error("a statement without values of its parameters is no error")
	}
	s, err := DescribeStatement(src, nil)
	if err != nil || s.Query.Limit == nil {
		t.Errorf("got %+v, %v", s, err)
	}
	if s, err = ParseStatement(src, map[string]Expr{"x": &Number{Text: "1"}, "1": &Number{Text: "5"}}); err != nil || *s.Query.Limit != 5 {
		t.Errorf("got %+v, %v", s, err)
	}
}

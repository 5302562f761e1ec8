package syntax

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"tiltyard/shared/sql"
)

// sameTree compares expressions without the positions they were read at.
var sameTree = cmpopts.IgnoreTypes(position(0))

func TestParseReadsOperatorsByPrecedence(t *testing.T) {
	cases := []struct{ in, want string }{
		{"a = 1 or b = 2 and not c = 3", "a = 1 OR b = 2 AND NOT c = 3"},
		{"a + b * c - d / e % f", "a + b * c - d / e % f"},
		{"(a + b) * c", "(a + b) * c"},
		{"a - (b - c)", "a - (b - c)"},
		{"a || b = c", "a || b = c"},
		{"a = b = c", "a = b = c"},
		{"a = (b = c)", "a = (b = c)"},
		{"not a is null", "NOT a IS NULL"},
		{"(not a) is null", "(NOT a) IS NULL"},
		{"a not null", "a IS NOT NULL"},
		{"a between 1 and 2 and b", "a BETWEEN 1 AND 2 AND b"},
		{"a between (b and c) and d", "a BETWEEN (b AND c) AND d"},
		{"a is distinct from b and c", "a IS DISTINCT FROM b AND c"},
		{"(a is distinct from b) and c", "(a IS DISTINCT FROM b) AND c"},
		{"a like b escape '\\' or c", `a LIKE b ESCAPE '\' OR c`},
		{"a::int::string", "CAST(CAST(a AS int) AS string)"},
		{"-a::int", "-(CAST(a AS int))"},
		{"-5", "-5"},
		{"- 5", "-5"},
		{"-(5)", "-(5)"},
		{"- -5", "-(-5)"},
		{"a - -5", "a - -5"},
		{"a--5\n-5", "a - 5"},
		{"a <> 1 or b == 2", "a != 1 OR b = 2"},
		{"date '2024-01-31' < d", "date '2024-01-31' < d"},
		{"date < 5", "date < 5"},
		{"timestamp(3) with time zone 'x' = a", "timestamp(3) with time zone 'x' = a"},
		{"cast(a as decimal(10,2))", "CAST(a AS decimal(10, 2))"},
		{"cast(a as int unsigned)", "CAST(a AS int unsigned)"},
		{"try_cast(a as double precision)", "TRY_CAST(a AS double precision)"},
		{"x'0A' = 0x0a", "X'0A' = X'0a'"},
		{`"it's" = 'it''s'`, "'it''s' = 'it''s'"},
		{"`a b`.c.`d``e`", "`a b`.c.`d``e`"},
		{"a['b c'].d", "a['b c']['d']"},
		{"case when a then 1 else 2 end", "CASE WHEN a THEN 1 ELSE 2 END"},
		{"case a + 1 when 2 then 3 end", "CASE (a + 1) WHEN 2 THEN 3 END"},
		{"case = 1 and case is null", "case = 1 AND case IS NULL"},
		{"f(a, [1, 2], g())", "f(a, [1, 2], g())"},
		{"a in (1, -2, 'x', null)", "a IN (1, -2, 'x', NULL)"},
		{"1L + .5 + 1. + 1e-3", "1 + .5 + 1. + 1e-3"},
		{"a /* comment */ = -- another\n 1", "a = 1"},
		{"été = 'ß'", "été = 'ß'"},
	}
	for _, c := range cases {
		e, err := Parse(c.in)
		if err != nil {
			t.Errorf("Parse(%q): %v", c.in, err)
			continue
		}
		if got := e.String(); got != c.want {
			t.Errorf("Parse(%q) = %s, want %s", c.in, got, c.want)
		}
	}
}

func TestParseNamesWhatIsWrong(t *testing.T) {
	cases := []struct {
		in   string
		kind error
		pos  int
		text string
	}{
		{"", sql.ErrSyntax, 0, "expected an expression, found end of text"},
		{"a = ", sql.ErrSyntax, 4, "expected an expression"},
		{"a = 'x", sql.ErrSyntax, 4, "quote ' is not closed"},
		{"a = (1", sql.ErrSyntax, 6, `expected ")"`},
		{"a b", sql.ErrSyntax, 2, `unexpected "b"`},
		{"a = 1 and", sql.ErrSyntax, 9, "expected an expression"},
		{"or a", sql.ErrSyntax, 0, "found OR"},
		{"a in ()", sql.ErrSyntax, 6, "expected an expression"},
		{"a between 1", sql.ErrSyntax, 11, "expected AND"},
		{"a is 5", sql.ErrSyntax, 5, "expected NULL, TRUE, FALSE"},
		{"cast(a int)", sql.ErrSyntax, 7, "expected AS"},
		{"/* a", sql.ErrSyntax, 0, "comment is not closed"},
		{"a = \xff", sql.ErrSyntax, 4, "utf-8"},
		{"a = '\xff'", sql.ErrSyntax, 4, "utf-8"},
		{"a like 'x' escape 'yy'", sql.ErrSyntax, 18, "one character"},
		{"a ~ 'x'", sql.ErrUnsupported, 2, "operator ~"},
		{"a -> 1 = 1", sql.ErrUnsupported, 2, "operator ->"},
		{"+a", sql.ErrUnsupported, 0, "prefix +"},
		{"a = ?", sql.ErrUnsupported, 4, "prefix ?"},
		{"a in (select 1)", sql.ErrUnsupported, 6, "subqueries"},
		{"(1, 2) = b", sql.ErrUnsupported, 0, "tuples"},
		{"extract(year, d) = 2024", sql.ErrSyntax, 12, "expected FROM"},
		{"trim(leading from a)", sql.ErrSyntax, 18, `expected ")"`},
		{"cast(a as geometry)", sql.ErrUnsupported, 10, "type geometry"},
		{"a[1:2] = b", sql.ErrUnsupported, 1, "slices"},
		{"a is unknown", sql.ErrUnsupported, 5, "IS UNKNOWN"},
		{"a rlike 'x'", sql.ErrUnsupported, 2, "operator RLIKE"},
		{"a = any(b)", sql.ErrUnsupported, 4, "ANY"},
		{"count(distinct a)", sql.ErrUnsupported, 6, "DISTINCT"},
		{"n'abc' = a", sql.ErrUnsupported, 0, "prefix n"},
	}
	for _, c := range cases {
		_, err := Parse(c.in)
		var e *sql.Error
		if !errors.As(err, &e) || !errors.Is(err, c.kind) || e.Pos != c.pos || !strings.Contains(e.Msg, c.text) {
			t.Errorf("Parse(%q): got %v, want %v at %d: …%s…", c.in, err, c.kind, c.pos, c.text)
		}
	}
}

func TestParseKeepsItsLimits(t *testing.T) {
	items := func(n int) string { return "a IN (1" + strings.Repeat(", 1", n-1) + ")" }
	chain := func(n int) string { return "a" + strings.Repeat(" OR a", n-1) }
	parens := func(n int) string { return strings.Repeat("(", n-1) + "a" + strings.Repeat(")", n-1) }
	cases := []struct {
		name   string
		limits Limits
		in     string
		ok     bool
	}{
		{"bytes", Limits{Bytes: 5}, "a = 1", true},
		{"bytes", Limits{Bytes: 4}, "a = 1", false},
		{"depth", Limits{Depth: 10}, parens(10), true},
		{"depth", Limits{Depth: 10}, parens(11), false},
		{"depth", Limits{}, parens(64), true},
		{"depth", Limits{}, parens(65), false},
		{"nodes", Limits{Nodes: 9}, chain(5), true},
		{"nodes", Limits{Nodes: 8}, chain(5), false},
		{"nodes", Limits{}, chain(2048), true},
		{"nodes", Limits{}, chain(2049), false},
		{"list", Limits{InList: 3}, items(3), true},
		{"list", Limits{InList: 3}, items(4), false},
		{"list", Limits{}, items(10_000), true},
		{"list", Limits{}, items(10_001), false},
		{"list counts no nodes", Limits{Nodes: 5}, items(100), true},
	}
	for _, c := range cases {
		_, err := c.limits.Parse(c.in)
		if c.ok && err != nil || !c.ok && !errors.Is(err, sql.ErrTooLarge) {
			t.Errorf("%s, %d bytes, limits %+v: got %v, want ok %v", c.name, len(c.in), c.limits, err, c.ok)
		}
	}
}

func TestParsingWhatIsPrintedGivesTheSameTree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := anyExpr(t, 4)
		again, err := Parse(e.String())
		if err != nil {
			t.Fatalf("%s: %v", e, err)
		}
		if diff := cmp.Diff(e, again, sameTree); diff != "" {
			t.Fatalf("%s (-drawn +parsed):\n%s", e, diff)
		}
	})
}

// anyExpr draws an expression.
func anyExpr(t *rapid.T, depth int) Expr {
	draw := func(n int, label string) int { return rapid.IntRange(0, n-1).Draw(t, label) }
	flag := func() bool { return rapid.Bool().Draw(t, "flag") }
	text := func() string {
		return rapid.SampledFrom([]string{"", "a", "it's", "`", "ß", "%_\\", "\n"}).Draw(t, "text")
	}
	sub := func() Expr { return anyExpr(t, depth-1) }
	subs := func() []Expr {
		list := []Expr{sub()}
		for range draw(3, "more") {
			list = append(list, sub())
		}
		return list
	}
	typ := rapid.SampledFrom([]TypeName{{Name: "int"}, {Name: "decimal", Args: []int{10, 2}}, {Name: "bigint unsigned"}, {Name: "timestamp with time zone", Args: []int{3}}, {Name: "double precision"}})
	kinds := 17
	if depth == 0 {
		kinds = 7
	}
	switch draw(kinds, "kind") {
	case 0:
		return &Number{Text: rapid.SampledFrom([]string{"0", "-1", "1.5", "-.5", "1e10", "18446744073709551615"}).Draw(t, "number")}
	case 1:
		return &Text{Value: text()}
	case 2:
		return &Bytes{Digits: rapid.SampledFrom([]string{"", "0a", "F"}).Draw(t, "digits")}
	case 3:
		return &Bool{Value: flag()}
	case 4:
		return &Null{}
	case 5:
		return &TypedText{Type: typ.Draw(t, "type"), Value: text()}
	case 6:
		c := &Column{}
		for range 1 + draw(3, "parts") {
			c.Path = append(c.Path, rapid.SampledFrom([]Name{{"a", false}, {"A b", true}, {"date", false}, {"case", false}, {"`", true}, {"select", true}}).Draw(t, "name"))
		}
		return c
	case 7, 8:
		x := sub()
		group(x)
		return &Unary{Op: rapid.SampledFrom([]UnaryOp{Not, Neg}).Draw(t, "op"), X: x}
	case 9, 10:
		op := rapid.SampledFrom([]BinaryOp{Or, And, Eq, Ne, Lt, Le, Gt, Ge, Distinct, NotDistinct, Add, Sub, Mul, Div, Mod, Concat}).Draw(t, "op")
		b := &Binary{Op: op, L: sub(), R: sub()}
		if op == And || op == Or {
			// Chains with and without parentheses are distinguished, so operands that need parentheses have
			// them.
			b.Grouped = flag()
			for _, x := range []Expr{b.L, b.R} {
				if c, ok := x.(*Binary); ok && (c.Op == And || c.Op == Or) {
					c.Grouped = c.Grouped || x == b.R || op == And && c.Op == Or
				}
			}
			return b
		}
		group(b.L, b.R)
		return b
	case 11:
		x := sub()
		group(x)
		return &Is{X: x, Test: rapid.SampledFrom([]IsTest{IsNull, IsTrue, IsFalse}).Draw(t, "test"), Not: flag()}
	case 12:
		x := sub()
		group(x)
		return &In{X: x, List: subs(), Not: flag()}
	case 13:
		b := &Between{X: sub(), Low: sub(), High: sub(), Not: flag()}
		group(b.X, b.Low, b.High)
		return b
	case 14:
		l := &Like{X: sub(), Pattern: sub(), Fold: flag(), Not: flag()}
		group(l.X, l.Pattern)
		if flag() {
			l.Escape = "!"
		}
		return l
	case 15:
		c := &Case{Whens: []When{{sub(), sub()}}}
		if flag() {
			c.X = sub()
			group(c.X)
		}
		if flag() {
			c.Else = sub()
		}
		return c
	default:
		switch draw(4, "other") {
		case 0:
			return &Cast{X: sub(), Type: typ.Draw(t, "type"), Try: flag()}
		case 1:
			return &Array{Elems: subs()}
		case 2:
			x := sub()
			group(x)
			return &Member{X: x, Name: text()}
		}
		return &Call{Name: "f", Args: subs()}
	}
}

// group marks logical operators that are printed in parentheses.
func group(list ...Expr) {
	for _, e := range list {
		if b, ok := e.(*Binary); ok && (b.Op == And || b.Op == Or) {
			b.Grouped = true
		}
	}
}

func ExampleParse() {
	e, err := Parse("price*2 >= 10 and name in ('a', 'b')")
	fmt.Println(e, err)
	_, err = Parse("price >")
	fmt.Println(err)
	// Output:
	// price * 2 >= 10 AND name IN ('a', 'b') <nil>
	// invalid sql expression at byte 7: expected an expression, found end of text
}

package plan

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"tiltyard/shared/sql/internal/column"
	"tiltyard/shared/sql/internal/expr"
	"tiltyard/shared/sql/internal/fn"
	"tiltyard/shared/sql/internal/meter"
	"tiltyard/shared/sql/rustregex"
)

// A pattern that compiles can also be parsed, the rewrite of regexp_like finds the same rows, and a
// matching text contains the pieces of the need.
func FuzzRegex(f *testing.F) {
	for _, pattern := range []string{"", "abc", "^abc$", "^(abc|a_c)$", "abc|^b|c$", "(?i)a1|b2c", `\x41\pL[^a]{2,3}?`, "(((a|b|c){1000}){1000})", "a.b|a.c", `a\\b`} {
		f.Add(pattern, "xabc", false)
		f.Add(pattern, "Abc", true)
	}
	f.Fuzz(func(t *testing.T, pattern, text string, anyCase bool) {
		flags := ""
		if anyCase {
			flags = "i"
		}
		re, err := rustregex.Compile(pattern, flags)
		n, parseErr := rustregex.Parse(pattern, flags)
		if parseErr == nil {
			n.Need(triples)
		}
		if err != nil {
			return
		}
		if parseErr != nil {
			if !strings.Contains(parseErr.Error(), "nested") && !strings.Contains(parseErr.Error(), "twice") {
				t.Fatalf("%q is compiled and not read: %v", pattern, parseErr)
			}
			return
		}
		matches, err := re.Match(nil, []byte(text))
		if err != nil {
			return
		}
		if need := n.Need(triples); matches && need != nil && !meets(need, text) {
			t.Fatalf("%q matches %q, which has not all the pieces that it needs", pattern, text)
		}
		value := func(s string) *expr.Node { return expr.Literal(column.TextConstant(column.TypeString, s), 0) }
		call := &expr.Node{Op: expr.OpCall, Type: column.TypeBool, Func: fn.Named("regexp_like"), Args: []*expr.Node{value(text), value(pattern), value(flags)}}
		test := rewriteRegexpLike(call)
		if test == call {
			return
		}
		if test, err = mapUp(test, func(n *expr.Node) (*expr.Node, error) { return fold(meter.ForPlan(t.Context()), n) }); err != nil {
			t.Fatal(err)
		}
		if got, ok := test.BoolLiteral(); !ok || got != matches {
			t.Fatalf("%q with flags %q in %q: got %t of %t, want %t", pattern, flags, text, got, ok, matches)
		}
	})
}

// triples are the runs of three letters or digits in lower case.
func triples(text string) (pieces []string) {
	for i := 3; i <= len(text); i++ {
		if lowerTriple.MatchString(text[i-3 : i]) {
			pieces = append(pieces, text[i-3:i])
		}
	}
	return pieces
}

var lowerTriple = regexp.MustCompile("^[a-z0-9]{3}$")

// meets reports whether a text meets a need.
func meets(need *rustregex.Need, text string) bool {
	lacks := func(piece string) bool { return !strings.Contains(text, piece) }
	misses := func(part *rustregex.Need) bool { return !meets(part, text) }
	some := func(part *rustregex.Need) bool { return meets(part, text) }
	return !slices.ContainsFunc(need.Pieces, lacks) && !slices.ContainsFunc(need.All, misses) &&
		(len(need.Any) == 0 || slices.ContainsFunc(need.Any, some))
}

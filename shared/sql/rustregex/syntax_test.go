package rustregex

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// shape writes an expression with brackets around the parts of each node.
func shape(n *Node) string {
	subs := make([]string, len(n.Subs))
	for i, sub := range n.Subs {
		subs[i] = shape(sub)
	}
	inner := strings.Join(subs, " ")
	switch n.Kind {
	case KindEmpty:
		return "empty"
	case KindLiteral:
		return fmt.Sprintf("%q", n.Text)
	case KindClass:
		if len(n.class) > 8 {
			return "[many]"
		}
		return fmt.Sprintf("[%s]", string(n.class))
	case KindLook:
		return n.Look
	case KindRepeat:
		return fmt.Sprintf("repeat{%d,%d}(%s)", n.min, n.max, inner)
	case KindGroup:
		return "group(" + inner + ")"
	case KindConcat:
		return "concat(" + inner + ")"
	default:
		return "one of(" + inner + ")"
	}
}

// The expected forms come from Rust's crate regex-syntax 0.8.
func TestRegexesAreReadAsRustReadsThem(t *testing.T) {
	for pattern, want := range map[string]string{
		"":                           "empty",
		"abc":                        `"abc"`,
		"ab|ac":                      `one of("ab" "ac")`,
		"a|b|d":                      "[abdd]",
		"b|c|a|a":                    "[ac]",
		"a|a":                        `"a"`,
		"a|":                         `one of("a" empty)`,
		"[ab]|[cx]":                  "[acxx]",
		"[ab]|c":                     `one of([ab] "c")`,
		"a|(?:b|cd)|e":               `one of("a" "b" "cd" "e")`,
		"a|(b|c)":                    `one of("a" group([bc]))`,
		"a.b|a.c":                    `concat("a" [` + "\x00\t\v\U0010ffff" + `] [bc])`,
		"ab.|ab^":                    `concat("ab" one of([` + "\x00\t\v\U0010ffff" + `] ^))`,
		"a*b|a*c":                    `one of(concat(repeat{0,-1}("a") "b") concat(repeat{0,-1}("a") "c"))`,
		"(?:ab)c(?:)d":               `"abcd"`,
		"(ab)c":                      `concat(group("ab") "c")`,
		"(?P<x>a)(?<y>b)":            `concat(group("a") group("b"))`,
		"ab{2}":                      `concat("a" repeat{2,2}("b"))`,
		"ab{1}c{0}d":                 `"abd"`,
		"a{2,}?b+?":                  `concat(repeat{2,-1}("a") repeat{1,-1}("b"))`,
		"a{0,3}?":                    `repeat{0,3}("a")`,
		"^*a":                        `concat(repeat{0,1}(^) "a")`,
		"(?:^$)+":                    "concat(^ $)",
		"[a][^\\x00-`b-\\x{10FFFF}]": `"aa"`,
		`[^\s\S]`:                    "[]",
		"(?i)a1b":                    `concat([AAaa] "1" [BBbb])`,
		"(?i:k)k":                    "concat([KKkk\u212a\u212a] \"k\")",
		"(?i)[a]|1(?-i)a":            `one of([AAaa] "1a")`,
		"a(?i)|a":                    `one of("a" [AAaa])`,
		"((?i)a)a":                   `concat(group([AAaa]) "a")`,
		"(?s).":                      "[" + "\x00\U0010ffff" + "]",
		`(?m)^a$(?-m)^\A\z$`:         `concat((?m)^ "a" (?m)$ ^ ^ $ $)`,
		`\b\B`:                       `concat(\b \B)`,
		`\x41\x{42}\.\n\-`:           `"AB.\n-"`,
		`\pL\p{Greek}\d[\w-]`:        "concat([many] [many] [many] [many])",
		`\p{Zl}`:                     "\"\\u2028\"",
		"日{1}本":                      `"日本"`,
	} {
		got, err := Parse(pattern, "")
		if err != nil {
			t.Errorf("%s: %v", pattern, err)
		} else if got := shape(got); got != want {
			t.Errorf("%s: got %s, want %s", pattern, got, want)
		}
	}
}

func TestRegexesThatAreNone(t *testing.T) {
	for _, pattern := range []string{
		"(", ")", "a)", "(a", "[a", "*", "a|*", "a{", "a{2", "a{x}", "a{,2}", "a{3,2}", `\`, `\x`, `\x4`, `\p`, `\p{`, `\q`,
		"(?", "(?i", "(?i:a", "(?P<a", "(?x)a", "(?ii)a", "[a&&b]", "[[a]]", `\b{start}`, "a{99999999999999999999}",
		strings.Repeat("(", 300) + strings.Repeat(")", 300), strings.Repeat("a", MaxLength+1),
	} {
		if n, err := Parse(pattern, ""); err == nil {
			t.Errorf("%.40s: got %s, want an error", pattern, shape(n))
		}
	}
	if n, err := Parse("a", "ii"); err == nil {
		t.Errorf("flag twice: got %s, want an error", shape(n))
	}
}

// triples returns the trigrams of a lowercase text.
func triples(text string) (pieces []string) {
	run := 0
	for i := range len(text) {
		if run++; !('a' <= text[i] && text[i] <= 'z' || '0' <= text[i] && text[i] <= '9') {
			run = 0
		}
		if run >= 3 {
			pieces = append(pieces, text[i-2:i+1])
		}
	}
	return pieces
}

// needText writes a need: pieces joined by +, each once, and alternatives by |.
func needText(n *Need) string {
	if n == nil {
		return ""
	}
	parts := slices.Clone(n.Pieces)
	for _, part := range n.All {
		parts = append(parts, needText(part))
	}
	var alternatives []string
	for _, part := range n.Any {
		alternatives = append(alternatives, needText(part))
	}
	if alternatives != nil {
		parts = append(parts, "("+strings.Join(alternatives, "|")+")")
	}
	parts = strings.Split(strings.Join(parts, "+"), "+")
	slices.Sort(parts)
	return strings.Join(slices.Compact(parts), "+")
}

func TestNeedsOfRegexes(t *testing.T) {
	for pattern, want := range map[string]string{
		"abc":          "abc",
		"abcd":         "abc+bcd",
		"a.bcd":        "bcd",
		"abc|cde":      "(abc|cde)",
		"a(b|cc)c":     "(abc|acc+ccc)",
		"(abc|cde).":   "(abc|cde)",
		"abc.*xyz":     "abc+xyz",
		"(abc|x-).xyz": "xyz",
		"abc|":         "",
	} {
		n, err := Parse(pattern, "")
		if err != nil {
			t.Fatal(err)
		}
		if got := needText(n.Need(triples)); got != want {
			t.Errorf("%s: got %q, want %q", pattern, got, want)
		}
	}
}

func TestNeedFindsTheRegexesThatAnIndexHelps(t *testing.T) {
	seventeen, sixteen := "(?:", "(?:"
	for i := range 17 {
		if seventeen += fmt.Sprintf("%c%cb|", 'a'+i, '-'); i < 16 {
			sixteen += fmt.Sprintf("%c%cb|", 'a'+i, '-')
		}
	}
	seventeen, sixteen = strings.TrimSuffix(seventeen, "|")+")", strings.TrimSuffix(sixteen, "|")+")"
	for pattern, want := range map[string]bool{
		"abc":                                    true,
		"ab":                                     false,
		"a.b.c":                                  false,
		"a.bcd":                                  true,
		"abc|bcd":                                true,
		"abc|bc":                                 false,
		"abc|":                                   false,
		"(abc)?":                                 false,
		"(abc)+":                                 true,
		"(abc){0}d":                              false,
		"ab{2}":                                  false, // repetitions are not written out
		"(?:bc){2}":                              false,
		"a(?:bc){2}":                             true,
		"(?:bc){2}d":                             true,
		"a(b)c":                                  true,
		"a^b$c":                                  true,
		"a[b]c":                                  true,
		"a[bc]c":                                 false, // classes are unknown characters
		"a(?:b|c)c":                              false,
		"a(b|cc)c":                               true,
		"a(b|c|-)c":                              false,
		"(a|bb)(c|dd)(e|ff)":                     true,
		"(a|b-|bb)(c|dd)(e|ff)":                  false,
		"(?i)abc":                                false,
		"(?i)a123":                               true,
		`a\.b`:                                   false,
		sixteen + "cd":                           true,
		seventeen + "cd":                         false, // too many to be remembered
		strings.Repeat("a-", 20):                 false,
		strings.Repeat("-", 32) + "(ab)c":        true,
		"(" + strings.Repeat("-", 40) + "ab)(c)": true, // the end of a long text is kept
		"(((a|b|c){1000}){1000})":                false,
		strings.Repeat("(aa|", 200) + strings.Repeat(")", 200): false,
	} {
		n, err := Parse(pattern, "")
		if err != nil {
			t.Fatalf("%s: %v", pattern, err)
		}
		if got := n.Need(triples) != nil; got != want {
			t.Errorf("%s: got %t, want %t", pattern, got, want)
		}
	}
}

// A pattern whose reading takes exponential time outlasts the limit of go test.
func TestRegexesAreReadInBoundedTime(t *testing.T) {
	group := "(" + strings.Repeat("-a|b-|", 8) + "--)" // of few texts
	many := "("
	for i := range 16 {
		many += fmt.Sprintf("%c-|", 'a'+i)
	}
	many += "--)"
	for name, pattern := range map[string]string{
		"alternatives":       strings.Repeat("a-|", MaxLength/3),
		"other alternatives": strings.Repeat("a-|b-|--c|", MaxLength/10),
		"groups":             strings.Repeat(group, MaxLength/len(group)),
		"groups of many":     strings.Repeat(many, MaxLength/len(many)),
		"nested":             strings.Repeat("(?:-|", 240) + strings.Repeat("a-", 1000) + strings.Repeat(")", 240),
		"nested repetitions": strings.Repeat("(?:", 240) + "a-" + strings.Repeat("){9,}", 240),
		"repetitions":        "-" + strings.Repeat("*", MaxLength-1),
		"classes":            strings.Repeat(`\pL|`, MaxLength/4-1) + `\pL`,
		"folded classes":     "(?i)" + strings.Repeat(`\pL`, MaxLength/3-4),
		"shared beginnings":  strings.Repeat("a.b.c.d.e.f|", MaxLength/12),
		"same beginning":     strings.Repeat("(?:.^|.", 200) + "a" + strings.Repeat(")", 200),
	} {
		n, err := Parse(pattern, "")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		n.Need(triples)
	}
}

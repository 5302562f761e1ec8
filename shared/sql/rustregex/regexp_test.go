package rustregex

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"tiltyard/shared/sql"
	"tiltyard/shared/sql/internal/meter"
)

// TestRegularExpressionsAreBounded verifies that too large programs are refused, and that matching rune by
// rune finds the same as package regexp.
func TestRegularExpressionsAreBounded(t *testing.T) {
	if _, err := Compile(strings.Repeat("(a|b|[c-e]){1000}", 100), ""); !errors.Is(err, sql.ErrTooLarge) {
		t.Errorf("got %v, want ErrTooLarge", err)
	}
	for _, pattern := range []string{"", "a", "a*", `\bb`, "^a", "(?m)^a", "b$", "(a)(b)?", "a+?", "é", "x*|b", `\Aab`} {
		src := compileForTest(t, pattern)
		for _, s := range []string{"", "ab", "aab\nab b", "éaéb", "xxbxx", "\xffa\xff"} {
			want := src.re.FindAllSubmatchIndex([]byte(s), -1)
			slow := *src
			slow.size = directWork + 1 // no text is short
			var got [][]int
			err := slow.Each(meter.New(t.Context()), []byte(s), -1, func(m []int) error {
				got = append(got, append([]int{}, m...))
				return nil
			})
			if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%q in %q: got %v, %v, want %v", pattern, s, got, err, want)
			}
		}
	}
}

func compileForTest(t *testing.T, src string) *Program {
	p, err := compileProgram(src)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestRegularExpressionsAreThoseOfRust(t *testing.T) {
	cases := []struct {
		pattern, flags, s string
		want              bool
	}{
		{"a.c", "", "abc", true},
		{"a.c", "", "a\nc", false},
		{"a.c", "s", "a\nc", true},
		{"^b$", "", "a\nb", false},
		{"^b$", "m", "a\nb", true},
		{"ABC", "i", "xabcx", true},
		{"k", "i", "\u212a", true}, // the Kelvin sign
		{`\d`, "", "٣", true},
		{`\D`, "", "٣", false},
		{`\w`, "", "é", true},
		{`^\w$`, "", "ⓐ", true},
		{`\W`, "", "日", false},
		{`\s`, "", "\u00a0", true},
		{`\s`, "", "\v", true},
		{`\S`, "", "\u3000", false},
		{`[\s]`, "", "\v", true},
		{`[\S]`, "", "\u2028", false},
		{`[^\d]`, "", "٣", false},
		{`[]a]+$`, "", "a]", true},
		{`[[:digit:]]`, "", "5", true},
		{`\bfoo\b`, "", "a foo b", true},
		{`\p{Greek}`, "", "λ", true},
		{`\x{e9}`, "", "é", true},
		{`a{2}`, "", "aa", true},
		{`a{2,3}$`, "", "aa", true},
		{`(?P<x>a)(?<y>b)`, "", "ab", true},
		{`(?i:A)b`, "", "ab", true},
		{`\-\/\&\ `, "", "-/& ", true},
		{"", "", "x", true},
	}
	for _, c := range cases {
		re, err := Compile(c.pattern, c.flags)
		if err != nil {
			t.Errorf("%s: %v", c.pattern, err)
			continue
		}
		if got, err := re.Match(nil, []byte(c.s)); err != nil || got != c.want {
			t.Errorf("%s with flags %q on %q: got %v, %v; want %v", c.pattern, c.flags, c.s, got, err, c.want)
		}
	}
	refused := []struct {
		pattern, flags string
		want           error
	}{
		{"[a&&b]", "", sql.ErrUnsupported}, {"[a--b]", "", sql.ErrUnsupported}, {"[a[bc]]", "", sql.ErrUnsupported},
		{`\<a`, "", sql.ErrUnsupported}, {`\u00e9`, "", sql.ErrUnsupported}, {`a{,3}`, "", sql.ErrUnsupported}, {"(?x) a", "", sql.ErrUnsupported},
		{"a**", "", sql.ErrUnsupported}, {"a{2000}", "", sql.ErrUnsupported}, {"a", "x", sql.ErrUnsupported},
		{"a{", "", sql.ErrValue}, {"a{b}", "", sql.ErrUnsupported}, {"(", "", sql.ErrValue}, {"[a", "", sql.ErrValue}, {`\Qa\E`, "", sql.ErrValue},
		{`\1`, "", sql.ErrValue}, {`a\`, "", sql.ErrValue}, {"a", "g", sql.ErrValue}, {"(?=a)", "", sql.ErrValue},
		{strings.Repeat("a", MaxLength+1), "", sql.ErrTooLarge},
	}
	for _, c := range refused {
		if _, err := Compile(c.pattern, c.flags); !errors.Is(err, c.want) {
			t.Errorf("%.40s with flags %q: got %v, want %v", c.pattern, c.flags, err, c.want)
		}
	}
	re, err := Compile(`\ba`, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := re.Match(nil, []byte("é")); !errors.Is(err, sql.ErrUnsupported) {
		t.Errorf("word boundary on text that is not ascii: got %v, want %v", err, sql.ErrUnsupported)
	}
}

func TestUnicodeClassesAreComplements(t *testing.T) {
	space, nonSpace := regexp.MustCompile("^["+wideSpace+"]$"), regexp.MustCompile("^["+wideNonSpace+"]$")
	for r := rune(0); r <= 0x3100; r++ {
		if s := string(r); space.MatchString(s) == nonSpace.MatchString(s) {
			t.Errorf("%U is both a space and none, or neither", r)
		}
	}
}

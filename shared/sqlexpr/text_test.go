package sqlexpr

import (
	"errors"
	"math"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestLikeIsTheRegularExpressionItStandsFor(t *testing.T) {
	letters := []rune("aAbkKßẞ日_%\\.*\n")
	rapid.Check(t, func(t *rapid.T) {
		pattern := string(rapid.SliceOfN(rapid.SampledFrom(letters), 0, 8).Draw(t, "pattern"))
		s := string(rapid.SliceOfN(rapid.SampledFrom(letters), 0, 10).Draw(t, "s"))
		fold := rapid.Bool().Draw(t, "fold")
		var re strings.Builder
		re.WriteString("(?s)^")
		if fold {
			re.WriteString("(?i)")
		}
		runes := []rune(pattern)
		for i := 0; i < len(runes); i++ {
			switch r := runes[i]; {
			case r == '%':
				re.WriteString(".*")
			case r == '_':
				re.WriteString(".")
			case r == '\\' && i+1 < len(runes):
				i++
				re.WriteString(regexp.QuoteMeta(string(runes[i])))
			default:
				re.WriteString(regexp.QuoteMeta(string(r)))
			}
		}
		want := regexp.MustCompile(re.String() + "$").MatchString(s)
		if got, _ := newLikePattern([]byte(pattern), fold).match(nil, []byte(s)); got != want {
			t.Fatalf("%q LIKE %q (fold %v): got %v, want %v", s, pattern, fold, got, want)
		}
	})
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
		re, err := compileRegex(c.pattern, c.flags)
		if err != nil {
			t.Errorf("%s: %v", c.pattern, err)
			continue
		}
		if got, err := re.match(nil, []byte(c.s)); err != nil || got != c.want {
			t.Errorf("%s with flags %q on %q: got %v, %v; want %v", c.pattern, c.flags, c.s, got, err, c.want)
		}
	}
	refused := []struct {
		pattern, flags string
		want           error
	}{
		{"[a&&b]", "", ErrUnsupported}, {"[a--b]", "", ErrUnsupported}, {"[a[bc]]", "", ErrUnsupported},
		{`\<a`, "", ErrUnsupported}, {`\u00e9`, "", ErrUnsupported}, {`a{,3}`, "", ErrUnsupported}, {"(?x) a", "", ErrUnsupported},
		{"a**", "", ErrUnsupported}, {"a{2000}", "", ErrUnsupported}, {"a", "x", ErrUnsupported},
		{"a{", "", ErrValue}, {"a{b}", "", ErrUnsupported}, {"(", "", ErrValue}, {"[a", "", ErrValue}, {`\Qa\E`, "", ErrValue},
		{`\1`, "", ErrValue}, {`a\`, "", ErrValue}, {"a", "g", ErrValue}, {"(?=a)", "", ErrValue},
		{strings.Repeat("a", maxRegex+1), "", ErrTooLarge},
	}
	for _, c := range refused {
		if _, err := compileRegex(c.pattern, c.flags); !errors.Is(err, c.want) {
			t.Errorf("%.40s with flags %q: got %v, want %v", c.pattern, c.flags, err, c.want)
		}
	}
	re, err := compileRegex(`\ba`, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := re.match(nil, []byte("é")); !errors.Is(err, ErrUnsupported) {
		t.Errorf("word boundary on text that is not ascii: got %v, want %v", err, ErrUnsupported)
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

func TestCaseFollowsUnicode(t *testing.T) {
	cases := []struct{ in, upper, lower string }{
		{"Straße", "STRASSE", "straße"},
		{"ŉ ﬃ ΐ", "ʼN FFI \u0399\u0308\u0301", "ŉ ﬃ ΐ"},
		{"İi", "İI", "i̇i"},
		{"ΟΔΟΣ ΣΑΣ", "ΟΔΟΣ ΣΑΣ", "οδος σας"},
		{"Σ", "Σ", "σ"},
		{"ΑΣ. Β", "ΑΣ. Β", "ας. β"},
		{"ΑΣ'Β", "ΑΣ'Β", "ασ'β"},
		{"日本ǅ", "日本Ǆ", "日本ǆ"},
	}
	for _, c := range cases {
		if got := string(appendUpper(nil, []byte(c.in))); got != c.upper {
			t.Errorf("upper(%q) = %q, want %q", c.in, got, c.upper)
		}
		if got := string(appendLower(nil, []byte(c.in))); got != c.lower {
			t.Errorf("lower(%q) = %q, want %q", c.in, got, c.lower)
		}
	}
}

func TestFloatsPrintAsInRust(t *testing.T) {
	cases := []struct {
		f    float64
		bits int
		want string
	}{
		{0, 64, "0.0"}, {math.Copysign(0, -1), 64, "-0.0"}, {1, 64, "1.0"}, {-1.5, 64, "-1.5"}, {0.1, 64, "0.1"},
		{1e15, 64, "1000000000000000.0"}, {1e16, 64, "1e16"}, {123456789012345680, 64, "1.2345678901234568e17"},
		{1.5e300, 64, "1.5e300"}, {1e-6, 64, "1e-6"}, {0.00001, 64, "0.00001"}, {0.00001234, 64, "0.00001234"},
		{math.Inf(1), 64, "inf"}, {math.Inf(-1), 64, "-inf"}, {math.NaN(), 64, "NaN"},
		{1e12, 32, "1000000000000.0"}, {1e13, 32, "1e13"}, {float64(float32(0.1)), 32, "0.1"}, {1e-6, 32, "0.000001"}, {1e-7, 32, "1e-7"},
	}
	for _, c := range cases {
		if got := string(appendFloat(nil, c.f, c.bits)); got != c.want {
			t.Errorf("%v in %d bits: got %s, want %s", c.f, c.bits, got, c.want)
		}
	}
}

func TestHalvesConvertExactly(t *testing.T) {
	for h := range 1 << 16 {
		f := half(h).float32()
		if f != f {
			continue
		}
		if got := halfOf(float64(f)); got != half(h) {
			t.Fatalf("half %#04x is %v, which rounds to %#04x", h, f, got)
		}
		// Halfway to the next one the even one wins.
		if next := half(h + 1).float32(); h&0x7fff < 0x7bff {
			want := half(h + h&1)
			if got := halfOf((float64(f) + float64(next)) / 2); got != want {
				t.Fatalf("between %#04x and the next: got %#04x, want %#04x", h, got, want)
			}
		}
	}
	for f, want := range map[float64]half{65519.9: 0x7bff, 65520: 0x7c00, -1e9: 0xfc00, 1e-9: 0, math.Inf(1): 0x7c00} {
		if got := halfOf(f); got != want {
			t.Errorf("%v: got %#04x, want %#04x", f, got, want)
		}
	}
}

func TestBitsetsMoveToAnyOffset(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bitmap := rapid.SliceOfN(rapid.Byte(), 40, 40).Draw(t, "bitmap")
		offset := rapid.IntRange(0, 100).Draw(t, "offset")
		n := rapid.IntRange(0, 320-offset).Draw(t, "n")
		b := bitsetOf(bitmap, offset, n)
		count := 0
		for i := range n {
			want := bitmap[(offset+i)/8]>>((offset+i)%8)&1 == 1
			if b.has(i) != want {
				t.Fatalf("bit %d of %d from offset %d: got %v, want %v", i, n, offset, b.has(i), want)
			}
			if want {
				count++
			}
		}
		if b.count() != count || b.invert(n).count() != n-count {
			t.Fatalf("%d bits from offset %d: got %d set and %d not, want %d set", n, offset, b.count(), b.invert(n).count(), count)
		}
	})
}

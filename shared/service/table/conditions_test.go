package table

import (
	"regexp"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"pgregory.net/rapid"
)

func TestPatternsFitWholeTexts(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		occurs, is    bool
	}{
		{"", "orders", true, true},
		{"order", "orders", true, false},
		{"orders", "orders", true, true},
		{"order?", "orders", true, true},
		{"order??", "orders", false, false},
		{"o*r*s", "orders", true, true},
		{"*", "", true, true},
		{"?", "", false, false},
		{"?", "ü", true, true},
		{"*ab", "aaab", true, true},
		{"*aab*", "aaab", true, true},
		{"r*", "orders", false, false},
		{"[a]", "a", false, false},
	} {
		if got := occurs(c.pattern, c.text); got != c.occurs {
			t.Errorf("%q occurs in %q: %v", c.pattern, c.text, got)
		}
		if got := is(c.pattern, c.text); got != c.is {
			t.Errorf("%q is %q: %v", c.pattern, c.text, got)
		}
	}
}

// A pattern is that regular expression in which each * is .* and each ? is a dot.
func TestPatternsAreThoseOfAModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pattern := rapid.StringOfN(rapid.SampledFrom([]rune("ab*?")), 0, 10, -1).Draw(t, "pattern")
		text := rapid.StringOfN(rapid.SampledFrom([]rune("ab")), 0, 14, -1).Draw(t, "text")
		model := regexp.MustCompile("^" + strings.NewReplacer("*", ".*", "?", ".").Replace(pattern) + "$")
		if got, want := fits(pattern, text), model.MatchString(text); got != want {
			t.Fatalf("%q fits %q: %v, want %v", pattern, text, got, want)
		}
	})
}

func TestTypesAreWrittenInOneLine(t *testing.T) {
	for want, typ := range map[string]arrow.DataType{
		"fixed_size_list<float32>[768]": arrow.FixedSizeListOf(768, arrow.PrimitiveTypes.Float32),
		"list<struct>":                  arrow.ListOf(arrow.StructOf(arrow.Field{Name: "a", Type: arrow.BinaryTypes.String})),
		"large_list<utf8>":              arrow.LargeListOf(arrow.BinaryTypes.String),
		"fixed_size_binary[16]":         &arrow.FixedSizeBinaryType{ByteWidth: 16},
		"map":                           arrow.MapOf(arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int64),
		"timestamp":                     arrow.FixedWidthTypes.Timestamp_us,
		"int64":                         arrow.PrimitiveTypes.Int64,
	} {
		if got := typeText(typ); got != want {
			t.Errorf("got %q for %v, want %q", got, typ, want)
		}
	}
}

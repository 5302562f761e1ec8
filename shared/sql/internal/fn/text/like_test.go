package text

import (
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
		if got, _ := NewLikePattern([]byte(pattern), fold).match(nil, []byte(s)); got != want {
			t.Fatalf("%q LIKE %q (fold %v): got %v, want %v", s, pattern, fold, got, want)
		}
	})
}

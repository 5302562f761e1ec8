package computed

import (
	"slices"
	"strings"
	"testing"

	"tiltyard/shared/sql/syntax"
)

func TestInputsOfExpressions(t *testing.T) {
	for text, want := range map[string]string{
		"1":                "",
		"b + a * b":        "a b",
		"upper(st.title)":  "st.title",
		"st['title'] || s": "s st.title",
		"CASE WHEN a IN (b, 2) THEN c ELSE d END":    "a b c d",
		"CAST(a AS string) LIKE b AND NOT c IS NULL": "a b c",
		"x BETWEEN y AND z OR [p, q][1] = 2":         "p q x y z",
	} {
		e, err := syntax.Parse(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		var got []string
		for _, path := range inputsOf(e) {
			got = append(got, strings.Join(path, "."))
		}
		slices.Sort(got)
		if strings.Join(got, " ") != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}

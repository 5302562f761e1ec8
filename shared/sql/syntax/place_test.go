package syntax_test

import (
	"strings"
	"testing"

	"tiltyard/shared/sql"
	"tiltyard/shared/sql/syntax"
)

// The place of each column in a printed expression is found in the text that was parsed.
func TestPlaceInTheTextThatWasParsed(t *testing.T) {
	columns := func(e syntax.Expr) (places []int) {
		_, _ = syntax.Rewrite(e, func(e syntax.Expr) (syntax.Expr, error) {
			if _, ok := e.(*syntax.Column); ok {
				places = append(places, e.Pos())
			}
			return nil, nil
		})
		return places
	}
	for _, text := range []string{
		"zz", "zz  +  1 = 3", "a IN (1,2)   OR NOT ( zz )", "lower(  zz ) LIKE 'zz%' AND b BETWEEN zz AND 7",
		"CASE WHEN zz > 1 THEN a ELSE zz.b END IS NOT NULL", "cast(zz AS int)::text || 'x'", "-zz < 3 AND zz[1] = 2",
	} {
		e, err := syntax.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		again, err := syntax.Parse(e.String())
		if err != nil {
			t.Fatal(err)
		}
		for i, place := range columns(again) {
			got := syntax.Place(e, place)
			if got != columns(e)[i] || !strings.ContainsRune("zab", rune(text[got])) {
				t.Errorf("%s: byte %d of %s is byte %d, want %d", text, place, e, got, columns(e)[i])
			}
		}
		if got := syntax.Place(e, 1000); got != sql.NoPos {
			t.Errorf("%s: byte 1000 is byte %d", text, got)
		}
	}
}

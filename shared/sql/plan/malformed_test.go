package plan_test

import (
	"errors"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/sql"
	"tiltyard/shared/sql/internal/sqltest"
)

// TestAnythingIsComputedOrRefused makes texts of the filters that native Lance was asked,
// damaged in every way, and of pieces of the language in no order, some nested deeply. What
// is still an expression is computed. A text that takes exponential time outlasts the limit of go test.
func TestAnythingIsComputedOrRefused(t *testing.T) {
	texts := 100_000
	if testing.Short() {
		texts /= 10
	}
	tables := []arrow.RecordBatch{namedTable(t, "edges"), sqltest.Table(t)}
	d := damager{r: rand.New(rand.NewPCG(1, 2)), filters: filterLines(t)}
	refused := 0
	for i := range texts {
		text := d.text()
		_, err := sqltest.Compute(text, tables[i%len(tables)])
		var own *sql.Error
		switch {
		case err == nil:
		case !errors.As(err, &own):
			t.Errorf("%.200q: got %v, want an *Error", text, err)
		case own.Pos < 0 || own.Pos > len(text):
			t.Errorf("%.200q: error at byte %d of %d: %v", text, own.Pos, len(text), err)
		default:
			refused++
		}
	}
	t.Logf("%d texts, %d refused", texts, refused)
}

// filterLines returns the filters and expressions of the golden files.
func filterLines(t testing.TB) []string {
	t.Helper()
	return append(readLines(t, "edges.sql"), callsOfAllPackages(t)...)
}

// A damager makes texts that are no filters.
type damager struct {
	r       *rand.Rand
	filters []string
}

// callColumn is a column of the table of calls.
var callColumn = regexp.MustCompile(`\b(s|s2|ls|n|i|u|f|g|dec|d|ts|li|lw|[0-9]+)\b`)

var soup = strings.Split("AND OR NOT IS NULL TRUE IN ( ) [ ] , . - + * / % || << & | ^ = != < <= :: CASE WHEN THEN ELSE END "+
	"CAST( AS int TRY_CAST( BETWEEN LIKE ESCAPE i32 f64 s li st st.a `i64` 'a' 'it''s' \"q\" 1 -1 1.5 1e400 0x0a X'0a' date '2024-01-31' "+
	"interval '1 day' extract(year from substr( coalesce( array_has( [1, 2] regexp_like( ? $1 ; -- /* \x00 é 日 99999999999999999999 DISTINCT FROM", " ")

func (d *damager) text() string {
	switch d.r.IntN(30) {
	case 0:
		return d.nested()
	case 1, 2, 3, 4, 5:
		words := make([]string, 1+d.r.IntN(30))
		for i := range words {
			words[i] = soup[d.r.IntN(len(soup))]
		}
		return strings.Join(words, " ")
	}
	text := d.filters[d.r.IntN(len(d.filters))]
	if d.r.IntN(2) == 0 { // the same of other types
		names := strings.Fields("id s s2 ls dict n i u u64 f g dec b bin d ts tss tp t dur li lf lw fl st st.a nul NULL 0 -1 'a' 1.5 [1] 99999999999")
		return callColumn.ReplaceAllStringFunc(text, func(string) string { return names[d.r.IntN(len(names))] })
	}
	for range 1 + d.r.IntN(3) {
		text = d.damage(text)
	}
	return text
}

// damage removes, repeats, replaces or puts in a piece, or joins two filters in the middle.
func (d *damager) damage(text string) string {
	from := d.r.IntN(len(text) + 1)
	to := min(from+d.r.IntN(6), len(text))
	switch d.r.IntN(6) {
	case 0:
		return text[:from] + text[to:]
	case 1:
		return text[:to] + text[from:]
	case 2:
		return text[:from] + soup[d.r.IntN(len(soup))] + text[to:]
	case 3:
		return text[:from] + string(rune(d.r.IntN(300))) + text[from:]
	case 4:
		return text[:from] + string([]byte{byte(d.r.IntN(256))}) + text[to:]
	}
	other := d.filters[d.r.IntN(len(d.filters))]
	return text[:from] + other[d.r.IntN(len(other)):]
}

// nested is deep, long, or both.
func (d *damager) nested() string {
	depth := 1 << d.r.IntN(13)
	open := []string{"(", "NOT ", "- ", "[", "coalesce(", "CASE WHEN ", "abs(-", "i32 = (", "a IN (", "li[", "st.", "CAST(", "not (i32 + "}
	piece := open[d.r.IntN(len(open))]
	switch d.r.IntN(3) {
	case 0:
		return strings.Repeat(piece, depth)
	case 1:
		return strings.Repeat("(", depth) + "i32 = 1" + strings.Repeat(")", depth-d.r.IntN(2))
	}
	return "i32 = 1" + strings.Repeat([]string{" AND i32 = 1", " OR s LIKE 'a%'", " + 1", " || s", "::int", "[1]"}[d.r.IntN(6)], depth)
}

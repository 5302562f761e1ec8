package plan_test

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/sql"
	"tiltyard/shared/sql/internal/sqltest"
	"tiltyard/shared/sql/plan"
	"tiltyard/shared/sql/syntax"
)

// TestParseAnswersAnything feeds it deep, long and broken texts: it must come back soon,
// with an error or without.
func TestParseAnswersAnything(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var seeds []string
	for _, c := range readGolden(t, "edges.jsonl") {
		seeds = append(seeds, c.Filter)
	}
	texts := []string{strings.Repeat("[", 70_000), "'" + strings.Repeat("''", 30_000), strings.Repeat("a.", 30_000) + "a"}
	for _, piece := range []string{"(", "-", "NOT ", "CASE ", "f(", "a IS DISTINCT FROM ", "CAST(", "a IN (", "a BETWEEN ", "[", "/*", "a::", "-- ", "'", "`", "a LIKE ", "a['b']", "x.", "CASE WHEN "} {
		for _, n := range []int{1, 60, 70, 1000, 60_000 / len(piece)} {
			texts = append(texts, strings.Repeat(piece, n), strings.Repeat(piece, n)+"a")
		}
	}
	const noise = "()'\"`[],.=<>-*/%|: \x00\xff0aN"
	for range 10_000 {
		s := []byte(seeds[r.IntN(len(seeds))])
		for range 1 + r.IntN(3) {
			at := r.IntN(len(s) + 1)
			switch r.IntN(4) {
			case 0:
				s = s[:at] // cut
			case 1:
				s = append(s[:at:at], seeds[r.IntN(len(seeds))]...)
			case 2:
				s = append(append(s[:at:at], noise[r.IntN(len(noise))]), s[at:]...)
			case 3:
				end := at + r.IntN(len(s)-at+1)
				s = append(s[:at:at], s[end:]...)
			}
		}
		texts = append(texts, string(s))
	}
	rec := namedTable(t, "edges")
	for _, text := range texts {
		_, err := selectRows(text, rec)
		var e *sql.Error
		if err != nil && !errors.As(err, &e) {
			t.Errorf("%.80q: got error %T, want *Error", text, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, name := range []string{"edges", "random"} {
		for _, c := range readGolden(f, name+".jsonl") {
			f.Add(c.Filter)
		}
	}
	for _, line := range filterLines(f) {
		f.Add(line)
	}
	rec, calls := namedTable(f, "edges"), sqltest.Table(f)
	f.Fuzz(func(t *testing.T, src string) {
		e, err := syntax.Parse(src)
		if err != nil {
			return
		}
		again, err := syntax.Limits{Bytes: 1 << 20, Depth: 1000, Nodes: 10_000}.Parse(e.String())
		if err != nil {
			t.Fatalf("%q prints as %q: %v", src, e, err)
		}
		if diff := cmp.Diff(e, again, equalTrees); diff != "" {
			t.Fatalf("%q prints as %q, which is another tree (-first +second):\n%s", src, e, diff)
		}
		if b, err := plan.BindFilter(t.Context(), e, rec.Schema(), time.Time{}); err == nil {
			_, _ = b.Select(t.Context(), rec, nil)
		}
		if b, err := plan.Bind(t.Context(), e, calls.Schema(), time.Time{}); err == nil {
			_, _ = b.Eval(t.Context(), calls)
		}
	})
}

// equalTrees ignores where the nodes of trees were read.
var equalTrees = cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".position" }, cmp.Ignore())

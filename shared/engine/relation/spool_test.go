package relation_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"tiltyard/shared/process/memory"
	"tiltyard/shared/sql"
	"tiltyard/shared/sql/syntax"
)

// Steps charge what they keep. What does not fit is in scratch files, unless many rows of a join have the same key.
func TestMemoryIsBounded(t *testing.T) {
	in := tables{
		"big":   columns([]string{"id", "k"}, 400_000, 8192, func(_, row int) int64 { return int64(row * 7919 % 400_009) }),
		"small": columns([]string{"k"}, 10, 10, func(_, row int) int64 { return int64(row) }),
	}
	for text, fits := range map[string]bool{
		"SELECT id FROM big ORDER BY -id LIMIT 3":                              true,
		"SELECT id FROM big ORDER BY -id":                                      true,
		"SELECT b.id FROM big b JOIN small s ON b.k = s.k":                     true,
		"SELECT b.id FROM big b JOIN big c ON b.k = c.k":                       true,
		"SELECT b.id FROM big b JOIN big c ON b.k * 0 = c.k * 0":               false,
		"SELECT b.id FROM big b CROSS JOIN big c":                              false,
		"SELECT count(*) AS n FROM (SELECT DISTINCT id FROM big) AS d":         true,
		"SELECT b.id FROM big b WHERE k IN (SELECT k FROM small) ORDER BY -id": true,
	} {
		share := memory.NewBudget(12<<20, 12<<20).Open()
		lines, err := run(memory.WithShare(t.Context(), share), in, text)
		if fits != (err == nil) || !fits && !memory.TooMuch(err) && !errors.Is(err, sql.ErrTooLarge) {
			t.Errorf("%s: got %d rows, %v", text, len(lines), err)
		}
		share.Close()
	}
}

// Joins and orders give the same rows in little memory as in much, by way of scratch files.
func TestScratchFilesChangeNoAnswer(t *testing.T) {
	rows := func(n, step, keys int) *table {
		return columns([]string{"id", "k"}, n, 3000, func(c, row int) int64 {
			switch {
			case c == 0:
				return int64(row)
			case row%50 == 0:
				return null
			}
			return int64(row * step % keys)
		})
	}
	in := tables{"l": rows(60_000, 7, 40_003), "r": rows(50_000, 11, 30_011)}
	queries := []string{"SELECT id, k FROM l ORDER BY k DESC, -id", "SELECT k, id FROM l ORDER BY k NULLS FIRST", "SELECT id FROM l ORDER BY k % 7, id LIMIT 30000 OFFSET 100"}
	for _, kind := range []syntax.JoinKind{syntax.InnerJoin, syntax.LeftJoin, syntax.RightJoin, syntax.FullJoin} {
		queries = append(queries, fmt.Sprintf("SELECT l.id AS a, r.id AS b FROM l %s JOIN r ON l.k = r.k", kind))
	}
	queries = append(queries,
		"SELECT l.id FROM l LEFT SEMI JOIN r ON l.k = r.k AND l.id < r.id", "SELECT l.id FROM l LEFT ANTI JOIN r ON l.k = r.k",
		"SELECT id FROM l WHERE k IN (SELECT k FROM r)", "SELECT id FROM l WHERE k NOT IN (SELECT k FROM r)",
		"SELECT id FROM l WHERE k NOT IN (SELECT k FROM r WHERE k IS NOT NULL)",
		"SELECT k, id % 3000 AS i FROM l INTERSECT SELECT k, id % 3000 FROM r", "SELECT k, id % 3000 AS i FROM l EXCEPT SELECT k, id % 3000 FROM r",
	)
	little := func(text string) ([]string, error) {
		share := memory.NewBudget(8<<20, 8<<20).Open()
		defer share.Close()
		return run(memory.WithShare(t.Context(), share), in, text)
	}
	for _, text := range queries {
		want, err := run(t.Context(), in, text)
		if err != nil {
			t.Fatal(err)
		}
		got, err := little(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if !strings.Contains(text, "ORDER BY") {
			slices.Sort(got)
			slices.Sort(want)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %d rows, want %d, or others", text, len(got), len(want))
		}
	}
	t.Setenv("TMPDIR", t.TempDir()+"/none")
	for _, text := range queries {
		if _, err := little(text); err == nil {
			t.Errorf("%s: without a directory for scratch files it runs as well, so the test shows nothing", text)
		}
	}
}

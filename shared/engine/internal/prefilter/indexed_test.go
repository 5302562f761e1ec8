package prefilter_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/enginetest"
	"tiltyard/shared/engine/indexbuild"
	"tiltyard/shared/engine/indices"
	"tiltyard/shared/engine/maintenance"
	"tiltyard/shared/engine/query"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/compaction"
	"tiltyard/shared/lance/dataset/segments"
	"tiltyard/shared/storage/objectstore"
)

// kindsRead maps the packages of the kinds of indices to the smallest part of the filters for which an index must be read:
// if a filter may read an eighth of the rows by an index, and if it may read all.
var kindsRead = map[string]struct{ eighth, all float64 }{
	"btree":       {0.33, 1},
	"bitmap":      {0.33, 1},
	"zonemap":     {1, 1},
	"labellist":   {0.3, 1},
	"bloomfilter": {0.9, 1},
	"ngram":       {0.2, 0.9}, // a few texts have no trigram
	"fm":          {0.4, 0.8}, // NOT contains and empty texts are left to the scan
	"fts":         {0.2, 0.9}, // some words are left out
}

func TestPrefilterFindsTheRowsOfNativeLance(t *testing.T) {
	for kind, least := range kindsRead {
		t.Run(kind, func(t *testing.T) {
			x := enginetest.OpenIndexed(t, kind)
			if testing.Short() {
				n := 0
				x.Cases = slices.DeleteFunc(x.Cases, func(enginetest.IndexedCase) bool { n++; return n%8 != 0 })
			}
			for share, least := range map[float64]float64{0.125: least.eighth, 1000: least.all} {
				if used := check(t, x, share); used < least && !testing.Short() {
					t.Errorf("indices were read for a part of %.2f of the filters, when they may read a part of %.2f of the rows", used, share)
				}
			}
		})
	}
}

// check compares all answers, and returns the part of the filters for which an index was read.
func check(t *testing.T, x *enginetest.Indexed, share float64) (used float64) {
	t.Helper()
	tables := map[string]*engine.Table{}
	for _, c := range x.Cases {
		if tables[c.Table] == nil {
			tables[c.Table] = x.Table(c.Table, share, enginetest.NoWarnings(t))
		}
		if got := enginetest.IDs(t, tables[c.Table], c.Version, c.Filter); !slices.Equal(got, c.IDs) {
			t.Errorf("%s at %d: %s: got %v, want %v", c.Table, c.Version, c.Filter, got, c.IDs)
		}
		plan, err := tables[c.Table].Analyze(t.Context(), engine.AsOf{Version: &c.Version}, &query.Query{Filter: c.Filter})
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(plan, "narrowed_by=[") && strings.Contains(plan, "index_pages=") {
			used += 1 / float64(len(x.Cases))
		}
	}
	return used + 1e-9
}

// randomFilter returns a filter on columns with an index, on columns without one, or on both.
func randomFilter(random *rand.Rand, kind string, depth int) string {
	if depth > 0 && random.IntN(2) == 0 {
		left, right := randomFilter(random, kind, depth-1), randomFilter(random, kind, depth-1)
		return [...]string{
			fmt.Sprintf("(%s AND %s)", left, right), fmt.Sprintf("(%s OR %s)", left, right), fmt.Sprintf("NOT (%s)", left),
		}[random.IntN(3)]
	}
	if own := ownFilters[kind]; own != nil && random.IntN(2) == 0 {
		return own[random.IntN(len(own))]
	}
	n := func() int { return random.IntN(70) - 25 }
	compared := [...]string{"=", "!=", "<", "<=", ">", ">="}[random.IntN(6)]
	return [...]string{
		fmt.Sprintf("i64 %s %d", compared, n()),
		fmt.Sprintf("f64 %s %d.25", compared, n()),
		fmt.Sprintf("f32 %s %d", compared, n()/8),
		fmt.Sprintf("u16 IN (%d, %d, 3)", max(n(), 0), max(n(), 0)),
		fmt.Sprintf("i8 NOT IN (%d, %d)", n(), n()),
		fmt.Sprintf("s %s 'word0%d'", compared, max(n(), 10)),
		fmt.Sprintf("s LIKE 'word0%d%%'", random.IntN(6)),
		fmt.Sprintf("s LIKE 'word0%%%d'", random.IntN(6)),
		fmt.Sprintf("i64 BETWEEN %d AND %d", n(), n()+5),
		fmt.Sprintf("id %s %d", compared, n()*4),
		fmt.Sprintf("st.x %s %d", compared, max(n(), 0)),
		[...]string{"flag", "flag IS TRUE", "flag IS NOT FALSE", "i64 IS NULL", "s IS NOT NULL", "st.x IS NULL", "st IS NULL"}[random.IntN(7)],
	}[random.IntN(12)]
}

// ownFilters read columns that only the tables with indices of one kind have.
var ownFilters = map[string][]string{
	"labellist": {
		"array_has(words, 'a')", "array_has(numbers, 7)", "array_has_any(numbers, [1, 2])", "array_has_all(words, ['a', 'b'])",
		"array_has_any(words, ['b', NULL])", "array_has_all(words, ['b', NULL])", "NOT array_has_any(numbers, [3, NULL])", "NOT array_has(words, 'b')",
		"NOT array_has_all(numbers, [1, 2])", "array_has(words, 'a') AND NOT array_has(words, 'b')", "array_has_any(large, [NULL])", "array_has(floats, 0.0)", "array_has_any(floats, [0.0, 1.5])", "array_has(large, 3)",
	},
	"ngram": {
		"contains(s, 'alpha')", "contains(s, 'ray')", "s LIKE '%bet%'", "s LIKE 'alph%z3'", "regexp_like(s, 'gamma|x1y2')",
		"regexp_match(s, 'al(pha|fa).*ray') IS NOT NULL", "contains(t, 'délta')", "contains(s, 'ab')", "starts_with(s, 'Beta')",
	},
	"fm": {
		"contains(s, 'alpha')", "contains(s, 'a')", "contains(s, 'y o')", "contains(s, '')", "contains(t, 'délta')", "contains(s, 'nul l')",
		"contains(t, 'l') AND contains(s, 'ray')", "NOT contains(s, 'ab')", "contains(s, 'none')",
	},
	"fts": {
		"contains_tokens(low, 'alpha')", "contains_tokens(low, 'ray beta')", "contains_tokens(raw, 'Beta')", "contains_tokens(raw, 'délta')",
		"contains_tokens(few, 'gamma')", "contains_tokens(few, 'gamma alpha')", "contains_tokens(low, '')", "contains_tokens(low, 'straße')",
	},
}

// After random changes to an indexed table, filters find the same rows by the indices as without.
func TestPrefilterFindsTheRowsOfAScanAfterAnyHistory(t *testing.T) {
	for kind := range kindsRead {
		for _, name := range []string{"plain", "stable", "v21"} {
			if testing.Short() && name != "stable" {
				continue
			}
			t.Run(kind+" "+name, func(t *testing.T) {
				x := enginetest.OpenIndexed(t, kind)
				table, scanned := x.Table(name, 1000, enginetest.NoWarnings(t)), x.Table(name, 0, nil)
				random := rand.New(rand.NewPCG(3, uint64(len(kind+name))))
				for step := range 25 {
					done := change(t, random, table, scanned)
					for range 12 {
						compare(t, table, scanned, randomFilter(random, kind, 2), fmt.Sprintf("step %d, %s", step, done))
					}
				}
			})
		}
	}
}

// compare checks the rows of a filter and their number, by indices and by scanning.
func compare(t *testing.T, table, scanned *engine.Table, filter, after string) {
	t.Helper()
	version := newestVersion(t, scanned)
	want := enginetest.IDs(t, scanned, version, filter)
	if got := enginetest.IDs(t, table, version, filter); !slices.Equal(got, want) {
		t.Errorf("%s: %s: got %v, want %v", after, filter, got, want)
	}
	count, err := table.Count(t.Context(), engine.AsOf{}, filter)
	if err != nil || count.Rows != int64(len(want)) {
		t.Errorf("%s: %s: got count %+v, want %d; error %v", after, filter, count, len(want), err)
	}
}

func newestVersion(t *testing.T, table *engine.Table) int64 {
	t.Helper()
	version, err := engine.Read(t.Context(), table, nil, func(_ context.Context, d *dataset.Dataset) (int64, error) { return int64(d.Version()), nil })
	if err != nil {
		t.Fatal(err)
	}
	return version
}

// fold brings all indices of a table up to date.
func fold(t *testing.T, table *engine.Table) {
	t.Helper()
	all := func(context.Context, *dataset.Dataset, segments.Fold) (bool, error) { return true, nil }
	for after := ""; ; {
		done, err := maintenance.FoldIndex(t.Context(), table, after, all, indexbuild.Extender{})
		if err != nil {
			t.Fatal(err)
		}
		if after = done.Index; after == "" {
			break
		}
	}
	if rows := unindexed(t, table); rows > 0 {
		t.Errorf("indices do not cover %d rows after folding", rows)
	}
}

// unindexed returns the number of rows that indices do not cover, over all indices that can be extended.
func unindexed(t *testing.T, table *engine.Table) (rows int64) {
	t.Helper()
	indices, err := indices.List(t.Context(), table, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, of := range indices {
		if (indexbuild.Extender{}).CanExtend(of) {
			rows += of.Unindexed
		}
	}
	return rows
}

// change makes a random change to a table that keeps its indices, and returns a description.
func change(t *testing.T, random *rand.Rand, table, scanned *engine.Table) string {
	t.Helper()
	var err error
	var done engine.Written
	expected, changed := 0, int64(0)
	what, filter := "nothing", randomFilter(random, "", 1)
	switch random.IntN(7) {
	case 5:
		what, filter = "folding", ""
		fold(t, table)
	case 0:
		what, filter = "delete", fmt.Sprintf("(%s) AND id %% 9 = %d", filter, random.IntN(9))
		expected = len(enginetest.IDs(t, scanned, newestVersion(t, scanned), filter))
		done, err = table.Delete(t.Context(), filter)
		changed = done.Deleted
	case 1:
		what, filter = "update", fmt.Sprintf("(%s) AND id %% 5 = %d", filter, random.IntN(5))
		expected = len(enginetest.IDs(t, scanned, newestVersion(t, scanned), filter))
		done, err = table.Update(t.Context(), []engine.Assignment{{Column: "i64", SQL: "i64 + 3"}, {Column: "s", SQL: "concat('word0', CAST(i8 AS string))"}}, filter)
		changed = done.Updated
	case 2:
		what, filter = "update of another column", fmt.Sprintf("(%s) AND id %% 5 = %d", filter, random.IntN(5))
		expected = len(enginetest.IDs(t, scanned, newestVersion(t, scanned), filter))
		done, err = table.Update(t.Context(), []engine.Assignment{{Column: "id", SQL: "id + 1000"}}, filter)
		changed = done.Updated
	case 3:
		what, filter = "insert", ""
		rows, queried := table.Query(t.Context(), engine.AsOf{}, &query.Query{Filter: "id % 13 = 1"})
		if queried != nil {
			t.Fatal(queried)
		}
		_, err = table.Insert(t.Context(), dataset.Rows{Schema: rows.Schema, Batches: rows.Batches})
	case 4:
		what, filter = "compaction", ""
		before := unindexed(t, table)
		_, err = maintenance.Compact(t.Context(), table, compaction.Options{Extend: indexbuild.Extender{}})
		if after := unindexed(t, table); after > before {
			t.Errorf("indices do not cover %d rows after a compaction, and %d before", after, before)
		}
	}
	if err != nil || changed != int64(expected) {
		t.Fatalf("%s where %s: %d rows, want %d; error %v", what, filter, changed, expected, err)
	}
	return what + " where " + filter
}

// counting is a log handler that counts messages.
type counting struct{ count *int }

func (l counting) Enabled(context.Context, slog.Level) bool { return true }
func (l counting) WithAttrs([]slog.Attr) slog.Handler       { return l }
func (l counting) WithGroup(string) slog.Handler            { return l }

func (l counting) Handle(context.Context, slog.Record) error {
	*l.count++
	return nil
}

// If the files of an index are damaged or missing, the log receives a warning, and the answer is that of a scan.
func TestPrefilterScansWithoutAnUnreadableIndex(t *testing.T) {
	for name, damage := range map[string]func(file []byte) []byte{
		"cut off":   func(file []byte) []byte { return file[:len(file)/2] },
		"no footer": func(file []byte) []byte { return append(file[:len(file)-4:len(file)-4], "none"...) },
		"empty":     func([]byte) []byte { return nil },
		"gone":      nil,
	} {
		for _, of := range []struct{ kind, file, filter string }{
			{"btree", "page_lookup.lance", "i64 = 7"},
			{"btree", "page_data.lance", "i64 = 7"},
			{"bitmap", "bitmap_page_lookup.lance", "i64 = 7"},
			{"zonemap", "zonemap.lance", "i64 = 7"},
			{"bloomfilter", "bloomfilter.lance", "i64 = 7"},
			{"labellist", "bitmap_page_lookup.lance", "array_has(numbers, 7)"},
			{"ngram", "ngram_postings.lance", "contains(s, 'alpha')"},
			{"fm", "part_0_fm.lance", "contains(s, 'alpha')"},
			{"fts", "metadata.lance", "contains_tokens(low, 'alpha')"},
		} {
			t.Run(name+" "+of.kind+" "+of.file, func(t *testing.T) {
				x := enginetest.OpenIndexed(t, of.kind)
				damaged(t, x, of.file, damage)
				count := 0
				table, scanned := x.Table("stable", 1000, slog.New(counting{&count})), x.Table("stable", 0, nil)
				compare(t, table, scanned, of.filter, name)
				if count != 2 { // a query, and a count
					t.Errorf("the log received %d warnings, want 2", count)
				}
				q := &query.Query{Filter: of.filter}
				if plan, err := table.Analyze(t.Context(), engine.AsOf{}, q); err != nil || !strings.Contains(plan, "index_not_used=") {
					t.Errorf("the plan lacks index_not_used (error %v):\n%s", err, plan)
				}
			})
		}
	}
}

// damaged changes all files with a name, or deletes them.
func damaged(t *testing.T, x *enginetest.Indexed, name string, change func(file []byte) []byte) {
	t.Helper()
	for _, key := range x.Keys {
		if !strings.HasSuffix(key, "/"+name) {
			continue
		}
		file, _, err := x.Store.Get(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		if err := x.Store.Delete(t.Context(), key, objectstore.Condition{}); err != nil {
			t.Fatal(err)
		}
		if change == nil {
			continue
		}
		if _, err := x.Store.Put(t.Context(), key, change(file), objectstore.Condition{}); err != nil {
			t.Fatal(err)
		}
	}
}

// An index of which each search reads all files is left out if the cache cannot keep it: a scan reads fewer bytes.
func TestIndexThatIsReadAsAWholeMustFitTheCache(t *testing.T) {
	x := enginetest.OpenIndexed(t, "fm")
	for i, c := range x.Cases {
		if i%10 != 0 {
			continue
		}
		for cache, want := range map[uint64]string{64 << 20: "index_pages=", 4 << 10: "too_large_for_cache="} {
			e := engine.New(dataset.NewSession(cache, time.Now), engine.Limits{IndexBytes: 1, IndexShare: 1000})
			table := e.Table([]string{c.Table}, objectstore.Location{URI: "memory://test/" + c.Table, Store: x.Store, Prefix: c.Table + ".lance"})
			if got := enginetest.IDs(t, table, c.Version, c.Filter); !slices.Equal(got, c.IDs) {
				t.Errorf("%s: got %v, want %v", c.Filter, got, c.IDs)
			}
			plan, err := table.Analyze(t.Context(), engine.AsOf{Version: &c.Version}, &query.Query{Filter: c.Filter})
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(plan, "narrowed_by=[") && !strings.Contains(plan, want) {
				t.Errorf("%s with a cache of %d bytes: the plan has no %s\n%s", c.Filter, cache, want, plan)
			}
		}
	}
}

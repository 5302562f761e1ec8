package list_test

import (
	"testing"

	"tiltyard/shared/sql/internal/sqltest"
)

// Native Lance refuses these: it repeats no constant beside a column to make a map, and has no words
// for the member of a map that is not one of a struct.
func TestMapsOfColumnsAndConstants(t *testing.T) {
	rec := sqltest.Table(t).NewSlice(0, 3)
	for expr, want := range map[string]string{
		"make_map('a', id)":                  `[{["a"] [0]} {["a"] [1]} {["a"] [2]}]`,
		"make_map('a', id, 'b', 7)":          `[{["a" "b"] [0 7]} {["a" "b"] [1 7]} {["a" "b"] [2 7]}]`,
		"map(['x'], [s])":                    `[{["x"] [""]} {["x"] ["a"]} {["x"] ["Hello World"]}]`,
		"map_keys(make_map(s, id))":          `[[""] ["a"] ["Hello World"]]`,
		"m['a']":                             `[1 (null) (null)]`,
		"m[s2]":                              `[1 (null) (null)]`,
		"m['b'] + 1":                         `[3 (null) (null)]`,
		"map_extract(ml, 'a')[1][1]":         `[1 (null) (null)]`,
		"coalesce(m['xy'], m['a'], -1)":      `[1 7 -1]`,
		"CASE WHEN id > 0 THEN m['xy'] END":  `[(null) 7 (null)]`,
		"coalesce(map_entries(m)[2].key, s)": `["b" "a" "Hello World"]`,
	} {
		got, err := sqltest.Compute(expr, rec)
		if err != nil || got.String() != want {
			t.Errorf("%s: got %v, error %v, want %s", expr, got, err, want)
		}
	}
}

func TestMapsWithoutAnswer(t *testing.T) {
	rec := sqltest.Table(t)
	for _, expr := range []string{"make_map(s, id)", "make_map('a', 1, 'a', 2)", "map([id], [id, id])", "map([id], NULL)", "make_map()", "m < m", "ml = ml", "make_map(m, 1)"} {
		if got, err := sqltest.Compute(expr, rec); err == nil {
			t.Errorf("%s: got %v, want an error", expr, got)
		}
	}
}

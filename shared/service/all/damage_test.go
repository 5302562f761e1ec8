package all_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/memstore"
)

// damages are the ways in which a file is damaged.
var damages = map[string]func(r *rand.Rand, file []byte) []byte{ // nil: it is gone
	"gone":      func(*rand.Rand, []byte) []byte { return nil },
	"empty":     func(*rand.Rand, []byte) []byte { return []byte{} },
	"cut off":   func(r *rand.Rand, file []byte) []byte { return file[:r.IntN(len(file))] },
	"longer":    func(_ *rand.Rand, file []byte) []byte { return append(bytes.Clone(file), "more"...) },
	"of zeroes": func(_ *rand.Rand, file []byte) []byte { return make([]byte, len(file)) },
	"of others": func(_ *rand.Rand, file []byte) []byte { return bytes.Repeat([]byte("{}"), len(file)/2+1) },
	"a byte": func(r *rand.Rand, file []byte) []byte {
		file = bytes.Clone(file)
		file[r.IntN(len(file))] ^= byte(1 + r.IntN(255))
		return file
	},
}

// afterDamage are requests for a table of which any file may be damaged.
func afterDamage(t *testing.T) [][2]any {
	return [][2]any{
		{"describe?load_detailed_metadata=true", `{}`}, {"describe/", `{}`}, {"query", `{"k":0,"vector":[]}`},
		{"query", `{"k":2,"vector":[1,2,3,4,5,6,7,8]}`}, {"count_rows", `{"predicate":"id > 3"}`}, {"count_rows", `{"version":1}`},
		{"explain_plan", `{"query":{"k":0,"filter":"id > 3"}}`}, {"stats", `{}`}, {"version/list", `{}`}, {"version/describe", `{"version":1}`},
		{"tags/list", `{}`}, {"tags/version", `{"tag":"first"}`}, {"branches/list", `{}`}, {"index/list", `{}`},
		{"count_rows", `{"branch":"side"}`}, {"tags/create", `{"tag":"new","version":2}`}, {"branches/create", `{"name":"other"}`},
		{"insert", stream(t, 100, 3)}, {"merge_insert?on=id&when_matched_update_all=true", stream(t, 0, 3)},
		{"update", `{"updates":[["id","id + 1"]],"predicate":"id = 2"}`}, {"delete", `{"predicate":"id = 5"}`},
		{"add_columns", `{"new_columns":[{"name":"new","expression":"id"}]}`}, {"drop_columns", `{"columns":["new"]}`},
		{"restore", `{"version":1}`}, {"maintain", `{"compact":true,"cleanup":true,"dry_run":true}`},
		{"tags/delete", `{"tag":"first"}`}, {"branches/delete", `{"name":"side"}`}, {"rename", `{"new_table_name":"u"}`},
	}
}

// Whatever happens to the files of a table, no request for it gets an internal error. It succeeds,
// or its error names the damage and does not make clients retry.
func TestDamagedTablesAreNoInternalErrors(t *testing.T) {
	whole := memstore.New()
	s := serve(t, "memory://test", whole)
	s.ok("/v1/table/t/create", stream(t, 0, 20))
	s.ok("/v1/table/t/insert", stream(t, 20, 20))
	s.ok("/v1/table/t/delete", `{"predicate":"id = 3"}`)
	s.ok("/v1/table/t/tags/create", `{"tag":"first","version":1}`)
	s.ok("/v1/table/t/branches/create", `{"name":"side"}`)
	files := filesOf(t, whole)
	kinds := map[string]bool{}
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	statuses := map[int]int{}
	for key, file := range files {
		if strings.HasPrefix(key, "_") || len(file) == 0 {
			continue // the catalog's
		}
		kinds[strings.Split(key, "/")[1]] = true
		for damage, do := range damages {
			for _, request := range afterDamage(t) {
				store := memstore.New()
				fill(t, store, files)
				if damaged := do(r, file); damaged == nil {
					if err := store.Delete(t.Context(), key, objectstore.Condition{}); err != nil {
						t.Fatal(err)
					}
				} else if _, err := store.Put(t.Context(), key, damaged, objectstore.Condition{}); err != nil {
					t.Fatal(err)
				}
				path := "/v1/table/t/" + request[0].(string)
				status, answer := serve(t, "memory://test", store).post(path, request[1])
				statuses[status]++
				told := fmt.Sprintf("seed %d: %s %s, then %s: %d %s", seed, key, damage, path, status, answer)
				if status >= http.StatusInternalServerError && status != http.StatusNotImplemented || status == http.StatusTooManyRequests {
					t.Error(told)
				}
				if strings.Contains(string(answer), key) && status == http.StatusUnprocessableEntity {
					t.Errorf("the answer names a file: %s", told)
				}
			}
		}
	}
	if len(kinds) < 5 || statuses[http.StatusUnprocessableEntity] == 0 {
		t.Errorf("files of the kinds %v were damaged, with statuses %v", kinds, statuses)
	}
	t.Logf("statuses: %v", statuses)
}

func filesOf(t *testing.T, store objectstore.Store) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	page, err := store.List(t.Context(), objectstore.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range page.Objects {
		if files[object.Key], _, err = store.Get(t.Context(), object.Key); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

func fill(t *testing.T, store objectstore.Store, files map[string][]byte) {
	t.Helper()
	for key, data := range files {
		if _, err := store.Put(t.Context(), key, data, objectstore.Condition{}); err != nil {
			t.Fatal(err)
		}
	}
}

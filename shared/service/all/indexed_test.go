package all_test

import (
	"archive/zip"
	"fmt"
	"io"
	"testing"

	"tiltyard/shared/storage/objectstore"
)

// indexedLocation is where addIndexed puts the table.
const indexedLocation = "memory://test/indexed.lance"

// addIndexed puts a table into a store that has an index of native Lance on each column but id.
func addIndexed(t testing.TB, store objectstore.Store) {
	t.Helper()
	archive, err := zip.OpenReader("testdata/indexed.zip")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = archive.Close() }()
	for _, f := range archive.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := store.Put(t.Context(), f.Name, data, objectstore.Condition{}); err != nil {
			t.Fatal(err)
		}
	}
}

// indexedQueries are queries of that table that an index answers, each time for another value.
var indexedQueries = []struct{ name, query string }{
	{"filter by BTREE", `{"columns":["id"],"filter":"btree = %d"}`},
	{"filter by BITMAP", `{"columns":["id"],"filter":"bitmap = %d"}`},
	{"filter by ZONEMAP", `{"columns":["id"],"filter":"zonemap = %d"}`},
	{"filter by BLOOMFILTER", `{"columns":["id"],"filter":"bloomfilter = %d"}`},
	{"filter by LABEL_LIST", `{"columns":["id"],"filter":"array_has(labels, 'label%d')"}`},
	{"filter by NGRAM", `{"columns":["id"],"filter":"contains(ngrams, 'word0%d')"}`},
	{"filter by words of FTS", `{"columns":["id"],"filter":"contains_tokens(words, 'word0%d')"}`},
	{"text search by FTS", `{"columns":["id"],"full_text_query":{"string_query":{"query":"word0%d","columns":["words"]}},"k":10}`},
	{"vector search by IVF_PQ", `{"columns":{"column_names":["id"]},"vector":{"single_vector":[%d,17,34,51,68,85,102,119]},"k":10}`},
	{"vector search by IVF_PQ, refined", `{"columns":{"column_names":["id"]},"vector":{"single_vector":[%d,17,34,51,68,85,102,119]},"k":10,"refine_factor":3}`},
	{"hybrid search by IVF_PQ and FTS", `{"columns":{"column_names":["id"]},"vector":{"single_vector":[%[1]d,17,34,51,68,85,102,119]},"full_text_query":{"string_query":{"query":"word0%[1]d","columns":["words"]}},"k":10}`},
}

// indexedQuery returns the body of a query for the value of a try.
func indexedQuery(query string) func(try int) []byte {
	return func(try int) []byte { return fmt.Appendf(nil, query, 100+50*try) }
}

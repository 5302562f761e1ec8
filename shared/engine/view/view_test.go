package view_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/engine/view"
)

// Definitions written by Geneva's client, and whether they can be run here.
func TestQueriesOfGeneva(t *testing.T) {
	for _, test := range []struct{ query, want, missing string }{
		{`{"base":{"filter":"id > 1","columns":["id","odd name"],"limit":5},"source_table":"t"}`, "SELECT id, `odd name` FROM n.t WHERE id > 1 LIMIT 5", ""},
		{`{"base":{"columns":{"b":"upper(x)","a":"id"},"offset":0,"vector":null},"shuffle":false,"source_table":"t"}`, "SELECT upper(x) AS b, id AS a FROM n.t", ""},
		{`{"source_table":"t"}`, "SELECT * FROM n.t", ""},
		{`SELECT id FROM t`, "SELECT id FROM t", ""},
		{`SELECT u FROM t, UNNEST(l) AS u`, "SELECT u FROM t, UNNEST(l) AS u", ""},
		{`SELECT c.text FROM t, split_lines(b) AS c`, "SELECT c.text FROM t, split_lines(b) AS c", ""},
		{`SELECT c.text FROM t, other(b) AS c`, "", "its query calls the function other in FROM"},
		{`{"base":{"offset":3},"source_table":"t"}`, "", "its source_query has base.offset"},
		{`{"base":{"limit":-1},"source_table":"t"}`, "", "base.limit of its source_query cannot be read"},
		{`{"shuffle":true,"source_table":"t"}`, "", "its source_query has shuffle"},
		{`{"fragment_ids":[1],"source_table":"t"}`, "", "its source_query has fragment_ids"},
		{`{"column_udfs":[{}],"source_table":"t"}`, "", "its source_query has column_udfs"},
		{`{}`, "", "its source_query has no source_table"},
	} {
		d := view.Geneva(view.KindQuery, test.query, "", []string{"n"})
		got := ""
		if d.Query != nil {
			got = d.Query.String()
		}
		if got != test.want || d.Missing != test.missing {
			t.Errorf("%s: query %q, missing %q, want %q and %q", test.query, got, d.Missing, test.want, test.missing)
		}
	}
}

func TestWatermarksAreReadAsTheyAreWritten(t *testing.T) {
	want, ok := view.WatermarkOf(map[string]string{"mv.source_version": "3", "mv.source_version_ts": "1795470239437765351", "mv.refreshed_at_ms": "1795470239885"})
	if !ok {
		t.Fatal("there is no watermark")
	}
	if got, ok := view.StampOf(want.Stamp(7), 7); !ok || !cmp.Equal(got, want) {
		t.Errorf("got %v, %v", got, ok)
	}
	if _, ok := view.StampOf(want.Stamp(7), 8); ok {
		t.Error("the stamp of version 7 counts for version 8")
	}
	for _, bad := range []string{"", "-1", "1.5", "99999999999999999999", " 1", "x"} {
		if _, ok := view.WatermarkOf(map[string]string{"mv.source_version": bad, "mv.source_version_ts": "1", "mv.refreshed_at_ms": "1"}); ok {
			t.Errorf("%q counts as a version", bad)
		}
	}
}

// A definition that was changed in any part has another digest.
func TestDigestsDiffer(t *testing.T) {
	seen := map[string]string{}
	for _, text := range []string{`{"source_table":"t"}`, `{"source_table":"u"}`, `{"source_table":"t","shuffle":true}`} {
		for _, kind := range []view.Kind{view.KindQuery, view.KindUDTF, view.KindChunker} {
			for _, namespace := range [][]string{nil, {"n"}, {"n", "m"}} {
				for _, function := range []string{"", "{}"} {
					d := view.Geneva(kind, text, function, namespace)
					what := string(kind) + text + d.Function + cmp.Diff(nil, namespace)
					if before, ok := seen[d.Digest()]; ok && before != what {
						t.Errorf("%s and %s have the same digest", before, what)
					}
					seen[d.Digest()] = what
				}
			}
		}
	}
}

// No metadata cause a panic, and a runnable definition names a table.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		`{"format":1,"kind":"query","query":"SELECT id, upper(name) AS u FROM n.t WHERE id > 1 LIMIT 5"}`,
		`{"format":2,"kind":"query","query":"SELECT count(*) FROM t GROUP BY id"}`,
		`{"base":{"filter":"id > 1","columns":{"a":"id"}},"source_table":"t"}`, `{`, `[]`, ``,
	} {
		f.Add(seed, `["n"]`)
	}
	f.Fuzz(func(t *testing.T, text, namespace string) {
		for _, key := range []string{"mv.definition", "geneva::view::query", "geneva::view::udtf", "geneva::view::chunker"} {
			d, err := view.Read(map[string]string{key: text, "geneva::view::query": text, "geneva::view::namespace_path": namespace, "tiltyard.mv": text})
			if err != nil {
				continue
			}
			if runs := d.Check() == nil; runs != (d.Query != nil) || runs && len(d.Source) == 0 || !runs && d.Missing == "" {
				encoded, _ := json.Marshal(d)
				t.Errorf("read %s", encoded)
			}
		}
	})
}

package view_test

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/engine/view"
	"tiltyard/shared/protocol/viewapi"
)

// described returns the definition of a view with a function whose description has some more fields.
func described(t *testing.T, kind view.Kind, query, envelope, fields string) *view.Definition {
	t.Helper()
	var spec map[string]any
	if err := json.Unmarshal([]byte(functionOf(t, envelope)), &spec); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(fields), &spec); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	return view.Geneva(kind, query, string(text), []string{"n"})
}

func TestFunctionsThatExecutorsRun(t *testing.T) {
	const table = `{"source_table":"t","base":{"filter":"id > 1","columns":["id"]}}`
	for _, test := range []struct {
		kind                   view.Kind
		query, fields, missing string
		inputs                 string
		skips                  *view.Skips
	}{
		{kind: view.KindChunker, query: table, fields: `{"input_columns":["a.b","` + "`c.d`" + `"],"batch":true}`, inputs: "SELECT a.b AS `a.b`, `c.d` AS ```c.d``` FROM n.t WHERE id > 1"},
		{kind: view.KindUDTF, query: table, fields: `{}`, inputs: "SELECT id FROM n.t WHERE id > 1"},
		{kind: view.KindUDTF, query: `{"source_table":"t"}`, fields: `{"partition_by":"p","error_handling":{"on_error":"SKIP_PARTITION"}}`, inputs: "SELECT * FROM n.t", skips: &view.Skips{}},
		{kind: view.KindUDTF, query: table, fields: `{"error_handling":{"max_skip_count":3,"max_skip_fraction":0.5}}`, inputs: "SELECT id FROM n.t WHERE id > 1", skips: &view.Skips{Most: 3, Fraction: 0.5}},
		{kind: view.KindUDTF, query: table, fields: `{"error_handling":{"on_error":"retry","max_skip_count":0}}`, inputs: "SELECT id FROM n.t WHERE id > 1"},
		{kind: view.KindUDTF, query: table, fields: `{"partition_by_indexed_column":"v"}`, missing: "partition_by_indexed_column"},
		{kind: view.KindChunker, query: table, fields: `{"partition_by":"v"}`, missing: "partition_by"},
		{kind: view.KindChunker, query: `{"source_table":"t","base":{"limit":3}}`, fields: `{}`, missing: "base.limit"},
		{kind: view.KindUDTF, query: `{"source_table":"t","shuffle":true}`, fields: `{}`, missing: "shuffle"},
		{kind: view.KindUDTF, query: `SELECT 1`, fields: `{}`, missing: "not a JSON object"},
		{kind: view.KindUDTF, query: table, fields: `{"input_columns":["a."]}`, missing: "not a path"},
	} {
		d := described(t, test.kind, test.query, `{"backend":"DockerUDFSpecV1"}`, test.fields)
		if !strings.Contains(d.Missing, test.missing) || (d.Missing == "") != (test.missing == "") || (d.Call == nil) != (test.missing != "") {
			t.Errorf("%s: missing %q, want %q", test.fields, d.Missing, test.missing)
			continue
		}
		if d.Call == nil {
			continue
		}
		if got := d.Call.Inputs.String(); got != test.inputs || d.Call.Backend != "DockerUDFSpecV1" || d.Query == nil || !cmp.Equal(d.Call.Skips, test.skips) {
			t.Errorf("%s: gets %s and skips %v, want %s", test.fields, got, d.Call.Skips, test.inputs)
		}
	}
	if d := described(t, view.KindUDTF, table, `{"backend":"builtin","name":"split_text"}`, `{}`); d.Missing == "" {
		t.Error("a built-in function of kind udtf runs")
	}
}

// The description of a large function has the place of its file, and its backend.
func TestLargeFunctions(t *testing.T) {
	text := base64.StdEncoding.EncodeToString([]byte(`{"backend":"pickle","payload":"` + strings.Repeat("x", 100_000) + `"}`))
	function, file, err := view.Describe(&viewapi.UDTFSpec{UDTF: text, SHA: strings.Repeat("ab", 32), Name: "f", Version: "1"})
	if err != nil || file != "_udfs/"+strings.Repeat("ab", 32) {
		t.Fatalf("file %q, %v", file, err)
	}
	d := view.Geneva(view.KindUDTF, `{"source_table":"t"}`, function, nil)
	if d.Call == nil || d.Call.Backend != "pickle" || d.Call.Envelope != file {
		t.Errorf("got %+v, missing %q", d.Call, d.Missing)
	}
	forged := strings.Replace(function, `"udtf":"_udfs/ab`, `"udtf":"_udfs/cd`, 1)
	if d := view.Geneva(view.KindUDTF, `{"source_table":"t"}`, forged, nil); d.Call != nil || !strings.Contains(d.Missing, "SHA-256") {
		t.Errorf("missing %q", d.Missing)
	}
}

package view_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"

	"tiltyard/shared/engine/view"
	"tiltyard/shared/protocol/viewapi"
)

// functionOf returns the description of a function as a request carries it.
func functionOf(t testing.TB, envelope string, columns ...string) string {
	t.Helper()
	text := base64.StdEncoding.EncodeToString([]byte(envelope))
	sum := sha256.Sum256([]byte(text))
	spec, err := json.Marshal(viewapi.UDTFSpec{UDTF: text, SHA: hex.EncodeToString(sum[:]), Name: "f", Version: "1", InputColumns: columns})
	if err != nil {
		t.Fatal(err)
	}
	return string(spec)
}

func TestFunctionsOfChunkers(t *testing.T) {
	for _, test := range []struct {
		envelope string
		columns  []string
		want     string // the text after the table in FROM
		missing  string
	}{
		{envelope: `{"backend":"builtin","name":"split_text","args":{"text":"body","size":800}}`, want: "split_text(body, 800)"},
		{envelope: `{"backend":"builtin","name":"split_text","args":{"text":"body","size":8,"unit":"words"}}`, want: "split_text(body, 8, 0, 'words')"},
		{envelope: `{"backend":"builtin","name":"split_text","args":{"text":"body","size":8,"unit":"it's"}}`, want: "split_text(body, 8, 0, 'it''s')"},
		{envelope: `{"backend":"builtin","name":"split_lines"}`, columns: []string{"odd name"}, want: "split_lines(`odd name`)"},
		{envelope: `{"backend":"builtin","name":"split_lines"}`, columns: []string{"a", "b"}, missing: "lacks the argument text"},
		{envelope: `{"backend":"builtin","name":"split_lines","args":{"text":3}}`, missing: "is not a text"},
		{envelope: `{"backend":"builtin","name":"split_text","args":{"text":"body","size":1.5}}`, missing: "neither a whole number nor a text"},
		{envelope: `{"backend":"builtin","name":"split_text","args":{"text":"body","size":1,"more":2}}`, missing: "does not know"},
		{envelope: `{"backend":"builtin","name":"nothing"}`, missing: "no built-in function"},
		{envelope: `[]`, missing: "not a JSON object"},
	} {
		d := view.Geneva(view.KindChunker, `{"source_table":"t","base":{"columns":["id"]}}`, functionOf(t, test.envelope, test.columns...), nil)
		got := ""
		if d.Query != nil {
			got, _, _ = strings.Cut(d.Query.Each.String(), " AS ")
		}
		if got != test.want || !strings.Contains(d.Missing, test.missing) || (d.Missing == "") != (test.missing == "") {
			t.Errorf("%s: %q, missing %q; want %q and %q", test.envelope, got, d.Missing, test.want, test.missing)
		}
	}
}

// The function in the metadata is run only if it is the one whose digest stands beside it.
func TestGenevaDoesNotRunAnotherFunction(t *testing.T) {
	function := functionOf(t, `{"backend":"builtin","name":"split_lines","args":{"text":"body"}}`)
	other := base64.StdEncoding.EncodeToString([]byte(`{"backend":"builtin","name":"split_lines","args":{"text":"secret"}}`))
	var spec viewapi.UDTFSpec
	if err := json.Unmarshal([]byte(function), &spec); err != nil {
		t.Fatal(err)
	}
	spec.UDTF = other
	forged, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	if d := view.Geneva(view.KindChunker, `{"source_table":"t"}`, string(forged), nil); d.Query != nil || !strings.Contains(d.Missing, "SHA-256") {
		t.Errorf("missing is %q", d.Missing)
	}
}

// No description of a function ends the process.
func FuzzFunctionOfChunker(f *testing.F) {
	f.Add(`{"backend":"builtin","name":"split_text","args":{"text":"body","size":800,"overlap":0,"unit":"words"}}`)
	f.Add(`{"backend":"builtin","name":"split_lines","args":{"text":"'"}}`)
	f.Fuzz(func(t *testing.T, envelope string) {
		d := view.Geneva(view.KindChunker, `{"source_table":"t"}`, functionOf(t, envelope), nil)
		if (d.Query == nil) != (d.Missing != "") {
			t.Errorf("query %v, missing %q", d.Query, d.Missing)
		}
	})
}

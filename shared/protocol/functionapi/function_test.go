package functionapi_test

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"tiltyard/shared/protocol/functionapi"
)

const registration = `{
	"artifact": {"kind": "sql_expression", "digest": %DIGEST%, "content": {"encoding": "base64", "data": %DATA%}},
	"signature": {"inputs": [{"name": "n", "arrow_type": "int64", "nullable": true}], "output": {"kind": "scalar", "arrow_type": "int64", "nullable": false}},
	"runtime": %RUNTIME%
}`

func register(t *testing.T, code, runtime string) *functionapi.CreateRequest {
	t.Helper()
	req := new(functionapi.CreateRequest)
	text := strings.NewReplacer("%DIGEST%", `"`+functionapi.DigestOf([]byte(code))+`"`, "%DATA%", `"`+base64.StdEncoding.EncodeToString([]byte(code))+`"`, "%RUNTIME%", runtime).Replace(registration)
	if err := json.Unmarshal([]byte(text), req); err != nil {
		t.Fatal(err)
	}
	req.ID = []string{"f"}
	if err := req.Validate(); err != nil {
		t.Fatal(err)
	}
	return req
}

// The digest of a definition depends on what it says, and not on how it is written.
func TestDigestsOfDefinitions(t *testing.T) {
	digest := func(code, runtime string) string {
		t.Helper()
		req := register(t, code, runtime)
		if string(req.Content()) != code {
			t.Errorf("content is %q, want %q", req.Content(), code)
		}
		d, err := req.Definition().Digest()
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	first := digest("n", `{"kind": "sql", "env": {"A": "1"}}`)
	if again := digest("n", `{"env":{"A":"1"},  "kind":"sql"}`); again != first {
		t.Errorf("the order of fields counts: %s and %s", first, again)
	}
	for _, other := range []string{digest("n + 1", `{"kind": "sql", "env": {"A": "1"}}`), digest("n", `{"kind": "sql", "env": {"A": "2"}}`), digest("n", `{"kind": "sql"}`)} {
		if other == first {
			t.Error("another definition has the same digest")
		}
	}
}

func TestNumbersOfVersions(t *testing.T) {
	for text, want := range map[string]int{"1": 1, "12": 12, "0": 0, "01": 0, "+1": 0, "-1": 0, "1.0": 0, "1 000": 0, "": 0, "9999999999": 0} {
		if got := functionapi.VersionNumber(text); got != want {
			t.Errorf("%q: got %d, want %d", text, got, want)
		}
	}
}

package format_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/protocol"
	"tiltyard/shared/storage/format"
)

type inner struct {
	N int `json:"n"`
}

type thing struct {
	ID    string          `json:"id"`
	Inner *inner          `json:"inner,omitempty"`
	Raw   json.RawMessage `json:"raw,omitempty"`
}

func TestDecode(t *testing.T) {
	cases := []struct {
		name, text string
		want       thing
		newer      bool
		says       string // in the error
	}{
		{name: "without a format", text: `{"id":"a","inner":{"n":1}}`, want: thing{ID: "a", Inner: &inner{1}}},
		{name: "with a space at the end", text: `{"id":"a"} `, want: thing{ID: "a"}},
		{name: "of the format that is known", text: `{"format":1,"id":"a"}`, want: thing{ID: "a"}},
		{name: "what is kept as it is", text: `{"id":"a","raw":{"format":9,"x":1}}`, want: thing{ID: "a", Raw: json.RawMessage(`{"format":9,"x":1}`)}},
		{name: "of the next format", text: `{"id":"a","format":2}`, newer: true, says: "its format is 2, and this release reads formats up to 1"},
		{name: "of the next format, in which members have other types", text: `{"id":[1],"format":2}`, newer: true, says: "format is 2"},
		{name: "of a format without a number", text: `{"id":"a","format":"third"}`, newer: true, says: "newer"},
		{name: "with a member that is not known", text: `{"id":"a","color":"red"}`, newer: true, says: `unknown field "color"`},
		{name: "with a member that is not known, of the known format", text: `{"id":"a","color":"red","format":1}`, newer: true, says: "newer"},
		{name: "with a member that is not known, further inside", text: `{"id":"a","inner":{"n":1,"m":2}}`, newer: true, says: `unknown field "m"`},
		{name: "damaged", text: `{"id":"a"`, says: "decode thing x"},
		{name: "of another type", text: `{"id":[1]}`, says: "decode thing x"},
		{name: "with more behind it", text: `{"id":"a"}{"id":"b"}`, says: "more than one"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var got thing
			err := format.Decode("thing x", []byte(c.text), &got)
			if c.says == "" {
				if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
					t.Errorf("Decode: %v (-want +got):\n%s", err, diff)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.says) || format.Newer(err) != c.newer {
				t.Errorf("Decode: %v; want %q, newer %v", err, c.says, c.newer)
			}
			if c.newer && !protocol.HasCode(err, protocol.ServiceUnavailable) {
				t.Errorf("the code is %v", protocol.CodeOf(err))
			}
		})
	}
}

func TestPeekSkipsWhatItDoesNotKnow(t *testing.T) {
	var got thing
	if err := format.Peek("thing x", []byte(`{"id":"a","color":"red"}`), &got); err != nil || got.ID != "a" {
		t.Errorf("Peek = %+v, %v", got, err)
	}
	if err := format.Peek("thing x", []byte(`{"id":"a","format":2}`), &got); !format.Newer(err) {
		t.Errorf("Peek of the next format: %v", err)
	}
	if err := format.Peek("thing x", []byte(`{`), &got); err == nil || format.Newer(err) {
		t.Errorf("Peek of a damaged object: %v", err)
	}
}

// An object that Decode accepts keeps all members when it is encoded again, and Decode refuses all objects
// that Peek refuses.
func FuzzDecode(f *testing.F) {
	for _, text := range []string{`{"id":"a"}`, `{"format":1,"id":"a"}`, `{"format":2}`, `{"id":"a","inner":{"n":1}} `, `[1]`, `null`, `{"ID":"b"}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var got thing
		if format.Decode("fuzzed", text, &got) != nil {
			return
		}
		if err := format.Peek("fuzzed", text, new(struct{})); err != nil && text[0] == '{' {
			t.Errorf("Decode takes %s, and Peek says %v", text, err)
		}
		again, err := json.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		var back thing
		if err := format.Decode("fuzzed", again, &back); err != nil {
			t.Errorf("decoded %s, encoded %s: %v", text, again, err)
		}
	})
}

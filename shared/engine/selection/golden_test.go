package selection

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
)

// golden calls test for each line of a file of testdata, and fails unless lancedb answers and
// refuses that many of them.
func golden[T any](t *testing.T, name string, answered, refused int, test func(c T) (isRefused bool)) {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		var c T
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatal(err)
		}
		if test(c) {
			refused--
		} else {
			answered--
		}
	}
	if answered != 0 || refused != 0 {
		t.Errorf("%s lacks %d answered and %d refused cases", name, answered, refused)
	}
}

func TestQueriesAreReadAndWrittenAsByLanceDB(t *testing.T) {
	type query struct {
		Query, Stored string
		Error         bool
	}
	golden(t, "parsed.jsonl", 165, 156, func(c query) bool {
		q, err := Parse(c.Query)
		switch {
		case err != nil && !c.Error:
			t.Errorf("%s: %v; lancedb stores %s", c.Query, err, c.Stored)
		case err == nil && c.Error:
			t.Errorf("%s: read as %s; lancedb refuses it", c.Query, q)
		case err == nil && q.String() != c.Stored:
			t.Errorf("%s: read as %s; lancedb stores %s", c.Query, q, c.Stored)
		}
		return c.Error
	})
}

func TestViewsHaveTheColumnsThatLanceDBGivesThem(t *testing.T) {
	type view struct {
		Source         string // only in the first line
		Columns        json.RawMessage
		Filter         string
		Stored, Schema string
		Error          bool
	}
	var source *arrow.Schema
	golden(t, "planned.jsonl", 73, 90, func(c view) bool {
		if source == nil {
			source = decode(t, c.Source)
			return false
		}
		q := &Query{Source: []string{"t"}, Columns: columns(t, c.Columns), Filter: c.Filter}
		p, err := q.Plan(t.Context(), source)
		switch {
		case err != nil && !c.Error:
			t.Errorf("%s: %v; lancedb stores %s", q, err, c.Stored)
		case err == nil && c.Error:
			t.Errorf("%s: planned as %s; lancedb refuses it", q, p.Query)
		case err == nil && p.Query.String() != c.Stored:
			t.Errorf("%s: stored as %s; lancedb stores %s", q, p.Query, c.Stored)
		case err == nil:
			if want := decode(t, c.Schema); !p.Schema.Equal(want) {
				t.Errorf("%s: got\n%s\nlancedb makes\n%s", q, p.Schema, want)
			}
		}
		return c.Error
	})
}

// columns reads an object of names and expressions, in its order, or "*".
func columns(t *testing.T, raw json.RawMessage) []Column {
	d := json.NewDecoder(bytes.NewReader(raw))
	if opening, err := d.Token(); err != nil || opening == "*" {
		return nil
	}
	var out []Column
	for d.More() {
		name, _ := d.Token()
		value, err := d.Token()
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, Column{Name: name.(string), Expr: value.(string)})
	}
	return out
}

func decode(t *testing.T, text string) *arrow.Schema {
	t.Helper()
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	r, err := ipc.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Release()
	return r.Schema()
}

package textsearch

import (
	"strings"
	"testing"

	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/queryapi"
)

// What is a document of a query is what native Lance takes for one.
func TestGranularityIsThatOfTheIndexOrOfTheQuery(t *testing.T) {
	indices := Indexes{
		rows:     map[string]*snapshot.Index{"row": {Name: "r"}, "both": {Name: "b"}},
		elements: map[string]*snapshot.Index{"element": {Name: "e"}, "both": {Name: "be"}},
	}
	const unset, row, element = queryapi.GranularityUnset, queryapi.GranularityRow, queryapi.GranularityElement
	type part struct {
		column string
		asked  queryapi.Granularity
	}
	cases := []struct {
		name     string
		parts    []part
		elements bool
		refused  string
	}{
		{"no index", []part{{"none", unset}}, false, ""},
		{"no index, elements", []part{{"none", element}}, true, ""},
		{"an index of rows", []part{{"row", unset}, {"row", row}, {"none", unset}}, false, ""},
		{"an index of elements", []part{{"element", unset}, {"element", element}}, true, ""},
		{"both indices", []part{{"both", unset}}, false, "choose one"},
		{"both indices, rows", []part{{"both", row}}, false, ""},
		{"both indices, elements", []part{{"both", element}}, true, ""},
		{"rows of an index of elements", []part{{"element", row}}, false, "one of list elements"},
		{"elements of an index of rows", []part{{"row", element}}, false, "one of rows"},
		{"rows and elements", []part{{"row", unset}, {"element", unset}}, false, "same document_granularity"},
		{"elements of two columns", []part{{"element", unset}, {"both", element}}, false, "one column only"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			q := converter{indices: indices}
			var err error
			for _, p := range c.parts {
				if err = q.search(p.column, p.asked); err != nil {
					break
				}
			}
			switch {
			case c.refused == "" && (err != nil || q.elements != c.elements):
				t.Errorf("got elements %t, %v; want %t", q.elements, err, c.elements)
			case c.refused != "" && (protocol.CodeOf(err) != protocol.InvalidInput || !strings.Contains(err.Error(), c.refused)):
				t.Errorf("got %v, want InvalidInput with %q", err, c.refused)
			}
		})
	}
}

package query_test

import (
	"encoding/json"
	"testing"

	"tiltyard/shared/engine/query"
)

// What ParsePart accepts is written and read again the same.
func FuzzParsePart(f *testing.F) {
	f.Add([]byte(`{"format":3,"version":3,"origin":"o","kind":"count","query":{"Filter":"a > 1"},"stretches":[{"fragment":1,"from":0,"to":5}]}`))
	f.Add([]byte(`{"format":3,"version":3,"origin":"o","kind":"nearest","query":{"Nearest":{"Vectors":[[1,2]],"Metric":1}},"stretches":[{"fragment":1,"to":5}]}`))
	f.Add([]byte(`{"format":3,"version":3,"origin":"o","kind":"rows","query":{"Text":{"match":{"terms":"a"}}},"stretches":[{"to":5}]}`))
	f.Add([]byte(`{"format":3,"version":3,"origin":"o","kind":"groups","query":{},"groups":{"keys":[0],"calls":[{"function":"sum","args":[1],"filter":2}]},"stretches":[{"to":5}]}`))
	f.Add([]byte(`{"format":3,"version":3,"origin":"o","kind":"probes","query":{"Nearest":{"Vectors":[[1,2]]}},"probes":{"index":"i","segments":[{"segment":"s","partitions":[[1,2]]}],"among":{"1":"OjAAAAEAAAAAAAEAEAAAAAEABQA="}}}`))
	f.Add([]byte(`{"format":3,"version":3,"origin":"o","kind":"words","query":{"Limit":5,"Text":{"match":{"terms":"a b","column":"t"}}},"words":{"index":"i","segments":[{"segment":"s","places":[0,2]}],"counts":{"documents":7,"length":9,"terms":["a","b"],"holding":[3,0]},"among":{"1":"OjAAAAEAAAAAAAEAEAAAAAEABQA="}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := query.ParsePart(text)
		if err != nil {
			return
		}
		again, err := json.Marshal(p)
		if err != nil {
			return // a query for words may be longer than its limits
		}
		same, err := query.ParsePart(again)
		if err != nil {
			t.Fatalf("%s was read, %s is not: %v", text, again, err)
		}
		if third, err := json.Marshal(same); err != nil || string(third) != string(again) {
			t.Errorf("%s is written as %s, error %v", again, third, err)
		}
	})
}

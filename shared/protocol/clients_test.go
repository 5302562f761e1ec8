package protocol_test

import (
	"encoding/json"
	"testing"

	"tiltyard/shared/protocol"
)

// What clients ask that this service does not do is refused, although it would be easy to overlook.
func TestFieldsThatAskForMoreAreRefused(t *testing.T) {
	number := int64(1)
	blob := func(change func(*protocol.ReadTableBlobRequest)) interface{ Validate() error } {
		r := &protocol.ReadTableBlobRequest{Column: "b", RowID: "3"}
		change(r)
		return r
	}
	index := func(rows int64, probability float64) interface{ Validate() error } {
		return &protocol.CreateTableIndexRequest{Column: "c", Type: "BLOOMFILTER", NumberOfItems: &rows, Probability: &probability}
	}
	for name, c := range map[string]struct {
		request interface{ Validate() error }
		code    protocol.Code
		refused bool
	}{
		"blob by id":             {blob(func(*protocol.ReadTableBlobRequest) {}), 0, false},
		"blob of another table":  {blob(func(r *protocol.ReadTableBlobRequest) { r.SourceURI = "s3://b/t" }), protocol.Unsupported, true},
		"blob by address":        {blob(func(r *protocol.ReadTableBlobRequest) { r.RowIsAddress = true }), protocol.Unsupported, true},
		"blob of another commit": {blob(func(r *protocol.ReadTableBlobRequest) { r.SourceCommitMicros = &number }), protocol.Unsupported, true},
		"filters":                {index(4096, 0.01), 0, false},
		"filters of no rows":     {index(0, 0.01), protocol.InvalidInput, true},
		"filters that have all":  {index(10, 1), protocol.InvalidInput, true},
		"filters that have none": {index(10, 0), protocol.InvalidInput, true},
	} {
		if err := c.request.Validate(); (err != nil) != c.refused || err != nil && protocol.CodeOf(err) != c.code {
			t.Errorf("%s: got %v, refused should be %v", name, err, c.refused)
		}
	}
}

func TestMalformedPairsOfColumnsAreRefused(t *testing.T) {
	for _, text := range []string{`[["a"]]`, `[["a","b","c"]]`, `[["a",""]]`, `[["","b"]]`, `[["a","b"],"c"]`, `["c",["a","b"]]`, `[["a",1]]`, `[[]]`} {
		var got protocol.Projection
		if err := json.Unmarshal([]byte(text), &got); protocol.CodeOf(err) != protocol.InvalidInput {
			t.Errorf("%s is %v, %v; want InvalidInput", text, got, err)
		}
	}
}

func TestIgnoredFieldsAreOfOperations(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range protocol.Ignored {
		_, known := protocol.Lookup(f.Operation)
		if name := f.Operation + "." + f.Field; !known || f.Field == "" || f.Reason == "" || seen[name] {
			t.Errorf("%+v is unknown, not whole, or there twice", f)
		} else {
			seen[name] = true
		}
	}
}

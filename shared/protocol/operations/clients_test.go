package operations_test

import (
	"testing"

	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/indexapi"
	"tiltyard/shared/protocol/operations"
	"tiltyard/shared/protocol/queryapi"
)

// What clients ask that this service does not do is refused, although it would be easy to overlook.
func TestFieldsThatAskForMoreAreRefused(t *testing.T) {
	number := int64(1)
	blob := func(change func(*queryapi.ReadBlobRequest)) interface{ Validate() error } {
		r := &queryapi.ReadBlobRequest{Column: "b", RowID: "3"}
		change(r)
		return r
	}
	index := func(rows int64, probability float64) interface{ Validate() error } {
		return &indexapi.CreateRequest{Column: "c", Type: "BLOOMFILTER", NumberOfItems: &rows, Probability: &probability}
	}
	for name, c := range map[string]struct {
		request interface{ Validate() error }
		code    protocol.Code
		refused bool
	}{
		"blob by id":             {blob(func(*queryapi.ReadBlobRequest) {}), 0, false},
		"blob of another table":  {blob(func(r *queryapi.ReadBlobRequest) { r.SourceURI = "s3://b/t" }), protocol.Unsupported, true},
		"blob by address":        {blob(func(r *queryapi.ReadBlobRequest) { r.RowIsAddress = true }), protocol.Unsupported, true},
		"blob of another commit": {blob(func(r *queryapi.ReadBlobRequest) { r.SourceCommitMicros = &number }), protocol.Unsupported, true},
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

func TestIgnoredFieldsAreOfOperations(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range operations.Ignored {
		_, known := operations.Lookup(f.Operation)
		if name := f.Operation + "." + f.Field; !known || f.Field == "" || f.Reason == "" || seen[name] {
			t.Errorf("%+v is unknown, not whole, or there twice", f)
		} else {
			seen[name] = true
		}
	}
}

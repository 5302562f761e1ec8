package engine

import (
	"testing"

	"tiltyard/shared/protocol"
)

// Without an index that native Lance would ask, a fast scan is one of all rows.
func TestFastScanWithoutAnIndexFindsAll(t *testing.T) {
	table := points(t)
	for _, order := range [][]protocol.OrderBy{nil, {desc("id")}} {
		req := &protocol.QueryTableRequest{FastSearch: true, Filter: "id > 3", OrderBy: order, Columns: protocol.Projection{{Name: "id"}}}
		if got := show(t, table, req); len(got) != 6 {
			t.Errorf("got %v, want six rows", got)
		}
	}
	req := &protocol.QueryTableRequest{FastSearch: true, Filter: "nope > 3"}
	if _, err := table.Query(t.Context(), req); protocol.CodeOf(err) != protocol.InvalidInput {
		t.Errorf("filter by what is not there: got error %v", err)
	}
}

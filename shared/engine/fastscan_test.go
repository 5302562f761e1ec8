package engine_test

import (
	"testing"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/enginetest"
	"tiltyard/shared/engine/query"
	"tiltyard/shared/protocol"
)

// Without an index that native Lance would ask, a fast scan is one of all rows.
func TestFastScanWithoutAnIndexFindsAll(t *testing.T) {
	table := points(t)
	for _, order := range [][]query.Order{nil, {desc("id")}} {
		q := &query.Query{FastSearch: true, Filter: "id > 3", Order: order, Columns: []query.Column{{Name: "id"}}}
		if got := enginetest.Show(t, table, q); len(got) != 6 {
			t.Errorf("got %v, want six rows", got)
		}
	}
	q := &query.Query{FastSearch: true, Filter: "nope > 3"}
	if _, err := table.Query(t.Context(), engine.AsOf{}, q); protocol.CodeOf(err) != protocol.InvalidInput {
		t.Errorf("filter by what is not there: got error %v", err)
	}
}

package engine_test

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/enginetest"
	"tiltyard/shared/protocol"
)

// An unknown column in an update is InvalidInput, wherever it is named, as in native Lance: no
// column was requested.
func TestUnknownColumnsOfUpdatesAreWrongRequests(t *testing.T) {
	table := enginetest.Create(t, arrow.NewSchema([]arrow.Field{{Name: "id", Type: arrow.PrimitiveTypes.Int64}}, nil), `[{"id":1}]`)
	for name, c := range map[string]struct {
		assignment engine.Assignment
		predicate  string
	}{
		"assigned":     {engine.Assignment{Column: "nope", SQL: "1"}, ""},
		"in a value":   {engine.Assignment{Column: "id", SQL: "nope + 1"}, ""},
		"in the where": {engine.Assignment{Column: "id", SQL: "1"}, "nope = 1"},
	} {
		_, err := table.Update(t.Context(), []engine.Assignment{c.assignment}, c.predicate)
		enginetest.WantCode(t, name, err, protocol.InvalidInput)
	}
}

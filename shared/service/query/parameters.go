package query

import (
	"encoding/json"

	"tiltyard/shared/sql/syntax"
)

// Parameters returns the values of a statement's parameters as literals, for statements that are not queries.
func Parameters(values map[string]json.RawMessage) (map[string]syntax.Expr, error) {
	return literals(values)
}

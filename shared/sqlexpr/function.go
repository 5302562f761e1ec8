package sqlexpr

import (
	"tiltyard/shared/sql/column"
	"tiltyard/shared/sql/meter"
)

// A function is what can be called by name.
type function struct {
	name             string
	minArgs, maxArgs int
	intervals        bool // whether intervals may be among the arguments
	// bind checks the types of the arguments, casts them and sets the type of the
	// result. It may return another operation instead of the call.
	bind func(n *node) (*node, error)
	// prepare makes from constant arguments what eval finds in n.ready; nil if it has
	// no use for them.
	prepare func(m *meter.Meter, n *node) (any, error)
	// eval computes the call for the rows that count.
	eval func(m *meter.Meter, n *node, args []column.Vec, rows column.Bitset) (column.Vec, error)
	// perRow makes other values for each of so many rows, in place of eval. Such functions
	// have no arguments and are no constants.
	perRow func(rows int) column.Vec
}

package expr

import (
	"tiltyard/shared/sql/internal/column"
	"tiltyard/shared/sql/internal/meter"
)

// A Function can be called by name in an expression. To add one, write its Bind and Eval in the package of
// its subject below fn, and add it to the table there.
type Function struct {
	Name             string
	MinArgs, MaxArgs int
	Intervals        bool // whether intervals may be among the arguments
	// Bind checks and casts the arguments and sets the result type. It may return another operation in
	// place of the call.
	Bind func(n *Node) (*Node, error)
	// Prepare computes a value from constant arguments, such as a compiled regular expression, and stores
	// it in n.Ready for Eval. It may be nil.
	Prepare func(m *meter.Meter, n *Node) (any, error)
	// Eval computes the call for the given rows.
	Eval func(m *meter.Meter, n *Node, args []column.Vec, rows column.Bitset) (column.Vec, error)
	// PerRow returns different values for each row, in place of Eval. Such functions have
	// no arguments and are not constants.
	PerRow func(rows int) column.Vec
}

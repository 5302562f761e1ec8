package expr

import (
	"tiltyard/shared/sql/column"
	"tiltyard/shared/sql/meter"
)

// A Function is what can be called by name. To add one, write its Bind and Eval beside those of
// its subject in a package below fn, and its line in the table there.
type Function struct {
	Name             string
	MinArgs, MaxArgs int
	Intervals        bool // whether intervals may be among the arguments
	// Bind checks the types of the arguments, casts them and sets the type of the
	// result. It may return another operation instead of the call.
	Bind func(n *Node) (*Node, error)
	// Prepare makes from constant arguments what Eval finds in n.Ready; nil if it has
	// no use for them.
	Prepare func(m *meter.Meter, n *Node) (any, error)
	// Eval computes the call for the rows that count.
	Eval func(m *meter.Meter, n *Node, args []column.Vec, rows column.Bitset) (column.Vec, error)
	// PerRow makes other values for each of so many rows, in place of Eval. Such functions
	// have no arguments and are no constants.
	PerRow func(rows int) column.Vec
}

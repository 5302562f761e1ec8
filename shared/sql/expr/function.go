package expr

import (
	"tiltyard/shared/sql/column"
	"tiltyard/shared/sql/meter"
)

// A Function can be called by name in an expression. To add one, write its Bind and Eval
// beside those of its subject in a package below fn, and add it to the table there.
type Function struct {
	Name             string
	MinArgs, MaxArgs int
	Intervals        bool // whether intervals may be among the arguments
	// Bind checks the types of the arguments, casts them and sets the type of the result.
	// It may return another operation in place of the call.
	Bind func(n *Node) (*Node, error)
	// Prepare computes, from constant arguments, the value that Eval finds in n.Ready, such
	// as a compiled regular expression. It is nil for functions that need none.
	Prepare func(m *meter.Meter, n *Node) (any, error)
	// Eval computes the call for the given rows.
	Eval func(m *meter.Meter, n *Node, args []column.Vec, rows column.Bitset) (column.Vec, error)
	// PerRow returns different values for each row, in place of Eval. Such functions have
	// no arguments and are not constants.
	PerRow func(rows int) column.Vec
}

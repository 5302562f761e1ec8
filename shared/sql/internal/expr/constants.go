package expr

import (
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/sql"
	"tiltyard/shared/sql/internal/column"
	"tiltyard/shared/sql/internal/datetime"
)

// ConstantName returns, in lower case, the text of an argument that must be a constant.
func ConstantName(n, x *Node) (string, error) {
	if x.Op != OpLit || !column.IsString(x.Type) || x.IsNullLiteral() {
		return "", sql.Errorf(sql.ErrUnsupported, x.Pos, "%s with a name that is not a constant string", n.Func.Name)
	}
	return strings.ToLower(string(x.Value.Data.(column.Text).At(0))), nil
}

// IsText reports whether the node is the literal s.
func IsText(n *Node, s string) bool {
	return n.Op == OpLit && column.IsString(n.Type) && !n.IsNullLiteral() && string(n.Value.Data.(column.Text).At(0)) == s
}

// IntervalConstant parses an interval.
func IntervalConstant(s string) (column.Vec, error) {
	v, err := datetime.ParseInterval(s)
	return column.Constant(column.TypeInterval, []arrow.MonthDayNanoInterval{v}), err
}

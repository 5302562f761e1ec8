package sqlexpr

import (
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/sql"
	"tiltyard/shared/sql/clock"
	"tiltyard/shared/sql/column"
)

// constantName is the lower-case text of an argument that must be a constant.
func constantName(n, x *node) (string, error) {
	if x.op != opLit || !column.IsString(x.typ) || x.isNullLiteral() {
		return "", sql.Errorf(sql.ErrUnsupported, x.pos, "%s with a name that is not a constant string", n.fn.name)
	}
	return strings.ToLower(string(x.val.Data.(column.Text).At(0))), nil
}

// isText reports whether the node is the literal s.
func isText(n *node, s string) bool {
	return n.op == opLit && column.IsString(n.typ) && !n.isNullLiteral() && string(n.val.Data.(column.Text).At(0)) == s
}

// intervalConstant reads an interval.
func intervalConstant(s string) (column.Vec, error) {
	v, err := clock.ParseInterval(s)
	return column.Constant(column.TypeInterval, []arrow.MonthDayNanoInterval{v}), err
}

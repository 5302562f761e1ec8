package plan

import (
	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/sql"
	"tiltyard/shared/sql/internal/column"
	"tiltyard/shared/sql/internal/expr"
)

// temporalArithmetic determines the types of + and - on dates, times and intervals:
//
//	timestamp - timestamp        duration, in the coarser unit; dates count as timestamps
//	date - date                  days, an int64
//	date + integer               date
//	timestamp + duration         timestamp; the duration is cast to its unit
//	duration + duration          duration, of one unit
//	date, timestamp + interval   date, timestamp
func temporalArithmetic(n *expr.Node) (*expr.Node, error) {
	l, r := n.Args[0].Type, n.Args[1].Type
	if n.Op == expr.OpAdd && !column.IsDate(l) && !column.IsTimestamp(l) { // the addend becomes the second operand
		l, r = r, l
		n = n.With(n.Args[1], n.Args[0])
	}
	unsupported := func() (*expr.Node, error) {
		return nil, sql.Errorf(sql.ErrUnsupported, n.Pos, "%s of %s and %s", n.Op, l, r)
	}
	switch {
	case n.Op != expr.OpAdd && n.Op != expr.OpSub:
		return unsupported()
	case r.ID() == arrow.INTERVAL_MONTH_DAY_NANO && (column.IsTimestamp(l) || l.ID() == arrow.DATE32):
		n = n.With(n.Args...)
		n.Type = l
		return n, nil
	case l.ID() == arrow.DATE32 && column.IsInteger(r):
		return expr.CastArgs(n, l, l, column.TypeInt64)
	case l.ID() == arrow.DURATION && column.SameType(l, r):
		return expr.CastArgs(n, l, l, r)
	case column.IsTimestamp(l) && r.ID() == arrow.DURATION && column.UnitOf(l) <= column.UnitOf(r): // finer is cut off
		return expr.CastArgs(n, l, l, &arrow.DurationType{Unit: column.UnitOf(l)})
	case n.Op == expr.OpAdd:
		return unsupported()
	case l.ID() == arrow.DATE32 && r.ID() == arrow.DATE32:
		return expr.CastArgs(n, column.TypeInt64, l, r)
	case column.IsTimestamp(l) && (column.IsTimestamp(r) || column.IsDate(r)), column.IsDate(l) && column.IsTimestamp(r):
		if column.IsTimestamp(l) && column.IsTimestamp(r) && (column.ZoneOf(l) == "") != (column.ZoneOf(r) == "") {
			return unsupported()
		}
		t := expr.TemporalType(l, r)
		return expr.CastArgs(n, &arrow.DurationType{Unit: column.UnitOf(t)}, t, t)
	}
	return unsupported()
}

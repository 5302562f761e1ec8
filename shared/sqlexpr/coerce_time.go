package sqlexpr

import (
	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/sql"
	"tiltyard/shared/sql/column"
)

// temporalArithmetic finds the types of + and - of the calendar:
//
//	timestamp - timestamp        duration, in the coarser unit; dates count as timestamps
//	date - date                  days, an int64
//	date + integer               date
//	timestamp + duration         timestamp; the duration takes its unit
//	duration + duration          duration, of one unit
//	date, timestamp + interval   date, timestamp
func temporalArithmetic(n *node) (*node, error) {
	l, r := n.args[0].typ, n.args[1].typ
	if n.op == opAdd && !column.IsDate(l) && !column.IsTimestamp(l) { // what is added comes second
		l, r = r, l
		n = n.with(n.args[1], n.args[0])
	}
	unsupported := func() (*node, error) {
		return nil, sql.Errorf(sql.ErrUnsupported, n.pos, "%s of %s and %s", n.op, l, r)
	}
	switch {
	case n.op != opAdd && n.op != opSub:
		return unsupported()
	case r.ID() == arrow.INTERVAL_MONTH_DAY_NANO && (column.IsTimestamp(l) || l.ID() == arrow.DATE32):
		n = n.with(n.args...)
		n.typ = l
		return n, nil
	case l.ID() == arrow.DATE32 && column.IsInteger(r):
		return castArgs(n, l, l, column.TypeInt64)
	case l.ID() == arrow.DURATION && column.SameType(l, r):
		return castArgs(n, l, l, r)
	case column.IsTimestamp(l) && r.ID() == arrow.DURATION && column.UnitOf(l) <= column.UnitOf(r): // finer is cut off
		return castArgs(n, l, l, &arrow.DurationType{Unit: column.UnitOf(l)})
	case n.op == opAdd:
		return unsupported()
	case l.ID() == arrow.DATE32 && r.ID() == arrow.DATE32:
		return castArgs(n, column.TypeInt64, l, r)
	case column.IsTimestamp(l) && (column.IsTimestamp(r) || column.IsDate(r)), column.IsDate(l) && column.IsTimestamp(r):
		if column.IsTimestamp(l) && column.IsTimestamp(r) && (column.ZoneOf(l) == "") != (column.ZoneOf(r) == "") {
			return unsupported()
		}
		t := temporalType(l, r)
		return castArgs(n, &arrow.DurationType{Unit: column.UnitOf(t)}, t, t)
	}
	return unsupported()
}

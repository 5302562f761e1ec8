package compute

import (
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/sql"
	"tiltyard/shared/sql/internal/column"
	"tiltyard/shared/sql/internal/datetime"
	"tiltyard/shared/sql/internal/expr"
	"tiltyard/shared/sql/internal/meter"
)

// TemporalRows computes additions and subtractions of dates, times, timestamps and intervals.
// temporalArithmetic in package plan determines their types.
func TemporalRows(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	sign := int64(1)
	if n.Op == expr.OpSub {
		sign = -1
	}
	if args[1].Type.ID() == arrow.INTERVAL_MONTH_DAY_NANO {
		return addIntervals(m, n, args, rows, sign)
	}
	if n.Type.ID() == arrow.DATE32 {
		days, more := column.ValuesOf[int32](args[0]), column.ValuesOf[int64](args[1])
		return expr.FixedRows(m, n, args, rows, func(i int) (int32, error) {
			sum := int64(days(i)) + sign*more(i)
			if more(i) != int64(int32(more(i))) || sum != int64(int32(sum)) {
				return 0, sql.Errorf(sql.ErrValue, sql.NoPos, "date out of range")
			}
			return int32(sum), nil
		})
	}
	if args[0].Type.ID() == arrow.DATE32 {
		l, r := column.ValuesOf[int32](args[0]), column.ValuesOf[int32](args[1])
		return expr.FixedRows(m, n, args, rows, func(i int) (int64, error) { return int64(l(i)) - int64(r(i)), nil })
	}
	l, r := column.ValuesOf[int64](args[0]), column.ValuesOf[int64](args[1])
	return expr.FixedRows(m, n, args, rows, func(i int) (int64, error) {
		x, y := l(i), r(i)
		sum := x + sign*y
		if (sign > 0) == (y > 0) && sum < x || (sign > 0) != (y > 0) && sum > x {
			return 0, sql.Errorf(sql.ErrValue, sql.NoPos, "overflow of %s in %s", n.Op, n.Type)
		}
		return sum, nil
	})
}

// addIntervals adds the months first, on the calendar and the clock of the zone, then the
// days, then the rest. A day that a month does not have becomes its last day.
func addIntervals(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset, sign int64) (column.Vec, error) {
	zone, err := datetime.LoadZone(column.ZoneOf(n.Type))
	if err != nil {
		return column.Vec{}, err
	}
	by := column.ValuesOf[arrow.MonthDayNanoInterval](args[1])
	if n.Type.ID() == arrow.DATE32 {
		days := column.ValuesOf[int32](args[0])
		return expr.FixedRows(m, n, args, rows, func(i int) (int32, error) {
			step := by(i)
			shown := datetime.AddMonths(int64(days(i))*datetime.SecondsPerDay, sign*int64(step.Months))
			sum := shown/datetime.SecondsPerDay + sign*(int64(step.Days)+step.Nanoseconds/1e9/datetime.SecondsPerDay)
			if sum != int64(int32(sum)) {
				return 0, sql.Errorf(sql.ErrValue, sql.NoPos, "date out of range")
			}
			return int32(sum), nil
		})
	}
	ticks, per := column.ValuesOf[int64](args[0]), datetime.PerSecond(column.UnitOf(n.Type))
	return expr.FixedRows(m, n, args, rows, func(i int) (int64, error) {
		step := by(i)
		seconds := datetime.FloorDiv(ticks(i), per)
		rest := (ticks(i) - seconds*per) * (1e9 / per)
		if step.Months != 0 || step.Days != 0 {
			_, offset := time.Unix(seconds, 0).In(zone).Zone()
			shown := datetime.AddMonths(seconds+int64(offset), sign*int64(step.Months)) + sign*int64(step.Days)*datetime.SecondsPerDay
			var ok bool
			if seconds, ok = datetime.Instant(shown, zone); !ok {
				return 0, sql.Errorf(sql.ErrValue, sql.NoPos, "a clock time does not exist, or exists twice, in the time zone %s", zone)
			}
		}
		seconds += sign * (step.Nanoseconds / 1e9)
		rest += sign * (step.Nanoseconds % 1e9)
		seconds += datetime.FloorDiv(rest, 1e9)
		rest -= datetime.FloorDiv(rest, 1e9) * 1e9
		out, ok := datetime.MulChecked(seconds, per)
		if !ok {
			return 0, sql.Errorf(sql.ErrValue, sql.NoPos, "timestamp out of range of %s", n.Type)
		}
		return out + rest/(1e9/per), nil
	})
}

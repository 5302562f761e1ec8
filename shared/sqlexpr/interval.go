package sqlexpr

import (
	"math"
	"math/big"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
)

// Intervals are literals to add to dates and timestamps, or to subtract. They have months,
// days and nanoseconds apart, as these have no fixed proportion: a month is added on the
// calendar and a day on the clock, which may be 23 hours. The native Lance knows them inside
// of the arguments of functions only.
var typeInterval = arrow.FixedWidthTypes.MonthDayNanoInterval

// intervalUnits are what the units of an interval are made of.
var intervalUnits = map[string]struct {
	months, days, nanos int64
}{
	"century": {months: 1200}, "centuries": {months: 1200}, "decade": {months: 120}, "decades": {months: 120},
	"year": {months: 12}, "years": {months: 12}, "y": {months: 12}, "month": {months: 1}, "months": {months: 1},
	"mon": {months: 1}, "mons": {months: 1}, "week": {days: 7}, "weeks": {days: 7}, "w": {days: 7},
	"day": {days: 1}, "days": {days: 1}, "d": {days: 1},
	"hour": {nanos: 3600e9}, "hours": {nanos: 3600e9}, "h": {nanos: 3600e9},
	"minute": {nanos: 60e9}, "minutes": {nanos: 60e9}, "m": {nanos: 60e9},
	"second": {nanos: 1e9}, "seconds": {nanos: 1e9}, "s": {nanos: 1e9},
	"millisecond": {nanos: 1e6}, "milliseconds": {nanos: 1e6}, "ms": {nanos: 1e6},
	"microsecond": {nanos: 1e3}, "microseconds": {nanos: 1e3}, "us": {nanos: 1e3},
	"nanosecond": {nanos: 1}, "nanoseconds": {nanos: 1}, "ns": {nanos: 1},
}

// interval reads what follows INTERVAL: a string, or a number with a unit behind it.
func (p *parser) interval() (Expr, error) {
	pos := position(p.take().pos)
	sign := ""
	if p.takeOp("-") {
		sign = "-"
	}
	value := sign + p.take().text
	if w := p.peek(); w.kind == tokWord {
		if isUnit(w.text) {
			value += " " + strings.ToLower(p.take().text)
		}
	}
	return &Interval{position: pos, Value: value}, nil
}

// isUnit says whether a word is a unit of intervals.
func isUnit(word string) bool {
	_, ok := intervalUnits[strings.ToLower(word)]
	return ok
}

// parseInterval reads numbers with units. Fractions of what has no fixed length, and clocks,
// are not supported.
func parseInterval(s string) (out arrow.MonthDayNanoInterval, err error) {
	words := strings.Fields(s)
	if len(words) == 0 || len(words)%2 != 0 {
		return out, errorf(ErrUnsupported, noPos, "interval %.40q, which is no list of numbers with units", s)
	}
	for i := 0; i < len(words); i += 2 {
		unit, ok := intervalUnits[strings.ToLower(words[i+1])]
		if !ok {
			return out, errorf(ErrSyntax, noPos, "%q is not a unit of time", words[i+1])
		}
		if len(words[i]) > 40 {
			return out, errorf(ErrTooLarge, noPos, "interval of so many digits")
		}
		count, ok := new(big.Rat).SetString(words[i])
		if !ok || strings.ContainsAny(words[i], "/eExXpP_") {
			return out, errorf(ErrSyntax, noPos, "%q is not a number", words[i])
		}
		if !count.IsInt() && unit.nanos == 0 {
			return out, errorf(ErrUnsupported, noPos, "interval with a fraction of a %s", words[i+1])
		}
		months, ok1 := addScaled(int64(out.Months), count, unit.months, math.MaxInt32)
		days, ok2 := addScaled(int64(out.Days), count, unit.days, math.MaxInt32)
		nanos, ok3 := addScaled(out.Nanoseconds, count, unit.nanos, math.MaxInt64)
		if !ok1 || !ok2 || !ok3 {
			return out, errorf(ErrValue, noPos, "interval %.40q is too long", s)
		}
		out = arrow.MonthDayNanoInterval{Months: int32(months), Days: int32(days), Nanoseconds: nanos}
	}
	return out, nil
}

// addScaled adds count times unit, cutting off fractions. It is false past the limit.
func addScaled(x int64, count *big.Rat, unit, limit int64) (int64, bool) {
	r := new(big.Rat).Mul(count, new(big.Rat).SetInt64(unit))
	sum := new(big.Int).Quo(r.Num(), r.Denom())
	sum.Add(sum, big.NewInt(x))
	return sum.Int64(), sum.CmpAbs(big.NewInt(limit)) <= 0
}

// intervalConstant reads an interval.
func intervalConstant(s string) (vec, error) {
	v, err := parseInterval(s)
	return constant(typeInterval, []arrow.MonthDayNanoInterval{v}), err
}

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
	if n.op == opAdd && !isDate(l) && !isTimestamp(l) { // what is added comes second
		l, r = r, l
		n = n.with(n.args[1], n.args[0])
	}
	unsupported := func() (*node, error) {
		return nil, errorf(ErrUnsupported, n.pos, "%s of %s and %s", n.op, l, r)
	}
	switch {
	case n.op != opAdd && n.op != opSub:
		return unsupported()
	case r.ID() == arrow.INTERVAL_MONTH_DAY_NANO && (isTimestamp(l) || l.ID() == arrow.DATE32):
		n = n.with(n.args...)
		n.typ = l
		return n, nil
	case l.ID() == arrow.DATE32 && isInteger(r):
		return castArgs(n, l, l, typeInt64)
	case l.ID() == arrow.DURATION && sameType(l, r):
		return castArgs(n, l, l, r)
	case isTimestamp(l) && r.ID() == arrow.DURATION && unitOf(l) <= unitOf(r): // finer is cut off
		return castArgs(n, l, l, &arrow.DurationType{Unit: unitOf(l)})
	case n.op == opAdd:
		return unsupported()
	case l.ID() == arrow.DATE32 && r.ID() == arrow.DATE32:
		return castArgs(n, typeInt64, l, r)
	case isTimestamp(l) && (isTimestamp(r) || isDate(r)), isDate(l) && isTimestamp(r):
		if isTimestamp(l) && isTimestamp(r) && (zoneOf(l) == "") != (zoneOf(r) == "") {
			return unsupported()
		}
		t := temporalType(l, r)
		return castArgs(n, &arrow.DurationType{Unit: unitOf(t)}, t, t)
	}
	return unsupported()
}

// temporalRows computes what temporalArithmetic has given types to.
func temporalRows(m *meter, n *node, args []vec, rows bitset) (vec, error) {
	sign := int64(1)
	if n.op == opSub {
		sign = -1
	}
	if args[1].typ.ID() == arrow.INTERVAL_MONTH_DAY_NANO {
		return addIntervals(m, n, args, rows, sign)
	}
	if n.typ.ID() == arrow.DATE32 {
		days, more := valuesOf[int32](args[0]), valuesOf[int64](args[1])
		return fixedRows(m, n, args, rows, func(i int) (int32, error) {
			sum := int64(days(i)) + sign*more(i)
			if more(i) != int64(int32(more(i))) || sum != int64(int32(sum)) {
				return 0, errorf(ErrValue, noPos, "date out of range")
			}
			return int32(sum), nil
		})
	}
	if args[0].typ.ID() == arrow.DATE32 {
		l, r := valuesOf[int32](args[0]), valuesOf[int32](args[1])
		return fixedRows(m, n, args, rows, func(i int) (int64, error) { return int64(l(i)) - int64(r(i)), nil })
	}
	l, r := valuesOf[int64](args[0]), valuesOf[int64](args[1])
	return fixedRows(m, n, args, rows, func(i int) (int64, error) {
		x, y := l(i), r(i)
		sum := x + sign*y
		if (sign > 0) == (y > 0) && sum < x || (sign > 0) != (y > 0) && sum > x {
			return 0, errorf(ErrValue, noPos, "overflow of %s in %s", n.op, n.typ)
		}
		return sum, nil
	})
}

// addIntervals adds months first, on the calendar and clock of the zone, then days, then the
// rest. A day that a month does not have becomes its last.
func addIntervals(m *meter, n *node, args []vec, rows bitset, sign int64) (vec, error) {
	zone, err := loadZone(zoneOf(n.typ))
	if err != nil {
		return vec{}, err
	}
	by := valuesOf[arrow.MonthDayNanoInterval](args[1])
	if n.typ.ID() == arrow.DATE32 {
		days := valuesOf[int32](args[0])
		return fixedRows(m, n, args, rows, func(i int) (int32, error) {
			step := by(i)
			clock := addMonths(int64(days(i))*secondsPerDay, sign*int64(step.Months))
			sum := clock/secondsPerDay + sign*(int64(step.Days)+step.Nanoseconds/1e9/secondsPerDay)
			if sum != int64(int32(sum)) {
				return 0, errorf(ErrValue, noPos, "date out of range")
			}
			return int32(sum), nil
		})
	}
	ticks, per := valuesOf[int64](args[0]), perSecond(unitOf(n.typ))
	return fixedRows(m, n, args, rows, func(i int) (int64, error) {
		step := by(i)
		seconds := floorDiv(ticks(i), per)
		rest := (ticks(i) - seconds*per) * (1e9 / per)
		if step.Months != 0 || step.Days != 0 {
			_, offset := time.Unix(seconds, 0).In(zone).Zone()
			clock := addMonths(seconds+int64(offset), sign*int64(step.Months)) + sign*int64(step.Days)*secondsPerDay
			var ok bool
			if seconds, ok = instant(clock, zone); !ok {
				return 0, errorf(ErrValue, noPos, "a clock time does not exist, or exists twice, in the time zone %s", zone)
			}
		}
		seconds += sign * (step.Nanoseconds / 1e9)
		rest += sign * (step.Nanoseconds % 1e9)
		seconds += floorDiv(rest, 1e9)
		rest -= floorDiv(rest, 1e9) * 1e9
		out, ok := mulChecked(seconds, per)
		if !ok {
			return 0, errorf(ErrValue, noPos, "timestamp out of range of %s", n.typ)
		}
		return out + rest/(1e9/per), nil
	})
}

// addMonths adds months to seconds since 1970.
func addMonths(clock, months int64) int64 {
	if months == 0 {
		return clock
	}
	t := time.Unix(clock, 0).UTC()
	first := time.Date(t.Year(), t.Month()+time.Month(months), 1, t.Hour(), t.Minute(), t.Second(), 0, time.UTC)
	last := first.AddDate(0, 1, -1).Day()
	return first.AddDate(0, 0, min(t.Day(), last)-1).Unix()
}

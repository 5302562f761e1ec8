package sqlexpr

import (
	"math"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/sql"
	"tiltyard/shared/sql/cast"
	"tiltyard/shared/sql/clock"
	"tiltyard/shared/sql/column"
	"tiltyard/shared/sql/meter"
)

// timeTables are the functions of the calendar and the clock, and those without arguments.
var timeTables = []map[string]*function{dateFunctions, timeFunctions, momentFunctions}

// dateFunctions are those of dates and timestamps.
var dateFunctions = map[string]*function{
	"date_trunc": {minArgs: 2, maxArgs: 2, bind: bindDateTrunc, eval: evalDateTrunc},
	"date_part":  {minArgs: 2, maxArgs: 2, bind: bindDatePart, eval: evalDatePart},

	"to_timestamp":         {minArgs: 1, maxArgs: 20, bind: bindToTimestamp(arrow.Nanosecond), eval: evalSeconds},
	"to_timestamp_seconds": {minArgs: 1, maxArgs: 20, bind: bindToTimestamp(arrow.Second)},
	"to_timestamp_millis":  {minArgs: 1, maxArgs: 20, bind: bindToTimestamp(arrow.Millisecond)},
	"to_timestamp_micros":  {minArgs: 1, maxArgs: 20, bind: bindToTimestamp(arrow.Microsecond)},
	"to_timestamp_nanos":   {minArgs: 1, maxArgs: 20, bind: bindToTimestamp(arrow.Nanosecond)},
	"from_unixtime":        {minArgs: 1, maxArgs: 1, bind: bindFromUnixtime},
	"to_unixtime":          {minArgs: 1, maxArgs: 20, bind: bindToUnixtime},
	"to_date":              {minArgs: 1, maxArgs: 20, bind: bindToDate},
	"make_date": {minArgs: 3, maxArgs: 3,
		bind: signature(gives(arrow.FixedWidthTypes.Date32), calendarNumber), eval: evalMakeDate},
}

// clockText takes strings as timestamps.
func clockText(t arrow.DataType) arrow.DataType {
	if column.IsString(t) || t.ID() == arrow.NULL {
		return column.TimestampType(arrow.Nanosecond, "")
	}
	return nil
}

// units that date_trunc cuts off to, finest first.
var truncUnits = []string{"microsecond", "millisecond", "second", "minute", "hour", "day", "week", "month", "quarter", "year"}

// bindDateTrunc takes the name of the unit from a constant. Dates become timestamps.
func bindDateTrunc(n *node) (*node, error) {
	unit, err := constantName(n, n.args[0])
	if err != nil {
		return nil, err
	}
	index := -1
	for i, u := range truncUnits {
		if u == unit {
			index = i
		}
	}
	if index < 0 {
		return nil, sql.Errorf(sql.ErrType, n.args[0].pos, "date_trunc to %q; there are %s", unit, strings.Join(truncUnits, ", "))
	}
	x := n.args[1].typ
	to := clockText(x)
	switch {
	case column.IsTimestamp(x):
		to = x
	case column.IsDate(x):
		to = column.TimestampType(arrow.Nanosecond, "")
	case to == nil && column.IsTime(x):
		return nil, sql.Errorf(sql.ErrUnsupported, n.pos, "date_trunc of %s", x)
	case to == nil:
		return nil, mismatch(n)
	}
	m, err := castTo(n.args[1], to)
	if err != nil {
		return nil, err
	}
	n = n.with(n.args[0], m)
	n.typ, n.index = to, index
	return n, nil
}

// evalDateTrunc cuts off what is finer than the unit, on the clock of the time zone.
func evalDateTrunc(m *meter.Meter, n *node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	zone, err := clock.LoadZone(column.ZoneOf(n.typ))
	if err != nil {
		return column.Vec{}, err
	}
	x, per := column.ValuesOf[int64](args[1]), clock.PerSecond(column.UnitOf(n.typ))
	return fixedRows(m, n, args[1:], rows, func(i int) (int64, error) {
		ticks := x(i)
		switch truncUnits[n.index] {
		case "microsecond":
			return floorTo(ticks, max(per/1e6, 1)), nil
		case "millisecond":
			return floorTo(ticks, max(per/1e3, 1)), nil
		case "second":
			return floorTo(ticks, per), nil
		}
		t := time.Unix(clock.FloorDiv(ticks, per), 0).In(zone)
		_, offset := t.Zone()
		shown := truncClock(t, truncUnits[n.index])
		seconds, ok := clock.Instant(shown, zone)
		if !ok {
			seconds = shown - int64(offset)
		}
		out, ok := clock.MulChecked(seconds, per)
		if !ok {
			return 0, sql.Errorf(sql.ErrValue, sql.NoPos, "timestamp out of range of %s", n.typ)
		}
		return out, nil
	})
}

func floorTo(x, unit int64) int64 { return clock.FloorDiv(x, unit) * unit }

// truncClock is what the clock of t shows, cut off, as seconds since 1970.
func truncClock(t time.Time, unit string) int64 {
	year, month, day := t.Date()
	hour, minute := t.Hour(), t.Minute()
	switch unit {
	case "minute":
	case "hour":
		minute = 0
	case "day":
		hour, minute = 0, 0
	case "week":
		hour, minute = 0, 0
		day -= int(t.Weekday()+6) % 7
	case "month":
		day, hour, minute = 1, 0, 0
	case "quarter":
		month -= (month - 1) % 3
		day, hour, minute = 1, 0, 0
	case "year":
		month, day, hour, minute = 1, 1, 0, 0
	}
	return time.Date(year, month, day, hour, minute, 0, 0, time.UTC).Unix()
}

// bindToTimestamp takes strings and timestamps, of which it drops the zone, and numbers:
// to_timestamp as seconds, the others as ticks of their unit.
func bindToTimestamp(unit arrow.TimeUnit) func(n *node) (*node, error) {
	return func(n *node) (*node, error) {
		to := column.TimestampType(unit, "")
		x := n.args[0]
		if len(n.args) > 1 {
			return bindFormatted(n, to, formattedTimestamps)
		}
		switch t := x.typ; {
		case column.IsTimestamp(t):
			return opaqueCast(n, inUTC(x), to)
		case n.fn.name == "to_timestamp" && (column.IsInteger(t) || column.IsFloat(t)):
			want := column.TypeFloat64
			if column.IsInteger(t) {
				want = column.TypeInt64
			}
			return castArgs(n, to, want)
		case column.IsString(t), t.ID() == arrow.NULL, column.IsInteger(t):
			return opaqueCast(n, x, to)
		case column.IsNumeric(t):
			return nil, sql.Errorf(sql.ErrUnsupported, n.pos, "%s of %s", n.fn.name, t)
		}
		return nil, mismatch(n)
	}
}

// opaqueCast makes a call of a cast, as simplify may move what is a cast to the other side of
// a comparison, although digits are lost.
func opaqueCast(n, x *node, typ arrow.DataType) (*node, error) {
	if column.SameType(x.typ, typ) {
		return x, nil
	}
	if !cast.Possible(x.typ, typ) {
		return nil, sql.Errorf(sql.ErrUnsupported, n.pos, "%s of %s", n.fn.name, x.typ)
	}
	fn := &function{name: n.fn.name, eval: func(m *meter.Meter, n *node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
		return cast.Vec(m, args[0], n.typ, rows, false)
	}}
	return &node{op: opCall, fn: fn, typ: typ, args: []*node{x}, pos: n.pos}, nil
}

// inUTC drops the zone of a timestamp; the instant stays.
func inUTC(x *node) *node {
	t := x.typ.(*arrow.TimestampType)
	if t.TimeZone == "" {
		return x
	}
	number := &node{op: opCast, typ: column.TypeInt64, args: []*node{x}, pos: x.pos}
	return &node{op: opCast, typ: column.TimestampType(t.Unit, ""), args: []*node{number}, pos: x.pos}
}

// evalSeconds makes timestamps of numbers of seconds. What does not fit of a float is cut
// down to the range, and NaN is zero, as it is in Rust.
func evalSeconds(m *meter.Meter, n *node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	if args[0].Type.ID() == arrow.INT64 {
		x := column.ValuesOf[int64](args[0])
		return fixedRows(m, n, args, rows, func(i int) (int64, error) {
			out, ok := clock.MulChecked(x(i), 1e9)
			if !ok {
				return 0, sql.Errorf(sql.ErrValue, sql.NoPos, "timestamp out of range of %s", n.typ)
			}
			return out, nil
		})
	}
	x := column.ValuesOf[float64](args[0])
	return fixedRows(m, n, args, rows, func(i int) (int64, error) {
		switch f := x(i) * 1e9; {
		case math.IsNaN(f):
			return 0, nil
		case f >= math.MaxInt64:
			return math.MaxInt64, nil
		case f <= math.MinInt64:
			return math.MinInt64, nil
		default:
			return int64(f), nil
		}
	})
}

// bindFromUnixtime makes timestamps of seconds.
func bindFromUnixtime(n *node) (*node, error) {
	if t := n.args[0].typ; wholeNumber(t) == nil {
		return nil, mismatch(n)
	}
	x, err := castTo(n.args[0], column.TypeInt64)
	if err != nil {
		return nil, err
	}
	return opaqueCast(n, x, column.TimestampType(arrow.Second, ""))
}

// bindToUnixtime makes seconds of timestamps, dates and strings.
func bindToUnixtime(n *node) (*node, error) {
	x := n.args[0]
	if len(n.args) > 1 {
		return bindFormatted(n, column.TypeInt64, func(m *meter.Meter, n *node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
			return readFormatted(m, n, args, rows, func(t time.Time) (int64, bool) { return t.Unix(), true })
		})
	}
	var err error
	switch t := x.typ; {
	case column.IsTimestamp(t):
		x = inUTC(x)
	case column.IsDate(t):
	case column.IsInteger(t):
		return castTo(x, column.TypeInt64)
	case clockText(t) != nil:
		x, err = castTo(x, clockText(t))
	default:
		return nil, mismatch(n)
	}
	if err == nil {
		x, err = castTo(x, column.TimestampType(arrow.Second, ""))
	}
	if err != nil {
		return nil, err
	}
	return opaqueCast(n, x, column.TypeInt64)
}

// bindToDate takes strings, timestamps, and integers as days since 1970.
func bindToDate(n *node) (*node, error) {
	x := n.args[0]
	if len(n.args) > 1 {
		return bindFormatted(n, arrow.FixedWidthTypes.Date32, formattedDates)
	}
	switch t := x.typ; {
	case column.IsInteger(t):
		var err error
		if x, err = castTo(x, arrow.PrimitiveTypes.Int32); err != nil {
			return nil, err
		}
	case column.IsFloat(t), column.IsDecimal(t):
		return nil, sql.Errorf(sql.ErrUnsupported, n.pos, "to_date of %s", t)
	case column.IsString(t), column.IsDate(t), column.IsTimestamp(t), t.ID() == arrow.NULL:
	default:
		return nil, mismatch(n)
	}
	return opaqueCast(n, x, arrow.FixedWidthTypes.Date32)
}

// calendarNumber takes integers and strings of digits as int32.
func calendarNumber(t arrow.DataType) arrow.DataType {
	if column.IsInteger(t) || column.IsString(t) || t.ID() == arrow.NULL {
		return arrow.PrimitiveTypes.Int32
	}
	return nil
}

// evalMakeDate fails for days that are not in the calendar.
func evalMakeDate(m *meter.Meter, n *node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	year, month, day := column.ValuesOf[int32](args[0]), column.ValuesOf[int32](args[1]), column.ValuesOf[int32](args[2])
	return fixedRows(m, n, args, rows, func(i int) (int32, error) {
		days, ok := clock.DaysOf(int64(year(i)), int64(month(i)), int64(day(i)))
		if !ok {
			return 0, sql.Errorf(sql.ErrValue, sql.NoPos, "%s of a day that is not in the calendar", n.fn.name)
		}
		return int32(days), nil
	})
}

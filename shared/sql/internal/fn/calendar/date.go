// Package calendar holds the functions of dates and times, and the functions without
// arguments.
package calendar

import (
	"math"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/sql"
	"tiltyard/shared/sql/cast"
	"tiltyard/shared/sql/internal/column"
	"tiltyard/shared/sql/internal/datetime"
	"tiltyard/shared/sql/internal/expr"
	"tiltyard/shared/sql/internal/meter"
)

// Tables lists the functions on dates and times, and the functions without arguments.
var Tables = []map[string]*expr.Function{dateFunctions, timeFunctions, momentFunctions}

// dateFunctions are the functions on dates and timestamps.
var dateFunctions = map[string]*expr.Function{
	"date_trunc": {MinArgs: 2, MaxArgs: 2, Bind: bindDateTrunc, Eval: evalDateTrunc},
	"date_part":  {MinArgs: 2, MaxArgs: 2, Bind: bindDatePart, Eval: evalDatePart},

	"to_timestamp":         {MinArgs: 1, MaxArgs: 20, Bind: bindToTimestamp(arrow.Nanosecond), Eval: evalSeconds},
	"to_timestamp_seconds": {MinArgs: 1, MaxArgs: 20, Bind: bindToTimestamp(arrow.Second)},
	"to_timestamp_millis":  {MinArgs: 1, MaxArgs: 20, Bind: bindToTimestamp(arrow.Millisecond)},
	"to_timestamp_micros":  {MinArgs: 1, MaxArgs: 20, Bind: bindToTimestamp(arrow.Microsecond)},
	"to_timestamp_nanos":   {MinArgs: 1, MaxArgs: 20, Bind: bindToTimestamp(arrow.Nanosecond)},
	"from_unixtime":        {MinArgs: 1, MaxArgs: 1, Bind: bindFromUnixtime},
	"to_unixtime":          {MinArgs: 1, MaxArgs: 20, Bind: bindToUnixtime},
	"to_date":              {MinArgs: 1, MaxArgs: 20, Bind: bindToDate},
	"make_date": {MinArgs: 3, MaxArgs: 3,
		Bind: expr.Signature(expr.Gives(arrow.FixedWidthTypes.Date32), calendarNumber), Eval: evalMakeDate},
}

// clockText casts strings to timestamps.
func clockText(t arrow.DataType) arrow.DataType {
	if column.IsString(t) || t.ID() == arrow.NULL {
		return column.TimestampType(arrow.Nanosecond, "")
	}
	return nil
}

// truncUnits are the units of date_trunc, finest first.
var truncUnits = []string{"microsecond", "millisecond", "second", "minute", "hour", "day", "week", "month", "quarter", "year"}

// bindDateTrunc requires a constant as the name of the unit. Dates become timestamps.
func bindDateTrunc(n *expr.Node) (*expr.Node, error) {
	unit, err := expr.ConstantName(n, n.Args[0])
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
		return nil, sql.Errorf(sql.ErrType, n.Args[0].Pos, "date_trunc to %q; there are %s", unit, strings.Join(truncUnits, ", "))
	}
	x := n.Args[1].Type
	to := clockText(x)
	switch {
	case column.IsTimestamp(x):
		to = x
	case column.IsDate(x):
		to = column.TimestampType(arrow.Nanosecond, "")
	case to == nil && column.IsTime(x):
		return nil, sql.Errorf(sql.ErrUnsupported, n.Pos, "date_trunc of %s", x)
	case to == nil:
		return nil, expr.Mismatch(n)
	}
	m, err := expr.CastTo(n.Args[1], to)
	if err != nil {
		return nil, err
	}
	n = n.With(n.Args[0], m)
	n.Type, n.Index = to, index
	return n, nil
}

// evalDateTrunc truncates to the unit, on the clock of the time zone.
func evalDateTrunc(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	zone, err := datetime.LoadZone(column.ZoneOf(n.Type))
	if err != nil {
		return column.Vec{}, err
	}
	x, per := column.ValuesOf[int64](args[1]), datetime.PerSecond(column.UnitOf(n.Type))
	return expr.FixedRows(m, n, args[1:], rows, func(i int) (int64, error) {
		ticks := x(i)
		switch truncUnits[n.Index] {
		case "microsecond":
			return floorTo(ticks, max(per/1e6, 1)), nil
		case "millisecond":
			return floorTo(ticks, max(per/1e3, 1)), nil
		case "second":
			return floorTo(ticks, per), nil
		}
		t := time.Unix(datetime.FloorDiv(ticks, per), 0).In(zone)
		_, offset := t.Zone()
		shown := truncClock(t, truncUnits[n.Index])
		seconds, ok := datetime.Instant(shown, zone)
		if !ok {
			seconds = shown - int64(offset)
		}
		out, ok := datetime.MulChecked(seconds, per)
		if !ok {
			return 0, sql.Errorf(sql.ErrValue, sql.NoPos, "timestamp out of range of %s", n.Type)
		}
		return out, nil
	})
}

func floorTo(x, unit int64) int64 { return datetime.FloorDiv(x, unit) * unit }

// truncClock returns the clock time of t, truncated, as seconds since 1970.
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

// bindToTimestamp accepts strings, timestamps and numbers. It drops the zone of a timestamp. A number
// counts seconds in to_timestamp, and ticks of the unit in the other functions.
func bindToTimestamp(unit arrow.TimeUnit) func(n *expr.Node) (*expr.Node, error) {
	return func(n *expr.Node) (*expr.Node, error) {
		to := column.TimestampType(unit, "")
		x := n.Args[0]
		if len(n.Args) > 1 {
			return bindFormatted(n, to, formattedTimestamps)
		}
		switch t := x.Type; {
		case column.IsTimestamp(t):
			return opaqueCast(n, inUTC(x), to)
		case n.Func.Name == "to_timestamp" && (column.IsInteger(t) || column.IsFloat(t)):
			want := column.TypeFloat64
			if column.IsInteger(t) {
				want = column.TypeInt64
			}
			return expr.CastArgs(n, to, want)
		case column.IsString(t), t.ID() == arrow.NULL, column.IsInteger(t):
			return opaqueCast(n, x, to)
		case column.IsNumeric(t):
			return nil, sql.Errorf(sql.ErrUnsupported, n.Pos, "%s of %s", n.Func.Name, t)
		}
		return nil, expr.Mismatch(n)
	}
}

// opaqueCast wraps a cast in a call. Otherwise simplify might move the cast to the other side of a
// comparison, even if digits are lost.
func opaqueCast(n, x *expr.Node, typ arrow.DataType) (*expr.Node, error) {
	if column.SameType(x.Type, typ) {
		return x, nil
	}
	if !cast.Possible(x.Type, typ) {
		return nil, sql.Errorf(sql.ErrUnsupported, n.Pos, "%s of %s", n.Func.Name, x.Type)
	}
	fn := &expr.Function{Name: n.Func.Name, Eval: func(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
		return cast.Vec(m, args[0], n.Type, rows, false)
	}}
	return &expr.Node{Op: expr.OpCall, Func: fn, Type: typ, Args: []*expr.Node{x}, Pos: n.Pos}, nil
}

// inUTC drops the zone of a timestamp and keeps the instant.
func inUTC(x *expr.Node) *expr.Node {
	t := x.Type.(*arrow.TimestampType)
	if t.TimeZone == "" {
		return x
	}
	number := &expr.Node{Op: expr.OpCast, Type: column.TypeInt64, Args: []*expr.Node{x}, Pos: x.Pos}
	return &expr.Node{Op: expr.OpCast, Type: column.TimestampType(t.Unit, ""), Args: []*expr.Node{number}, Pos: x.Pos}
}

// evalSeconds converts numbers of seconds to timestamps. A float that is out of range is
// limited to the range, and NaN is zero, as in Rust.
func evalSeconds(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	if args[0].Type.ID() == arrow.INT64 {
		x := column.ValuesOf[int64](args[0])
		return expr.FixedRows(m, n, args, rows, func(i int) (int64, error) {
			out, ok := datetime.MulChecked(x(i), 1e9)
			if !ok {
				return 0, sql.Errorf(sql.ErrValue, sql.NoPos, "timestamp out of range of %s", n.Type)
			}
			return out, nil
		})
	}
	x := column.ValuesOf[float64](args[0])
	return expr.FixedRows(m, n, args, rows, func(i int) (int64, error) {
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
func bindFromUnixtime(n *expr.Node) (*expr.Node, error) {
	if t := n.Args[0].Type; expr.WholeNumber(t) == nil {
		return nil, expr.Mismatch(n)
	}
	x, err := expr.CastTo(n.Args[0], column.TypeInt64)
	if err != nil {
		return nil, err
	}
	return opaqueCast(n, x, column.TimestampType(arrow.Second, ""))
}

// bindToUnixtime makes seconds of timestamps, dates and strings.
func bindToUnixtime(n *expr.Node) (*expr.Node, error) {
	x := n.Args[0]
	if len(n.Args) > 1 {
		return bindFormatted(n, column.TypeInt64, func(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
			return readFormatted(m, n, args, rows, func(t time.Time) (int64, bool) { return t.Unix(), true })
		})
	}
	var err error
	switch t := x.Type; {
	case column.IsTimestamp(t):
		x = inUTC(x)
	case column.IsDate(t):
	case column.IsInteger(t):
		return expr.CastTo(x, column.TypeInt64)
	case clockText(t) != nil:
		x, err = expr.CastTo(x, clockText(t))
	default:
		return nil, expr.Mismatch(n)
	}
	if err == nil {
		x, err = expr.CastTo(x, column.TimestampType(arrow.Second, ""))
	}
	if err != nil {
		return nil, err
	}
	return opaqueCast(n, x, column.TypeInt64)
}

// bindToDate accepts strings, timestamps, and integers as days since 1970.
func bindToDate(n *expr.Node) (*expr.Node, error) {
	x := n.Args[0]
	if len(n.Args) > 1 {
		return bindFormatted(n, arrow.FixedWidthTypes.Date32, formattedDates)
	}
	switch t := x.Type; {
	case column.IsInteger(t):
		var err error
		if x, err = expr.CastTo(x, arrow.PrimitiveTypes.Int32); err != nil {
			return nil, err
		}
	case column.IsFloat(t), column.IsDecimal(t):
		return nil, sql.Errorf(sql.ErrUnsupported, n.Pos, "to_date of %s", t)
	case column.IsString(t), column.IsDate(t), column.IsTimestamp(t), t.ID() == arrow.NULL:
	default:
		return nil, expr.Mismatch(n)
	}
	return opaqueCast(n, x, arrow.FixedWidthTypes.Date32)
}

// calendarNumber casts integers and strings of digits to int32.
func calendarNumber(t arrow.DataType) arrow.DataType {
	if column.IsInteger(t) || column.IsString(t) || t.ID() == arrow.NULL {
		return arrow.PrimitiveTypes.Int32
	}
	return nil
}

// evalMakeDate fails for days that do not exist.
func evalMakeDate(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	year, month, day := column.ValuesOf[int32](args[0]), column.ValuesOf[int32](args[1]), column.ValuesOf[int32](args[2])
	return expr.FixedRows(m, n, args, rows, func(i int) (int32, error) {
		days, ok := datetime.DaysOf(int64(year(i)), int64(month(i)), int64(day(i)))
		if !ok {
			return 0, sql.Errorf(sql.ErrValue, sql.NoPos, "%s of a day that is not in the calendar", n.Func.Name)
		}
		return int32(days), nil
	})
}

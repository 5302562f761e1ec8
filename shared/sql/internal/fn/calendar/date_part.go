package calendar

import (
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/sql"
	"tiltyard/shared/sql/internal/column"
	"tiltyard/shared/sql/internal/datetime"
	"tiltyard/shared/sql/internal/expr"
	"tiltyard/shared/sql/internal/meter"
)

// A datePart extracts one part of a time, such as its hour, in the time's own zone.
type datePart func(t time.Time) int64

// dateParts are the parts by their names. A time of day has the hour and finer parts only. The parts
// below the second include the seconds: milliseconds count from the start of the minute.
var dateParts = map[string]datePart{
	"year":    func(t time.Time) int64 { return int64(t.Year()) },
	"isoyear": func(t time.Time) int64 { year, _ := t.ISOWeek(); return int64(year) },
	"quarter": func(t time.Time) int64 { return int64(t.Month()-1)/3 + 1 },
	"month":   func(t time.Time) int64 { return int64(t.Month()) },
	"week":    func(t time.Time) int64 { _, week := t.ISOWeek(); return int64(week) },
	"day":     func(t time.Time) int64 { return int64(t.Day()) },
	"doy":     func(t time.Time) int64 { return int64(t.YearDay()) },
	"dow":     func(t time.Time) int64 { return int64(t.Weekday()) },
	"isodow":  func(t time.Time) int64 { return int64(t.Weekday()+6)%7 + 1 },

	"hour":        func(t time.Time) int64 { return int64(t.Hour()) },
	"minute":      func(t time.Time) int64 { return int64(t.Minute()) },
	"second":      func(t time.Time) int64 { return int64(t.Second()) },
	"millisecond": func(t time.Time) int64 { return sinceMinute(t) / 1e6 },
	"microsecond": func(t time.Time) int64 { return sinceMinute(t) / 1e3 },
	"nanosecond":  sinceMinute,
}

func sinceMinute(t time.Time) int64 { return int64(t.Second())*1e9 + int64(t.Nanosecond()) }

// datePartAliases are the alternative names of the parts, taken from Arrow's intervals.
var datePartAliases = map[string]string{
	"y": "year", "yr": "year", "yrs": "year", "years": "year", "qtr": "quarter",
	"mon": "month", "mons": "month", "months": "month", "w": "week", "weeks": "week",
	"d": "day", "days": "day", "h": "hour", "hr": "hour", "hrs": "hour", "hours": "hour",
	"m": "minute", "min": "minute", "mins": "minute", "minutes": "minute",
	"s": "second", "sec": "second", "secs": "second", "seconds": "second",
	"ms": "millisecond", "msec": "millisecond", "msecs": "millisecond", "milliseconds": "millisecond",
	"us": "microsecond", "usec": "microsecond", "usecs": "microsecond", "microseconds": "microsecond",
	"nanoseconds": "nanosecond",
}

// bindDatePart requires a constant as the name of the part. The result is an int32, except
// an int64 for nanoseconds and a float64 for the seconds since 1970.
func bindDatePart(n *expr.Node) (*expr.Node, error) {
	name, err := expr.ConstantName(n, n.Args[0])
	if err != nil {
		return nil, err
	}
	if full, ok := datePartAliases[name]; ok {
		name = full
	}
	result := arrow.PrimitiveTypes.Int32
	switch {
	case name == "epoch":
		result = column.TypeFloat64
	case name == "nanosecond":
		result = column.TypeInt64
	case dateParts[name] == nil:
		return nil, sql.Errorf(sql.ErrType, n.Args[0].Pos, "date_part %q", name)
	}
	x := n.Args[1]
	switch t := x.Type; {
	case column.IsTimestamp(t), column.IsDate(t), column.IsTime(t):
	case clockText(t) != nil:
		if x, err = expr.CastTo(x, clockText(t)); err != nil {
			return nil, err
		}
	case t.ID() == arrow.DURATION:
		return nil, sql.Errorf(sql.ErrUnsupported, n.Pos, "date_part of %s", t)
	default:
		return nil, expr.Mismatch(n)
	}
	if column.IsTime(x.Type) && name != "epoch" && !clockPart(name) {
		return nil, sql.Errorf(sql.ErrType, n.Pos, "%s of %s", name, x.Type)
	}
	n = n.With(n.Args[0], x)
	n.Type, n.Name = result, name
	return n, nil
}

// clockPart reports whether a time of day has the part.
func clockPart(name string) bool {
	switch name {
	case "hour", "minute", "second", "millisecond", "microsecond", "nanosecond":
		return true
	}
	return false
}

// evalDatePart extracts a part in the time zone of the value. epoch is a float64, because it has fractions.
func evalDatePart(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	ticks, per := tickReader(args[1])
	args = args[1:]
	if n.Name == "epoch" {
		return expr.FixedRows(m, n, args, rows, func(i int) (float64, error) {
			return float64(ticks(i)) / float64(per), nil
		})
	}
	zone, err := datetime.LoadZone(column.ZoneOf(args[0].Type))
	if err != nil {
		return column.Vec{}, err
	}
	part := func(i int) int64 {
		seconds := datetime.FloorDiv(ticks(i), per)
		return dateParts[n.Name](time.Unix(seconds, (ticks(i)-seconds*per)*(1e9/per)).In(zone))
	}
	if n.Type.ID() == arrow.INT64 {
		return expr.FixedRows(m, n, args, rows, func(i int) (int64, error) { return part(i), nil })
	}
	return expr.FixedRows(m, n, args, rows, func(i int) (int32, error) { return int32(part(i)), nil })
}

// tickReader returns a function that returns dates, times and timestamps as ticks, and the
// number of ticks in a second.
func tickReader(v column.Vec) (ticks func(i int) int64, per int64) {
	switch {
	case v.Type.ID() == arrow.DATE32:
		days := column.ValuesOf[int32](v)
		return func(i int) int64 { return int64(days(i)) * datetime.SecondsPerDay }, 1
	case v.Type.ID() == arrow.DATE64:
		return column.ValuesOf[int64](v), 1000
	case v.Type.ID() == arrow.TIME32:
		shown := column.ValuesOf[int32](v)
		return func(i int) int64 { return int64(shown(i)) }, datetime.PerSecond(column.UnitOf(v.Type))
	}
	return column.ValuesOf[int64](v), datetime.PerSecond(column.UnitOf(v.Type))
}

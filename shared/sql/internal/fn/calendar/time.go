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

// timeFunctions write and parse dates and times by formats, and divide times into bins.
var timeFunctions = map[string]*expr.Function{
	"to_char":       {MinArgs: 2, MaxArgs: 2, Bind: expr.Signature(expr.Gives(column.TypeString), calendarValue, expr.AsText), Eval: evalToChar},
	"to_time":       {MinArgs: 1, MaxArgs: 20, Bind: bindToTime, Eval: evalToTime},
	"to_local_time": {MinArgs: 1, MaxArgs: 1, Bind: bindToLocalTime, Eval: evalToLocalTime},
	"make_time": {MinArgs: 3, MaxArgs: 3,
		Bind: expr.Signature(expr.Gives(arrow.FixedWidthTypes.Time32s), calendarNumber), Eval: evalMakeTime},
	"date_bin": {MinArgs: 2, MaxArgs: 3, Intervals: true, Bind: bindDateBin, Eval: evalDateBin},
}

// calendarValue accepts dates, times and timestamps without a cast.
func calendarValue(t arrow.DataType) arrow.DataType {
	switch {
	case column.IsTemporal(t) && t.ID() != arrow.DURATION:
		return t
	case t.ID() == arrow.NULL:
		return arrow.FixedWidthTypes.Date32
	}
	return nil
}

// formatCache parses each format once for all rows that use it.
type formatCache map[string]datetime.Format

const (
	// maxFormat bounds a format of dates and times.
	maxFormat = 4 << 10
	// maxFormats bounds the cached formats.
	maxFormats = 64
)

// format returns the parsed format, or nil if s is invalid.
func (c formatCache) format(s []byte) (datetime.Format, error) {
	f, ok := c[string(s)]
	if ok {
		return f, nil
	}
	if len(s) > maxFormat {
		return nil, sql.Errorf(sql.ErrTooLarge, sql.NoPos, "format of more than %d bytes", maxFormat)
	}
	if f, ok = datetime.ParseFormat(string(s)); ok && f == nil {
		f = datetime.Format{}
	}
	if len(c) == maxFormats {
		clear(c)
	}
	c[string(s)] = f
	return f, nil
}

// evalToChar fails if the format needs a part that the value lacks: the date of a time, or the zone of a
// timestamp without one.
func evalToChar(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	x := args[0]
	zone, err := datetime.LoadZone(column.ZoneOf(x.Type))
	if err != nil {
		return column.Vec{}, err
	}
	missing := ""
	if column.IsTime(x.Type) {
		missing = datetime.DateVerbs
	}
	if column.ZoneOf(x.Type) == "" {
		missing += datetime.ZoneVerbs
	}
	at, formats, known := momentReader(x), args[1].Texts(), formatCache{}
	return expr.TextRows(m, n, args, rows, func(dst []byte, i int) ([]byte, error) {
		f, err := known.format(formats(i))
		if err != nil {
			return nil, err
		}
		if f == nil || f.Needs(missing) {
			return nil, sql.Errorf(sql.ErrValue, sql.NoPos, "%s is not a format for %s", args[1].Named(formats(i)), x.Type)
		}
		return f.Append(dst, at(i).In(zone)), nil
	})
}

// momentReader returns a function that returns dates and times as moments. A time of day is
// on the first day of 1970.
func momentReader(v column.Vec) func(i int) time.Time {
	ticks, per := tickReader(v)
	return func(i int) time.Time {
		x := ticks(i)
		seconds := datetime.FloorDiv(x, per)
		return time.Unix(seconds, (x-seconds*per)*(1e9/per)).UTC()
	}
}

// bindToTime accepts timestamps, for their time of day on the clock of their zone, and
// strings with formats to try.
func bindToTime(n *expr.Node) (*expr.Node, error) {
	x := n.Args[0].Type
	switch {
	case column.IsTimestamp(x) && len(n.Args) == 1:
		n = n.With(n.Args...)
		n.Type = arrow.FixedWidthTypes.Time64ns
		return n, nil
	case column.IsTime(x):
		return nil, sql.Errorf(sql.ErrUnsupported, n.Pos, "to_time of %s", x)
	}
	return expr.Signature(expr.Gives(arrow.FixedWidthTypes.Time64ns), expr.AsText)(n)
}

// evalToTime returns the time of day of a timestamp in its zone, or parses a string with the given formats,
// by default %H:%M:%S%.f and %H:%M.
func evalToTime(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	if column.IsTimestamp(args[0].Type) {
		zone, err := datetime.LoadZone(column.ZoneOf(args[0].Type))
		if err != nil {
			return column.Vec{}, err
		}
		at := momentReader(args[0])
		return expr.FixedRows(m, n, args, rows, func(i int) (int64, error) {
			t := at(i).In(zone)
			return int64(t.Hour()*3600+t.Minute()*60+t.Second())*1e9 + int64(t.Nanosecond()), nil
		})
	}
	known := formatCache{}
	usual := make([]datetime.Format, 2)
	for i, s := range []string{"%H:%M:%S%.f", "%H:%M"} {
		usual[i], _ = datetime.ParseFormat(s)
	}
	return expr.FixedRows(m, n, args, rows, func(i int) (int64, error) {
		formats := usual
		if len(args) > 1 {
			var err error
			if formats, err = known.of(args[1:], i); err != nil {
				return 0, err
			}
		}
		text := string(args[0].Texts()(i))
		for _, f := range formats {
			if r, ok := f.Read(text); ok {
				if nanos, ok := r.TimeOfDay(); ok {
					return nanos, nil
				}
			}
		}
		return 0, sql.Errorf(sql.ErrValue, sql.NoPos, "%s is not a time in any of the formats", args[0].Named([]byte(text)))
	})
}

// of returns the valid formats of a row.
func (c formatCache) of(formats []column.Vec, i int) ([]datetime.Format, error) {
	var out []datetime.Format
	for _, v := range formats {
		if v.IsNull(i) {
			continue
		}
		f, err := c.format(v.Texts()(i))
		if err != nil {
			return nil, err
		}
		if f != nil {
			out = append(out, f)
		}
	}
	return out, nil
}

// readFormatted parses strings by the formats in the other arguments. Times are local to the zone. put
// converts a moment to the result.
func readFormatted[T any](m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset, put func(t time.Time) (T, bool)) (column.Vec, error) {
	known, str := formatCache{}, args[0].Texts()
	return expr.FixedRows(m, n, args, rows, func(i int) (T, error) {
		var zero T
		formats, err := known.of(args[1:], i)
		if err != nil {
			return zero, err
		}
		text := string(str(i))
		for _, f := range formats {
			if r, ok := f.Read(text); ok {
				if t, ok := r.Moment(time.UTC); ok {
					if value, ok := put(t); ok {
						return value, nil
					}
				}
			}
		}
		return zero, sql.Errorf(sql.ErrValue, sql.NoPos, "%s: %s is not in any of the formats", n.Func.Name, args[0].Named(str(i)))
	})
}

// bindFormatted binds a function that parses a string by formats.
func bindFormatted(n *expr.Node, typ arrow.DataType, eval func(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error)) (*expr.Node, error) {
	n, err := expr.Signature(expr.Gives(typ), expr.AsText)(n)
	if err != nil {
		return nil, err
	}
	n.Func = &expr.Function{Name: n.Func.Name, Eval: eval}
	return n, nil
}

// formattedTimestamps truncates to the unit.
func formattedTimestamps(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	per := datetime.PerSecond(column.UnitOf(n.Type))
	return readFormatted(m, n, args, rows, func(t time.Time) (int64, bool) {
		ticks, ok := datetime.MulChecked(t.Unix(), per)
		return ticks + int64(t.Nanosecond())/(1e9/per), ok && (per != 1e9 || datetime.NanosecondYears(t))
	})
}

func formattedDates(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	return readFormatted(m, n, args, rows, func(t time.Time) (int32, bool) {
		days := datetime.FloorDiv(t.Unix(), datetime.SecondsPerDay)
		return int32(days), days == int64(int32(days))
	})
}

// bindToLocalTime drops the zone of a timestamp and keeps the clock time.
func bindToLocalTime(n *expr.Node) (*expr.Node, error) {
	x := n.Args[0]
	if x.Type.ID() == arrow.NULL {
		return expr.CastTo(x, column.TimestampType(arrow.Nanosecond, ""))
	}
	if !column.IsTimestamp(x.Type) {
		return nil, expr.Mismatch(n)
	}
	if column.ZoneOf(x.Type) == "" {
		return x, nil
	}
	n = n.With(x)
	n.Type = column.TimestampType(column.UnitOf(x.Type), "")
	return n, nil
}

// evalToLocalTime drops the zone of timestamps and keeps their clock time.
func evalToLocalTime(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	zone, err := datetime.LoadZone(column.ZoneOf(args[0].Type))
	if err != nil {
		return column.Vec{}, err
	}
	x, per := column.ValuesOf[int64](args[0]), datetime.PerSecond(column.UnitOf(n.Type))
	return expr.FixedRows(m, n, args, rows, func(i int) (int64, error) {
		_, offset := time.Unix(datetime.FloorDiv(x(i), per), 0).In(zone).Zone()
		return x(i) + int64(offset)*per, nil
	})
}

// evalMakeTime fails for times that are not in a day.
func evalMakeTime(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	hour, minute, second := column.ValuesOf[int32](args[0]), column.ValuesOf[int32](args[1]), column.ValuesOf[int32](args[2])
	return expr.FixedRows(m, n, args, rows, func(i int) (int32, error) {
		h, m, s := hour(i), minute(i), second(i)
		if h < 0 || h > 23 || m < 0 || m > 59 || s < 0 || s > 59 {
			return 0, sql.Errorf(sql.ErrValue, sql.NoPos, "%s of a time that is not in a day", n.Func.Name)
		}
		return h*3600 + m*60 + s, nil
	})
}

// bindDateBin accepts a constant interval, the value to put into a bin of that length, and
// the start of a bin, by default 1970.
func bindDateBin(n *expr.Node) (*expr.Node, error) {
	step, x := n.Args[0], n.Args[1]
	to := x.Type
	if column.IsString(step.Type) && step.Op == expr.OpLit && !step.IsNullLiteral() {
		v, err := expr.IntervalConstant(string(step.Value.Data.(column.Text).At(0)))
		if err != nil {
			return nil, sql.At(err, step.Pos)
		}
		step = expr.Literal(v, step.Pos)
		if column.IsTimestamp(to) {
			to = column.TimestampType(arrow.Nanosecond, column.ZoneOf(to))
		}
	}
	if step.Type.ID() != arrow.INTERVAL_MONTH_DAY_NANO || step.Op != expr.OpLit {
		return nil, sql.Errorf(sql.ErrUnsupported, step.Pos, "date_bin of an interval that is not constant")
	}
	switch {
	case column.IsTimestamp(to) && column.ZoneOf(to) == "", column.IsTime(to):
	case column.IsTimestamp(to) && column.ZoneOf(to) == "UTC":
		to = column.TimestampType(arrow.Nanosecond, "UTC")
	case column.IsDate(to), column.IsString(to), to.ID() == arrow.NULL:
		to = column.TimestampType(arrow.Nanosecond, "")
	case column.IsTimestamp(to):
		return nil, sql.Errorf(sql.ErrUnsupported, n.Pos, "date_bin of %s", to)
	default:
		return nil, expr.Mismatch(n)
	}
	x, err := expr.CastTo(x, to)
	if err != nil {
		return nil, err
	}
	args := []*expr.Node{step, x}
	if len(n.Args) == 3 {
		origin, err := expr.CastTo(n.Args[2], to)
		if err != nil {
			return nil, err
		}
		args = append(args, origin)
	}
	n = n.With(args...)
	n.Type = to
	return n, checkStep(step)
}

// checkStep refuses steps that are not positive, and steps of months combined with days or nanoseconds.
func checkStep(step *expr.Node) error {
	by := step.Value.Data.([]arrow.MonthDayNanoInterval)[0]
	switch rest := int64(by.Days)*datetime.SecondsPerDay*1e9 + by.Nanoseconds; {
	case by.Months != 0 && rest != 0:
		return sql.Errorf(sql.ErrUnsupported, step.Pos, "date_bin of months and a part of one")
	case by.Months <= 0 && rest <= 0:
		return sql.Errorf(sql.ErrValue, step.Pos, "date_bin of an interval that is not above zero")
	case by.Days > 100_000:
		return sql.Errorf(sql.ErrValue, step.Pos, "date_bin of an interval that is too long")
	}
	return nil
}

// evalDateBin rounds timestamps down to bins of a fixed interval, counted from the origin, by default 1970.
func evalDateBin(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	by := args[0].Data.([]arrow.MonthDayNanoInterval)[0]
	at, per := momentReader(args[1]), int64(1)
	if u, ok := n.Type.(arrow.TemporalWithUnit); ok {
		per = datetime.PerSecond(u.TimeUnit())
	}
	origin := func(int) time.Time { return time.Unix(0, 0).UTC() }
	if len(args) == 3 {
		origin = momentReader(args[2])
	}
	bin := func(i int) (int64, error) {
		t, ok := binOf(at(i), origin(i), by)
		if !ok {
			return 0, sql.Errorf(sql.ErrValue, sql.NoPos, "date_bin of a timestamp out of range")
		}
		return t.Unix()*per + int64(t.Nanosecond())/(1e9/per), nil
	}
	if n.Type.ID() == arrow.TIME32 {
		return expr.FixedRows(m, n, args[1:], rows, func(i int) (int32, error) {
			value, err := bin(i)
			return int32(value), err
		})
	}
	return expr.FixedRows(m, n, args[1:], rows, bin)
}

// binOf returns the start of the bin of t. It returns false if nanoseconds since 1970 overflow.
func binOf(t, origin time.Time, by arrow.MonthDayNanoInterval) (time.Time, bool) {
	if !datetime.NanosecondYears(t) || !datetime.NanosecondYears(origin) {
		return t, false
	}
	if by.Months == 0 {
		step := int64(by.Days)*datetime.SecondsPerDay*1e9 + by.Nanoseconds
		apart := t.UnixNano() - origin.UnixNano()
		if (apart > 0) != t.After(origin) && apart != 0 {
			return t, false
		}
		return time.Unix(0, origin.UnixNano()+floorTo(apart, step)).UTC(), true
	}
	step := int64(by.Months)
	months := floorTo(int64(t.Year()-origin.Year())*12+int64(t.Month()-origin.Month()), step)
	begin := func() time.Time {
		return time.Unix(datetime.AddMonths(origin.Unix(), months), int64(origin.Nanosecond())).UTC()
	}
	if begin().After(t) {
		months -= step
	}
	return begin(), datetime.NanosecondYears(begin())
}

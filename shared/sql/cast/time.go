package cast

import (
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/sql/internal/column"
	"tiltyard/shared/sql/internal/datetime"
)

// temporalCastable reports whether a conversion exists between dates, times and timestamps,
// or between one of them and a number.
func temporalCastable(from, to arrow.DataType) bool {
	switch {
	case column.IsTimestamp(from) && column.IsTimestamp(to), column.IsDate(from) && column.IsDate(to), column.IsTime(from) && column.IsTime(to),
		from.ID() == arrow.DURATION && to.ID() == arrow.DURATION:
		return true
	case column.IsTimestamp(from):
		return column.IsDate(to) || column.IsTime(to) || column.IsNumeric(to)
	case column.IsTimestamp(to):
		return column.IsDate(from) || column.IsNumeric(from)
	case column.IsDate(to):
		return from.ID() == arrow.INT32 || from.ID() == arrow.INT64
	case column.IsDate(from):
		return to.ID() == arrow.INT32 || to.ID() == arrow.INT64
	case column.IsTime(to):
		return from.ID() == ticksOf(to).ID()
	case column.IsTime(from):
		return to.ID() == ticksOf(from).ID() || to.ID() == arrow.INT64
	case to.ID() == arrow.DURATION:
		return column.IsNumeric(from)
	case from.ID() == arrow.DURATION:
		return column.IsNumeric(to)
	}
	return false
}

// ticksOf returns the integer type that stores the ticks of a type.
func ticksOf(t arrow.DataType) arrow.DataType {
	if t.ID() == arrow.TIME32 {
		return arrow.PrimitiveTypes.Int32
	}
	return column.TypeInt64
}

// temporal converts between numbers, dates, times and timestamps. Numbers are counts of days or ticks, so
// most of these conversions only change the type.
//
// Dates count days (date32) or milliseconds (date64) since 1970, times since midnight, and timestamps since
// 1970 in UTC. A timestamp without a zone is treated as UTC. The conversions are:
//
//	date → timestamp        midnight, in the zone of the timestamp
//	timestamp → date        the day in the zone of the timestamp
//	timestamp → time        the time of day in the zone of the timestamp, truncated if finer
//	timestamp → timestamp   truncated towards 1970 if the unit is coarser; adding a zone keeps the
//	                        clock time and changes the instant; changing the zone keeps the instant
//	number ↔ timestamp      ticks, whatever the unit
//	number ↔ duration       ticks, whatever the unit
//	integer ↔ time          ticks, of 32 bits or of 64
//
// Source: arrow-cast 58, cast/mod.rs.
func (c *caster) temporal() {
	from, to := c.from.Type, c.to
	switch {
	case column.IsNumeric(from) && (column.IsTimestamp(to) || to.ID() == arrow.DURATION):
		if c.from, c.err = Vec(c.m, c.from, column.TypeInt64, c.live, c.try); c.err == nil {
			c.out.Valid, c.out.Data = c.from.Valid, c.from.Data
		}
	case (column.IsTimestamp(from) || from.ID() == arrow.DURATION) && column.IsNumeric(to):
		c.ticks(column.TypeInt64)
	case column.IsNumeric(from) && column.IsTime(to):
		c.out.Data = c.from.Data
	case column.IsTime(from) && column.IsNumeric(to):
		c.ticks(ticksOf(from))
	case column.IsInteger(from) || column.IsInteger(to):
		c.dateInteger()
	case column.IsDate(from) && column.IsDate(to):
		c.dates()
	case column.IsDate(from):
		c.dateToTimestamp()
	case column.IsDate(to):
		c.timestampToDate()
	case column.IsTimestamp(from) && column.IsTime(to):
		c.timestampToTime()
	case column.IsTime(from), from.ID() == arrow.DURATION:
		c.times()
	default:
		c.timestamps()
	}
}

// ticks converts the stored counts to another integer type.
func (c *caster) ticks(as arrow.DataType) {
	counts := c.from
	counts.Type = as
	if counts, c.err = Vec(c.m, counts, c.to, c.live, c.try); c.err == nil {
		c.out.Valid, c.out.Data = counts.Valid, counts.Data
	}
}

// dateInteger converts between the count of days or milliseconds of a date and an integer.
func (c *caster) dateInteger() {
	d64 := arrow.FixedWidthTypes.Date64
	days := func(src column.Vec, wide bool) column.Vec { // to int32 or int64
		to := arrow.PrimitiveTypes.Int32
		if wide {
			to = column.TypeInt64
		}
		out, err := Vec(c.m, src, to, c.live, c.try)
		c.err = err
		return out
	}
	from, to := c.from, c.to
	switch {
	case from.Type.ID() == arrow.DATE32:
		from.Type = arrow.PrimitiveTypes.Int32
		c.out = days(from, to.ID() == arrow.INT64)
	case from.Type.ID() == arrow.DATE64:
		from.Type = column.TypeInt64
		c.out = days(from, to.ID() == arrow.INT64)
	case to.ID() == arrow.DATE64 && from.Type.ID() == arrow.INT64:
		c.out.Data = from.Data
	case to.ID() == arrow.DATE64:
		from.Type = arrow.FixedWidthTypes.Date32
		c.out, c.err = Vec(c.m, from, d64, c.live, c.try)
	default:
		c.out = days(from, false)
	}
	c.out.Type = to
}

// dates converts between days and milliseconds, cutting off the time of day towards 1970.
func (c *caster) dates() {
	if d, ok := c.from.Data.([]int32); ok {
		out := make([]int64, len(d))
		for i, x := range d {
			out[i] = int64(x) * datetime.MillisPerDay
		}
		c.out.Data = out
		return
	}
	d := c.from.Data.([]int64)
	out := make([]int32, len(d))
	for i, x := range d {
		out[i] = int32(x / datetime.MillisPerDay)
	}
	c.out.Data = out
}

// dateToTimestamp returns the midnight of each date, in the time zone of the timestamp type or else in UTC.
func (c *caster) dateToTimestamp() {
	per := datetime.PerSecond(column.UnitOf(c.to))
	out := make([]int64, c.from.N)
	c.out.Data = out
	c.each(func(i int) bool {
		var ok bool
		switch d := c.from.Data.(type) {
		case []int32:
			out[i], ok = datetime.MulChecked(int64(d[i])*datetime.SecondsPerDay, per)
		case []int64:
			if per == 1 {
				out[i], ok = d[i]/1000, true
			} else {
				out[i], ok = datetime.MulChecked(d[i], per/1000)
			}
		}
		return ok || c.fail(i, "date is out of range of %s", c.to)
	})
	if c.err == nil {
		c.toLocal(out)
	}
}

// timestampToDate returns the date in the zone of the timestamp.
func (c *caster) timestampToDate() {
	per := datetime.PerSecond(column.UnitOf(c.from.Type))
	src := c.from.Data.([]int64)
	if out, ok := column.Zeros(c.to, c.from.N).([]int64); ok { // date64 keeps the time of day
		for i, x := range src {
			if per == 1 {
				out[i] = x * 1000
			} else {
				out[i] = x / (per / 1000)
			}
		}
		c.out.Data = out
		return
	}
	zone, err := datetime.LoadZone(column.ZoneOf(c.from.Type))
	if c.err = err; err != nil {
		return
	}
	out := make([]int32, c.from.N)
	c.out.Data = out
	c.each(func(i int) bool {
		seconds := datetime.FloorDiv(src[i], per)
		if zone != time.UTC {
			_, offset := time.Unix(seconds, 0).In(zone).Zone()
			seconds += int64(offset)
		}
		out[i] = int32(datetime.FloorDiv(seconds, datetime.SecondsPerDay))
		return true
	})
}

// timestampToTime returns the time of day in the zone of the timestamp.
func (c *caster) timestampToTime() {
	zone, err := datetime.LoadZone(column.ZoneOf(c.from.Type))
	if c.err = err; err != nil {
		return
	}
	from, to := datetime.PerSecond(column.UnitOf(c.from.Type)), datetime.PerSecond(column.UnitOf(c.to))
	src, out := c.from.Data.([]int64), make([]int64, c.from.N)
	c.each(func(i int) bool {
		seconds := datetime.FloorDiv(src[i], from)
		nanos := (src[i] - seconds*from) * (1e9 / from)
		t := time.Unix(seconds, 0).In(zone)
		if year := t.Year(); year < datetime.LeastYear || year > datetime.MostYear {
			return c.fail(i, "timestamp is out of range of %s", c.to)
		}
		out[i] = int64(t.Hour()*3600+t.Minute()*60+t.Second())*to + nanos/(1e9/to)
		return true
	})
	c.out.Data = out
	if c.to.ID() == arrow.TIME32 {
		c.out.Data = narrowed(out)
	}
}

// times converts between units and truncates.
func (c *caster) times() {
	from, to := datetime.PerSecond(column.UnitOf(c.from.Type)), datetime.PerSecond(column.UnitOf(c.to))
	wide := make([]int64, c.from.N)
	switch d := c.from.Data.(type) {
	case []int32:
		for i, x := range d {
			wide[i] = int64(x)
		}
	case []int64:
		copy(wide, d)
	}
	c.each(func(i int) bool {
		x, ok := wide[i], true
		if to >= from {
			wide[i], ok = datetime.MulChecked(x, to/from)
		} else {
			wide[i] = x / (from / to)
		}
		return ok || c.fail(i, "value is out of range of %s", c.to)
	})
	c.out.Data = wide
	if c.to.ID() == arrow.TIME32 {
		c.out.Data = narrowed(wide)
	}
}

// narrowed returns times of 64 bits in 32 bits, which are enough for a day in milliseconds.
func narrowed(wide []int64) []int32 {
	narrow := make([]int32, len(wide))
	for i, x := range wide {
		narrow[i] = int32(x)
	}
	return narrow
}

// timestamps converts between units and truncates. A timestamp without zone gets the zone
// of the target: its clock time stays, and the instant changes.
func (c *caster) timestamps() {
	from, to := datetime.PerSecond(column.UnitOf(c.from.Type)), datetime.PerSecond(column.UnitOf(c.to))
	src := c.from.Data.([]int64)
	c.out.Data = src
	if from == to && (column.ZoneOf(c.from.Type) != "" || column.ZoneOf(c.to) == "") {
		return
	}
	out := make([]int64, c.from.N)
	c.out.Data = out
	c.each(func(i int) bool {
		if from >= to {
			out[i] = src[i] / (from / to)
			return true
		}
		var ok bool
		out[i], ok = datetime.MulChecked(src[i], to/from)
		return ok || c.fail(i, "timestamp is out of range of %s", c.to)
	})
	if c.err == nil && column.ZoneOf(c.from.Type) == "" {
		c.toLocal(out)
	}
}

// toLocal converts clock times, in the unit of the target, to instants in its zone.
func (c *caster) toLocal(ticks []int64) {
	zone, err := datetime.LoadZone(column.ZoneOf(c.to))
	if err != nil || zone == time.UTC {
		c.err = err
		return
	}
	per := datetime.PerSecond(column.UnitOf(c.to))
	c.each(func(i int) bool {
		shown := datetime.FloorDiv(ticks[i], per)
		seconds, ok := datetime.Instant(shown, zone)
		if !ok {
			return c.fail(i, "a clock time does not exist, or exists twice, in the time zone %s", zone)
		}
		ticks[i] += (seconds - shown) * per
		return true
	})
}

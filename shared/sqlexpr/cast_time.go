package sqlexpr

import (
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/sql/clock"
)

// temporalCastable reports whether there is a conversion from or to dates, times and
// timestamps among each other and with numbers.
func temporalCastable(from, to arrow.DataType) bool {
	switch {
	case isTimestamp(from) && isTimestamp(to), isDate(from) && isDate(to), isTime(from) && isTime(to),
		from.ID() == arrow.DURATION && to.ID() == arrow.DURATION:
		return true
	case isTimestamp(from):
		return isDate(to) || isTime(to) || isNumeric(to)
	case isTimestamp(to):
		return isDate(from) || isNumeric(from)
	case isDate(to):
		return from.ID() == arrow.INT32 || from.ID() == arrow.INT64
	case isDate(from):
		return to.ID() == arrow.INT32 || to.ID() == arrow.INT64
	case isTime(to):
		return from.ID() == ticksOf(to).ID()
	case isTime(from):
		return to.ID() == ticksOf(from).ID() || to.ID() == arrow.INT64
	case to.ID() == arrow.DURATION:
		return isNumeric(from)
	case from.ID() == arrow.DURATION:
		return isNumeric(to)
	}
	return false
}

// ticksOf is the type of the integers that count times of a type.
func ticksOf(t arrow.DataType) arrow.DataType {
	if t.ID() == arrow.TIME32 {
		return arrow.PrimitiveTypes.Int32
	}
	return typeInt64
}

// temporal converts among numbers, dates, times and timestamps. Numbers are the count of
// days or ticks, so that most of these only change the type.
//
// Dates count days (date32) or milliseconds (date64) since 1970, times since midnight, and
// timestamps since 1970 in UTC. A timestamp without a zone counts as if clocks showed UTC.
// Between them:
//
//	date → timestamp        midnight, in the zone of the timestamp
//	timestamp → date        the day in the zone of the timestamp
//	timestamp → time        the time of day in the zone of the timestamp, cut off if finer
//	timestamp → timestamp   cut off towards 1970 if the unit is coarser; given a zone, the
//	                        clock stays and the instant moves; of two zones it is the
//	                        instant that stays
//	number ↔ timestamp      ticks, whatever the unit
//	number ↔ duration       the same
//	integer ↔ time          the same, of 32 bits or of 64
//
// Source: arrow-cast 58, cast/mod.rs.
func (c *caster) temporal() {
	from, to := c.from.typ, c.to
	switch {
	case isNumeric(from) && (isTimestamp(to) || to.ID() == arrow.DURATION):
		if c.from, c.err = castVec(c.m, c.from, typeInt64, c.live, c.try); c.err == nil {
			c.out.valid, c.out.data = c.from.valid, c.from.data
		}
	case (isTimestamp(from) || from.ID() == arrow.DURATION) && isNumeric(to):
		c.ticks(typeInt64)
	case isNumeric(from) && isTime(to):
		c.out.data = c.from.data
	case isTime(from) && isNumeric(to):
		c.ticks(ticksOf(from))
	case isInteger(from) || isInteger(to):
		c.dateInteger()
	case isDate(from) && isDate(to):
		c.dates()
	case isDate(from):
		c.dateToTimestamp()
	case isDate(to):
		c.timestampToDate()
	case isTimestamp(from) && isTime(to):
		c.timestampToTime()
	case isTime(from), from.ID() == arrow.DURATION:
		c.times()
	default:
		c.timestamps()
	}
}

// ticks converts what a type counts, as integers of another one.
func (c *caster) ticks(as arrow.DataType) {
	counts := c.from
	counts.typ = as
	if counts, c.err = castVec(c.m, counts, c.to, c.live, c.try); c.err == nil {
		c.out.valid, c.out.data = counts.valid, counts.data
	}
}

// dateInteger converts between the count of days or milliseconds of a date and an integer.
func (c *caster) dateInteger() {
	d64 := arrow.FixedWidthTypes.Date64
	days := func(src vec, wide bool) vec { // to int32 or int64
		to := arrow.PrimitiveTypes.Int32
		if wide {
			to = typeInt64
		}
		out, err := castVec(c.m, src, to, c.live, c.try)
		c.err = err
		return out
	}
	from, to := c.from, c.to
	switch {
	case from.typ.ID() == arrow.DATE32:
		from.typ = arrow.PrimitiveTypes.Int32
		c.out = days(from, to.ID() == arrow.INT64)
	case from.typ.ID() == arrow.DATE64:
		from.typ = typeInt64
		c.out = days(from, to.ID() == arrow.INT64)
	case to.ID() == arrow.DATE64 && from.typ.ID() == arrow.INT64:
		c.out.data = from.data
	case to.ID() == arrow.DATE64:
		from.typ = arrow.FixedWidthTypes.Date32
		c.out, c.err = castVec(c.m, from, d64, c.live, c.try)
	default:
		c.out = days(from, false)
	}
	c.out.typ = to
}

// dates converts between days and milliseconds, cutting off the time of day towards 1970.
func (c *caster) dates() {
	if d, ok := c.from.data.([]int32); ok {
		out := make([]int64, len(d))
		for i, x := range d {
			out[i] = int64(x) * clock.MillisPerDay
		}
		c.out.data = out
		return
	}
	d := c.from.data.([]int64)
	out := make([]int32, len(d))
	for i, x := range d {
		out[i] = int32(x / clock.MillisPerDay)
	}
	c.out.data = out
}

// dateToTimestamp makes midnight of a date, in the zone of the timestamp if it has one.
func (c *caster) dateToTimestamp() {
	per := clock.PerSecond(unitOf(c.to))
	out := make([]int64, c.from.n)
	c.out.data = out
	c.each(func(i int) bool {
		var ok bool
		switch d := c.from.data.(type) {
		case []int32:
			out[i], ok = clock.MulChecked(int64(d[i])*clock.SecondsPerDay, per)
		case []int64:
			if per == 1 {
				out[i], ok = d[i]/1000, true
			} else {
				out[i], ok = clock.MulChecked(d[i], per/1000)
			}
		}
		return ok || c.fail(i, "date is out of range of %s", c.to)
	})
	if c.err == nil {
		c.toLocal(out)
	}
}

// timestampToDate takes the date in the zone of the timestamp.
func (c *caster) timestampToDate() {
	per := clock.PerSecond(unitOf(c.from.typ))
	src := c.from.data.([]int64)
	if out, ok := zeroData(c.to, c.from.n).([]int64); ok { // date64 keeps the time of day
		for i, x := range src {
			if per == 1 {
				out[i] = x * 1000
			} else {
				out[i] = x / (per / 1000)
			}
		}
		c.out.data = out
		return
	}
	zone, err := clock.LoadZone(zoneOf(c.from.typ))
	if c.err = err; err != nil {
		return
	}
	out := make([]int32, c.from.n)
	c.out.data = out
	c.each(func(i int) bool {
		seconds := clock.FloorDiv(src[i], per)
		if zone != time.UTC {
			_, offset := time.Unix(seconds, 0).In(zone).Zone()
			seconds += int64(offset)
		}
		out[i] = int32(clock.FloorDiv(seconds, clock.SecondsPerDay))
		return true
	})
}

// timestampToTime takes the time of day in the zone of the timestamp.
func (c *caster) timestampToTime() {
	zone, err := clock.LoadZone(zoneOf(c.from.typ))
	if c.err = err; err != nil {
		return
	}
	from, to := clock.PerSecond(unitOf(c.from.typ)), clock.PerSecond(unitOf(c.to))
	src, out := c.from.data.([]int64), make([]int64, c.from.n)
	c.each(func(i int) bool {
		seconds := clock.FloorDiv(src[i], from)
		nanos := (src[i] - seconds*from) * (1e9 / from)
		t := time.Unix(seconds, 0).In(zone)
		if year := t.Year(); year < clock.LeastYear || year > clock.MostYear {
			return c.fail(i, "timestamp is out of range of %s", c.to)
		}
		out[i] = int64(t.Hour()*3600+t.Minute()*60+t.Second())*to + nanos/(1e9/to)
		return true
	})
	c.out.data = out
	if c.to.ID() == arrow.TIME32 {
		c.out.data = narrowed(out)
	}
}

// times converts between units, cutting off what is finer.
func (c *caster) times() {
	from, to := clock.PerSecond(unitOf(c.from.typ)), clock.PerSecond(unitOf(c.to))
	wide := make([]int64, c.from.n)
	switch d := c.from.data.(type) {
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
			wide[i], ok = clock.MulChecked(x, to/from)
		} else {
			wide[i] = x / (from / to)
		}
		return ok || c.fail(i, "value is out of range of %s", c.to)
	})
	c.out.data = wide
	if c.to.ID() == arrow.TIME32 {
		c.out.data = narrowed(wide)
	}
}

// narrowed is times of 64 bits in 32, which hold a day in milliseconds.
func narrowed(wide []int64) []int32 {
	narrow := make([]int32, len(wide))
	for i, x := range wide {
		narrow[i] = int32(x)
	}
	return narrow
}

// timestamps converts between units, cutting off what is finer, and gives a timestamp
// without zone the zone of the target: the clock stays as it is and the instant moves.
func (c *caster) timestamps() {
	from, to := clock.PerSecond(unitOf(c.from.typ)), clock.PerSecond(unitOf(c.to))
	src := c.from.data.([]int64)
	c.out.data = src
	if from == to && (zoneOf(c.from.typ) != "" || zoneOf(c.to) == "") {
		return
	}
	out := make([]int64, c.from.n)
	c.out.data = out
	c.each(func(i int) bool {
		if from >= to {
			out[i] = src[i] / (from / to)
			return true
		}
		var ok bool
		out[i], ok = clock.MulChecked(src[i], to/from)
		return ok || c.fail(i, "timestamp is out of range of %s", c.to)
	})
	if c.err == nil && zoneOf(c.from.typ) == "" {
		c.toLocal(out)
	}
}

// toLocal reads clock times, in the unit of the target, as times in its zone.
func (c *caster) toLocal(ticks []int64) {
	zone, err := clock.LoadZone(zoneOf(c.to))
	if err != nil || zone == time.UTC {
		c.err = err
		return
	}
	per := clock.PerSecond(unitOf(c.to))
	c.each(func(i int) bool {
		shown := clock.FloorDiv(ticks[i], per)
		seconds, ok := clock.Instant(shown, zone)
		if !ok {
			return c.fail(i, "a clock time does not exist, or exists twice, in the time zone %s", zone)
		}
		ticks[i] += (seconds - shown) * per
		return true
	})
}

package sqlexpr

import (
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
)

// parse converts strings to values of other types:
//
//	integers    12  +12  -12                          nothing around the digits
//	floats      1  1.5  1.  .5  1e9  nan  inf         too large is infinite
//	decimals    1  -1.5  .5, with blanks around       rounded half away from zero
//	bool        t…true  y…yes  on  1 and opposites    any case, blanks around
//	date        2024-01-31  2024-1-31  20240131       or a timestamp
//	time        9:30  09:30:15.25  9:30 PM
//	timestamp   2024-01-31[T| ][09:30:15[.123456789]|093015][Z|+01:00|Europe/Paris]
//
// Source: arrow-cast 58, parse.rs and cast/string.rs.
func (c *caster) parse() {
	t := c.from.data.(text)
	bad := func(i int) bool { return c.fail(i, "%s is not a value of type %s", c.from.named(t.at(i)), c.to) }
	switch to := c.to; {
	case to.ID() == arrow.BOOL:
		out := newBitset(c.from.n)
		c.out.data = out
		c.each(func(i int) bool {
			b, ok := parseBool(string(t.at(i)))
			if b {
				out.set(i)
			}
			return ok || bad(i)
		})
	case isFloat(to):
		c.parseFloats(t, bad)
	case isDecimal(to):
		c.parseDecimals(t)
	case isTimestamp(to):
		c.parseTimestamps(t, bad)
	default:
		low, high := integerRange(to)
		c.out.data = zeroData(to, c.from.n)
		c.each(func(i int) bool {
			x, ok := parseInteger(string(t.at(i)), to)
			n := big.NewInt(x)
			if to.ID() == arrow.UINT64 {
				n.SetUint64(uint64(x))
			}
			if !ok || n.Cmp(low) < 0 || n.Cmp(high) > 0 {
				return bad(i)
			}
			setInteger(c.out.data, i, n)
			return true
		})
	}
}

// parseInteger reads what is stored as an integer: an integer, a date or a time of day.
func parseInteger(s string, typ arrow.DataType) (int64, bool) {
	switch typ.ID() {
	case arrow.DATE32:
		return parseDate(s)
	case arrow.DATE64:
		if len(s) <= 10 {
			days, ok := parseDate(s)
			return days * millisPerDay, ok
		}
		t, ok := parseTimestamp(s, time.UTC)
		return t.UnixMilli(), ok
	case arrow.TIME32, arrow.TIME64:
		nanos, ok := parseTime(s)
		if !ok {
			x, err := strconv.ParseInt(s, 10, 64)
			return x, err == nil
		}
		return nanos / (1e9 / perSecond(unitOf(typ))), true
	case arrow.UINT64:
		u, err := strconv.ParseUint(strings.TrimPrefix(s, "+"), 10, 64)
		return int64(u), err == nil && !strings.HasPrefix(s, "++")
	}
	if negative := strings.HasPrefix(s, "-"); negative && isUnsigned(typ) {
		return 0, len(s) > 1 && strings.Trim(s[1:], "0") == ""
	}
	x, err := strconv.ParseInt(s, 10, 64)
	return x, err == nil
}

// parseBool takes what PostgreSQL takes: the words, and what they can be cut down to.
func parseBool(s string) (value, ok bool) {
	switch strings.TrimSpace(strings.ToLower(s)) {
	case "t", "tr", "tru", "true", "y", "ye", "yes", "on", "1":
		return true, true
	case "f", "fa", "fal", "fals", "false", "n", "no", "of", "off", "0":
		return false, true
	}
	return false, false
}

// parseFloats reads as the target does and widens, which is exact; a half is read as a
// float32 and then rounded a second time, as it is in Rust.
func (c *caster) parseFloats(t text, bad func(int) bool) {
	out := make([]float64, c.from.n)
	bits := 64
	if c.to.ID() != arrow.FLOAT64 {
		bits = 32
	}
	c.each(func(i int) bool {
		f, ok := parseFloat(string(t.at(i)), bits)
		out[i] = f
		return ok || bad(i)
	})
	if c.err == nil {
		numbersFrom(c, out)
	}
}

// parseFloat reads a float, or NaN or infinity in any case. Numbers too large are infinite.
func parseFloat(s string, bits int) (float64, bool) {
	for i := range len(s) {
		if c := s[i]; c == '_' || c == 'x' || c == 'X' || c == 'p' || c == 'P' {
			return 0, false // Go's syntax, not SQL's
		}
	}
	f, err := strconv.ParseFloat(s, bits)
	if math.IsNaN(f) {
		f = quietNaN // Go's own has another payload, and floats are equal by their bits
	}
	return f, err == nil || math.IsInf(f, 0)
}

// quietNaN is the NaN without a payload.
var quietNaN = math.Float64frombits(0x7ff8 << 48)

func (c *caster) parseDecimals(t text) {
	_, scale := precisionScale(c.to)
	c.toDecimal(func(i int) (*big.Int, bool) { return parseDecimal(string(t.at(i)), scale) }, scale)
}

// parseDecimal reads digits with an optional sign and fraction, rounds them to a scale and
// returns the unscaled value.
func parseDecimal(s string, scale int32) (*big.Int, bool) {
	s = strings.TrimSpace(s)
	negative := strings.HasPrefix(s, "-")
	if negative || strings.HasPrefix(s, "+") {
		s = s[1:]
	}
	whole, fraction, _ := strings.Cut(s, ".")
	if whole+fraction == "" {
		return new(big.Int), scale > 0 // zero if there is something after the point to fill in
	}
	if len(s) > 200 {
		return nil, false
	}
	for _, d := range whole + fraction {
		if d < '0' || d > '9' {
			return nil, false
		}
	}
	x, _ := new(big.Int).SetString(whole+fraction, 10)
	x = rescale(x, int32(len(fraction)), scale)
	if negative {
		x.Neg(x)
	}
	return x, true
}

// parseTimestamps reads clock times in the zone of the target. Nanoseconds reach from 1677
// to 2262 only.
func (c *caster) parseTimestamps(t text, bad func(int) bool) {
	zone, err := loadZone(zoneOf(c.to))
	if c.err = err; err != nil {
		return
	}
	per := perSecond(unitOf(c.to))
	out := make([]int64, c.from.n)
	c.out.data = out
	c.each(func(i int) bool {
		ts, ok := parseTimestamp(string(t.at(i)), zone)
		if !ok {
			return bad(i)
		}
		seconds, ok := mulChecked(ts.Unix(), per)
		out[i] = seconds + int64(ts.Nanosecond())/(1e9/per)
		if per == 1e9 && (ts.Year() < 1678 || ts.Year() > 2261) {
			ok = time.Unix(0, out[i]).Equal(ts) // the years where nanoseconds begin and end
		}
		return ok || bad(i)
	})
}

// parseTimestamp reads 2024-01-31, optionally followed by T or a space, hh:mm:ss with a
// fraction or hhmmss, and a zone. Without a zone the clock is that of the given one.
func parseTimestamp(s string, zone *time.Location) (time.Time, bool) {
	if len(s) < 10 {
		return time.Time{}, false
	}
	days, ok := isoDate(s[:10])
	if !ok {
		return time.Time{}, false
	}
	clock, nanos, rest := days*secondsPerDay, int64(0), ""
	if len(s) > 10 {
		if sep := s[10]; sep != 'T' && sep != 't' && sep != ' ' {
			return time.Time{}, false
		}
		var seconds int64
		if seconds, nanos, rest, ok = clockTime(s[11:]); !ok {
			return time.Time{}, false
		}
		clock += seconds
	}
	switch {
	case rest == "":
	case rest == "z" || rest == "Z":
		zone = time.UTC
	default:
		var err error
		if zone, err = loadZone(strings.TrimLeft(rest, " \t\n")); err != nil {
			return time.Time{}, false
		}
	}
	at, ok := instant(clock, zone)
	return time.Unix(at, nanos).UTC(), ok
}

// clockTime reads hh:mm:ss[.fraction] or hhmmss and returns what follows.
func clockTime(s string) (seconds, nanos int64, rest string, ok bool) {
	if len(s) >= 6 && allDigits(s[:6]) && (len(s) < 7 || !isDigit(s[6])) && (len(s) < 8 || !isDigit(s[7])) {
		seconds, ok = timeOfDay(twoDigits(s), twoDigits(s[2:]), twoDigits(s[4:]))
		return seconds, 0, s[6:], ok
	}
	if len(s) < 8 || s[2] != ':' || s[5] != ':' || !allDigits(s[:2]+s[3:5]+s[6:8]) {
		return 0, 0, "", false
	}
	if seconds, ok = timeOfDay(twoDigits(s), twoDigits(s[3:]), twoDigits(s[6:])); !ok {
		return 0, 0, "", false
	}
	rest = s[8:]
	if strings.HasPrefix(rest, ".") {
		var digits int
		if nanos, digits = fraction(rest[1:]); digits == 0 {
			return 0, 0, "", false
		}
		rest = rest[1+digits:]
	}
	return seconds, nanos, rest, true
}

// timeOfDay counts seconds. A leap second is the second after it.
func timeOfDay(h, m, s int) (int64, bool) {
	return int64(h*3600 + m*60 + s), h < 24 && m < 60 && s <= 60
}

// fraction reads digits as a fraction of a second, cutting off what is finer than a
// nanosecond.
func fraction(s string) (nanos int64, digits int) {
	for digits < len(s) && isDigit(s[digits]) {
		if digits < 9 {
			nanos = nanos*10 + int64(s[digits]-'0')
		}
		digits++
	}
	for i := digits; i < 9; i++ {
		nanos *= 10
	}
	return nanos, digits
}

func allDigits(s string) bool {
	for i := range len(s) {
		if !isDigit(s[i]) {
			return false
		}
	}
	return s != ""
}

// isoDate reads yyyy-mm-dd as days since the epoch.
func isoDate(s string) (int64, bool) {
	if len(s) != 10 || s[4] != '-' || s[7] != '-' || !allDigits(s[:4]+s[5:7]+s[8:]) {
		return 0, false
	}
	return daysOf(int64(twoDigits(s)*100+twoDigits(s[2:])), int64(twoDigits(s[5:])), int64(twoDigits(s[8:])))
}

// Years of dates and clocks, source: chrono 0.4, date.rs.
const leastYear, mostYear = -262143, 262142

// daysOf counts days since the epoch.
func daysOf(year, month, day int64) (int64, bool) {
	t := time.Date(int(year), time.Month(month), int(day), 0, 0, 0, 0, time.UTC)
	ok := month >= 1 && month <= 12 && day >= 1 && int64(t.Day()) == day && year >= leastYear && year <= mostYear
	return floorDiv(t.Unix(), secondsPerDay), ok
}

// parseDate reads yyyy-mm-dd, where month and day may have one digit, yyyymmdd, a signed
// year of four digits or more, or a timestamp of which it takes the date in UTC.
func parseDate(s string) (int64, bool) {
	if s != "" && (s[0] == '+' || s[0] == '-') {
		year, rest, ok := strings.Cut(s[1:], "-")
		month, day, ok2 := strings.Cut(rest, "-")
		if !ok || !ok2 || len(year) < 4 {
			return 0, false
		}
		return dateOf(s[:1]+year, month, day)
	}
	if len(s) > 10 {
		t, ok := parseTimestamp(s, time.UTC)
		return floorDiv(t.Unix(), secondsPerDay), ok
	}
	if len(s) == 8 && allDigits(s) {
		return dateOf(s[:4], s[4:6], s[6:])
	}
	parts := strings.Split(s, "-")
	if len(parts) != 3 || len(parts[0]) != 4 || len(parts[1]) > 2 || len(parts[2]) > 2 ||
		!allDigits(parts[0]) || !allDigits(parts[1]) || !allDigits(parts[2]) {
		return 0, false
	}
	return dateOf(parts[0], parts[1], parts[2])
}

func dateOf(year, month, day string) (int64, bool) {
	y, err1 := strconv.ParseInt(year, 10, 32)
	m, err2 := strconv.ParseUint(month, 10, 32)
	d, err3 := strconv.ParseUint(day, 10, 32)
	if err1 != nil || err2 != nil || err3 != nil || m > 12 || d > 31 {
		return 0, false
	}
	return daysOf(y, int64(m), int64(d))
}

// parseTime reads a time of day, h:mm[:ss[.fraction]] with an optional AM or PM, as
// nanoseconds since midnight.
func parseTime(s string) (int64, bool) {
	half := ""
	if n := len(s) - 3; n >= 0 && (strings.EqualFold(s[n:], " AM") || strings.EqualFold(s[n:], " PM")) {
		half, s = strings.ToUpper(s[n+1:]), s[:n]
	}
	hour, rest, ok := strings.Cut(s, ":")
	if !ok || len(hour) > 2 || !allDigits(hour) || len(rest) < 2 || !allDigits(rest[:2]) {
		return 0, false
	}
	h, _ := strconv.Atoi(hour)
	second, nanos := 0, int64(0)
	if tail := rest[2:]; tail != "" {
		if len(tail) < 3 || tail[0] != ':' || !allDigits(tail[1:3]) {
			return 0, false
		}
		second = twoDigits(tail[1:])
		if tail = tail[3:]; tail != "" {
			digits := 0
			if tail[0] == '.' {
				nanos, digits = fraction(tail[1:])
			}
			if digits == 0 || digits != len(tail)-1 {
				return 0, false
			}
		}
	}
	if half != "" {
		if h < 1 || h > 12 {
			return 0, false
		}
		h %= 12
		if half == "PM" {
			h += 12
		}
	}
	seconds, ok := timeOfDay(h, twoDigits(rest), second)
	return seconds*1e9 + nanos, ok
}

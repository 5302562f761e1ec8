package cast

import (
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/sql/internal/column"
	"tiltyard/shared/sql/internal/datetime"
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
	t := c.from.Data.(column.Text)
	bad := func(i int) bool { return c.fail(i, "%s is not a value of type %s", c.from.Named(t.At(i)), c.to) }
	switch to := c.to; {
	case to.ID() == arrow.BOOL:
		out := column.NewBitset(c.from.N)
		c.out.Data = out
		c.each(func(i int) bool {
			b, ok := parseBool(string(t.At(i)))
			if b {
				out.Set(i)
			}
			return ok || bad(i)
		})
	case column.IsFloat(to):
		c.parseFloats(t, bad)
	case column.IsDecimal(to):
		c.parseDecimals(t)
	case column.IsTimestamp(to):
		c.parseTimestamps(t, bad)
	default:
		low, high := column.IntegerRange(to)
		c.out.Data = column.Zeros(to, c.from.N)
		c.each(func(i int) bool {
			x, ok := parseInteger(string(t.At(i)), to)
			n := big.NewInt(x)
			if to.ID() == arrow.UINT64 {
				n.SetUint64(uint64(x))
			}
			if !ok || n.Cmp(low) < 0 || n.Cmp(high) > 0 {
				return bad(i)
			}
			column.SetInteger(c.out.Data, i, n)
			return true
		})
	}
}

// parseInteger parses an integer, or a date or time that is stored as an integer.
func parseInteger(s string, typ arrow.DataType) (int64, bool) {
	switch typ.ID() {
	case arrow.DATE32:
		return datetime.ParseDate(s)
	case arrow.DATE64:
		if len(s) <= 10 {
			days, ok := datetime.ParseDate(s)
			return days * datetime.MillisPerDay, ok
		}
		t, ok := datetime.ParseTimestamp(s, time.UTC)
		return t.UnixMilli(), ok
	case arrow.TIME32, arrow.TIME64:
		nanos, ok := datetime.ParseTime(s)
		if !ok {
			x, err := strconv.ParseInt(s, 10, 64)
			return x, err == nil
		}
		return nanos / (1e9 / datetime.PerSecond(column.UnitOf(typ))), true
	case arrow.UINT64:
		u, err := strconv.ParseUint(strings.TrimPrefix(s, "+"), 10, 64)
		return int64(u), err == nil && !strings.HasPrefix(s, "++")
	}
	if negative := strings.HasPrefix(s, "-"); negative && column.IsUnsigned(typ) {
		return 0, len(s) > 1 && strings.Trim(s[1:], "0") == ""
	}
	x, err := strconv.ParseInt(s, 10, 64)
	return x, err == nil
}

// parseBool accepts the words that PostgreSQL accepts, and their abbreviations.
func parseBool(s string) (value, ok bool) {
	switch strings.TrimSpace(strings.ToLower(s)) {
	case "t", "tr", "tru", "true", "y", "ye", "yes", "on", "1":
		return true, true
	case "f", "fa", "fal", "fals", "false", "n", "no", "of", "off", "0":
		return false, true
	}
	return false, false
}

// parseFloats parses with the precision of the target and then widens, which is exact. A
// half is parsed as a float32 and then rounded a second time, as in Rust.
func (c *caster) parseFloats(t column.Text, bad func(int) bool) {
	out := make([]float64, c.from.N)
	bits := 64
	if c.to.ID() != arrow.FLOAT64 {
		bits = 32
	}
	c.each(func(i int) bool {
		f, ok := ParseFloat(string(t.At(i)), bits)
		out[i] = f
		return ok || bad(i)
	})
	if c.err == nil {
		numbersFrom(c, out)
	}
}

// ParseFloat parses a float, or NaN or infinity in any case. A number that is too large is
// infinite.
func ParseFloat(s string, bits int) (float64, bool) {
	for i := range len(s) {
		if c := s[i]; c == '_' || c == 'x' || c == 'X' || c == 'p' || c == 'P' {
			return 0, false // Go's syntax, not SQL's
		}
	}
	f, err := strconv.ParseFloat(s, bits)
	if math.IsNaN(f) {
		f = column.QuietNaN // Go's own has another payload, and floats are equal by their bits
	}
	return f, err == nil || math.IsInf(f, 0)
}

func (c *caster) parseDecimals(t column.Text) {
	_, scale := column.PrecisionScale(c.to)
	c.toDecimal(func(i int) (*big.Int, bool) { return parseDecimal(string(t.At(i)), scale) }, scale)
}

// parseDecimal parses digits with an optional sign and fraction, rounds them to a scale and
// returns the unscaled value.
func parseDecimal(s string, scale int32) (*big.Int, bool) {
	s = strings.TrimSpace(s)
	negative := strings.HasPrefix(s, "-")
	if negative || strings.HasPrefix(s, "+") {
		s = s[1:]
	}
	whole, fraction, _ := strings.Cut(s, ".")
	if whole+fraction == "" {
		return new(big.Int), scale > 0 // zero if digits after the point follow
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
	x = column.Rescale(x, int32(len(fraction)), scale)
	if negative {
		x.Neg(x)
	}
	return x, true
}

// parseTimestamps parses times of day in the zone of the target. Nanoseconds cover the
// years 1677 to 2262 only.
func (c *caster) parseTimestamps(t column.Text, bad func(int) bool) {
	zone, err := datetime.LoadZone(column.ZoneOf(c.to))
	if c.err = err; err != nil {
		return
	}
	per := datetime.PerSecond(column.UnitOf(c.to))
	out := make([]int64, c.from.N)
	c.out.Data = out
	c.each(func(i int) bool {
		ts, ok := datetime.ParseTimestamp(string(t.At(i)), zone)
		if !ok {
			return bad(i)
		}
		seconds, ok := datetime.MulChecked(ts.Unix(), per)
		out[i] = seconds + int64(ts.Nanosecond())/(1e9/per)
		if per == 1e9 && (ts.Year() < 1678 || ts.Year() > 2261) {
			ok = time.Unix(0, out[i]).Equal(ts) // the years where nanoseconds begin and end
		}
		return ok || bad(i)
	})
}

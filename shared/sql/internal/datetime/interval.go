// Package datetime reads and writes dates, times, intervals and time zones as native Lance does:
// ticks, the texts that casts take and make, and the formats of strftime.
package datetime

import (
	"math"
	"math/big"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/sql"
)

// intervalUnits defines the units of interval literals in months, days and nanoseconds.
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

// IsUnit reports whether a word is a unit of intervals.
func IsUnit(word string) bool {
	_, ok := intervalUnits[strings.ToLower(word)]
	return ok
}

// ParseInterval parses numbers with units. Fractions of units without a fixed length, and clock times, are
// unsupported.
func ParseInterval(s string) (out arrow.MonthDayNanoInterval, err error) {
	words := strings.Fields(s)
	if len(words) == 0 || len(words)%2 != 0 {
		return out, sql.Errorf(sql.ErrUnsupported, sql.NoPos, "interval %.40q, which is not a list of numbers with units", s)
	}
	for i := 0; i < len(words); i += 2 {
		unit, ok := intervalUnits[strings.ToLower(words[i+1])]
		if !ok {
			return out, sql.Errorf(sql.ErrSyntax, sql.NoPos, "%q is not a unit of time", words[i+1])
		}
		if len(words[i]) > 40 {
			return out, sql.Errorf(sql.ErrTooLarge, sql.NoPos, "interval of so many digits")
		}
		count, ok := new(big.Rat).SetString(words[i])
		if !ok || strings.ContainsAny(words[i], "/eExXpP_") {
			return out, sql.Errorf(sql.ErrSyntax, sql.NoPos, "%q is not a number", words[i])
		}
		if !count.IsInt() && unit.nanos == 0 {
			return out, sql.Errorf(sql.ErrUnsupported, sql.NoPos, "interval with a fraction of a %s", words[i+1])
		}
		months, ok1 := addScaled(int64(out.Months), count, unit.months, math.MaxInt32)
		days, ok2 := addScaled(int64(out.Days), count, unit.days, math.MaxInt32)
		nanos, ok3 := addScaled(out.Nanoseconds, count, unit.nanos, math.MaxInt64)
		if !ok1 || !ok2 || !ok3 {
			return out, sql.Errorf(sql.ErrValue, sql.NoPos, "interval %.40q is too long", s)
		}
		out = arrow.MonthDayNanoInterval{Months: int32(months), Days: int32(days), Nanoseconds: nanos}
	}
	return out, nil
}

// addScaled returns x plus count times unit, truncated. It returns false if the magnitude exceeds the
// limit.
func addScaled(x int64, count *big.Rat, unit, limit int64) (int64, bool) {
	r := new(big.Rat).Mul(count, new(big.Rat).SetInt64(unit))
	sum := new(big.Int).Quo(r.Num(), r.Denom())
	sum.Add(sum, big.NewInt(x))
	return sum.Int64(), sum.CmpAbs(big.NewInt(limit)) <= 0
}

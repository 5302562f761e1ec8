package datetime

import (
	"math"
	"math/bits"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
)

// First and last years of dates and clocks. Source: chrono 0.4, date.rs.
const (
	LeastYear = -262143
	MostYear  = 262142
)

// DaysOf counts days since the epoch; false for a day that is not in the calendar.
func DaysOf(year, month, day int64) (int64, bool) {
	t := time.Date(int(year), time.Month(month), int(day), 0, 0, 0, 0, time.UTC)
	ok := month >= 1 && month <= 12 && day >= 1 && int64(t.Day()) == day && year >= LeastYear && year <= MostYear
	return FloorDiv(t.Unix(), SecondsPerDay), ok
}

// PerSecond is the number of ticks of a unit in a second.
func PerSecond(u arrow.TimeUnit) int64 {
	return [...]int64{1, 1e3, 1e6, 1e9}[u]
}

// Lengths of a day.
const (
	SecondsPerDay = 86400
	MillisPerDay  = 86400_000
)

// FloorDiv rounds down, where / rounds towards zero: a second before 1970 is in 1969.
func FloorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// MulChecked multiplies by a positive factor. It returns false on overflow.
func MulChecked(a, b int64) (int64, bool) {
	hi, lo := bits.Mul64(uint64(max(a, -a)), uint64(b))
	if hi != 0 || lo > math.MaxInt64 {
		return 0, a == math.MinInt64 && b == 1
	}
	return a * b, true
}

// NanosecondYears reports whether the year of t is representable in nanoseconds since 1970.
func NanosecondYears(t time.Time) bool { return t.Year() >= 1678 && t.Year() <= 2261 }

// AddMonths adds months to seconds since 1970.
func AddMonths(clock, months int64) int64 {
	if months == 0 {
		return clock
	}
	t := time.Unix(clock, 0).UTC()
	first := time.Date(t.Year(), t.Month()+time.Month(months), 1, t.Hour(), t.Minute(), t.Second(), 0, time.UTC)
	last := first.AddDate(0, 1, -1).Day()
	return first.AddDate(0, 0, min(t.Day(), last)-1).Unix()
}

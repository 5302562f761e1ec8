package datetime

import (
	"fmt"
	"time"
)

// AppendDate appends a date. Years outside 0 to 9999 get a sign.
func AppendDate(dst []byte, t time.Time) []byte {
	year := t.Year()
	switch {
	case year < 0:
		dst = fmt.Appendf(dst, "-%04d", -year)
	case year > 9999:
		dst = fmt.Appendf(dst, "+%d", year)
	default:
		dst = fmt.Appendf(dst, "%04d", year)
	}
	return fmt.Appendf(dst, "-%02d-%02d", t.Month(), t.Day())
}

// AppendDateTime prints a date, T and the time of day.
func AppendDateTime(dst []byte, t time.Time) []byte {
	return AppendClock(append(AppendDate(dst, t), 'T'), t)
}

// AppendClock prints seconds with as many groups of three digits as they need.
func AppendClock(dst []byte, t time.Time) []byte {
	dst = fmt.Appendf(dst, "%02d:%02d:%02d", t.Hour(), t.Minute(), t.Second())
	switch nanos := t.Nanosecond(); {
	case nanos == 0:
		return dst
	case nanos%1e6 == 0:
		return fmt.Appendf(dst, ".%03d", nanos/1e6)
	case nanos%1e3 == 0:
		return fmt.Appendf(dst, ".%06d", nanos/1e3)
	default:
		return fmt.Appendf(dst, ".%09d", nanos)
	}
}

// AppendOffset prints Z or +hh:mm.
func AppendOffset(dst []byte, t time.Time) []byte {
	_, offset := t.Zone()
	if offset == 0 {
		return append(dst, 'Z')
	}
	sign := byte('+')
	if offset < 0 {
		sign, offset = '-', -offset
	}
	return fmt.Appendf(append(dst, sign), "%02d:%02d", offset/3600, offset/60%60)
}

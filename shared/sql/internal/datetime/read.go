package datetime

import (
	"strconv"
	"strings"
	"time"
)

// ParseTimestamp parses 2024-01-31, optionally followed by T or a space, hh:mm:ss with a fraction or
// hhmmss, and a zone. Without a zone the time is local to the given one.
func ParseTimestamp(s string, zone *time.Location) (time.Time, bool) {
	if len(s) < 10 {
		return time.Time{}, false
	}
	days, ok := isoDate(s[:10])
	if !ok {
		return time.Time{}, false
	}
	clock, nanos, rest := days*SecondsPerDay, int64(0), ""
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
		if zone, err = LoadZone(strings.TrimLeft(rest, " \t\n")); err != nil {
			return time.Time{}, false
		}
	}
	at, ok := Instant(clock, zone)
	return time.Unix(at, nanos).UTC(), ok
}

// clockTime parses hh:mm:ss[.fraction] or hhmmss, and returns the rest of s.
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

// fraction parses digits as a fraction of a second, truncated to nanoseconds.
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

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

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
	return DaysOf(int64(twoDigits(s)*100+twoDigits(s[2:])), int64(twoDigits(s[5:])), int64(twoDigits(s[8:])))
}

// ParseDate parses yyyy-mm-dd, where month and day may have one digit, yyyymmdd, or a signed year of at
// least four digits. It also accepts a timestamp, and returns its date in UTC.
func ParseDate(s string) (int64, bool) {
	if s != "" && (s[0] == '+' || s[0] == '-') {
		year, rest, ok := strings.Cut(s[1:], "-")
		month, day, ok2 := strings.Cut(rest, "-")
		if !ok || !ok2 || len(year) < 4 {
			return 0, false
		}
		return dateOf(s[:1]+year, month, day)
	}
	if len(s) > 10 {
		t, ok := ParseTimestamp(s, time.UTC)
		return FloorDiv(t.Unix(), SecondsPerDay), ok
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
	return DaysOf(y, int64(m), int64(d))
}

// ParseTime reads a time of day, h:mm[:ss[.fraction]] with an optional AM or PM, as
// nanoseconds since midnight.
func ParseTime(s string) (int64, bool) {
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

func twoDigits(s string) int { return int(s[0]-'0')*10 + int(s[1]-'0') }

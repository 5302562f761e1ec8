package datetime

import (
	"time"

	"tiltyard/shared/sql"
)

// Instant returns the Unix time at which clocks of a zone show a time. clock is that time, as if it were
// UTC, in Unix seconds. It returns false if clocks never show the time, or show it twice.
func Instant(clock int64, zone *time.Location) (int64, bool) {
	found, at := 0, int64(0)
	// Offsets in force a day around are all that can apply.
	tried := map[int64]bool{}
	for _, around := range []int64{-SecondsPerDay, 0, SecondsPerDay} {
		_, offset := time.Unix(clock+around, 0).In(zone).Zone()
		if tried[int64(offset)] {
			continue
		}
		tried[int64(offset)] = true
		candidate := clock - int64(offset)
		if _, o := time.Unix(candidate, 0).In(zone).Zone(); o == offset {
			found++
			at = candidate
		}
	}
	return at, found == 1
}

// LoadZone finds a time zone by its name in the database, or as an offset such as +02:00.
func LoadZone(name string) (*time.Location, error) {
	switch name {
	case "", "UTC", "Z", "+00:00":
		return time.UTC, nil
	}
	if seconds, ok := parseOffset(name); ok {
		return time.FixedZone(name, seconds), nil
	}
	zone, err := time.LoadLocation(name)
	if err != nil || name == "Local" {
		return nil, sql.Errorf(sql.ErrUnsupported, sql.NoPos, "time zone %q", name)
	}
	return zone, nil
}

// parseOffset reads +hh:mm, +hhmm or +hh.
func parseOffset(s string) (seconds int, ok bool) {
	if len(s) < 3 || s[0] != '+' && s[0] != '-' {
		return 0, false
	}
	digits := s[1:]
	if len(digits) == 5 && digits[2] == ':' {
		digits = digits[:2] + digits[3:]
	}
	if len(digits) == 2 {
		digits += "00"
	}
	if len(digits) != 4 {
		return 0, false
	}
	for i := range 4 {
		if !isDigit(digits[i]) {
			return 0, false
		}
	}
	hours, minutes := twoDigits(digits), twoDigits(digits[2:])
	if hours > 23 || minutes > 59 {
		return 0, false
	}
	seconds = hours*3600 + minutes*60
	if s[0] == '-' {
		seconds = -seconds
	}
	return seconds, true
}

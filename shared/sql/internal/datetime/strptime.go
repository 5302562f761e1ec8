package datetime

import (
	"strconv"
	"strings"
	"time"
	"unicode"
)

// A Reading holds the numbers that were parsed from the text of a date and time.
type Reading struct {
	numbers map[byte]int // by verb: year Y, month m, day d, day of the year j, hour H, minute M, second S, unix s
	half    int          // 12 for PM, 0 for AM, -1 if unspecified
	nanos   int
	zone    *time.Location // nil if unspecified
}

// widths is the maximal number of digits of each verb.
var widths = map[byte]int{
	'Y': 9, 'C': 2, 'y': 2, 'm': 2, 'd': 2, 'e': 2, 'j': 3, 'H': 2, 'k': 2, 'I': 2, 'l': 2, 'M': 2, 'S': 2, 's': 19,
}

// twins maps verbs to verbs that are parsed in the same way.
var twins = map[byte]byte{'e': 'd', 'k': 'H', 'l': 'I', 'h': 'b', 'P': 'p'}

// Read parses the numbers of a text. It returns false if the text does not have the format.
func (f Format) Read(s string) (Reading, bool) {
	r := Reading{numbers: map[byte]int{}, half: -1}
	for _, item := range f {
		verb := item.verb
		if twin, ok := twins[verb]; ok {
			verb = twin
		}
		var ok bool
		switch verb {
		case 0:
			s, ok = cutLiteral(s, item.text)
		case 'b', 'B':
			s, ok = r.month(s)
		case 'a', 'A':
			s, ok = cutWeekday(s)
		case 'p':
			s, ok = r.halfOfDay(s)
		case 'z':
			s, ok = r.offset(s)
		case 'f':
			s, ok = r.fraction(s, item)
		default:
			s, ok = r.number(s, verb)
		}
		if !ok {
			return r, false
		}
	}
	return r, s == ""
}

// cutLiteral removes a literal text; white space in the format matches any white space, or none.
func cutLiteral(s, text string) (string, bool) {
	for _, c := range text {
		if unicode.IsSpace(c) {
			s = strings.TrimLeftFunc(s, unicode.IsSpace)
			continue
		}
		var ok bool
		if s, ok = strings.CutPrefix(s, string(c)); !ok {
			return s, false
		}
	}
	return s, true
}

// number parses digits after optional white space; a year and a count of seconds may have a sign.
func (r *Reading) number(s string, verb byte) (string, bool) {
	most, ok := widths[verb]
	if !ok {
		return s, false
	}
	s = strings.TrimLeftFunc(s, unicode.IsSpace)
	digits, sign := s, 1
	if verb == 'Y' || verb == 's' {
		if rest, ok := strings.CutPrefix(s, "-"); ok {
			digits, sign = rest, -1
		} else if rest, ok := strings.CutPrefix(s, "+"); ok {
			digits = rest
		} else if verb == 'Y' {
			most = 4
		}
	}
	n := 0
	for n < len(digits) && n < most && isDigit(digits[n]) {
		n++
	}
	value, err := strconv.Atoi(digits[:n])
	r.numbers[verb] = sign * value
	return digits[n:], err == nil
}

// month reads the name of a month, in full or its first three letters.
func (r *Reading) month(s string) (string, bool) {
	for m := time.January; m <= time.December; m++ {
		if rest, ok := cutName(s, m.String()); ok {
			r.numbers['m'] = int(m)
			return rest, true
		}
	}
	return s, false
}

func cutWeekday(s string) (string, bool) {
	for d := time.Sunday; d <= time.Saturday; d++ {
		if rest, ok := cutName(s, d.String()); ok {
			return rest, true
		}
	}
	return s, false
}

// cutName removes a name or its first three letters, in any case.
func cutName(s, name string) (string, bool) {
	for _, n := range []int{len(name), 3} {
		if len(s) >= n && strings.EqualFold(s[:n], name[:n]) {
			return s[n:], true
		}
	}
	return s, false
}

// halfOfDay parses AM or PM, in any case.
func (r *Reading) halfOfDay(s string) (string, bool) {
	if len(s) < 2 {
		return s, false
	}
	switch strings.ToUpper(s[:2]) {
	case "AM":
		r.half = 0
	case "PM":
		r.half = 12
	default:
		return s, false
	}
	return s[2:], true
}

// offset reads a zone as +hh:mm or +hhmm.
func (r *Reading) offset(s string) (string, bool) {
	s = strings.TrimLeftFunc(s, unicode.IsSpace)
	n := 5
	if len(s) > 3 && s[3] == ':' {
		n = 6
	}
	if len(s) < n {
		return s, false
	}
	seconds, ok := parseOffset(s[:n])
	r.zone = time.FixedZone("", seconds)
	return s[n:], ok
}

// fraction parses the digits of a fraction of a second. For %.f the digits are optional.
func (r *Reading) fraction(s string, item formatItem) (string, bool) {
	if item.dot {
		rest, ok := strings.CutPrefix(s, ".")
		if !ok {
			return s, item.digits == 0
		}
		s = rest
	}
	if !item.dot && item.digits == 0 { // %f alone counts nanoseconds
		n := 0
		for n < len(s) && n < 9 && isDigit(s[n]) {
			n++
		}
		var err error
		r.nanos, err = strconv.Atoi(s[:n])
		return s[n:], err == nil
	}
	of := s
	if item.digits > 0 {
		of = s[:min(len(s), item.digits)]
	}
	nanos, digits := fraction(of)
	r.nanos = int(nanos)
	return s[digits:], digits > 0 && (item.digits == 0 || digits == item.digits)
}

// TimeOfDay returns the nanoseconds since midnight. It returns false unless the hour and the minute are
// set.
func (r *Reading) TimeOfDay() (int64, bool) {
	hour, ok := r.numbers['H']
	if twelve, isTwelve := r.numbers['I']; isTwelve && r.half >= 0 {
		if twelve < 1 || twelve > 12 {
			return 0, false
		}
		hour, ok = twelve%12+r.half, true
	}
	minute, hasMinute := r.numbers['M']
	seconds, inRange := timeOfDay(hour, minute, r.numbers['S'])
	return seconds*1e9 + int64(r.nanos), ok && hasMinute && inRange
}

// date is days since 1970.
func (r *Reading) date() (int64, bool) {
	year, ok := r.numbers['Y']
	if short, isShort := r.numbers['y']; !ok && isShort {
		century, said := r.numbers['C']
		switch {
		case said:
			century *= 100
		case short < 70:
			century = 2000
		default:
			century = 1900
		}
		year, ok = century+short, true
	}
	if day, isDay := r.numbers['j']; ok && isDay {
		first, inRange := DaysOf(int64(year), 1, 1)
		leap := year%4 == 0 && (year%100 != 0 || year%400 == 0)
		return first + int64(day) - 1, inRange && day >= 1 && (day <= 365 || day == 366 && leap)
	}
	month, hasMonth := r.numbers['m']
	day, hasDay := r.numbers['d']
	if !ok || !hasMonth || !hasDay {
		return 0, false
	}
	return DaysOf(int64(year), int64(month), int64(day))
}

// Moment combines the date and the time; a missing time is midnight. Without a zone the time is local to
// the given one.
func (r *Reading) Moment(zone *time.Location) (time.Time, bool) {
	if seconds, ok := r.numbers['s']; ok {
		return time.Unix(int64(seconds), int64(r.nanos)).UTC(), true
	}
	days, ok := r.date()
	if !ok {
		return time.Time{}, false
	}
	nanos, ok := r.TimeOfDay()
	if _, hour := r.numbers['H']; !ok && (hour || r.numbers['M'] != 0) {
		return time.Time{}, false
	}
	if !ok {
		nanos = 0
	}
	if r.zone != nil {
		zone = r.zone
	}
	at, ok := Instant(days*SecondsPerDay+nanos/1e9, zone)
	return time.Unix(at, nanos%1e9).UTC(), ok
}

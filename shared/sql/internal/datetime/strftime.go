package datetime

import (
	"strconv"
	"strings"
	"time"
)

// A Format is a parsed strftime format with the syntax of crate chrono, which native Lance uses:
// specifiers, and the text between them.
type Format []formatItem

// formatItem is a specifier, or a literal text if its verb is 0.
type formatItem struct {
	verb   byte
	digits int  // digits of a fraction: 3, 6 or 9 for %3f; 0 for all significant digits
	dot    bool // a fraction with its point: %.f
	pad    byte // '-', '_' or '0' in place of the specifier's own padding, or 0
	text   string
}

// shorthands maps specifiers to the sequences that they abbreviate.
var shorthands = map[byte]string{
	'D': "%m/%d/%y", 'x': "%m/%d/%y", 'F': "%Y-%m-%d", 'v': "%e-%b-%Y", 'R': "%H:%M", 'T': "%H:%M:%S", 'X': "%H:%M:%S",
	'r': "%I:%M:%S %p", 'c': "%a %b %e %H:%M:%S %Y", 't': "\t", 'n': "\n", '%': "%%",
}

// DateVerbs and timeVerbs need a date or a time of day; ZoneVerbs need a zone.
const (
	DateVerbs = "YCyqmbBhdeaAwuUWGgVjs"
	timeVerbs = "HkIlPpMSfs"
	ZoneVerbs = "Zz"
)

// ParseFormat parses a format. It returns false for an unknown specifier.
func ParseFormat(s string) (Format, bool) {
	var f Format
	literal := func(text string) {
		if n := len(f); n > 0 && f[n-1].verb == 0 {
			f[n-1].text += text
		} else if text != "" {
			f = append(f, formatItem{text: text})
		}
	}
	for {
		text, rest, found := strings.Cut(s, "%")
		if literal(text); !found {
			return f, true
		}
		item, after, ok := specifier(rest)
		if !ok {
			return nil, false
		}
		s = after
		switch long, isShort := shorthands[item.verb]; {
		case item.verb == '%':
			literal("%")
		case isShort:
			items, _ := ParseFormat(long)
			f = append(f, items...)
		default:
			f = append(f, item)
		}
	}
}

// specifier parses the part after a percent sign.
func specifier(s string) (item formatItem, rest string, ok bool) {
	if s != "" && strings.IndexByte("-_0", s[0]) >= 0 {
		item.pad, s = s[0], s[1:]
	}
	if strings.HasPrefix(s, ".") {
		item.dot, s = true, s[1:]
	}
	if s != "" && strings.IndexByte("369", s[0]) >= 0 {
		item.digits, s = int(s[0]-'0'), s[1:]
	}
	if item.digits == 0 && !item.dot && strings.HasPrefix(s, ":z") {
		return formatItem{verb: 'z', dot: true}, s[2:], item.pad == 0
	}
	if s == "" {
		return item, "", false
	}
	item.verb = s[0]
	fraction := item.dot || item.digits > 0
	known := strings.IndexByte(DateVerbs+timeVerbs+ZoneVerbs, item.verb) >= 0 || shorthands[item.verb] != ""
	return item, s[1:], known && (!fraction || item.verb == 'f') && !(fraction && item.pad != 0)
}

// Needs reports whether the format contains at least one of the verbs.
func (f Format) Needs(verbs string) bool {
	for _, item := range f {
		if item.verb != 0 && strings.IndexByte(verbs, item.verb) >= 0 {
			return true
		}
	}
	return false
}

// Append writes a moment.
func (f Format) Append(dst []byte, t time.Time) []byte {
	for _, item := range f {
		dst = item.append(dst, t)
	}
	return dst
}

// append appends the item for a time. It covers the specifiers that package time formats; numberOf covers
// numbers.
func (item formatItem) append(dst []byte, t time.Time) []byte {
	switch item.verb {
	case 0:
		return append(dst, item.text...)
	case 'b', 'h':
		return t.AppendFormat(dst, "Jan")
	case 'B':
		return t.AppendFormat(dst, "January")
	case 'a':
		return t.AppendFormat(dst, "Mon")
	case 'A':
		return t.AppendFormat(dst, "Monday")
	case 'p':
		return t.AppendFormat(dst, "PM")
	case 'P':
		return t.AppendFormat(dst, "pm")
	case 'Z':
		if _, offset := t.Zone(); offset%60 != 0 {
			return t.AppendFormat(dst, "-07:00:00")
		}
		return t.AppendFormat(dst, "-07:00")
	case 'z':
		if item.dot {
			return t.AppendFormat(dst, "-07:00")
		}
		return t.AppendFormat(dst, "-0700")
	case 'f':
		return item.appendFraction(dst, t.Nanosecond())
	}
	value, width, pad := numberOf(item.verb, t)
	switch item.pad {
	case '-':
		width = 0
	case '_':
		pad = ' '
	case '0':
		pad = '0'
	}
	return appendPadded(dst, value, width, pad)
}

// appendFraction writes nanoseconds: of %.f no zeros that come in threes, of %f all nine.
func (item formatItem) appendFraction(dst []byte, nanos int) []byte {
	all := strconv.Itoa(1e9 + nanos)[1:]
	digits := item.digits
	if digits == 0 {
		digits = 9
		for item.dot && digits > 0 && strings.HasSuffix(all[:digits], "000") {
			digits -= 3
		}
		if digits == 0 {
			return dst
		}
	}
	if item.dot {
		dst = append(dst, '.')
	}
	return append(dst, all[:digits]...)
}

// numberOf returns the number of a specifier and its padding.
func numberOf(verb byte, t time.Time) (value, width int, pad byte) {
	isoYear, isoWeek := t.ISOWeek()
	weekday := int(t.Weekday())
	switch verb {
	case 'Y':
		return t.Year(), 4, '0'
	case 'C':
		return int(FloorDiv(int64(t.Year()), 100)), 2, '0'
	case 'y':
		return t.Year() - int(FloorDiv(int64(t.Year()), 100))*100, 2, '0'
	case 'q':
		return (int(t.Month()) + 2) / 3, 1, '0'
	case 'm':
		return int(t.Month()), 2, '0'
	case 'd':
		return t.Day(), 2, '0'
	case 'e':
		return t.Day(), 2, ' '
	case 'w':
		return weekday, 1, '0'
	case 'u':
		return (weekday+6)%7 + 1, 1, '0'
	case 'U':
		return (t.YearDay() + 6 - weekday) / 7, 2, '0'
	case 'W':
		return (t.YearDay() + 6 - (weekday+6)%7) / 7, 2, '0'
	case 'G':
		return isoYear, 4, '0'
	case 'g':
		return isoYear % 100, 2, '0'
	case 'V':
		return isoWeek, 2, '0'
	case 'j':
		return t.YearDay(), 3, '0'
	case 'H':
		return t.Hour(), 2, '0'
	case 'k':
		return t.Hour(), 2, ' '
	case 'I':
		return (t.Hour()+11)%12 + 1, 2, '0'
	case 'l':
		return (t.Hour()+11)%12 + 1, 2, ' '
	case 'M':
		return t.Minute(), 2, '0'
	case 'S':
		return t.Second(), 2, '0'
	}
	return int(t.Unix()), 0, '0' // 's'
}

// appendPadded appends a padded number. A year of more than four digits gets a sign.
func appendPadded(dst []byte, value, width int, pad byte) []byte {
	digits := strconv.Itoa(max(value, -value))
	if value < 0 {
		dst = append(dst, '-')
	} else if width == 4 && len(digits) > 4 {
		dst = append(dst, '+')
	}
	for i := len(digits); i < width; i++ {
		dst = append(dst, pad)
	}
	return append(dst, digits...)
}

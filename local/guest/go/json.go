package guest

import (
	"strconv"
	"strings"
)

// This file implements the small part of JSON that the calls of the service need. A complete JSON
// package would double the size of a module.

// textsOf returns the string members of an object. The service nests no objects in them, and its
// escapes are those of Go.
func textsOf(object string) map[string]string {
	texts := map[string]string{}
	name, isValue := "", false
	for object != "" {
		switch object[0] {
		case '"':
			quoted, err := strconv.QuotedPrefix(object)
			if err != nil {
				return texts
			}
			object = object[len(quoted):]
			text, err := strconv.Unquote(quoted)
			if err != nil {
				return texts
			}
			if isValue {
				texts[name] = text
			}
			name = text
			continue
		case ':':
			isValue = true
		case ',':
			isValue = false
		}
		object = object[1:]
	}
	return texts
}

// failure returns the object with which a function reports that a whole batch failed.
func failure(kind, message string) []byte {
	return []byte(`{"error_type":` + quote(kind) + `,"message":` + quote(message) + `}`)
}

// quote returns a text as a JSON string.
func quote(text string) string {
	const digits = "0123456789abcdef"
	var out strings.Builder
	out.WriteByte('"')
	for _, r := range strings.ToValidUTF8(text, "\ufffd") {
		switch {
		case r == '"' || r == '\\':
			out.WriteByte('\\')
			out.WriteRune(r)
		case r < ' ':
			out.WriteString(`\u00`)
			out.WriteByte(digits[r>>4])
			out.WriteByte(digits[r&15])
		default:
			out.WriteRune(r)
		}
	}
	out.WriteByte('"')
	return out.String()
}

package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"tiltyard/shared/protocol"
)

// maxJSONDepth bounds the nesting of a body.
const maxJSONDepth = 64

// unmarshal decodes a JSON object into a request. It is stricter than encoding/json where that
// hides mistakes (duplicate keys, invalid UTF-8, deep nesting), and more lenient where clients
// differ: 10.0 is as good an integer as 10. Errors name the field.
func unmarshal(data []byte, into any) error {
	if !utf8.Valid(data) {
		return protocol.Errorf(protocol.InvalidInput, "body is not valid UTF-8")
	}
	if err := checkSyntax(data); err != nil {
		return err
	}
	n := normalizer{in: data, out: make([]byte, 0, len(data))}
	if err := n.run(); err != nil {
		return err
	}
	if err := json.Unmarshal(n.out, into); err != nil {
		return explainJSON(err)
	}
	return nil
}

func checkSyntax(data []byte) error {
	if !json.Valid(data) {
		var syntax *json.SyntaxError
		if err := json.Unmarshal(data, new(json.RawMessage)); errors.As(err, &syntax) {
			return protocol.Errorf(protocol.InvalidInput, "body is not valid JSON: %v at byte %d", syntax, syntax.Offset)
		}
		return protocol.Errorf(protocol.InvalidInput, "body is not valid JSON")
	}
	if !bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte("{")) {
		return protocol.Errorf(protocol.InvalidInput, "body must be a JSON object")
	}
	return nil
}

// normalizer copies valid JSON. It refuses deep nesting and duplicate keys, and writes integral
// numbers as integers, because encoding/json accepts nothing else for integer fields.
type normalizer struct {
	in, out []byte
	pos     int
	open    []map[string]bool // keys seen in each open object; nil for an array
}

func (n *normalizer) run() error {
	expectKey := false
	for n.pos < len(n.in) {
		c := n.in[n.pos]
		switch {
		case c == '{' || c == '[':
			if err := n.push(c == '{'); err != nil {
				return err
			}
			expectKey = c == '{'
		case c == '}' || c == ']':
			n.open = n.open[:len(n.open)-1]
		case c == ',':
			expectKey = n.open[len(n.open)-1] != nil
		case c == '"':
			text := n.text()
			if expectKey {
				if err := n.key(text); err != nil {
					return err
				}
				expectKey = false
			}
			n.out = append(n.out, text...)
			continue
		case c == '-' || '0' <= c && c <= '9':
			n.number()
			continue
		}
		n.out = append(n.out, c)
		n.pos++
	}
	return nil
}

func (n *normalizer) push(object bool) error {
	if len(n.open) == maxJSONDepth {
		return protocol.Errorf(protocol.InvalidInput, "body is nested deeper than %d levels", maxJSONDepth)
	}
	var keys map[string]bool
	if object {
		keys = map[string]bool{}
	}
	n.open = append(n.open, keys)
	return nil
}

// text returns the string literal at pos, with its quotes, and moves behind it.
func (n *normalizer) text() []byte {
	start := n.pos
	for n.pos++; n.in[n.pos] != '"'; n.pos++ {
		if n.in[n.pos] == '\\' {
			n.pos++
		}
	}
	n.pos++
	return n.in[start:n.pos]
}

func (n *normalizer) key(literal []byte) error {
	var key string
	if err := json.Unmarshal(literal, &key); err != nil {
		return protocol.Errorf(protocol.InvalidInput, "body is not valid JSON")
	}
	keys := n.open[len(n.open)-1]
	if keys[key] {
		return protocol.Errorf(protocol.InvalidInput, "body holds the field %.80q twice", key)
	}
	keys[key] = true
	return nil
}

func (n *normalizer) number() {
	start := n.pos
	for n.pos < len(n.in) && strings.IndexByte("+-.eE0123456789", n.in[n.pos]) >= 0 {
		n.pos++
	}
	n.out = append(n.out, integral(n.in[start:n.pos])...)
}

// integral rewrites 1.0 and 1e3 as 1 and 1000 and leaves all other numbers alone.
func integral(number []byte) []byte {
	const exact = 1 << 53 // larger float64 values are all integers, and not exact
	if !mayBeIntegral(number) {
		return number
	}
	f, err := strconv.ParseFloat(string(number), 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > exact || f == 0 && math.Signbit(f) {
		return number
	}
	return strconv.AppendInt(nil, int64(f), 10)
}

// mayBeIntegral is false for numbers that are integers already, and for those with a fraction and
// no exponent. Most numbers are of these two forms, and parsing the numbers of a vector twice would
// be slow.
func mayBeIntegral(number []byte) bool {
	point := bytes.IndexByte(number, '.')
	if bytes.IndexByte(number, 'e') >= 0 || bytes.IndexByte(number, 'E') >= 0 {
		return true
	}
	return point >= 0 && len(bytes.Trim(number[point+1:], "0")) == 0
}

// explainJSON turns an error of encoding/json into one that names the field and the expected type.
func explainJSON(err error) error {
	var known *protocol.Error
	if errors.As(err, &known) {
		return known
	}
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return protocol.Errorf(protocol.InvalidInput, "body is not valid: %w", err)
	}
	field := wireField(wrong.Field)
	if field == "" {
		field = "body"
	}
	return protocol.Errorf(protocol.InvalidInput, "%s must be %s, got %s", field, describeType(wrong.Type), wrong.Value)
}

// wireField drops the names of embedded Go structs, which are not on the wire, from the
// path of a field.
func wireField(path string) string {
	var parts []string
	for part := range strings.SplitSeq(path, ".") {
		if part != "" && !unicode.IsUpper(rune(part[0])) {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, ".")
}

// describeType returns the type of a field in the words of JSON.
func describeType(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return describeType(t.Elem())
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a string"
	case reflect.Float64:
		return "a number"
	case reflect.Int64:
		return "a 64-bit integer"
	case reflect.Slice:
		return "an array"
	case reflect.Uint8:
		return "a string" // enumerations
	case reflect.Struct, reflect.Map:
		return "an object"
	}
	return fmt.Sprintf("of another type (%s)", t.Kind())
}

package httpapi

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/queryapi"
)

// maxJSONDepth bounds the nesting of a body.
const maxJSONDepth = 64

// unmarshal decodes a JSON object into a request. It is stricter than encoding/json about mistakes
// (duplicate keys, invalid UTF-8, deep nesting), and more lenient about differences between
// clients: it accepts 10.0 as an integer. Errors name the field.
func unmarshal(data []byte, into any) error {
	if !utf8.Valid(data) {
		return protocol.Errorf(protocol.InvalidInput, "body is not valid UTF-8")
	}
	n, err := normalize(data, into)
	if err != nil {
		return cmp.Or(checkSyntax(data), err)
	}
	// The normalizer's output is valid JSON only if the body is, so encoding/json checks the syntax.
	err = json.Unmarshal(n.out, into)
	if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
		return cmp.Or(checkSyntax(data), explainJSON(err))
	}
	if err != nil {
		return explainJSON(err)
	}
	if n.hasVector {
		*into.(searching).SearchVector() = n.vector
	}
	return nil
}

// searching is a request with a vector in the field "vector" of its body.
type searching interface{ SearchVector() *queryapi.Vector }

// shortBody is the initial capacity for a body without its vector.
const shortBody = 512

// normalize runs a normalizer for a request. The vector of a search is nearly the whole body, so it is parsed while the
// body is copied, and not copied.
func normalize(data []byte, into any) (normalizer, error) {
	if _, ok := into.(searching); ok {
		n := normalizer{in: data, out: make([]byte, 0, min(len(data), shortBody)), takesVector: true}
		if err := n.run(); !errors.Is(err, errVectorTwice) {
			return n, err
		}
	}
	n := normalizer{in: data, out: make([]byte, 0, len(data))}
	return n, n.run()
}

// checkSyntax returns the error for malformed JSON, with its offset.
func checkSyntax(data []byte) error {
	if !json.Valid(data) {
		var syntax *json.SyntaxError
		if err := json.Unmarshal(data, new(json.RawMessage)); errors.As(err, &syntax) {
			return protocol.Errorf(protocol.InvalidInput, "body is not valid JSON: %v at byte %d", syntax, syntax.Offset)
		}
		return errSyntax
	}
	if !startsObject(data) {
		return errNoObject
	}
	return nil
}

func startsObject(data []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte("{"))
}

var (
	errSyntax   = protocol.Errorf(protocol.InvalidInput, "body is not valid JSON")
	errNoObject = protocol.Errorf(protocol.InvalidInput, "body must be a JSON object")
)

// normalizer copies JSON. It refuses deep nesting and duplicate keys, and writes integral numbers as integers, because
// encoding/json accepts only these for integer fields. It never turns invalid JSON into valid JSON.
type normalizer struct {
	in, out []byte
	pos     int
	open    []level  // the open objects and arrays
	keys    []string // of the open objects, from the outermost on

	takesVector bool // parse the field "vector" of the body, and write [] in its place
	hasVector   bool
	vector      queryapi.Vector
}

// A level is an open object or array.
type level struct {
	object bool
	first  int             // of its keys in the list of all
	seen   map[string]bool // its keys if they are many, or else nil
}

// fewKeys is the number of keys up to which a list is faster than a map.
const fewKeys = 24

// errVectorTwice means that the body has another spelling of the key of the vector. Package json accepts keys in any case,
// and the last one counts.
var errVectorTwice = errors.New("vector in two spellings")

// run copies the tokens of the input.
func (n *normalizer) run() error {
	if !startsObject(n.in) {
		return errNoObject
	}
	expectKey := false
	for n.pos < len(n.in) {
		c := n.in[n.pos]
		switch {
		case c == '{' || c == '[':
			if err := n.push(c == '{'); err != nil {
				return err
			}
			expectKey = c == '{'
		case (c == '}' || c == ']' || c == ',') && len(n.open) == 0:
			return errSyntax
		case c == '}' || c == ']':
			n.pop()
			expectKey = false // of an empty object
		case c == ',':
			expectKey = n.open[len(n.open)-1].object
		case c == '"':
			text := n.text()
			if text == nil {
				return errSyntax
			}
			if expectKey {
				if err := n.key(text); err != nil {
					return err
				}
				expectKey = false
				n.out = append(n.out, text...)
				if string(text) == `"vector"` {
					n.takeVector()
				}
				continue
			}
			n.out = append(n.out, text...)
			continue
		case c == '-' || '0' <= c && c <= '9':
			if !n.number() {
				return errSyntax
			}
			continue
		}
		n.out = append(n.out, c)
		n.pos++
	}
	return nil
}

// push enters an object or an array.
func (n *normalizer) push(object bool) error {
	if len(n.open) == maxJSONDepth {
		return protocol.Errorf(protocol.InvalidInput, "body is nested deeper than %d levels", maxJSONDepth)
	}
	n.open = append(n.open, level{object: object, first: len(n.keys)})
	return nil
}

// pop leaves an object or an array.
func (n *normalizer) pop() {
	last := len(n.open) - 1
	n.keys = n.keys[:n.open[last].first]
	n.open = n.open[:last]
}

// text returns the string literal at pos, with its quotes, and moves behind it. A literal without an end is nil.
func (n *normalizer) text() []byte {
	for at := n.pos + 1; at < len(n.in); at++ {
		switch n.in[at] {
		case '\\':
			at++
		case '"':
			text := n.in[n.pos : at+1]
			n.pos = at + 1
			return text
		}
	}
	return nil
}

// key checks that a key is new in its object.
func (n *normalizer) key(literal []byte) error {
	var key string
	if bytes.IndexByte(literal, '\\') < 0 {
		key = string(literal[1 : len(literal)-1])
	} else if err := json.Unmarshal(literal, &key); err != nil {
		return protocol.Errorf(protocol.InvalidInput, "body is not valid JSON")
	}
	if n.hasVector && len(n.open) == 1 && strings.EqualFold(key, "vector") && key != "vector" {
		return errVectorTwice
	}
	if !n.open[len(n.open)-1].add(key, n.keys) {
		return protocol.Errorf(protocol.InvalidInput, "body holds the field %.80q twice", key)
	}
	n.keys = append(n.keys, key)
	return nil
}

// add returns false if the object has the key. keys ends with the keys of the object so far.
func (l *level) add(key string, keys []string) bool {
	keys = keys[l.first:]
	if len(keys) < fewKeys {
		return !slices.Contains(keys, key)
	}
	if l.seen == nil {
		l.seen = make(map[string]bool, 2*fewKeys)
		for _, k := range keys {
			l.seen[k] = true
		}
	}
	if l.seen[key] {
		return false
	}
	l.seen[key] = true
	return true
}

// takeVector parses the value behind the key "vector", if it is one vector and the request has such a field.
func (n *normalizer) takeVector() {
	if !n.takesVector || n.hasVector || len(n.open) != 1 {
		return
	}
	at := n.pos
	for ; at < len(n.in) && (n.in[at] == ':' || isSpace(n.in[at])); at++ {
	}
	if at == len(n.in) || n.in[at] != '[' && n.in[at] != '{' {
		return
	}
	vector, length := queryapi.ReadVector(n.in[at:])
	if length == 0 {
		n.out = slices.Grow(n.out, len(n.in)-n.pos) // several vectors are copied
		return
	}
	n.vector, n.hasVector = vector, true
	n.out = append(append(n.out, n.in[n.pos:at]...), "[]"...)
	n.pos = at + length
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

// number copies the number at pos and advances. It returns false if there is no number.
func (n *normalizer) number() bool {
	number, integral := scanNumber(n.in[n.pos:])
	if number == nil {
		return false
	}
	n.pos += len(number)
	if integral {
		number = integer(number)
	}
	n.out = append(n.out, number...)
	return true
}

// scanNumber returns the number that data begins with, or nil if there is none. mayBeIntegral is false for integers, and
// for numbers with a fraction and no exponent. Most numbers have one of these two forms, and parsing the numbers of a
// vector twice would be slow.
//
//	number = ["-"] ("0" | digits without a leading 0) ["." digits] [("e" | "E") ["+" | "-"] digits]
func scanNumber(data []byte) (number []byte, mayBeIntegral bool) {
	at := 0
	digits := func() (count int) {
		for ; at < len(data) && '0' <= data[at] && data[at] <= '9'; at++ {
			count++
		}
		return count
	}
	if at < len(data) && data[at] == '-' {
		at++
	}
	first := at
	if count := digits(); count == 0 || count > 1 && data[first] == '0' {
		return nil, false
	}
	if at < len(data) && data[at] == '.' {
		at++
		from := at
		if digits() == 0 {
			return nil, false
		}
		mayBeIntegral = data[from] == '0' && len(bytes.Trim(data[from:at], "0")) == 0
	}
	if at < len(data) && data[at]|0x20 == 'e' {
		if at++; at < len(data) && (data[at] == '+' || data[at] == '-') {
			at++
		}
		if digits() == 0 {
			return nil, false
		}
		mayBeIntegral = true
	}
	if at < len(data) && strings.IndexByte("+-.eE0123456789", data[at]) >= 0 {
		return nil, false // not valid behind a number, but perhaps behind what is written instead
	}
	return data[:at], mayBeIntegral
}

// integer rewrites 1.0 and 1e3 as 1 and 1000, and returns all other numbers unchanged.
func integer(number []byte) []byte {
	const exact = 1 << 53 // larger float64 values are all integers, and not exact
	f, err := strconv.ParseFloat(string(number), 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > exact || f == 0 && math.Signbit(f) {
		return number
	}
	return strconv.AppendInt(nil, int64(f), 10)
}

// explainJSON turns an error of encoding/json into an error that names the field and the expected
// type.
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

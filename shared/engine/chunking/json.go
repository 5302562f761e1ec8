package chunking

import (
	"encoding/json"
	"errors"
	"iter"
	"strings"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
)

// jsonRows returns each item of an array in a JSON text as a piece, in JSON. The path of the array has the
// member names that lead to it, separated by dots, such as order.items; it is empty if the whole text is
// the array. The first of duplicate names counts. A text that is not JSON, or without an array at the path,
// has no pieces.
var jsonRows = &Function{
	Name:   "json_rows",
	Params: []Param{{Name: pathField, Type: arrow.BinaryTypes.String, Optional: true, Default: ""}},
	Fields: pieceFields,
	new: func(args []any) (cutter, error) {
		var path []string
		if text := args[0].(string); text != "" {
			path = strings.Split(text, ".")
		}
		for _, name := range path {
			if name == "" {
				return nil, errors.New("path has an empty name; it is names with dots between them")
			}
		}
		return func(text string) iter.Seq[span] { return items(text, path) }, nil
	},
}

// items returns the places of the items of an array.
func items(text string, path []string) iter.Seq[span] {
	return func(yield func(span) bool) {
		if !json.Valid(unsafe.Slice(unsafe.StringData(text), len(text))) { // without a copy, because Valid only reads the bytes
			return
		}
		at := jsonText(text).space(0)
		for _, name := range path {
			if at = jsonText(text).member(at, name); at < 0 {
				return
			}
		}
		if text[at] != '[' {
			return
		}
		for at = jsonText(text).space(at + 1); text[at] != ']'; {
			end := jsonText(text).skip(at)
			if !yield(span{start: at, end: end}) {
				return
			}
			if at = jsonText(text).space(end); text[at] == ',' {
				at = jsonText(text).space(at + 1)
			}
		}
	}
}

// A jsonText is a valid JSON text. Its methods take and return byte offsets in it.
type jsonText string

// space returns the offset after white space.
func (t jsonText) space(at int) int {
	for at < len(t) && strings.IndexByte(" \t\r\n", t[at]) >= 0 {
		at++
	}
	return at
}

// member returns the offset of the value with the given name in the object at offset at, or -1 if
// there is none.
func (t jsonText) member(at int, name string) int {
	if t[at] != '{' {
		return -1
	}
	for at = t.space(at + 1); t[at] != '}'; {
		end := t.skip(at)
		key := string(t[at:end])
		at = t.space(t.space(end) + 1) // behind the colon
		if isName(key, name) {
			return at
		}
		if at = t.space(t.skip(at)); t[at] == ',' {
			at = t.space(at + 1)
		}
	}
	return -1
}

// isName reports whether a string in JSON is a name.
func isName(quoted, name string) bool {
	if !strings.Contains(quoted, `\`) {
		return quoted[1:len(quoted)-1] == name
	}
	var text string
	return len(quoted) <= maxQuoted(name) && json.Unmarshal([]byte(quoted), &text) == nil && text == name
}

// maxQuoted returns the maximum length of a name in JSON: an escaped byte takes six.
func maxQuoted(name string) int { return 6*len(name) + len(`""`) }

// skip returns the offset after the value at an offset.
func (t jsonText) skip(at int) int {
	for depth := 0; ; {
		switch t[at] {
		case '"':
			for at++; t[at] != '"'; at++ {
				if t[at] == '\\' {
					at++
				}
			}
			at++
		case '{', '[':
			depth++
			at++
		case '}', ']':
			depth--
			at++
		case ',', ':', ' ', '\t', '\r', '\n':
			at++
		default: // a number or a word
			for at < len(t) && strings.IndexByte(",:]} \t\r\n", t[at]) < 0 {
				at++
			}
		}
		if depth == 0 {
			return at
		}
	}
}

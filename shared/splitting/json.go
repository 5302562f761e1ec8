package splitting

import (
	"encoding/json"
	"errors"
	"iter"
	"strings"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
)

// jsonRows makes a piece of each item of an array of a JSON text, in JSON. The path to the array has the
// names of the objects around it with dots between them, such as order.items; it is empty for a text
// that is the array. Of a name that an object has twice, the first counts. A text that is not JSON, or
// has no array there, gives no piece.
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
		if !json.Valid(unsafe.Slice(unsafe.StringData(text), len(text))) { // not a copy: it only reads them
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

// A jsonText is valid JSON. Its methods take places within it.
type jsonText string

// space returns the place behind white space.
func (t jsonText) space(at int) int {
	for at < len(t) && strings.IndexByte(" \t\r\n", t[at]) >= 0 {
		at++
	}
	return at
}

// member returns the place of the value of a name in the object that begins at a place; -1 when there
// is none.
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

// maxQuoted is how long a name is in JSON at most: an escaped byte takes six.
func maxQuoted(name string) int { return 6*len(name) + len(`""`) }

// skip returns the place behind the value that begins at a place.
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

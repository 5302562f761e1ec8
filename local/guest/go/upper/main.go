// Command upper is an example function for Tiltyard: it converts a text to upper case. A null has
// no output; the text "fail" fails its row, and the text "panic" causes a panic.
package main

import (
	"errors"
	"strings"

	guest "tiltyard/local/guest/go"
)

func init() { //nolint:gochecknoinits // a module has no other beginning
	guest.Scalar(func(in guest.Batch, out *guest.Strings) {
		for i := range in.Rows {
			text := in.Columns[0]
			switch {
			case text.IsNull(i):
				out.Null()
			case text.String(i) == "fail":
				out.Fail(errors.New("the text asks for it"))
			case text.String(i) == "panic":
				panic("the text asks for it")
			default:
				out.Append(strings.ToUpper(text.String(i)))
			}
		}
	})
}

func main() {}

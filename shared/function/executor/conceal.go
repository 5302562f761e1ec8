package executor

import (
	"maps"
	"slices"
	"unicode/utf8"

	"tiltyard/shared/function"
)

// The most bytes of the type and of the message of a failure, and of what the one line of an error quotes.
const (
	maxType    = 200
	maxMessage = 4 << 10
	maxLine    = 400
)

// concealer returns what hides the values of variables in texts. Some of them are those of secrets; which ones
// is not known here.
func concealer(environment map[string]string) *function.Concealer {
	return function.NewConcealer(slices.Collect(maps.Values(environment))...)
}

// cut shortens a text to a number of bytes, between characters.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}

package executor

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// The most bytes of the type and of the message of a failure, and of what the one line of an error quotes.
const (
	maxType    = 200
	maxMessage = 4 << 10
	maxLine    = 400
)

// concealer returns a function that replaces the values of variables in a text. Some of them are those of
// secrets; which ones is not known here.
func concealer(environment map[string]string) func(text string) string {
	var values []string
	for _, value := range environment {
		if value != "" {
			values = append(values, value)
		}
	}
	slices.SortFunc(values, func(a, b string) int { return len(b) - len(a) }) // one may contain another
	pairs := make([]string, 0, 2*len(values))
	for _, value := range values {
		pairs = append(pairs, value, "***")
	}
	return strings.NewReplacer(pairs...).Replace
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

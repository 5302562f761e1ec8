package executor

import (
	"maps"
	"slices"
	"unicode/utf8"

	"tiltyard/shared/engine/udf"
)

// Maximal lengths in bytes of the type and message of a failure, and of the quoted line of an error.
const (
	maxType    = 200
	maxMessage = 4 << 10
	maxLine    = 400
)

// concealer returns a concealer of the values of all variables, because it cannot distinguish the secret
// ones.
func concealer(environment map[string]string) *udf.Concealer {
	return udf.NewConcealer(slices.Collect(maps.Values(environment))...)
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

package fulltext

import (
	_ "embed"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// lowered returns a word in lower case, character by character: a sigma at the end of a
// word is no other than those before.
func lowered(word string) string {
	if !strings.Contains(word, "İ") {
		return strings.ToLower(word)
	}
	// The one character that becomes two, which Go knows only of Turkish.
	var b strings.Builder
	for _, r := range word {
		if r == 'İ' {
			b.WriteString("i\u0307")
		} else {
			b.WriteRune(unicode.ToLower(r))
		}
	}
	return b.String()
}

// foldText lists what characters become: a line for each result, a tab, and the
// characters as hexadecimal numbers. It is what remains in ASCII when they are decomposed
// (NFKD) and letters such as ß and ø are written in others.
//
//go:embed fold.txt
var foldText string

var foldTable = sync.OnceValue(func() map[rune]string {
	table := make(map[rune]string, 2200)
	for line := range strings.Lines(foldText) {
		ascii, codes, _ := strings.Cut(strings.TrimRight(line, "\n"), "\t")
		for code := range strings.FieldsSeq(codes) {
			if r, err := strconv.ParseUint(code, 16, 32); err == nil {
				table[rune(r)] = ascii
			}
		}
	}
	return table
})

// folded returns a word with its characters in ASCII, those that have a form there.
func folded(word string) string {
	if isASCII(word) {
		return word
	}
	table := foldTable()
	var b strings.Builder
	for _, r := range word {
		if ascii, ok := table[r]; ok && r >= utf8.RuneSelf {
			b.WriteString(ascii)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

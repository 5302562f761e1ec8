package fulltext

import (
	_ "embed"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// lowered returns a word in lower case, character by character. A sigma at the end of a
// word is treated like any other sigma.
func lowered(word string) string {
	if !strings.Contains(word, "İ") {
		return strings.ToLower(word)
	}
	// This is the only character whose lower case has two characters. Go's strings package maps it only for
	// Turkish.
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

// foldText maps characters to ASCII. A line has the replacement, a tab, and the characters it replaces, as
// hexadecimal numbers. The result is the ASCII part of the compatibility decomposition (NFKD); letters such
// as ß and ø have entries of their own. The script scripts/fixtures/fold.py generates the table from the
// output of native Lance for each character.
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

// folded replaces each character of a word that has an ASCII form by that form.
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

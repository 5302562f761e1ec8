package fulltext

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A splitter cuts a text into words. It calls yield with each word, a part of the text, and
// its position; yield returns false to stop.
type splitter func(text string, yield func(word string, position int) bool)

// simpleWords are the longest runs of letters and digits.
func simpleWords(text string, yield func(string, int) bool) {
	start, position := -1, 0
	for i := 0; i < len(text); {
		size, part := 1, asciiWord[text[i]] // nearly all that is read comes by here
		if text[i] >= utf8.RuneSelf {
			var r rune
			r, size = utf8.DecodeRuneInString(text[i:])
			part = alphanumeric(r)
		}
		switch {
		case part:
			if start < 0 {
				start = i
			}
		case start >= 0:
			if !yield(text[start:i], position) {
				return
			}
			start, position = -1, position+1
		}
		i += size
	}
	if start >= 0 {
		yield(text[start:], position)
	}
}

// asciiWord marks the ASCII characters that are alphanumeric.
var asciiWord = func() (table [256]bool) {
	for c := range utf8.RuneSelf {
		table[c] = alphanumeric(rune(c))
	}
	return table
}()

// Words returns the words of a text: the longest runs of letters and digits.
func Words(text string) []string {
	var words []string
	simpleWords(text, func(word string, _ int) bool {
		words = append(words, word)
		return true
	})
	return words
}

// spacedWords are the longest runs without ASCII white space.
func spacedWords(text string, yield func(string, int) bool) {
	runs(text, func(r rune) bool { return r != ' ' && (r < '\t' || r > '\r' || r == '\v') }, yield)
}

// runs yields the longest runs of characters that are part of a word.
func runs(text string, part func(rune) bool, yield func(string, int) bool) {
	start, position := -1, 0
	for i, r := range text {
		switch {
		case part(r):
			if start < 0 {
				start = i
			}
		case start >= 0:
			if !yield(text[start:i], position) {
				return
			}
			start, position = -1, position+1
		}
	}
	if start >= 0 {
		yield(text[start:], position)
	}
}

// wholeText yields the text itself, even if it is empty.
func wholeText(text string, yield func(string, int) bool) { yield(text, 0) }

// ngrams yields all runs of least to most characters, or only the runs at the beginning. They have no
// order, so all are at position 0.
func ngrams(least, most int, prefixOnly bool) splitter {
	return func(text string, yield func(string, int) bool) {
		ends := make([]int, 0, most+1) // of the characters from i on
		for i := range text {
			ends = ends[:0]
			for j := i; j < len(text) && len(ends) < most; {
				_, size := utf8.DecodeRuneInString(text[j:])
				j += size
				ends = append(ends, j)
			}
			if len(ends) < least {
				return
			}
			for _, end := range ends[least-1:] {
				if !yield(text[i:end], 0) {
					return
				}
			}
			if prefixOnly {
				return
			}
		}
	}
}

// codeWords cuts program text into names and operators. Names may be cut further.
type codeWords struct {
	operators        bool // signs are words
	splitIdentifiers bool
	splitOnNumerics  bool
	preserveOriginal bool
}

const operatorSigns = "!%&*+-/:<=>?^|~"

// operators of several signs, the longest first.
var operators = []string{
	">>>=", "<<=", ">>=", "&&=", "||=", "??=", "**=", "//=", "===", "!==", ">>>", "<=>",
	"::", "->", "=>", "==", "!=", "<=", ">=", "&&", "||", "++", "--", "+=", "-=", "*=", "/=", "%=",
	"&=", "|=", "^=", "<<", ">>", "**", "//", "??", ":=", "<-", "|>", "~=",
}

// split yields runs of name characters as names and, on request, operators of ASCII signs.
func (c codeWords) split(text string, yield func(string, int) bool) {
	position := 0
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		end := i + size
		switch {
		case nameCharacter(r):
			if end = strings.IndexFunc(text[i:], func(r rune) bool { return !nameCharacter(r) }); end < 0 {
				end = len(text)
			} else {
				end += i
			}
			next, more := c.name(text[i:end], position, yield)
			if !more {
				return
			}
			position = next
		case c.operators && r < utf8.RuneSelf && strings.IndexByte(operatorSigns, byte(r)) >= 0:
			end = i + operatorLength(text[i:])
			if !yield(text[i:end], position) {
				return
			}
			position++
		}
		i = end
	}
}

func nameCharacter(r rune) bool { return r == '_' || alphanumeric(r) }

func operatorLength(text string) int {
	for _, o := range operators {
		if strings.HasPrefix(text, o) {
			return len(o)
		}
	}
	return 1
}

// name yields a name and its parts, as the options select, and returns the position after
// it. The whole name has the position of its first part.
func (c codeWords) name(name string, position int, yield func(string, int) bool) (next int, more bool) {
	var parts []string
	if c.splitIdentifiers {
		parts = nameParts(name, c.splitOnNumerics)
	}
	if len(parts) <= 1 {
		return position + 1, yield(name, position)
	}
	if c.preserveOriginal && !yield(name, position) {
		return 0, false
	}
	for i, part := range parts {
		if !yield(part, position+i) {
			return 0, false
		}
	}
	return position + len(parts), true
}

// nameParts cuts a name at underscores, between lower and upper case, before the last of
// several capitals, and between digits and other characters: parseHTML2 is parse, HTML, 2.
func nameParts(name string, splitOnNumerics bool) []string {
	var parts []string
	for piece := range strings.SplitSeq(name, "_") {
		runes, start := []rune(piece), 0
		for i := 1; i < len(runes); i++ {
			if partsAt(runes, i, splitOnNumerics) {
				parts, start = append(parts, string(runes[start:i])), i
			}
		}
		if piece != "" {
			parts = append(parts, string(runes[start:]))
		}
	}
	return parts
}

// partsAt reports whether a name is cut before character i: between lower and upper case, before the last
// of several capitals, and between digits and other characters.
func partsAt(runes []rune, i int, splitOnNumerics bool) bool {
	before, at := runes[i-1], runes[i]
	digit := func(r rune) bool { return r >= '0' && r <= '9' }
	switch {
	case splitOnNumerics && digit(before) != digit(at):
		return true
	case unicode.IsLower(before) && unicode.IsUpper(at):
		return true
	}
	return unicode.IsUpper(before) && unicode.IsUpper(at) && i+1 < len(runes) && unicode.IsLower(runes[i+1])
}

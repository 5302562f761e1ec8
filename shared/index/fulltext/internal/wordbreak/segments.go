// Package wordbreak cuts texts at the boundaries of words, by the rules of Unicode (UAX
// #29, in Unicode 17) and, in scripts that are written without spaces, by dictionaries:
// Burmese, Chinese, Japanese, Khmer, Lao and Thai. [Segments] is its only function. It
// finds the boundaries that the Rust crate icu_segmenter 2.2.0, which native Lance uses,
// finds with its dictionaries, and repeats its errors: a word that is cut otherwise than in
// an index is not found.
package wordbreak

import (
	"iter"
	"unicode/utf8"
)

// Segments returns the parts of a text between word boundaries: words, but also white space and
// punctuation. Their concatenation is the text.
func Segments(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		c := cutter{text: text, table: properties()}
		for start := 0; start < len(text); {
			end := c.end(start)
			if !yield(text[start:end]) {
				return
			}
			start = end
		}
	}
}

// A cutter finds the boundaries of a text in order.
type cutter struct {
	text  string
	table *table
	ends  []int // of the words in the last run of complex characters
	used  int   // number of ends already returned
}

// at returns the property of the character at an offset, and the offset after it. The
// property is none at the end of the text.
func (c *cutter) at(offset int) (property, int) {
	if offset >= len(c.text) {
		return none, offset
	}
	if b := c.text[offset]; b < utf8.RuneSelf {
		return c.table.ascii[b], offset + 1
	}
	r, size := utf8.DecodeRuneInString(c.text[offset:])
	return c.table.of(r).property(), offset + size
}

// end returns the end of the segment that begins at start, by the rules of UAX #29.
func (c *cutter) end(start int) int {
	if c.used < len(c.ends) {
		c.used++
		return c.ends[c.used-1]
	}
	left, end := c.at(start)
	switch {
	case left.complex():
		return c.complexEnd(start)
	case left == lf || left == newline: // WB3a
		return end
	case left == cr: // WB3
		if right, behind := c.at(end); right == lf {
			return behind
		}
		return end
	}
	for last := left; ; { // left is the last character that matters to the rules, last the last character
		right, behind := c.at(end)
		switch {
		case right.in(ignored): // WB4
		case last == segmentSpace && right == segmentSpace: // WB3d
		case last == zwj && right.in(pictographs): // WB3c
			left = right
		case right.in(middles[left]) && c.bridged(&left, right, &behind): // WB6, WB7, WB7b, WB7c, WB11, WB12
			right = left
		case left == katakana && last == zwj && right == extendNumLet:
			return end // against WB13a, which the crate's tables do not have here
		case right.in(joined[left]): // WB5, WB7a, WB8 to WB10, WB13 to WB13b
			left = right
			if right == regionalIndicator {
				left = other // WB15, WB16: flags are pairs
			}
		default: // WB999, or the end of the text
			return end
		}
		last, end = right, behind
	}
}

// bridged reports whether a character in the middle joins the characters before and after
// it, as the period does in "3.14". If it does, it sets left to the property of the
// character after it, and behind to the offset after that.
func (c *cutter) bridged(left *property, middle property, behind *int) bool {
	right, after := c.at(*behind)
	for right.in(ignored) {
		right, after = c.at(after)
	}
	var wanted set
	switch {
	case left.in(letters) && middle.in(letterMiddles):
		wanted = letters
	case left.in(letters):
		wanted = setOf(hebrewLetter)
	default:
		wanted = setOf(numeric)
	}
	if !right.in(wanted) {
		return false
	}
	*left, *behind = right, after
	return true
}

// complexEnd returns the end of the first word in the run of complex characters that begins at start, and
// stores the ends of the following words. No other character, not even a combining mark, belongs to such a
// word.
func (c *cutter) complexEnd(start int) int {
	c.ends, c.used = c.ends[:0], 1
	script, _ := c.at(start)
	for offset := start; script.complex(); script, _ = c.at(offset) {
		end := c.sameEnd(offset)
		if script == complexOther {
			c.ends = append(c.ends, end)
		} else {
			c.ends = dictionaries[script]().ends(c.ends, c.table, c.text[offset:end], offset)
		}
		offset = end
	}
	return c.ends[0]
}

// sameEnd returns the end of the run of characters with the same property as that at start.
func (c *cutter) sameEnd(start int) int {
	same, end := c.at(start)
	for {
		next, behind := c.at(end)
		if next != same {
			return end
		}
		end = behind
	}
}

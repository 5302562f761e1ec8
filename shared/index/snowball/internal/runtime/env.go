// Package runtime holds the functions that generated stemmers call: an [Env] is a word under change with a
// cursor, and its methods are the tests and changes of the Snowball language, by the names that the generator writes.
package runtime

import (
	"math"
	"strings"
	"unicode/utf8"
)

// MaxInt and MinInt are the bounds of Snowball's numbers.
const (
	MaxInt = math.MaxInt32
	MinInt = math.MinInt32
)

// An Env is a word while its stem is looked for. Positions count bytes.
type Env struct {
	word          string
	Cursor        int
	Limit         int // the end, going forwards
	LimitBackward int // the end, going backwards
	Bra, Ket      int // the slice that is replaced
}

// NewEnv returns an Env for a word.
func NewEnv(word string) *Env {
	return &Env{word: word, Limit: len(word), Ket: len(word)}
}

// Current returns the word as it is now: in the end, the stem.
func (e *Env) Current() string { return e.word }

// SetCurrent starts on another word.
func (e *Env) SetCurrent(word string) {
	*e = Env{word: word, Limit: len(word), Ket: len(word)}
}

// SliceTo returns the slice.
func (e *Env) SliceTo() string { return e.word[e.Bra:e.Ket] }

// SliceFrom puts s in the place of the slice.
func (e *Env) SliceFrom(s string) {
	e.replace(e.Bra, e.Ket, s)
	e.Ket = e.Bra + len(s)
}

// SliceDel removes the slice.
func (e *Env) SliceDel() { e.SliceFrom("") }

// Insert puts s in the place of what lies between two positions, and moves the slice
// along with the text.
func (e *Env) Insert(bra, ket int, s string) {
	grown := e.replace(bra, ket, s)
	if bra <= e.Bra {
		e.Bra += grown
	}
	if bra <= e.Ket {
		e.Ket += grown
	}
}

// replace returns by how much the word has grown.
func (e *Env) replace(bra, ket int, s string) int {
	if bra < 0 || bra > ket || ket > len(e.word) {
		return 0 // of no word that the algorithms are made for
	}
	switch {
	case s == "" && ket == len(e.word):
		e.word = e.word[:bra] // the most frequent change costs nothing
	default:
		e.word = e.word[:bra] + s + e.word[ket:]
	}
	grown := len(s) - (ket - bra)
	e.Limit += grown
	if e.Cursor >= ket {
		e.Cursor += grown
	} else if e.Cursor > bra {
		e.Cursor = bra
	}
	return grown
}

// EqS passes s, if it comes next.
func (e *Env) EqS(s string) bool {
	if e.Cursor >= e.Limit || !strings.HasPrefix(e.word[e.Cursor:], s) {
		return false
	}
	e.Cursor += len(s)
	return true
}

// EqSB passes s backwards, if it comes before.
func (e *Env) EqSB(s string) bool {
	if e.Cursor-e.LimitBackward < len(s) || !strings.HasSuffix(e.word[:e.Cursor], s) {
		return false
	}
	e.Cursor -= len(s)
	return true
}

// NextChar passes a character.
func (e *Env) NextChar() {
	e.Cursor++
	for !e.between(e.Cursor) {
		e.Cursor++
	}
}

// PrevChar passes a character backwards.
func (e *Env) PrevChar() {
	e.Cursor--
	for !e.between(e.Cursor) {
		e.Cursor--
	}
}

// between reports whether a position is not within a character.
func (e *Env) between(at int) bool {
	return at <= 0 || at >= len(e.word) || utf8.RuneStart(e.word[at])
}

// Hop passes n characters, if there are so many.
func (e *Env) Hop(n int) bool {
	from := e.Cursor
	for ; n > 0; n-- {
		if e.Cursor >= e.Limit {
			e.Cursor = from
			return false
		}
		e.NextChar()
	}
	return true
}

// HopBack passes n characters backwards, if there are so many.
func (e *Env) HopBack(n int) bool {
	from := e.Cursor
	for ; n > 0; n-- {
		if e.Cursor <= e.LimitBackward {
			e.Cursor = from
			return false
		}
		e.PrevChar()
	}
	return true
}

// RuneCountInString is utf8.RuneCountInString: generated code imports no more than this
// package.
func RuneCountInString(s string) int { return utf8.RuneCountInString(s) }

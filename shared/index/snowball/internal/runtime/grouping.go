package runtime

import "unicode/utf8"

// A grouping is a set of characters from lowest to highest, as bits.
func inGrouping(r rune, bits []byte, lowest, highest int32) bool {
	return r >= lowest && r <= highest && bits[(r-lowest)>>3]&(1<<((r-lowest)&7)) != 0
}

// at returns the character at the cursor.
func (e *Env) at() rune {
	r, _ := utf8.DecodeRuneInString(e.word[e.Cursor:])
	return r
}

// step passes a character if it is in the grouping, or is not, as wanted.
func (e *Env) step(bits []byte, lowest, highest int32, want bool) bool {
	if e.Cursor >= e.Limit || inGrouping(e.at(), bits, lowest, highest) != want {
		return false
	}
	e.NextChar()
	return true
}

// stepBack is step, backwards.
func (e *Env) stepBack(bits []byte, lowest, highest int32, want bool) bool {
	if e.Cursor <= e.LimitBackward {
		return false
	}
	from := e.Cursor
	e.PrevChar()
	if inGrouping(e.at(), bits, lowest, highest) != want {
		e.Cursor = from
		return false
	}
	return true
}

// InGrouping passes a character of the grouping.
func (e *Env) InGrouping(bits []byte, lowest, highest int32) bool {
	return e.step(bits, lowest, highest, true)
}

// OutGrouping passes a character that is not in the grouping.
func (e *Env) OutGrouping(bits []byte, lowest, highest int32) bool {
	return e.step(bits, lowest, highest, false)
}

// InGroupingB is InGrouping, backwards.
func (e *Env) InGroupingB(bits []byte, lowest, highest int32) bool {
	return e.stepBack(bits, lowest, highest, true)
}

// OutGroupingB is OutGrouping, backwards.
func (e *Env) OutGroupingB(bits []byte, lowest, highest int32) bool {
	return e.stepBack(bits, lowest, highest, false)
}

// GoInGrouping goes to the next character that is not in the grouping.
func (e *Env) GoInGrouping(bits []byte, lowest, highest int32) bool {
	for e.step(bits, lowest, highest, true) {
	}
	return e.Cursor < e.Limit
}

// GoOutGrouping goes to the next character of the grouping.
func (e *Env) GoOutGrouping(bits []byte, lowest, highest int32) bool {
	for e.step(bits, lowest, highest, false) {
	}
	return e.Cursor < e.Limit
}

// GoInGroupingB is GoInGrouping, backwards.
func (e *Env) GoInGroupingB(bits []byte, lowest, highest int32) bool {
	for e.stepBack(bits, lowest, highest, true) {
	}
	return e.Cursor > e.LimitBackward
}

// GoOutGroupingB is GoOutGrouping, backwards.
func (e *Env) GoOutGroupingB(bits []byte, lowest, highest int32) bool {
	for e.stepBack(bits, lowest, highest, false) {
	}
	return e.Cursor > e.LimitBackward
}

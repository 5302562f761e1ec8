package runtime

// An Among is one of several endings or beginnings. They are sorted: those for use
// forwards as words are, those for use backwards by their last letters.
type Among struct {
	Str string
	A   int32 // the longest of the others that this one begins (or ends) with, or -1
	B   int32 // what tells it from the others in the algorithm
	F   AmongF
}

// AmongF is a further condition of an Among.
type AmongF func(env *Env, context any) bool

// FindAmong passes the longest of the given that comes next and returns its number, or 0.
func (e *Env) FindAmong(list []*Among, context any) int32 {
	return e.longest(list, context, e.word[e.Cursor:max(e.Limit, e.Cursor)], false)
}

// FindAmongB is FindAmong, backwards.
func (e *Env) FindAmongB(list []*Among, context any) int32 {
	return e.longest(list, context, e.word[min(e.LimitBackward, e.Cursor):e.Cursor], true)
}

// longest looks in text, from its beginning or backwards from its end.
func (e *Env) longest(list []*Among, context any, text string, backwards bool) int32 {
	from := e.Cursor
	last := lastNotAbove(list, text, backwards)
	for last >= 0 {
		among := list[last]
		n := len(among.Str)
		if shared(among.Str, text, backwards) == n {
			move := n
			if backwards {
				move = -n
			}
			e.Cursor = from + move
			if among.F == nil {
				return among.B
			}
			if among.F(e, context) {
				e.Cursor = from + move
				return among.B
			}
		}
		last = int(among.A)
	}
	return 0
}

// lastNotAbove returns the position of the last entry that is not sorted behind text, or
// -1. All entries that text begins with are that one, or are reached from it.
func lastNotAbove(list []*Among, text string, backwards bool) int {
	low, high := 0, len(list)
	for low < high {
		mid := int(uint(low+high) >> 1)
		if above(list[mid].Str, text, backwards) {
			high = mid
		} else {
			low = mid + 1
		}
	}
	return low - 1
}

// above reports whether s is sorted behind text.
func above(s, text string, backwards bool) bool {
	n := shared(s, text, backwards)
	switch {
	case n == len(s):
		return false
	case n == len(text):
		return true
	case backwards:
		return s[len(s)-1-n] > text[len(text)-1-n]
	}
	return s[n] > text[n]
}

// shared returns how many bytes two texts have in common from their beginnings, or from
// their ends.
func shared(s, text string, backwards bool) int {
	n := 0
	if backwards {
		for n < len(s) && n < len(text) && s[len(s)-1-n] == text[len(text)-1-n] {
			n++
		}
		return n
	}
	for n < len(s) && n < len(text) && s[n] == text[n] {
		n++
	}
	return n
}

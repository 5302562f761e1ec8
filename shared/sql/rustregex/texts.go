package rustregex

import (
	"slices"
	"unicode/utf8"
)

// A Need is a necessary condition of the texts that match a regular expression: they contain each of
// Pieces, meet each of All and, if Any is not empty, at least one of Any.
type Need struct {
	Pieces []string
	All    []*Need
	Any    []*Need
}

// Need returns a necessary condition of the matching texts, as far as native Lance determines it, or nil if
// there is none. pieces cuts a text into the pieces of an index.
func (n *Node) Need(pieces func(text string) []string) *Need {
	t := n.texts(pieces)
	if whole := oneOfTexts(pieces, t.all); whole != nil {
		return whole // it implies all conditions on parts
	}
	return both(t.need, both(oneOfTexts(pieces, t.begins), oneOfTexts(pieces, t.ends)))
}

// both returns the conjunction of two conditions, either of which may be nil.
func both(a, b *Need) *Need {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return &Need{All: []*Need{a, b}}
}

// oneOfTexts returns the condition that a text contains at least one of texts: nil if one of them has no
// pieces.
func oneOfTexts(pieces func(text string) []string, texts []string) *Need {
	var needs []*Need
	for _, text := range texts {
		need := needOf(pieces, text)
		if need == nil {
			return nil
		}
		needs = append(needs, need)
	}
	return oneOfNeeds(needs)
}

// oneOfNeeds returns the disjunction of conditions: nil if there are none or one of them is nil.
func oneOfNeeds(needs []*Need) *Need {
	switch {
	case len(needs) == 0 || slices.Contains(needs, nil):
		return nil
	case len(needs) == 1:
		return needs[0]
	}
	return &Need{Any: needs}
}

// needOf returns the condition that a text contains the given text, or nil if it has no pieces.
func needOf(pieces func(text string) []string, text string) *Need {
	if known := pieces(text); len(known) > 0 {
		return &Need{Pieces: known}
	}
	return nil
}

// A knownTexts describes the texts that match a part of a regular expression, in order to find the pieces
// that every match of the whole contains. Native Lance limits this analysis; the limits here are the same.
type knownTexts struct {
	all    []string // all matching texts; empty if unknown or too many
	begins []string // every match begins with one of these; empty if unknown
	ends   []string // likewise
	need   *Need    // condition that all matches meet; nil if none is known
}

const (
	maxTexts      = 16 // in each list
	maxTextsRunes = 32 // in each text
)

// texts describes the texts that match n, bottom-up.
func (n *Node) texts(pieces func(text string) []string) knownTexts {
	var t knownTexts
	switch n.Kind {
	case KindEmpty, KindLook, KindLiteral:
		just := []string{n.Text}
		t = knownTexts{all: just, begins: just, ends: just, need: needOf(pieces, n.Text)}
	case KindClass: // some character
	case KindRepeat:
		if n.min > 0 {
			t = n.Subs[0].texts(pieces)
			t.all = nil
		}
	case KindGroup:
		t = n.Subs[0].texts(pieces)
	case KindConcat:
		just := []string{""}
		t = knownTexts{all: just, begins: just, ends: just}
		for _, sub := range n.Subs {
			t = t.then(sub.texts(pieces), pieces)
			t.bound(pieces)
		}
	case KindAlternate:
		each := make([]knownTexts, len(n.Subs))
		for i, sub := range n.Subs {
			each[i] = sub.texts(pieces)
		}
		t = oneOf(each)
	}
	t.bound(pieces)
	return t
}

// then returns the description of a sequence of two parts.
func (t knownTexts) then(next knownTexts, pieces func(text string) []string) knownTexts {
	sequence := knownTexts{begins: t.begins, ends: next.ends, need: both(t.need, next.need)}
	if sequence.need == nil { // a piece may span the end of one part and the beginning of the next
		sequence.need = oneOfTexts(pieces, pairs(t.ends, next.begins))
	}
	if t.all != nil {
		if sequence.begins = t.all; next.begins != nil {
			sequence.begins = pairs(t.all, next.begins)
		}
	}
	if next.all != nil {
		if sequence.ends = next.all; t.ends != nil {
			sequence.ends = pairs(t.ends, next.all)
		}
	}
	if len(t.all)*len(next.all) <= maxTexts {
		sequence.all = pairs(t.all, next.all)
	}
	return sequence
}

// oneOf returns the description of several alternatives.
func oneOf(parts []knownTexts) knownTexts {
	union := func(list func(t knownTexts) []string) (all []string) {
		for _, t := range parts {
			if list(t) == nil {
				return nil
			}
			all = append(all, list(t)...)
		}
		return distinct(all)
	}
	needs := make([]*Need, len(parts))
	for i, t := range parts {
		needs[i] = t.need
	}
	return knownTexts{
		all:    union(func(t knownTexts) []string { return t.all }),
		begins: union(func(t knownTexts) []string { return t.begins }),
		ends:   union(func(t knownTexts) []string { return t.ends }),
		need:   oneOfNeeds(needs),
	}
}

// bound drops lists that are too long, but keeps the condition on their pieces. It shortens texts that are
// only prefixes or suffixes.
func (t *knownTexts) bound(pieces func(text string) []string) {
	forget := func(list *[]string) {
		t.need = both(t.need, oneOfTexts(pieces, *list))
		*list = nil
	}
	isLong := func(text string) bool { return utf8.RuneCountInString(text) > maxTextsRunes }
	if len(t.all) > maxTexts || slices.ContainsFunc(t.all, isLong) {
		forget(&t.all)
	}
	t.begins = shortened(t.begins, func(runes []rune) []rune { return runes[:maxTextsRunes] })
	if len(t.begins) > maxTexts {
		forget(&t.begins)
	}
	t.ends = shortened(t.ends, func(runes []rune) []rune { return runes[len(runes)-maxTextsRunes:] })
	if len(t.ends) > maxTexts {
		forget(&t.ends)
	}
}

// shortened cuts texts that are too long.
func shortened(texts []string, cut func(runes []rune) []rune) []string {
	if !slices.ContainsFunc(texts, func(text string) bool { return len(text) > maxTextsRunes }) {
		return texts
	}
	short := make([]string, len(texts))
	for i, text := range texts {
		short[i] = text
		if runes := []rune(text); len(runes) > maxTextsRunes {
			short[i] = string(cut(runes))
		}
	}
	return distinct(short)
}

// pairs returns all concatenations of a text of a with a text of b, or nil if either is unknown.
func pairs(a, b []string) []string {
	var all []string
	for _, x := range a {
		for _, y := range b {
			all = append(all, x+y)
		}
	}
	return distinct(all)
}

func distinct(texts []string) []string {
	slices.Sort(texts)
	return slices.Compact(texts)
}

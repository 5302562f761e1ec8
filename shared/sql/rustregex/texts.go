package rustregex

import (
	"slices"
	"unicode/utf8"
)

// A knownTexts describes the texts that match a part of a regular expression. It serves to
// decide whether an index of pieces of texts knows a piece of every text that matches the
// whole. Native Lance decides this with bounds, which are the same here.
type knownTexts struct {
	all    []string // all texts that match; none if they are unknown or too many
	begins []string // with one of which each text begins that matches; none if unknown
	ends   []string // likewise
	known  bool     // that the index knows a piece of each text that matches
}

const (
	maxTexts      = 16 // in each list
	maxTextsRunes = 32 // in each text
)

// NeedsKnown reports whether the index knows a piece of each text that matches, as far as
// native Lance can determine. known reports whether the index knows a piece of one text.
func (n *Node) NeedsKnown(known func(text string) bool) bool {
	t := n.texts(known)
	return t.known || knowsEach(known, t.all) || knowsEach(known, t.begins) || knowsEach(known, t.ends)
}

func knowsEach(known func(text string) bool, texts []string) bool {
	return len(texts) > 0 && !slices.ContainsFunc(texts, func(text string) bool { return !known(text) })
}

func (n *Node) texts(known func(text string) bool) knownTexts {
	var t knownTexts
	switch n.Kind {
	case KindEmpty, KindLook, KindLiteral:
		just := []string{n.Text}
		t = knownTexts{all: just, begins: just, ends: just, known: known(n.Text)}
	case KindClass: // some character
	case KindRepeat:
		if n.min > 0 {
			t = n.Subs[0].texts(known)
			t.all = nil
		}
	case KindGroup:
		t = n.Subs[0].texts(known)
	case KindConcat:
		just := []string{""}
		t = knownTexts{all: just, begins: just, ends: just}
		for _, sub := range n.Subs {
			t = t.then(sub.texts(known), known)
			t.bound(known)
		}
	case KindAlternate:
		each := make([]knownTexts, len(n.Subs))
		for i, sub := range n.Subs {
			each[i] = sub.texts(known)
		}
		t = oneOf(each)
	}
	t.bound(known)
	return t
}

// then returns the description of a sequence of two parts.
func (t knownTexts) then(next knownTexts, known func(text string) bool) knownTexts {
	both := knownTexts{begins: t.begins, ends: next.ends, known: t.known || next.known}
	if !both.known { // a piece may be of the end of the one and the beginning of the other
		both.known = knowsEach(known, pairs(t.ends, next.begins))
	}
	if t.all != nil {
		if both.begins = t.all; next.begins != nil {
			both.begins = pairs(t.all, next.begins)
		}
	}
	if next.all != nil {
		if both.ends = next.all; t.ends != nil {
			both.ends = pairs(t.ends, next.all)
		}
	}
	if len(t.all)*len(next.all) <= maxTexts {
		both.all = pairs(t.all, next.all)
	}
	return both
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
	return knownTexts{
		all:    union(func(t knownTexts) []string { return t.all }),
		begins: union(func(t knownTexts) []string { return t.begins }),
		ends:   union(func(t knownTexts) []string { return t.ends }),
		known:  !slices.ContainsFunc(parts, func(t knownTexts) bool { return !t.known }),
	}
}

// bound drops lists that are too long, after a check whether the index knows their texts,
// and shortens texts that are only prefixes or suffixes.
func (t *knownTexts) bound(known func(text string) bool) {
	forget := func(list *[]string) {
		t.known = t.known || knowsEach(known, *list)
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

// pairs returns all combinations of a text of a and a text of b, or nil if either is
// unknown.
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

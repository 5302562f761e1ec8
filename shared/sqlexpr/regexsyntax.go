package sqlexpr

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// A regexNode is a regular expression as Rust's parser (crate regex-syntax) understands and
// simplifies it. What native Lance makes of an expression depends on that form. Go's parser
// has another: it takes common beginnings out of alternatives, as in a[bc] for ab|ac.
type regexNode struct {
	kind     regexKind
	text     string // of a literal
	class    []rune // first and last character of each range, in order
	look     string // how an assertion is written, with (?m) in front if it is one of lines
	min, max int    // of a repetition; max is negative if there is none
	isNoText bool   // a repetition of what only the empty text matches
	subs     []*regexNode
}

type regexKind uint8

const (
	regexEmpty regexKind = iota
	regexLiteral
	regexClass // never of one character, which is a literal; of none it matches nothing
	regexLook
	regexRepeat
	regexGroup // that captures
	regexConcat
	regexAlternate
)

var emptyRegex = &regexNode{kind: regexEmpty}

func regexText(s string) *regexNode {
	if s == "" {
		return emptyRegex
	}
	return &regexNode{kind: regexLiteral, text: s}
}

func regexOf(class []rune) *regexNode {
	if len(class) == 2 && class[0] == class[1] {
		return regexText(string(class[0]))
	}
	return &regexNode{kind: regexClass, class: class}
}

// isZeroWidth says whether nothing but the empty text can match.
func (n *regexNode) isZeroWidth() bool {
	switch n.kind {
	case regexEmpty, regexLook:
		return true
	case regexLiteral, regexClass:
		return false
	case regexRepeat:
		return n.isNoText
	}
	return !slices.ContainsFunc(n.subs, func(sub *regexNode) bool { return !sub.isZeroWidth() })
}

func (n *regexNode) repeat(least, most int) *regexNode {
	isNoText := n.isZeroWidth()
	if isNoText { // another time makes no difference
		least = min(least, 1)
		if most < 0 || most > 1 {
			most = 1
		}
	}
	switch {
	case most == 0:
		return emptyRegex
	case least == 1 && most == 1:
		return n
	}
	return &regexNode{kind: regexRepeat, min: least, max: most, isNoText: isNoText, subs: []*regexNode{n}}
}

// regexConcatOf joins expressions, and literals that follow each other.
func regexConcatOf(subs []*regexNode) *regexNode {
	var joined []*regexNode
	var literal strings.Builder
	flush := func() {
		if literal.Len() > 0 {
			joined = append(joined, regexText(literal.String()))
			literal.Reset()
		}
	}
	add := func(n *regexNode) {
		switch n.kind {
		case regexLiteral:
			literal.WriteString(n.text)
		case regexEmpty:
		default:
			flush()
			joined = append(joined, n)
		}
	}
	for _, n := range subs {
		if n.kind != regexConcat {
			add(n)
			continue
		}
		for _, sub := range n.subs {
			add(sub)
		}
	}
	flush()
	switch len(joined) {
	case 0:
		return emptyRegex
	case 1:
		return joined[0]
	}
	return &regexNode{kind: regexConcat, subs: joined}
}

// regexAlternateOf joins alternatives. Those that are all single characters or all classes
// become one class, and those that begin with the same parts share them.
func regexAlternateOf(subs []*regexNode) *regexNode {
	var all []*regexNode
	for _, n := range subs {
		if n.kind == regexAlternate {
			all = append(all, n.subs...)
		} else {
			all = append(all, n)
		}
	}
	if len(all) == 1 {
		return all[0]
	}
	is := func(kind regexKind) bool {
		return !slices.ContainsFunc(all, func(n *regexNode) bool { return n.kind != kind })
	}
	switch {
	case is(regexLiteral) && !slices.ContainsFunc(all, func(n *regexNode) bool { return utf8.RuneCountInString(n.text) != 1 }):
		var class []rune
		for _, n := range all {
			r, _ := utf8.DecodeRuneInString(n.text)
			class = append(class, r)
		}
		slices.Sort(class)
		var ranges []rune
		for _, r := range slices.Compact(class) {
			ranges = append(ranges, r, r)
		}
		return regexOf(joinRanges(ranges, nil))
	case is(regexClass):
		var class []rune
		for _, n := range all {
			class = joinRanges(class, n.class)
		}
		return regexOf(class)
	case is(regexConcat):
		if n := shareBeginning(all); n != nil {
			return n
		}
	}
	return &regexNode{kind: regexAlternate, subs: all}
}

// joinRanges joins two classes.
func joinRanges(a, b []rune) []rune {
	var joined []rune
	for len(a) > 0 || len(b) > 0 {
		if len(a) == 0 || len(b) > 0 && b[0] < a[0] {
			a, b = b, a
		}
		if last := len(joined) - 1; last > 0 && a[0] <= joined[last]+1 {
			joined[last] = max(joined[last], a[1])
		} else {
			joined = append(joined, a[0], a[1])
		}
		a = a[2:]
	}
	return joined
}

// shareBeginning takes out what all alternatives begin with, nil if that is nothing.
func shareBeginning(all []*regexNode) *regexNode {
	common := all[0].subs
	for _, n := range all[1:] {
		i := 0
		for i < len(common) && i < len(n.subs) && common[i].isSameAtom(n.subs[i]) {
			i++
		}
		common = common[:i]
	}
	if len(common) == 0 {
		return nil
	}
	rests := make([]*regexNode, len(all))
	for i, n := range all {
		rests[i] = regexConcatOf(n.subs[len(common):])
	}
	return regexConcatOf(append(slices.Clone(common), regexAlternateOf(rests)))
}

// isSameAtom says whether both are the same literal, class or assertion.
func (n *regexNode) isSameAtom(m *regexNode) bool {
	return n.kind == m.kind && (n.kind == regexLiteral || n.kind == regexClass || n.kind == regexLook) &&
		n.text == m.text && n.look == m.look && slices.Equal(n.class, m.class)
}

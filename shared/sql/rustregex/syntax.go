package rustregex

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// A Node is a regular expression in the form of Rust's parser (crate regex-syntax) after its
// simplifications, on which the rewrites of native Lance depend. Go's parser simplifies differently: it
// factors common prefixes out of alternatives, a[bc] for ab|ac.
type Node struct {
	Kind     Kind
	Text     string // of a literal
	class    []rune // first and last character of each range, in order
	Look     string // text of an assertion, with (?m) in front if it is a line assertion
	min, max int    // of a repetition; max is negative if unlimited
	isNoText bool   // a repetition of an expression that matches only the empty text
	Subs     []*Node
}

// A Kind is the outermost operation of a Node.
type Kind uint8

// The kinds of nodes.
const (
	KindEmpty Kind = iota
	KindLiteral
	KindClass // never of one character, which is a literal; an empty class matches nothing
	KindLook
	KindRepeat
	KindGroup // that captures
	KindConcat
	KindAlternate
)

var empty = &Node{Kind: KindEmpty}

// Literal returns the expression that matches exactly one text.
func Literal(s string) *Node {
	if s == "" {
		return empty
	}
	return &Node{Kind: KindLiteral, Text: s}
}

// Characters returns the expression that matches one character of some ranges. class holds the first and
// last character of each range, in order.
func Characters(class []rune) *Node {
	if len(class) == 2 && class[0] == class[1] {
		return Literal(string(class[0]))
	}
	return &Node{Kind: KindClass, class: class}
}

// isZeroWidth reports whether the expression can match the empty text only.
func (n *Node) isZeroWidth() bool {
	switch n.Kind {
	case KindEmpty, KindLook:
		return true
	case KindLiteral, KindClass:
		return false
	case KindRepeat:
		return n.isNoText
	}
	return !slices.ContainsFunc(n.Subs, func(sub *Node) bool { return !sub.isZeroWidth() })
}

// repeat returns a repetition of n. Repetitions of an expression of zero width are reduced to at most one,
// as in Rust.
func (n *Node) repeat(least, most int) *Node {
	isNoText := n.isZeroWidth()
	if isNoText { // another time makes no difference
		least = min(least, 1)
		if most < 0 || most > 1 {
			most = 1
		}
	}
	switch {
	case most == 0:
		return empty
	case least == 1 && most == 1:
		return n
	}
	return &Node{Kind: KindRepeat, min: least, max: most, isNoText: isNoText, Subs: []*Node{n}}
}

// Concat returns the sequence of expressions, with adjacent literals joined.
func Concat(subs []*Node) *Node {
	var joined []*Node
	var literal strings.Builder
	flush := func() {
		if literal.Len() > 0 {
			joined = append(joined, Literal(literal.String()))
			literal.Reset()
		}
	}
	add := func(n *Node) {
		switch n.Kind {
		case KindLiteral:
			literal.WriteString(n.Text)
		case KindEmpty:
		default:
			flush()
			joined = append(joined, n)
		}
	}
	for _, n := range subs {
		if n.Kind != KindConcat {
			add(n)
			continue
		}
		for _, sub := range n.Subs {
			add(sub)
		}
	}
	flush()
	switch len(joined) {
	case 0:
		return empty
	case 1:
		return joined[0]
	}
	return &Node{Kind: KindConcat, Subs: joined}
}

// alternate returns the alternation of expressions. Single characters and classes are merged to one class,
// and common prefixes are factored out.
func alternate(subs []*Node) *Node {
	var all []*Node
	for _, n := range subs {
		if n.Kind == KindAlternate {
			all = append(all, n.Subs...)
		} else {
			all = append(all, n)
		}
	}
	if len(all) == 1 {
		return all[0]
	}
	is := func(kind Kind) bool {
		return !slices.ContainsFunc(all, func(n *Node) bool { return n.Kind != kind })
	}
	switch {
	case is(KindLiteral) && !slices.ContainsFunc(all, func(n *Node) bool { return utf8.RuneCountInString(n.Text) != 1 }):
		var class []rune
		for _, n := range all {
			r, _ := utf8.DecodeRuneInString(n.Text)
			class = append(class, r)
		}
		slices.Sort(class)
		var ranges []rune
		for _, r := range slices.Compact(class) {
			ranges = append(ranges, r, r)
		}
		return Characters(joinRanges(ranges, nil))
	case is(KindClass):
		var class []rune
		for _, n := range all {
			class = joinRanges(class, n.class)
		}
		return Characters(class)
	case is(KindConcat):
		if n := shareBeginning(all); n != nil {
			return n
		}
	}
	return &Node{Kind: KindAlternate, Subs: all}
}

// joinRanges returns the union of two classes.
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

// shareBeginning factors out the common prefix of all alternatives. It returns nil if there
// is none.
func shareBeginning(all []*Node) *Node {
	common := all[0].Subs
	for _, n := range all[1:] {
		i := 0
		for i < len(common) && i < len(n.Subs) && common[i].isSameAtom(n.Subs[i]) {
			i++
		}
		common = common[:i]
	}
	if len(common) == 0 {
		return nil
	}
	rests := make([]*Node, len(all))
	for i, n := range all {
		rests[i] = Concat(n.Subs[len(common):])
	}
	return Concat(append(slices.Clone(common), alternate(rests)))
}

// isSameAtom reports whether both are the same literal, class or assertion.
func (n *Node) isSameAtom(m *Node) bool {
	return n.Kind == m.Kind && (n.Kind == KindLiteral || n.Kind == KindClass || n.Kind == KindLook) &&
		n.Text == m.Text && n.Look == m.Look && slices.Equal(n.class, m.class)
}

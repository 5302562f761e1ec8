package text

import (
	"bytes"
	"unicode"
	"unicode/utf8"

	"tiltyard/shared/sql/internal/column"
	"tiltyard/shared/sql/internal/compute"
	"tiltyard/shared/sql/internal/expr"
	"tiltyard/shared/sql/internal/meter"
)

// Like evaluates LIKE and ILIKE. A constant pattern was compiled by Bind.
func Like(m *meter.Meter, n *expr.Node, x, pattern column.Vec, rows column.Bitset) (column.Vec, error) {
	var out column.Vec
	var err error
	if p, ok := n.Ready.(*LikePattern); ok {
		out, err = compute.TextTest(m, x, rows, func(s []byte) (bool, error) { return p.match(m, s) })
	} else {
		patterns := map[string]*LikePattern{}
		out, err = compute.TextTest2(m, x, pattern, rows, func(s, pat []byte) (bool, error) {
			p := patterns[string(pat)]
			if p == nil {
				if len(patterns) == maxPatterns {
					clear(patterns)
				}
				if err := m.Take(likeBytes * len(pat)); err != nil {
					return false, err
				}
				p = NewLikePattern(pat, n.Fold)
				patterns[string(pat)] = p
			}
			return p.match(m, s)
		})
	}
	if err == nil && n.Not {
		out = compute.InvertBool(out)
	}
	return out, err
}

// likeBytes bounds the memory of a compiled pattern per byte.
const likeBytes = 96

// maxPatterns bounds the patterns that are kept when each row has its own.
const maxPatterns = 1000

// A LikePattern is a LIKE pattern cut at its percent signs, so that matching never backtracks. 'a%b_c%d'
// has the parts a, b_c and d: the text must begin with the first and end with the last, with the others in
// order between them. In a pattern % stands for any text, _ for any one character and \c for the character
// c; a final \ stands for itself.
type LikePattern struct {
	parts []likePart // the parts between percent signs; never empty
	fold  bool       // compare without regard to case
}

// A likePart is a piece of a pattern without percent signs.
type likePart struct {
	lit   []byte // the text, if any is nil
	runes []rune // the characters otherwise, folded if fold is set
	any   []bool // which characters match any character
}

// NewLikePattern cuts a pattern into parts. A part without wildcards in a pattern that
// minds case is compared as bytes.
func NewLikePattern(pattern []byte, fold bool) *LikePattern {
	p := &LikePattern{fold: fold}
	part := likePart{}
	wild := false
	end := func() {
		if !wild && !fold {
			part.lit, part.any = []byte(string(part.runes)), nil
		}
		p.parts = append(p.parts, part)
		part, wild = likePart{}, false
	}
	for i := 0; i < len(pattern); {
		r, size := utf8.DecodeRune(pattern[i:])
		i += size
		wildcard := r == '_'
		switch {
		case r == '%':
			end()
			continue
		case r == '\\' && i < len(pattern):
			r, size = utf8.DecodeRune(pattern[i:])
			i += size
		}
		if fold {
			r = foldRune(r)
		}
		wild = wild || wildcard
		part.runes = append(part.runes, r)
		part.any = append(part.any, wildcard)
	}
	end()
	return p
}

// match reports whether the pattern matches all of s: the first part at the beginning, the last at the end,
// and each other part at the earliest position after the previous one.
func (p *LikePattern) match(m *meter.Meter, s []byte) (bool, error) {
	n, ok := p.prefix(&p.parts[0], s)
	if !ok {
		return false, nil
	}
	s = s[n:]
	if len(p.parts) == 1 {
		return len(s) == 0, nil
	}
	last := len(p.parts) - 1
	for i := 1; i < last; i++ {
		n, err := p.find(m, &p.parts[i], s)
		if n < 0 || err != nil {
			return false, err
		}
		s = s[n:]
	}
	return p.suffix(&p.parts[last], s), nil
}

// prefix matches a part at the beginning of s and returns its length there.
func (p *LikePattern) prefix(part *likePart, s []byte) (n int, ok bool) {
	if part.any == nil {
		return len(part.lit), bytes.HasPrefix(s, part.lit)
	}
	for i, want := range part.runes {
		if n == len(s) {
			return 0, false
		}
		r, size := utf8.DecodeRune(s[n:])
		n += size
		if !part.any[i] && r != want && (!p.fold || foldRune(r) != want) {
			return 0, false
		}
	}
	return n, true
}

// find returns the end of the first match of a part in s, or -1.
func (p *LikePattern) find(m *meter.Meter, part *likePart, s []byte) (int, error) {
	if part.any == nil {
		if i := bytes.Index(s, part.lit); i >= 0 {
			return i + len(part.lit), nil
		}
		return -1, nil
	}
	for i := 0; ; {
		if n, ok := p.prefix(part, s[i:]); ok {
			return i + n, nil
		}
		if i == len(s) {
			return -1, nil
		}
		if err := m.Step(len(part.runes)); err != nil {
			return 0, err
		}
		_, size := utf8.DecodeRune(s[i:])
		i += size
	}
}

// suffix matches a part at the end of s.
func (p *LikePattern) suffix(part *likePart, s []byte) bool {
	if part.any == nil {
		return bytes.HasSuffix(s, part.lit)
	}
	at := len(s)
	for range part.runes {
		if at == 0 {
			return false
		}
		_, size := utf8.DecodeLastRune(s[:at])
		at -= size
	}
	_, ok := p.prefix(part, s[at:])
	return ok
}

// foldRune maps characters that differ only in case to the same character.
func foldRune(r rune) rune {
	if r < utf8.RuneSelf {
		if 'a' <= r && r <= 'z' {
			r -= 'a' - 'A'
		}
		return r
	}
	least := r
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		least = min(least, f)
	}
	return least
}

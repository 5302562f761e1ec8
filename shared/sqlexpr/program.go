package sqlexpr

import (
	"io"
	"regexp"
	"regexp/syntax"
	"sync"
	"unicode/utf8"
)

// A program is a compiled translation of a regular expression. Go matches in a time that is
// linear in the length of the text and in the size of the program. Texts for which that is
// long are read rune by rune, so that the matching ends when the context does.
type program struct {
	re   *regexp.Regexp
	size int // instructions, about
	// further is the program for matches behind the first rune of a text, the whole match
	// being group 1: the rune is what stands before the place from which on to search.
	further func() (*regexp.Regexp, error)
}

const (
	// maxProgram bounds the instructions of one program. Counted repetitions are written
	// out: a{1000} is a thousand of them.
	maxProgram = 1 << 15
	// programBytes is about what an instruction takes, and classBytes what a byte of a
	// pattern can take as a class of Unicode.
	programBytes = 256
	classBytes   = 64
	// directWork bounds the work of matching a text without a look at the context.
	directWork = 1 << 22
	// allMatches bounds the texts of which all matches are found at once.
	allMatches = 4 << 10
)

// compileProgram compiles for Go what is of no more than maxProgram instructions.
func compileProgram(src string) (*program, error) {
	size := 1
	if tree, err := syntax.Parse(src, syntax.Perl); err == nil {
		size = instructions(tree)
	}
	if size > maxProgram {
		return nil, errorf(ErrTooLarge, noPos, "regular expression of more than %d steps, when its repetitions are written out", maxProgram)
	}
	re, err := compileGo(src)
	if err != nil {
		return nil, err
	}
	return &program{re: re, size: size, further: sync.OnceValues(func() (*regexp.Regexp, error) {
		return compileGo(`\A(?s:.)(?s:.*?)(` + src + `)`)
	})}, nil
}

// instructions is about how many instructions a regular expression compiles to.
func instructions(tree *syntax.Regexp) int {
	const enough = 1 << 30
	size := 1
	for _, sub := range tree.Sub {
		size = min(size+instructions(sub)+1, enough)
	}
	switch tree.Op {
	case syntax.OpLiteral:
		size += len(tree.Rune)
	case syntax.OpCapture:
		size++
	case syntax.OpRepeat:
		size = min(size*max(tree.Max, tree.Min+1), enough)
	}
	return size
}

// isDirect says whether a text is matched without a look at the context, of which match
// counts the work.
func (p *program) isDirect(m *meter, s []byte) (bool, error) {
	if m == nil {
		return true, nil
	}
	if work := len(s) * p.size; work <= directWork {
		return true, m.step(work + 64)
	}
	return false, nil
}

// match reports whether the program matches somewhere in s.
func (p *program) match(m *meter, s []byte) (bool, error) {
	direct, err := p.isDirect(m, s)
	if direct || err != nil {
		return err == nil && p.re.Match(s), err
	}
	r := p.reader(m, s)
	ok := p.re.MatchReader(r)
	return ok, r.err
}

// find returns the first match, nil if there is none, as regexp does.
func (p *program) find(m *meter, s []byte) ([]int, error) {
	direct, err := p.isDirect(m, s)
	if err != nil {
		return nil, err
	}
	if direct {
		return p.re.FindSubmatchIndex(s), nil
	}
	r := p.reader(m, s)
	found := p.re.FindReaderSubmatchIndex(r)
	return found, r.err
}

// each calls f for so many matches, -1 being all, that do not overlap.
func (p *program) each(m *meter, s []byte, most int, f func(match []int) error) error {
	direct, err := p.isDirect(m, s)
	if err != nil {
		return err
	}
	if direct && len(s) <= allMatches {
		for _, match := range p.re.FindAllSubmatchIndex(s, most) {
			if err := f(match); err != nil {
				return err
			}
		}
		return nil
	}
	for at, before := 0, -1; at <= len(s) && most != 0; {
		match, err := p.findFrom(m, s, at)
		if match == nil || err != nil {
			return err
		}
		accepted := true
		if match[1] == at { // an empty match, which does not count right after another one
			accepted = match[0] != before
			_, size := utf8.DecodeRune(s[at:])
			at += max(size, 1)
		} else {
			at = match[1]
		}
		before = match[1]
		if accepted {
			most--
			if err := f(match); err != nil {
				return err
			}
		}
	}
	return nil
}

// findFrom is find from a place on, for which what is before it counts.
func (p *program) findFrom(m *meter, s []byte, at int) ([]int, error) {
	if at == 0 {
		return p.find(m, s)
	}
	further, err := p.further()
	if err != nil {
		return nil, err
	}
	_, size := utf8.DecodeLastRune(s[:at])
	r := p.reader(m, s[at-size:])
	found := further.FindReaderSubmatchIndex(r)
	if found == nil || r.err != nil {
		return nil, r.err
	}
	match := found[2:]
	for i := range match {
		if match[i] >= 0 {
			match[i] += at - size
		}
	}
	return match, nil
}

func (p *program) reader(m *meter, s []byte) *watchedText {
	return &watchedText{m: m, rest: s, work: p.size}
}

// A watchedText reads a text for a program, and ends early when the context does.
type watchedText struct {
	m    *meter
	rest []byte
	work int // for a rune
	read int
	err  error
}

// ReadRune makes the text an io.RuneReader.
func (t *watchedText) ReadRune() (rune, int, error) {
	if t.read%watchedRunes == 0 && t.err == nil {
		t.err = t.m.step(t.work * watchedRunes)
	}
	if len(t.rest) == 0 || t.err != nil {
		return 0, 0, io.EOF
	}
	t.read++
	r, size := utf8.DecodeRune(t.rest)
	t.rest = t.rest[size:]
	return r, size, nil
}

// watchedRunes are read between two steps.
const watchedRunes = 64

// A regexCache keeps expressions that were compiled for other rows, within bounds.
type regexCache struct {
	m     *meter
	all   map[string]*regex
	taken int
}

// maxCached bounds the bytes of a cache.
const maxCached = 4 << 20

func newRegexCache(m *meter) *regexCache { return &regexCache{m: m, all: map[string]*regex{}} }

// compile compiles an expression, unless it is that of another row.
func (c *regexCache) compile(pattern, flags []byte) (*regex, error) {
	if len(pattern)+len(flags) > maxRegex {
		return nil, tooLongRegex()
	}
	key := string(flags) + "\x00" + string(pattern)
	if re, ok := c.all[key]; ok {
		return re, nil
	}
	if err := c.m.step(lookWork); err != nil { // which compiling can take
		return nil, err
	}
	re, err := compileRegex(string(pattern), string(flags))
	if err != nil {
		return nil, err
	}
	if len(c.all) == maxPatterns || c.taken > maxCached {
		clear(c.all)
		c.m.give(c.taken)
		c.taken = 0
	}
	if err := c.m.take(re.bytes()); err != nil {
		return nil, err
	}
	c.taken += re.bytes()
	c.all[key] = re
	return re, nil
}

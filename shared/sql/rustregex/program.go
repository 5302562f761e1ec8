package rustregex

import (
	"io"
	"regexp"
	"regexp/syntax"
	"sync"
	"unicode/utf8"

	"tiltyard/shared/sql"
	"tiltyard/shared/sql/internal/meter"
)

// A Program is a compiled translation of a regular expression. Go matches in time that is
// linear in the length of the text and in the size of the program. If that can take long,
// the text is read rune by rune, so that matching stops when the context ends.
type Program struct {
	re   *regexp.Regexp
	size int // instructions, about
	// further is the program for searches that do not start at the beginning of a text. Its input begins
	// one rune before the start, for assertions that look back; the match is group 1.
	further func() (*regexp.Regexp, error)
}

const (
	// maxProgram bounds the instructions of one program. Counted repetitions are expanded: a{1000} is a
	// thousand of them.
	maxProgram = 1 << 15
	// programBytes is the approximate size of an instruction, and classBytes the greatest size of a Unicode
	// class per byte of a pattern.
	programBytes = 256
	classBytes   = 64
	// directWork bounds the work of matching a text without a check of the context.
	directWork = 1 << 22
	// allMatches bounds the size of texts for which all matches are found at once.
	allMatches = 4 << 10
)

// compileProgram compiles an expression of at most maxProgram instructions.
func compileProgram(src string) (*Program, error) {
	size := 1
	if tree, err := syntax.Parse(src, syntax.Perl); err == nil {
		size = instructions(tree)
	}
	if size > maxProgram {
		return nil, sql.Errorf(sql.ErrTooLarge, sql.NoPos, "regular expression of more than %d steps, when its repetitions are written out", maxProgram)
	}
	re, err := compileGo(src)
	if err != nil {
		return nil, err
	}
	return &Program{re: re, size: size, further: sync.OnceValues(func() (*regexp.Regexp, error) {
		return compileGo(`\A(?s:.)(?s:.*?)(` + src + `)`)
	})}, nil
}

// instructions estimates the number of instructions of a compiled regular expression.
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

// isDirect reports whether a text is short enough to be matched without checks of the context. If
// so, it counts the work of the match.
func (p *Program) isDirect(m *meter.Meter, s []byte) (bool, error) {
	if m == nil {
		return true, nil
	}
	if work := len(s) * p.size; work <= directWork {
		return true, m.Step(work + 64)
	}
	return false, nil
}

// match reports whether the program matches somewhere in s.
func (p *Program) match(m *meter.Meter, s []byte) (bool, error) {
	direct, err := p.isDirect(m, s)
	if direct || err != nil {
		return err == nil && p.re.Match(s), err
	}
	r := p.reader(m, s)
	ok := p.re.MatchReader(r)
	return ok, r.err
}

// find returns the first match in the form of package regexp, or nil.
func (p *Program) find(m *meter.Meter, s []byte) ([]int, error) {
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

// Each calls f for the first most non-overlapping matches; -1 means all.
func (p *Program) Each(m *meter.Meter, s []byte, most int, f func(match []int) error) error {
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
		if match[1] == at { // an empty match directly after another match does not count
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

// Expand appends a template with the captures of a match of s, in the form of package
// regexp.
func (p *Program) Expand(dst, template, s []byte, match []int) []byte {
	return p.re.Expand(dst, template, s, match)
}

// findFrom is find from a position on. The text before the position still counts for
// assertions.
func (p *Program) findFrom(m *meter.Meter, s []byte, at int) ([]int, error) {
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

func (p *Program) reader(m *meter.Meter, s []byte) *watchedText {
	return &watchedText{m: m, rest: s, work: p.size}
}

// A watchedText reads a text for a program, and stops when the context ends.
type watchedText struct {
	m    *meter.Meter
	rest []byte
	work int // for a rune
	read int
	err  error
}

// ReadRune makes the text an io.RuneReader.
func (t *watchedText) ReadRune() (rune, int, error) {
	if t.read%watchedRunes == 0 && t.err == nil {
		t.err = t.m.Step(t.work * watchedRunes)
	}
	if len(t.rest) == 0 || t.err != nil {
		return 0, 0, io.EOF
	}
	t.read++
	r, size := utf8.DecodeRune(t.rest)
	t.rest = t.rest[size:]
	return r, size, nil
}

// watchedRunes is the number of runes between two checks.
const watchedRunes = 64

// A Cache holds expressions compiled for earlier rows, within limits.
type Cache struct {
	m     *meter.Meter
	all   map[string]*Regexp
	taken int
}

// maxRegexes bounds the expressions of a cache, and maxCached their bytes.
const (
	maxRegexes = 1000
	maxCached  = 4 << 20
)

// NewCache returns a cache that takes the memory of expressions from a meter.
func NewCache(m *meter.Meter) *Cache { return &Cache{m: m, all: map[string]*Regexp{}} }

// Compile compiles an expression, or returns it from the cache.
func (c *Cache) Compile(pattern, flags []byte) (*Regexp, error) {
	if len(pattern)+len(flags) > MaxLength {
		return nil, tooLong()
	}
	key := string(flags) + "\x00" + string(pattern)
	if re, ok := c.all[key]; ok {
		return re, nil
	}
	if err := c.m.Step(meter.LookWork); err != nil { // which compiling can take
		return nil, err
	}
	re, err := Compile(string(pattern), string(flags))
	if err != nil {
		return nil, err
	}
	if len(c.all) == maxRegexes || c.taken > maxCached {
		clear(c.all)
		c.m.Give(c.taken)
		c.taken = 0
	}
	if err := c.m.Take(re.Bytes()); err != nil {
		return nil, err
	}
	c.taken += re.Bytes()
	c.all[key] = re
	return re, nil
}

// Package rustregex compiles and matches regular expressions in the dialect of Rust's crate regex, which
// native Lance uses. [Compile] translates an expression to Go's dialect; [Parse] returns it as a tree, from
// which package plan derives simpler tests and the texts to look up in an index.
package rustregex

import (
	"errors"
	"regexp"
	"regexp/syntax"
	"strings"
	"sync"
	"unicode/utf8"

	"tiltyard/shared/sql"
	"tiltyard/shared/sql/internal/meter"
)

// A Regexp is a regular expression in the dialect of Rust's crate regex, translated to Go's similar
// dialect. The differences are: \d, \w, \s and \b cover all of Unicode, \s includes the vertical tab, and
// braces and nested brackets are operators where Go takes plain characters.
//
//	Rust     text of ASCII       other text
//	\d       \d                  \p{Nd}
//	\w       \w                  letters, marks, digits, connectors of Unicode
//	\s       with \v             spaces of Unicode
//	\b       \b                  none
//	{        an error            unless it begins {n}, {n,} or {n,m}
//	[a[b]]   none, as are &&, -- and ~~ in a class
//
// There are two translations. One has short classes, and matches ASCII text, the most frequent case. The
// other has Unicode classes. It does not exist for expressions with word boundaries, because Go's word
// boundaries are ASCII-only.
type Regexp struct {
	ascii *Program
	wide  func() (*Program, error) // compiles on its first call
	text  int                      // length of the wide translation
}

// Size estimates the number of instructions of the expression.
func (re *Regexp) Size() int { return re.ascii.size }

// Bytes estimates the memory of the expression with both translations.
func (re *Regexp) Bytes() int { return 2*programBytes*re.ascii.size + classBytes*re.text }

func tooLong() error {
	return sql.Errorf(sql.ErrTooLarge, sql.NoPos, "regular expression of more than %d bytes", MaxLength)
}

// MaxLength is the maximal length of a pattern, and maxWide its maximal length with expanded Unicode
// classes. Matching takes time proportional to the length of the pattern.
const (
	MaxLength = 4096 // bytes
	maxWide   = 64 << 10
)

// Compile compiles a pattern with flags, such as "i". A pattern that Go cannot express is
// sql.ErrUnsupported.
func Compile(pattern, flags string) (*Regexp, error) {
	switch {
	case strings.Contains(flags, "g"):
		return nil, sql.Errorf(sql.ErrValue, sql.NoPos, "regular expression flag g")
	case len(pattern)+len(flags) > MaxLength:
		return nil, tooLong()
	}
	if flags != "" {
		pattern = "(?" + flags + ")" + pattern
	}
	t := translator{src: pattern}
	if err := t.run(); err != nil {
		return nil, err
	}
	ascii, err := compileProgram(t.ascii.String())
	if err != nil {
		return nil, err
	}
	wide := t.wide.String()
	return &Regexp{ascii: ascii, text: len(wide), wide: sync.OnceValues(func() (*Program, error) {
		if t.asciiOnly {
			return nil, sql.Errorf(sql.ErrUnsupported, sql.NoPos, "regular expression with word boundaries, or another part that is for ascii only, on text that is not ascii")
		}
		if len(wide) > maxWide {
			return nil, sql.Errorf(sql.ErrTooLarge, sql.NoPos, "regular expression with too many classes")
		}
		return compileProgram(wide)
	})}, nil
}

// compileGo compiles a Go expression. Its errors distinguish patterns that may be valid in Rust from
// patterns that are always invalid.
func compileGo(src string) (*regexp.Regexp, error) {
	re, err := regexp.Compile(src)
	if err == nil {
		return re, nil
	}
	kind := sql.ErrValue
	var se *syntax.Error
	if errors.As(err, &se) {
		switch se.Code {
		case syntax.ErrInvalidRepeatSize, syntax.ErrInvalidRepeatOp, syntax.ErrInvalidCharRange, syntax.ErrLarge,
			syntax.ErrNestingDepth, syntax.ErrInvalidNamedCapture:
			kind = sql.ErrUnsupported // Rust may support it
		}
	}
	return nil, sql.Errorf(kind, sql.NoPos, "regular expression: %s", wrongPart(err))
}

// wrongPart returns the reason of a syntax error without the pattern, which may be the
// value of a row.
func wrongPart(err error) string {
	var se *syntax.Error
	if errors.As(err, &se) {
		return se.Code.String()
	}
	return "it does not compile"
}

// Translation returns the translation to use for a text.
func (re *Regexp) Translation(s []byte) (*Program, error) {
	for _, c := range s {
		if c >= utf8.RuneSelf {
			return re.wide()
		}
	}
	return re.ascii, nil
}

// Match reports whether the expression matches somewhere in s.
func (re *Regexp) Match(m *meter.Meter, s []byte) (bool, error) {
	p, err := re.Translation(s)
	if err != nil {
		return false, err
	}
	return p.match(m, s)
}

// Groups returns the captures of the first match: those of the participating groups, or the whole match if
// the expression has no groups. It returns nil without a match.
func (re *Regexp) Groups(m *meter.Meter, s []byte) ([][]byte, error) {
	p, err := re.Translation(s)
	if err != nil {
		return nil, err
	}
	found, err := p.find(m, s)
	if found == nil || err != nil {
		return nil, err
	}
	if len(found) == 2 {
		return [][]byte{s[found[0]:found[1]]}, nil
	}
	taken := [][]byte{}
	for g := 2; g < len(found); g += 2 {
		if found[g] >= 0 {
			taken = append(taken, s[found[g]:found[g+1]])
		}
	}
	return taken, nil
}

// Unicode classes in the form that goes inside of brackets.
const (
	wideSpace    = `\t-\r \x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}`
	wideNonSpace = `\x00-\x08\x0e-\x1f!-\x{84}\x{86}-\x{9f}\x{a1}-\x{167f}\x{1681}-\x{1fff}\x{200b}-\x{2027}` +
		`\x{202a}-\x{202e}\x{2030}-\x{205e}\x{2060}-\x{2fff}\x{3001}-\x{10ffff}`
	// The Unicode property Alphabetic consists of letters, letter numbers, some marks, and the circled and
	// squared letters. Together with marks, digits, connectors and joiners it is \w.
	wideWord = `\pL\pM\p{Nd}\p{Nl}\p{Pc}\x{200c}\x{200d}\x{24b6}-\x{24e9}` +
		`\x{1f130}-\x{1f149}\x{1f150}-\x{1f169}\x{1f170}-\x{1f189}`
	asciiSpace    = `\t-\r `
	asciiNonSpace = `\x00-\x08\x0e-\x1f!-\x{10ffff}`
)

// A translator writes both translations of a pattern.
type translator struct {
	src         string
	pos         int
	ascii, wide strings.Builder
	asciiOnly   bool
}

func (t *translator) both(s string) {
	t.ascii.WriteString(s)
	t.wide.WriteString(s)
}

func (t *translator) unsupported(what string) error {
	return sql.Errorf(sql.ErrUnsupported, sql.NoPos, "regular expression with %s", what)
}

func (t *translator) invalid(what string) error {
	return sql.Errorf(sql.ErrValue, sql.NoPos, "regular expression: %s", what)
}

// run translates characters with a special meaning outside of classes, and copies the rest.
func (t *translator) run() error {
	for t.pos < len(t.src) {
		var err error
		switch t.src[t.pos] {
		case '\\':
			err = t.escape(false)
		case '[':
			err = t.class()
		case '(':
			err = t.group()
		case '{':
			err = t.repetition()
		default:
			t.both(t.src[t.pos : t.pos+1])
			t.pos++
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// escape translates a backslash and its operand.
func (t *translator) escape(inClass bool) error {
	if t.pos+1 >= len(t.src) {
		return t.invalid("a backslash is the last character")
	}
	c := t.src[t.pos+1]
	t.pos += 2
	switch {
	case strings.IndexByte("dDwWsS", c) >= 0:
		t.perlClass(c, inClass)
	case strings.IndexByte("afnrtv", c) >= 0, !inClass && (c == 'A' || c == 'z'):
		t.both(`\` + string(c))
	case (c == 'b' || c == 'B') && !inClass:
		if strings.HasPrefix(t.src[t.pos:], "{") {
			return t.unsupported(`\b{…}`)
		}
		t.ascii.WriteString(`\` + string(c))
		t.asciiOnly = true
	case c == 'x' || c == 'p' || c == 'P':
		t.both(`\` + string(c)) // the next character has no special meaning here, except for braces
		if strings.HasPrefix(t.src[t.pos:], "{") {
			end := strings.IndexByte(t.src[t.pos:], '}')
			if end < 0 {
				return t.invalid("a brace is not closed")
			}
			t.both(t.src[t.pos : t.pos+end+1])
			t.pos += end + 1
		}
	case c == '<' || c == '>' || c == 'u' || c == 'U':
		return t.unsupported(`\` + string(c))
	case c < utf8.RuneSelf && !isDigit(c) && !isLetter(c):
		t.both(`\` + string(c))
	default:
		return t.invalid(`unknown escape \` + string(c))
	}
	return nil
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// allDigits reports whether a text consists of digits and is not empty.
func allDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// perlClass translates \d, \w, \s and their opposites.
func (t *translator) perlClass(c byte, inClass bool) {
	ascii, wide, negated := "", "", false
	switch c {
	case 'd':
		ascii, wide = `\d`, `\p{Nd}`
	case 'D':
		ascii, wide = `\D`, `\P{Nd}`
	case 'w':
		ascii, wide = `\w`, wideWord
	case 'W':
		ascii, wide, negated = `\W`, wideWord, true
	case 's':
		ascii, wide = asciiSpace, wideSpace
	case 'S':
		ascii, wide = asciiNonSpace, wideNonSpace
	}
	switch {
	case !inClass && negated:
		wide = "[^" + wide + "]"
	case !inClass:
		wide = "[" + wide + "]"
	case negated:
		t.asciiOnly = true // [\W…] would need a class within a class
	}
	if !inClass {
		ascii = "[" + ascii + "]"
	}
	t.ascii.WriteString(ascii)
	t.wide.WriteString(wide)
}

// class translates a class in brackets.
func (t *translator) class() error {
	t.both("[")
	t.pos++
	if strings.HasPrefix(t.src[t.pos:], "^") {
		t.both("^")
		t.pos++
	}
	if strings.HasPrefix(t.src[t.pos:], "]") { // a bracket in first position is literal
		t.both(`\]`)
		t.pos++
	}
	for t.pos < len(t.src) {
		rest := t.src[t.pos:]
		switch {
		case rest[0] == ']':
			t.both("]")
			t.pos++
			return nil
		case rest[0] == '\\':
			if err := t.escape(true); err != nil {
				return err
			}
		case strings.HasPrefix(rest, "[:") && strings.Contains(rest, ":]"):
			end := strings.Index(rest, ":]") + 2
			t.both(rest[:end])
			t.pos += end
		case rest[0] == '[':
			return t.unsupported("a class within a class")
		case strings.HasPrefix(rest, "&&"), strings.HasPrefix(rest, "--"), strings.HasPrefix(rest, "~~"):
			return t.unsupported("the class operator " + rest[:2])
		default:
			t.both(rest[:1])
			t.pos++
		}
	}
	return t.invalid("a bracket is not closed")
}

// group translates an opening parenthesis with its flags.
func (t *translator) group() error {
	rest := t.src[t.pos:]
	if strings.HasPrefix(rest, "(?") && !strings.HasPrefix(rest, "(?P<") && !strings.HasPrefix(rest, "(?<") {
		flags := strings.TrimLeft(rest[2:], "imsU-")
		if flags != "" && strings.IndexByte("xuR", flags[0]) >= 0 {
			return t.unsupported("flag " + flags[:1])
		}
	}
	t.both("(")
	t.pos++
	return nil
}

// repetition checks that a brace begins {n}, {n,} or {n,m}. Any other brace is literal in Go and an error
// in Rust.
func (t *translator) repetition() error {
	end := strings.IndexByte(t.src[t.pos:], '}')
	if end < 0 {
		return t.invalid("a brace is not closed")
	}
	body := t.src[t.pos+1 : t.pos+end]
	low, high, ranged := strings.Cut(body, ",")
	if !allDigits(low) || ranged && high != "" && !allDigits(high) {
		return t.unsupported("a repetition other than {n}, {n,} and {n,m}")
	}
	t.both("{" + body + "}")
	t.pos += end + 1
	return nil
}

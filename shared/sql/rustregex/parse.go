package rustregex

import (
	"regexp/syntax"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"tiltyard/shared/sql"
)

// maxDepth is the maximal nesting of groups, as in Rust's parser.
const maxDepth = 250

// A parser parses patterns that Compile accepts. For other patterns its result is undefined.
type parser struct {
	src   string
	pos   int
	depth int
	flags flagSet
	known map[writtenClass][]rune
}

// A writtenClass is a character class in Go's syntax.
type writtenClass struct {
	pattern string
	flags   syntax.Flags
}

type flagSet struct{ fold, lines, dotAll bool }

// Parse parses a pattern with flags, such as "i".
func Parse(pattern, flags string) (*Node, error) {
	if len(pattern)+len(flags) > MaxLength {
		return nil, sql.Errorf(sql.ErrTooLarge, sql.NoPos, "regular expression of more than %d bytes", MaxLength)
	}
	p := parser{src: pattern, known: map[writtenClass][]rune{}}
	if err := p.setFlags(flags); err != nil {
		return nil, err
	}
	n, err := p.alternatives()
	if err == nil && p.pos < len(p.src) {
		err = p.invalid("a closing parenthesis has no opening one")
	}
	return n, err
}

func (p *parser) invalid(what string) error {
	return sql.Errorf(sql.ErrValue, sql.NoPos, "regular expression: %s", what)
}

// peek returns the next byte, or zero at the end.
func (p *parser) peek() byte {
	if p.pos == len(p.src) {
		return 0
	}
	return p.src[p.pos]
}

// take skips a text if it comes next, and reports whether it does.
func (p *parser) take(s string) bool {
	if !strings.HasPrefix(p.src[p.pos:], s) {
		return false
	}
	p.pos += len(s)
	return true
}

// alternatives parses an alternation up to the end of its group.
func (p *parser) alternatives() (*Node, error) {
	var all []*Node
	for {
		n, err := p.sequence()
		if err != nil {
			return nil, err
		}
		if all = append(all, n); !p.take("|") {
			return alternate(all), nil
		}
	}
}

// sequence reads up to the end, a bar or a closing parenthesis.
func (p *parser) sequence() (*Node, error) {
	var items []*Node
	for p.pos < len(p.src) && p.peek() != '|' && p.peek() != ')' {
		least, most, repeats, err := p.repetition()
		if err != nil {
			return nil, err
		}
		if repeats {
			if len(items) == 0 {
				return nil, p.invalid("a repetition has no operand")
			}
			last := len(items) - 1
			items[last] = items[last].repeat(least, most)
			continue
		}
		n, err := p.atom()
		if err != nil {
			return nil, err
		}
		items = append(items, n)
	}
	return Concat(items), nil
}

// repetition reads a repetition operator after an operand.
func (p *parser) repetition() (least, most int, ok bool, err error) {
	switch p.peek() {
	case '*':
		most = -1
	case '+':
		least, most = 1, -1
	case '?':
		most = 1
	case '{':
		end := strings.IndexByte(p.src[p.pos:], '}')
		if end < 0 {
			return 0, 0, false, p.invalid("a brace is not closed")
		}
		low, high, ranged := strings.Cut(p.src[p.pos+1:p.pos+end], ",")
		if least, err = strconv.Atoi(low); err != nil {
			return 0, 0, false, p.invalid("the count of a repetition is not a number")
		}
		switch {
		case !ranged:
			most = least
		case high == "":
			most = -1
		default:
			if most, err = strconv.Atoi(high); err != nil || most < least {
				return 0, 0, false, p.invalid("the range of a repetition is not a range of numbers")
			}
		}
		p.pos += end
	default:
		return 0, 0, false, nil
	}
	p.pos++
	p.take("?") // as few as possible, which matches the same texts
	return least, most, true, nil
}

// looks maps the escapes that are assertions to their form in Go.
var looks = map[string]string{`\A`: "^", `\z`: "$", `\b`: `\b`, `\B`: `\B`}

// atom reads the operand of a repetition.
func (p *parser) atom() (*Node, error) {
	switch c := p.peek(); c {
	case '(':
		return p.group()
	case '[':
		return p.class((*translator).class)
	case '.':
		p.pos++
		if p.flags.dotAll {
			return Characters([]rune{0, unicode.MaxRune}), nil
		}
		return Characters([]rune{0, '\n' - 1, '\n' + 1, unicode.MaxRune}), nil
	case '^', '$':
		p.pos++
		if p.flags.lines {
			return &Node{Kind: KindLook, Look: "(?m)" + string(c)}, nil
		}
		return &Node{Kind: KindLook, Look: string(c)}, nil
	case '\\':
		for written, look := range looks {
			if p.take(written) {
				return &Node{Kind: KindLook, Look: look}, nil
			}
		}
		return p.class(func(t *translator) error { return t.escape(false) })
	}
	r, size := utf8.DecodeRuneInString(p.src[p.pos:])
	p.pos += size
	return p.character(r), nil
}

// character returns a literal, or a class if case is ignored and the character has several cases.
func (p *parser) character(r rune) *Node {
	if !p.flags.fold || unicode.SimpleFold(r) == r {
		return Literal(string(r))
	}
	return Characters(foldings(r))
}

// foldings is the class of a character in all its cases.
func foldings(r rune) []rune {
	class := []rune{r, r}
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		class = joinRanges(class, []rune{f, f})
	}
	return class
}

// class reads a class or an escaped character. The translation into Go's syntax finds its
// end.
func (p *parser) class(translate func(t *translator) error) (*Node, error) {
	t := translator{src: p.src[p.pos:]}
	if err := translate(&t); err != nil {
		return nil, err
	}
	size, written, flags := t.pos, t.wide.String(), syntax.Perl
	switch written { // Go compiles the rest of these escapes
	case `\x`:
		size += 2
	case `\p`, `\P`:
		size++
	}
	if size > len(t.src) {
		return nil, p.invalid("an escape is not complete")
	}
	written += t.src[t.pos:size]
	p.pos += size
	if p.flags.fold {
		flags |= syntax.FoldCase
	}
	id := writtenClass{written, flags}
	class, ok := p.known[id]
	if !ok {
		re, err := syntax.Parse(written, flags)
		if err != nil {
			return nil, p.invalid(wrongPart(err))
		}
		if class, ok = classOf(re); !ok {
			return nil, p.invalid("a class is not valid")
		}
		p.known[id] = class
	}
	return Characters(class), nil
}

// classOf returns the characters that a Go expression matches, if it matches single
// characters only.
func classOf(re *syntax.Regexp) (class []rune, ok bool) {
	switch re.Op {
	case syntax.OpLiteral:
		if len(re.Rune) != 1 {
			return nil, false
		}
		if re.Flags&syntax.FoldCase != 0 {
			return foldings(re.Rune[0]), true
		}
		return []rune{re.Rune[0], re.Rune[0]}, true
	case syntax.OpCharClass:
		return re.Rune, true
	case syntax.OpNoMatch:
		return nil, true
	case syntax.OpAnyChar:
		return []rune{0, unicode.MaxRune}, true
	case syntax.OpAnyCharNotNL:
		return []rune{0, '\n' - 1, '\n' + 1, unicode.MaxRune}, true
	}
	return nil, false
}

// group parses a group in parentheses, or the flags in them.
func (p *parser) group() (*Node, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, p.invalid("groups are nested too deeply")
	}
	defer func() { p.depth-- }()
	p.take("(")
	outside, captures := p.flags, true
	switch {
	case p.take("?P<"), p.take("?<"):
		end := strings.IndexByte(p.src[p.pos:], '>')
		if end < 0 {
			return nil, p.invalid("the name of a group has no end")
		}
		p.pos += end + 1
	case p.take("?"):
		end := strings.IndexAny(p.src[p.pos:], ":)")
		if end < 0 {
			return nil, p.invalid("a group is not closed")
		}
		if err := p.setFlags(p.src[p.pos : p.pos+end]); err != nil {
			return nil, err
		}
		p.pos += end + 1
		if p.src[p.pos-1] == ')' {
			return empty, nil
		}
		captures = false
	}
	n, err := p.alternatives()
	if err != nil {
		return nil, err
	}
	if !p.take(")") {
		return nil, p.invalid("a group is not closed")
	}
	if p.flags = outside; captures {
		n = &Node{Kind: KindGroup, Subs: []*Node{n}}
	}
	return n, nil
}

// setFlags sets flags, and clears those after a minus. No flag may occur twice.
func (p *parser) setFlags(flags string) error {
	value := true
	for i := range len(flags) {
		if strings.IndexByte(flags[:i], flags[i]) >= 0 {
			return p.invalid("flag " + flags[i:i+1] + " comes twice")
		}
		switch flags[i] {
		case 'i':
			p.flags.fold = value
		case 'm':
			p.flags.lines = value
		case 's':
			p.flags.dotAll = value
		case 'U': // affects the length of a match, not its existence
		case '-':
			value = false
		default:
			return sql.Errorf(sql.ErrUnsupported, sql.NoPos, "regular expression with flag %s", flags[i:i+1])
		}
	}
	return nil
}

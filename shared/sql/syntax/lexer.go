package syntax

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"tiltyard/shared/sql"
)

type tokenKind uint8

const (
	tokEOF       tokenKind = iota
	tokWord                // bare identifier or keyword
	tokQuoted              // `identifier`
	tokNumber              // digits, fraction, exponent; no sign
	tokString              // '…' or "…", unescaped
	tokHex                 // digits of X'…' or 0x…
	tokOp                  // operator or punctuation
	tokParameter           // $name, without the $
)

// A token is a word of the text. Its text is unquoted: quotes are removed and doubled
// quotes made single.
type token struct {
	kind tokenKind
	text string
	pos  int
	role role // its syntactic role, for Spell
}

// keyword returns the upper-cased text of a bare word, and "" for everything else.
func (t token) keyword() string {
	if t.kind != tokWord {
		return ""
	}
	return strings.ToUpper(t.text)
}

func (t token) isOp(op string) bool { return t.kind == tokOp && t.text == op }

// describe names the token in messages.
func (t token) describe() string {
	switch t.kind {
	case tokEOF:
		return "end of text"
	case tokString:
		return "string '" + t.text + "'"
	case tokParameter:
		return "\"$" + t.text + "\""
	default:
		return "\"" + t.text + "\""
	}
}

// operators, longest first. It includes unsupported operators, so that errors can name them.
var operators = []string{
	"<=>", "!~*", "->>", "#>>",
	"==", "!=", "<>", "<=", ">=", "||", "::", "//", "<<", ">>", "->", "#>", "&&", "!~", "~*", "@>", "<@", "=>",
	"=", "<", ">", "+", "-", "*", "/", "%", "(", ")", ",", ".", "[", "]",
	"&", "|", "^", "~", "!", "?", ":", ";", "{", "}", "\\",
}

// A lexer cuts a text into tokens:
//
//	name  _x  #x  @x  été        words; keywords are words in any case
//	`any thing`                  an identifier; `` stands for one `
//	'it''s'  "it""s"             the same string; double quotes do not delimit identifiers
//	1  1.5  .5  1.  1e-3  1L     numbers, always without sign
//	X'0aff'  0x0aff              bytes
//	$name  ?                     a parameter of a statement; the first ? is $1, the second one $2
//	-- to the end  /* within */  blank; the latter do not nest
//
// Source: sqlparser 0.62, tokenizer.rs, with the dialect of lance-datafusion 14, sql.rs, the generic
// dialect without " for identifiers.
type lexer struct {
	src   string
	pos   int
	names bool // double quotes delimit identifiers, and $ and ? begin a parameter, as in a statement
	asked int  // number of ? so far
}

// tokens returns all tokens, the last of which is tokEOF.
func (l lexer) tokens() ([]token, error) {
	tokens := make([]token, 0, len(l.src)/4+2)
	for {
		t, err := l.next()
		if err != nil {
			return nil, err
		}
		tokens = append(tokens, t)
		if t.kind == tokEOF {
			return tokens, nil
		}
	}
}

// next returns the next token. A period before a digit begins a number in every position.
func (l *lexer) next() (token, error) {
	if err := l.skipBlank(); err != nil {
		return token{}, err
	}
	if l.pos >= len(l.src) {
		return token{kind: tokEOF, pos: len(l.src)}, nil
	}
	c := l.src[l.pos]
	switch {
	case c == '\'' || c == '"' && !l.names:
		return l.quoted(tokString)
	case c == '`' || c == '"':
		return l.quoted(tokQuoted)
	case c == '$' && l.names:
		return l.parameter()
	case c == '?' && l.names:
		l.pos++
		l.asked++
		return token{kind: tokParameter, text: strconv.Itoa(l.asked), pos: l.pos - 1}, nil
	case isDigit(c) || c == '.' && l.pos+1 < len(l.src) && isDigit(l.src[l.pos+1]):
		return l.number(), nil
	}
	r, size := utf8.DecodeRuneInString(l.src[l.pos:])
	if r == utf8.RuneError && size <= 1 {
		return token{}, sql.Errorf(sql.ErrSyntax, l.pos, "text is not valid utf-8")
	}
	if isWordStart(r) {
		return l.word()
	}
	for _, op := range operators {
		if strings.HasPrefix(l.src[l.pos:], op) {
			t := token{kind: tokOp, text: op, pos: l.pos}
			l.pos += len(op)
			return t, nil
		}
	}
	return token{}, sql.Errorf(sql.ErrSyntax, l.pos, "unexpected character %q", r)
}

// skipBlank skips white space and comments.
func (l *lexer) skipBlank() error {
	for l.pos < len(l.src) {
		rest := l.src[l.pos:]
		switch {
		case strings.HasPrefix(rest, "--"):
			n := strings.IndexByte(rest, '\n')
			if n < 0 {
				n = len(rest)
			}
			l.pos += n
		case strings.HasPrefix(rest, "/*"):
			n := strings.Index(rest[2:], "*/")
			if n < 0 {
				return sql.Errorf(sql.ErrSyntax, l.pos, "comment is not closed")
			}
			l.pos += n + 4
		default:
			r, size := utf8.DecodeRuneInString(rest)
			if !unicode.IsSpace(r) {
				return nil
			}
			l.pos += size
		}
	}
	return nil
}

// quoted reads a string or a quoted identifier. A doubled quote stands for one quote; there are no other
// escapes.
func (l *lexer) quoted(kind tokenKind) (token, error) {
	start, quote := l.pos, l.src[l.pos]
	var text strings.Builder
	for i := start + 1; i < len(l.src); i++ {
		if l.src[i] != quote {
			text.WriteByte(l.src[i])
			continue
		}
		if i+1 < len(l.src) && l.src[i+1] == quote {
			text.WriteByte(quote)
			i++
			continue
		}
		l.pos = i + 1
		if !utf8.ValidString(text.String()) {
			return token{}, sql.Errorf(sql.ErrSyntax, start, "text is not valid utf-8")
		}
		return token{kind: kind, text: text.String(), pos: start}, nil
	}
	return token{}, sql.Errorf(sql.ErrSyntax, start, "quote %c is not closed", quote)
}

// parameter reads $name.
func (l *lexer) parameter() (token, error) {
	start := l.pos
	l.pos++
	for l.pos < len(l.src) && (l.src[l.pos] == '_' || isDigit(l.src[l.pos]) || 'a' <= l.src[l.pos]|0x20 && l.src[l.pos]|0x20 <= 'z') {
		l.pos++
	}
	if l.pos == start+1 {
		return token{}, sql.Errorf(sql.ErrSyntax, start, "$ without the name of a parameter")
	}
	return token{kind: tokParameter, text: l.src[start+1 : l.pos], pos: start}, nil
}

// number reads an unsigned number or, after 0x, hexadecimal bytes.
func (l *lexer) number() token {
	start := l.pos
	digits := func() {
		for l.pos < len(l.src) && isDigit(l.src[l.pos]) {
			l.pos++
		}
	}
	digits()
	if l.src[start:l.pos] == "0" && strings.HasPrefix(l.src[l.pos:], "x") {
		l.pos++
		hex := l.pos
		for l.pos < len(l.src) && isHexDigit(l.src[l.pos]) {
			l.pos++
		}
		return token{kind: tokHex, text: l.src[hex:l.pos], pos: start}
	}
	if l.pos < len(l.src) && l.src[l.pos] == '.' {
		l.pos++
		digits()
	}
	if l.pos < len(l.src) && (l.src[l.pos] == 'e' || l.src[l.pos] == 'E') {
		mark := l.pos
		l.pos++
		if l.pos < len(l.src) && (l.src[l.pos] == '+' || l.src[l.pos] == '-') {
			l.pos++
		}
		exponent := l.pos
		digits()
		if l.pos == exponent {
			l.pos = mark
		}
	}
	t := token{kind: tokNumber, text: l.src[start:l.pos], pos: start}
	if l.pos < len(l.src) && l.src[l.pos] == 'L' {
		l.pos++ // 1L is 1
		t.role = long
	}
	return t
}

// word reads a bare word, or a literal that begins with a letter and a quote.
func (l *lexer) word() (token, error) {
	start := l.pos
	for l.pos < len(l.src) {
		r, size := utf8.DecodeRuneInString(l.src[l.pos:])
		if !isWordPart(r) {
			break
		}
		l.pos += size
	}
	t := token{kind: tokWord, text: l.src[start:l.pos], pos: start}
	if l.pos == len(l.src) || l.src[l.pos] != '\'' {
		return t, nil
	}
	switch t.text {
	case "x", "X":
		hex, err := l.quoted(tokHex)
		if err != nil {
			return token{}, err
		}
		for i := range len(hex.text) {
			if !isHexDigit(hex.text[i]) {
				return token{}, sql.Errorf(sql.ErrSyntax, start, "X'%s' is not hexadecimal", hex.text)
			}
		}
		hex.pos = start
		return hex, nil
	case "b", "B", "r", "R", "n", "N":
		return token{}, sql.Errorf(sql.ErrUnsupported, start, "string literals with prefix %s", t.text)
	}
	return t, nil
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isHexDigit(c byte) bool {
	return isDigit(c) || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

// isWordStart is the rule of sqlparser's generic dialect: letters of all scripts, _, # and
// @.
func isWordStart(r rune) bool {
	return unicode.IsLetter(r) || unicode.Is(unicode.Other_Alphabetic, r) || unicode.Is(unicode.Nl, r) ||
		r == '_' || r == '#' || r == '@'
}

func isWordPart(r rune) bool {
	return isWordStart(r) || r == '$' || '0' <= r && r <= '9'
}

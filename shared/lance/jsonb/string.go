package jsonb

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// string appends a string, without its quotes and with its escapes resolved.
func (p *parser) string() {
	quote := p.text[p.at : p.at+1]
	p.at++
	for {
		n := strings.IndexAny(p.text[p.at:], `\`+quote)
		if n < 0 {
			p.fail("a string without an end")
			return
		}
		p.out = append(p.out, p.text[p.at:p.at+n]...)
		p.at += n
		if p.take(quote) {
			return
		}
		p.at++
		if !p.escape() {
			p.fail("an escape that JSON does not have")
			return
		}
	}
}

// escape resolves an escape, from the byte after its backslash on, and appends its
// characters.
func (p *parser) escape() bool {
	c := p.peek()
	if c == 'u' {
		p.at++
		return p.unicode()
	}
	at := strings.IndexByte(`\"/bfnrt`, c)
	if c == 0 || at < 0 {
		return false
	}
	p.at++
	p.out = append(p.out, "\\\"/\b\f\n\r\t"[at])
	return true
}

// unicode appends a character escaped by its number, or by the two numbers of a surrogate pair. An
// unpaired surrogate is not a character; its escape is appended as text, as in native Lance.
func (p *parser) unicode() bool {
	digits, first, ok := p.hex4()
	if !ok {
		return false
	}
	if !utf16.IsSurrogate(first) {
		p.out = utf8.AppendRune(p.out, first)
		return true
	}
	if first >= 0xDC00 || !strings.HasPrefix(p.text[p.at:], `\u`) {
		p.out = append(p.out, `\u`+digits...)
		return true
	}
	p.at += len(`\u`)
	more, second, ok := p.hex4()
	if !ok {
		return false
	}
	if r := utf16.DecodeRune(first, second); r != utf8.RuneError {
		p.out = utf8.AppendRune(p.out, r)
	} else {
		p.out = append(p.out, `\u`+digits+`\u`+more...)
	}
	return true
}

// hex4 skips four hexadecimal digits, which may be in braces, and returns them.
func (p *parser) hex4() (digits string, r rune, ok bool) {
	rest, size := p.text[p.at:], 4
	if strings.HasPrefix(rest, "{") {
		rest, size = rest[1:], 6
	}
	if len(rest) < 4 || size == 6 && !strings.HasPrefix(rest[4:], "}") {
		return "", 0, false
	}
	n, err := strconv.ParseUint(rest[:4], 16, 16)
	p.at += size
	return rest[:4], rune(n), err == nil
}

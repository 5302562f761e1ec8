package builtin

import (
	"strings"

	"golang.org/x/net/html"
)

// htmlText returns the visible text of a page: without tags, comments, titles, scripts and styles, with
// character references decoded. White space is collapsed to one space, except within pre. Blocks begin on a
// new line; paragraphs, headings, lists and tables have an empty line around them. Malformed markup is
// tolerated. The parser keeps no stack of elements, so nesting depth does not matter.
func htmlText(page string) string {
	var w pageText
	hidden := "" // the current element whose content is hidden
	for z := html.NewTokenizer(strings.NewReader(page)); ; {
		kind := z.Next()
		switch kind {
		case html.ErrorToken:
			return w.out.String()
		case html.TextToken:
			if hidden == "" {
				w.text(string(z.Text()))
			}
		case html.StartTagToken, html.SelfClosingTagToken, html.EndTagToken:
			bytes, _ := z.TagName()
			name, closing := string(bytes), kind == html.EndTagToken
			switch {
			case hidden == "":
				w.tag(name, closing)
				if unseen[name] && !closing {
					hidden = name
				}
			case hidden == name && closing:
				hidden = ""
			}
		}
	}
}

// A pageText collects the text of a page.
type pageText struct {
	out   strings.Builder
	lines int  // ends of lines that come before the next text
	space bool // a space comes before the next text
	pre   int  // open pre elements
}

// lineBreaks is the number of line breaks around an element: 1 for blocks, 2 for elements with an empty
// line around them. Table cells get a space.
var lineBreaks = map[string]int{
	"address": 1, "article": 1, "aside": 1, "body": 1, "dd": 1, "details": 1, "dialog": 1, "div": 1, "dt": 1, "fieldset": 1, "figcaption": 1,
	"figure": 1, "footer": 1, "form": 1, "header": 1, "hgroup": 1, "hr": 1, "html": 1, "legend": 1, "li": 1, "main": 1, "nav": 1, "option": 1,
	"search": 1, "section": 1, "summary": 1, "tr": 1, "caption": 1,
	"blockquote": 2, "dl": 2, "h1": 2, "h2": 2, "h3": 2, "h4": 2, "h5": 2, "h6": 2, "ol": 2, "p": 2, "pre": 2, "table": 2, "ul": 2,
}

// unseen are the elements whose content is hidden.
var unseen = map[string]bool{
	"iframe": true, "noembed": true, "noframes": true, "noscript": true, "script": true, "style": true, "template": true, "title": true,
}

// text writes the text between two tags, with its character references decoded.
func (w *pageText) text(raw string) {
	if raw == "" {
		return
	}
	if w.pre > 0 {
		w.begin()
		w.out.WriteString(raw)
		return
	}
	// White space is collapsed to one space, which begin writes before the next word.
	for raw != "" {
		size := strings.IndexAny(raw, " \t\n\f\r")
		if size < 0 {
			size = len(raw)
		}
		if size > 0 {
			w.begin()
			w.out.WriteString(raw[:size])
		}
		if size == len(raw) {
			return
		}
		w.space = true
		raw = strings.TrimLeft(raw[size:], " \t\n\f\r")
	}
}

// begin writes the pending white space before the next text.
func (w *pageText) begin() {
	switch {
	case w.out.Len() == 0:
	case w.lines > 0:
		w.out.WriteString("\n\n"[:min(w.lines, 2)])
	case w.space:
		w.out.WriteByte(' ')
	}
	w.lines, w.space = 0, false
}

// tag writes the white space for a tag.
func (w *pageText) tag(name string, closing bool) {
	switch {
	case name == "br":
		if w.pre > 0 {
			w.text("\n")
		} else if w.lines++; w.lines > 2 {
			w.lines = 2
		}
	case name == "td", name == "th":
		w.space = true
	case lineBreaks[name] > 0:
		w.lines = max(w.lines, lineBreaks[name])
	}
	if name == "pre" {
		w.pre++
		if closing {
			w.pre = max(w.pre-2, 0)
		}
	}
}

package udf

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// A Concealer replaces confidential values, such as secrets, in texts such as errors and logs.
//
// Functions may print and quote their secrets. So a value is also replaced without its surrounding space,
// and in the escaped form of a JSON or program string. In a value of several lines, such as a private key,
// each line of minLine bytes or more is replaced.
type Concealer struct {
	forms    []string // longest first, because one may contain another
	replacer *strings.Replacer
}

// minLine is the minimum length of a line of a value that is replaced by itself. Shorter lines are
// words that occur in other texts.
const minLine = 8

const concealed = "***"

// NewConcealer returns a concealer of the given values. Empty values are ignored.
func NewConcealer(values ...string) *Concealer {
	c := new(Concealer)
	for _, value := range values {
		c.add(value)
		if lines := strings.Split(value, "\n"); len(lines) > 1 {
			for _, line := range lines {
				if len(line) >= minLine {
					c.add(line)
				}
			}
		}
	}
	slices.SortFunc(c.forms, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	c.forms = slices.Compact(c.forms)
	pairs := make([]string, 0, 2*len(c.forms))
	for _, form := range c.forms {
		pairs = append(pairs, form, concealed)
	}
	c.replacer = strings.NewReplacer(pairs...)
	return c
}

// add adds the forms of a value.
func (c *Concealer) add(value string) {
	for _, text := range []string{value, strings.TrimSpace(value)} {
		if text == "" {
			continue
		}
		var inJSON bytes.Buffer
		encoder := json.NewEncoder(&inJSON)
		encoder.SetEscapeHTML(false)
		_ = encoder.Encode(text) // texts are always encoded
		quoted := strings.TrimSuffix(inJSON.String(), "\n")
		html, _ := json.Marshal(text)
		for _, form := range []string{quoted, string(html), strconv.Quote(text)} {
			c.forms = append(c.forms, form[1:len(form)-1])
		}
		c.forms = append(c.forms, text)
	}
}

// Hide returns a text without the values.
func (c *Concealer) Hide(text string) string { return c.replacer.Replace(text) }

// HideEnd is the variant of Hide for the end of the output of a program, which may have been killed in the
// middle of a value. isCut means that the beginning of the output is missing; a possible remainder of a
// value at the start is then removed.
func (c *Concealer) HideEnd(text string, isCut bool) string {
	for _, form := range c.forms {
		text = withoutBeginOf(form, text)
	}
	if isCut && len(c.forms) > 0 {
		text = text[min(len(c.forms[0]), len(text)):]
	}
	return c.Hide(text)
}

// withoutBeginOf returns a text without the first part of a value at its end.
func withoutBeginOf(value, text string) string {
	for n := min(len(value), len(text)); n > 0; n-- {
		if strings.HasSuffix(text, value[:n]) {
			return text[:len(text)-n]
		}
	}
	return text
}

package executor

import "strings"

const (
	// tailBytes is how much of what a process writes on its standard error is kept.
	tailBytes = 64 << 10
	// toldBytes is how much of it an error tells.
	toldBytes = 1 << 10
)

// A tail keeps the end of what is written to it.
type tail struct {
	bytes []byte
	isCut bool
}

func (t *tail) Write(p []byte) (int, error) {
	t.bytes = append(t.bytes, p[max(0, len(p)-tailBytes):]...)
	over := max(0, len(t.bytes)-tailBytes)
	t.bytes, t.isCut = append(t.bytes[:0], t.bytes[over:]...), t.isCut || over > 0 || len(p) > tailBytes
	return len(p), nil
}

// text returns the last of it, without the values of variables. It must not be called during a Write.
func (t *tail) text(environment map[string]string) string {
	text := string(t.bytes)
	longest := 0
	for _, value := range environment {
		longest = max(longest, len(value))
		text = withoutBeginOf(value, text)
	}
	if t.isCut { // possibly within a value, whose remainder would not be found
		text = text[min(longest, len(text)):]
	}
	text = strings.TrimSpace(strings.ToValidUTF8(concealer(environment)(text), "\uFFFD"))
	if len(text) > toldBytes {
		text = strings.ToValidUTF8(text[len(text)-toldBytes:], "")
	}
	return text
}

// withoutBeginOf returns a text without the first part of a value at its end, which a process has left that
// was killed while it wrote.
func withoutBeginOf(value, text string) string {
	for n := min(len(value), len(text)); n > 0; n-- {
		if strings.HasSuffix(text, value[:n]) {
			return text[:len(text)-n]
		}
	}
	return text
}

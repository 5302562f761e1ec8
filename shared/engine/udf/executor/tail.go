package executor

import "strings"

const (
	// tailBytes is the size of the kept end of a process's standard error.
	tailBytes = 64 << 10
	// toldBytes is the size of the part that an error quotes.
	toldBytes = 1 << 10
)

// A tail keeps the end of the data written to it.
type tail struct {
	bytes []byte
	isCut bool
}

// Write keeps the last tailBytes bytes. It never fails, so the command is not disturbed.
func (t *tail) Write(p []byte) (int, error) {
	t.bytes = append(t.bytes, p[max(0, len(p)-tailBytes):]...)
	over := max(0, len(t.bytes)-tailBytes)
	t.bytes, t.isCut = append(t.bytes[:0], t.bytes[over:]...), t.isCut || over > 0 || len(p) > tailBytes
	return len(p), nil
}

// text returns the end of the kept bytes, with the values of variables concealed. It must not be called
// during a Write.
func (t *tail) text(environment map[string]string) string {
	text := concealer(environment).HideEnd(string(t.bytes), t.isCut)
	text = strings.TrimSpace(strings.ToValidUTF8(text, "\uFFFD"))
	if len(text) > toldBytes {
		text = strings.ToValidUTF8(text[len(text)-toldBytes:], "")
	}
	return text
}

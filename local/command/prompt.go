package command

import (
	"errors"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/term"

	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/tableapi"
	"tiltyard/shared/sql/syntax"
)

// A prompt reads statements from a terminal, one after the other. It keeps the lines of the session as history, and completes
// the names of tables and the words of statements on Tab.
type prompt struct {
	lines *term.Terminal
	raw   func() (restore func(), err error) // lets the keys arrive one by one while a statement is read
	names func() []string                    // of tables, as statements have them
	words []string                           // nil until the first Tab
}

// statementWords are completed beside names.
var statementWords = strings.Fields("ANALYZE AND ASC BETWEEN BRANCH DESC EXPLAIN FALSE FIRST FROM IN IS LAST LIKE LIMIT NOT NULL NULLS OFFSET OR ORDER BY SELECT TRUE VERSION AS OF WHERE")

// newPrompt returns a prompt over a terminal.
func newPrompt(terminal io.ReadWriter, raw func() (func(), error), names func() []string) *prompt {
	p := &prompt{lines: term.NewTerminal(terminal, ""), raw: raw, names: names}
	p.lines.AutoCompleteCallback = p.complete
	return p
}

// rawTerminal is the raw mode of the terminal of a file.
func rawTerminal(file *os.File) func() (func(), error) {
	return func() (func(), error) {
		state, err := term.MakeRaw(int(file.Fd()))
		return func() { _ = term.Restore(int(file.Fd()), state) }, err
	}
}

// read returns the next statement, which a semicolon ends. The error is io.EOF at the end: by Ctrl-C, Ctrl-D, exit or quit.
func (p *prompt) read() (string, error) {
	restore, err := p.raw()
	if err != nil {
		return "", err
	}
	defer restore()
	var text string
	for p.lines.SetPrompt("sql> "); ; p.lines.SetPrompt("...> ") {
		line, err := p.lines.ReadLine()
		if err != nil && !errors.Is(err, term.ErrPasteIndicator) {
			return "", err
		}
		text = strings.TrimSpace(text + "\n" + line)
		switch {
		case strings.EqualFold(text, "exit") || strings.EqualFold(text, "quit"):
			return "", io.EOF
		case strings.HasSuffix(text, ";"):
			return text, nil
		case text == "":
			return "", nil
		}
	}
}

// complete completes the last word before the cursor as far as it is known.
func (p *prompt) complete(line string, at int, key rune) (completed string, cursor int, ok bool) {
	if key != '\t' {
		return "", 0, false
	}
	if p.words == nil {
		p.words = append(p.names(), statementWords...)
	}
	begun := line[strings.LastIndexAny(line[:at], " (,=<>")+1 : at]
	var found []string
	for _, word := range p.words {
		if len(word) >= len(begun) && strings.EqualFold(word[:len(begun)], begun) {
			found = append(found, word)
		}
	}
	if begun == "" || len(found) == 0 {
		return line, at, true // Tab writes nothing
	}
	whole := found[0]
	for _, word := range found[1:] {
		for !strings.HasPrefix(word, whole) {
			whole = whole[:len(whole)-1]
		}
	}
	if len(whole) < len(begun) { // the words differ in case alone
		return line, at, true
	}
	from := at - len(begun)
	return line[:from] + whole + line[at:], from + len(whole), true
}

// statementNames returns the names of up to 1,000 tables as statements have them.
func statementNames(r *run) []string {
	var names []string
	for name, err := range r.client.AllTables(r.ctx, &tableapi.ListAllRequest{}) {
		if err != nil || len(names) == 1000 {
			break
		}
		names = append(names, syntax.TableName(strings.Split(name, protocol.DefaultDelimiter)))
	}
	slices.Sort(names)
	return names
}

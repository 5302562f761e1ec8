package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/spf13/cobra"
)

// A form is a form of the output.
type form string

const (
	formTable form = "table"
	formJSON  form = "json"
	formArrow form = "arrow"
)

// String returns the name of the form.
func (f *form) String() string {
	if *f == "" {
		return string(formTable)
	}
	return string(*f)
}

// Set implements pflag.Value.
func (f *form) Set(text string) error {
	switch form(text) {
	case formTable, formJSON, formArrow:
		*f = form(text)
		return nil
	}
	return fmt.Errorf("the forms are table, json and arrow")
}

// Type returns the placeholder in the help.
func (f *form) Type() string { return "form" }

// bounded calls do with the context of a command and the limit of --timeout.
func (s *session) bounded(cmd *cobra.Command, do func(context.Context) error) error {
	if s.timeout <= 0 {
		return do(cmd.Context())
	}
	ctx, done := context.WithTimeout(cmd.Context(), s.timeout)
	defer done()
	err := do(ctx)
	if ctx.Err() != nil && errors.Is(err, context.DeadlineExceeded) {
		return &timeoutError{s.timeout, err}
	}
	return err
}

// A timeoutError means that --timeout ended a command.
type timeoutError struct {
	after time.Duration
	err   error
}

// Error returns the text.
func (e *timeoutError) Error() string {
	return fmt.Sprintf("the command was ended after its --timeout of %s; a change that it asked for may be made all the same", e.after)
}

// Unwrap returns the error of the interrupted call.
func (e *timeoutError) Unwrap() error { return e.err }

// A list writes entries as a table, or as JSON with one entry per line. It writes the heading
// together with the first entry or at the end, so that a command that fails has no output.
type list struct {
	heading []string // nil once it is written
	json    *json.Encoder
	table   *tabwriter.Writer
	err     error
}

// list returns a list for the output form of the session. Errors appear in flush.
func (s *session) list(cmd *cobra.Command, columns ...string) *list {
	l := new(list)
	switch s.form {
	case formJSON:
		l.json = newEncoder(cmd.OutOrStdout())
	case formArrow:
		l.err = usagef("only the rows of query have the form arrow; use table or json")
	default:
		l.table = tabwriter.NewWriter(&trimmer{w: cmd.OutOrStdout()}, 0, 4, 2, ' ', 0)
		l.heading = columns
	}
	return l
}

// add writes an entry: its value in JSON, or its cells in the table.
func (l *list) add(value any, cells ...any) {
	switch {
	case l.err != nil:
	case l.json != nil:
		l.err = l.json.Encode(value)
	default:
		l.begin()
		texts := make([]string, len(cells))
		for i, cell := range cells {
			texts[i] = printable(fmt.Sprint(cell), false)
		}
		l.row(texts)
	}
}

// A trimmer writes lines without the spaces at their ends.
type trimmer struct {
	w      io.Writer
	spaces int // that are not written yet
}

// Write writes a part of a line, or several.
func (t *trimmer) Write(p []byte) (int, error) {
	var out []byte
	for _, b := range p {
		switch b {
		case ' ':
			t.spaces++
			continue
		case '\n':
			t.spaces = 0
		}
		out = append(append(out, bytes.Repeat([]byte(" "), t.spaces)...), b)
		t.spaces = 0
	}
	_, err := t.w.Write(out)
	return len(p), err
}

// begin writes the heading, unless it was written before.
func (l *list) begin() {
	if heading := l.heading; heading != nil {
		l.heading = nil
		l.row(heading)
	}
}

func (l *list) row(cells []string) {
	// Only cells that a tab follows are aligned with those of other lines.
	if _, err := fmt.Fprintln(l.table, strings.Join(cells, "\t")); err != nil {
		l.err = err
	}
}

func (l *list) flush() error {
	if l.err == nil && l.table != nil {
		l.begin()
		l.err = l.table.Flush()
	}
	return l.err
}

// show writes one object: its fields as lines, or its value as JSON.
func (s *session) show(cmd *cobra.Command, value any, fields ...any) error {
	switch s.form {
	case formJSON:
		encoder := newEncoder(cmd.OutOrStdout())
		encoder.SetIndent("", "  ")
		return encoder.Encode(value)
	case formArrow:
		return usagef("only the rows of query have the form arrow; use table or json")
	}
	w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 4, 2, ' ', 0)
	for i := 0; i+1 < len(fields); i += 2 {
		text := fmt.Sprint(fields[i+1])
		if text == "" || text == "<nil>" {
			continue
		}
		if _, err := fmt.Fprintf(w, "%s\t%s\n", fields[i], printable(text, false)); err != nil {
			return err
		}
	}
	return w.Flush()
}

func newEncoder(w io.Writer) *json.Encoder {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	return encoder
}

// printable escapes characters that could control a terminal, and line breaks if lines is false.
func printable(text string, lines bool) string {
	clean := func(r rune) bool { return !unicode.IsPrint(r) && (r != '\n' || !lines) }
	if !strings.ContainsFunc(text, clean) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if clean(r) {
			quoted := strconv.QuoteRune(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// at formats a time in milliseconds since 1970. It returns "" for 0.
func at(millis int64) string {
	if millis == 0 {
		return ""
	}
	return time.UnixMilli(millis).UTC().Format(time.DateTime)
}

// value dereferences a pointer. It returns nil for nil.
func value[T any](p *T) any {
	if p == nil {
		return nil
	}
	return *p
}

// pairs formats a map as k=v, k=v.
func pairs(m map[string]string) string {
	var all []string
	for _, key := range slices.Sorted(maps.Keys(m)) {
		all = append(all, key+"="+m[key])
	}
	return strings.Join(all, ", ")
}

// names writes a list of names, one per line.
func (s *session) names(cmd *cobra.Command, names iter.Seq2[string, error]) error {
	out := s.list(cmd, "NAME")
	for name, err := range names {
		if err != nil {
			return err
		}
		out.add(map[string]string{"name": name}, name)
	}
	return out.flush()
}

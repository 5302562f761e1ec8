package command

import (
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

// A form is how output is written.
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

// Set accepts the name of a form.
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

// bounded calls do with the context of a command, which ends after --timeout.
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

// A timeoutError is the error of a command that --timeout has ended.
type timeoutError struct {
	after time.Duration
	err   error
}

// Error returns the text.
func (e *timeoutError) Error() string {
	return fmt.Sprintf("the command was ended after its --timeout of %s; a change that it asked for may be made all the same", e.after)
}

// Unwrap returns what the command was ended in.
func (e *timeoutError) Unwrap() error { return e.err }

// A list writes entries as a table, or as JSON with one entry in a line. The heading comes with the
// first entry or at the end, so that a command that fails has no output.
type list struct {
	heading []string // not written yet; nil afterwards
	json    *json.Encoder
	table   *tabwriter.Writer
	err     error
}

func (s *session) list(cmd *cobra.Command, columns ...string) *list {
	l := new(list)
	switch s.form {
	case formJSON:
		l.json = newEncoder(cmd.OutOrStdout())
	case formArrow:
		l.err = usagef("only the rows of query have the form arrow; use table or json")
	default:
		l.table = tabwriter.NewWriter(cmd.OutOrStdout(), 0, 4, 2, ' ', 0)
		l.heading = columns
	}
	return l
}

// add adds an entry: its value for JSON, and its cells for the table.
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

// begin writes the heading, if that has not been done.
func (l *list) begin() {
	if heading := l.heading; heading != nil {
		l.heading = nil
		l.row(heading)
	}
}

func (l *list) row(cells []string) {
	line := strings.TrimRight(strings.Join(cells, "\t"), "\t")
	if _, err := fmt.Fprintln(l.table, line); err != nil {
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

// show writes one thing: its fields in lines, or its value as JSON.
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

// printable returns a text without characters that could do something to a terminal. Lines end up in
// one if lines is false.
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

// at formats a time in milliseconds since 1970, and "" for 0.
func at(millis int64) string {
	if millis == 0 {
		return ""
	}
	return time.UnixMilli(millis).UTC().Format(time.DateTime)
}

// value returns what a pointer points to, and nil for nil.
func value[T any](p *T) any {
	if p == nil {
		return nil
	}
	return *p
}

// pairs writes a map as k=v, k=v.
func pairs(m map[string]string) string {
	var all []string
	for _, key := range slices.Sorted(maps.Keys(m)) {
		all = append(all, key+"="+m[key])
	}
	return strings.Join(all, ", ")
}

// names writes a list of names, one in a line.
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

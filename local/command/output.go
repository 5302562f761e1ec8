package command

import (
	"context"
	"encoding/json"
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

// ctx returns the context of a command, which ends after --timeout.
func (s *session) ctx(cmd *cobra.Command) (context.Context, context.CancelFunc) {
	if s.timeout > 0 {
		return context.WithTimeout(cmd.Context(), s.timeout)
	}
	return context.WithCancel(cmd.Context())
}

// A list writes entries as a table, or as JSON with one entry in a line.
type list struct {
	cmd   *cobra.Command
	form  form
	json  *json.Encoder
	table *tabwriter.Writer
	err   error
}

func (s *session) list(cmd *cobra.Command, columns ...string) *list {
	l := &list{cmd: cmd, form: s.form}
	switch s.form {
	case formJSON:
		l.json = newEncoder(cmd.OutOrStdout())
	case formArrow:
		l.err = usagef("only the rows of query have the form arrow; use table or json")
	default:
		l.table = tabwriter.NewWriter(cmd.OutOrStdout(), 0, 4, 2, ' ', 0)
		l.row(columns)
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
		texts := make([]string, len(cells))
		for i, cell := range cells {
			texts[i] = printable(fmt.Sprint(cell), false)
		}
		l.row(texts)
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

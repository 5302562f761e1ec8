package relation

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
)

// Explain returns the steps of the plan, each above those that it reads.
func (p *Plan) Explain(ctx context.Context) (string, error) {
	w := new(writer)
	err := w.explain(ctx, p.top)
	return w.text.String(), err
}

// Analyze runs the query, drops its rows, and returns the plan with the rows of each step and the time until it had made
// them, with that of the steps below it.
func (p *Plan) Analyze(ctx context.Context) (string, error) {
	w := &writer{measures: measures{}}
	for _, err := range batchesOf(context.WithValue(ctx, measuresKey{}, w.measures), p.top) {
		if err != nil {
			return "", err
		}
	}
	err := w.explain(ctx, p.top)
	return w.text.String(), err
}

// measures are what the steps of a query have done.
type measures map[step]*measure

type measure struct {
	rows, batches int64
	took          time.Duration
	note          string // what else is to be told
}

type measuresKey struct{}

// tell adds a note to a step, if the query is analyzed.
func tell(ctx context.Context, s step, note string) {
	if all, analyzed := ctx.Value(measuresKey{}).(measures); analyzed && all[s] != nil {
		all[s].note = note
	}
}

// batchesOf yields the batches of a step, and measures it if the query is analyzed. Steps of one query run one after the other.
func batchesOf(ctx context.Context, s step) iter.Seq2[arrow.RecordBatch, error] {
	all, analyzed := ctx.Value(measuresKey{}).(measures)
	if !analyzed {
		return s.rows(ctx)
	}
	m := all[s]
	if m == nil {
		m = new(measure)
		all[s] = m
	}
	return func(yield func(arrow.RecordBatch, error) bool) {
		began := time.Now()
		defer func() { m.took += time.Since(began) }()
		for batch, err := range s.rows(ctx) {
			if err == nil {
				m.rows, m.batches = m.rows+batch.NumRows(), m.batches+1
			}
			m.took += time.Since(began)
			more := yield(batch, err)
			began = time.Now()
			if !more {
				return
			}
		}
	}
}

// A writer writes the steps of a plan.
type writer struct {
	text     strings.Builder
	depth    int
	measures measures // nil unless the query has run
	measured string   // of the next step
}

// explain writes a step and those below it.
func (w *writer) explain(ctx context.Context, s step) error {
	w.measured = ""
	if w.measures != nil {
		m := w.measures[s]
		if m == nil {
			m = new(measure) // nothing needed its rows
		}
		w.measured = fmt.Sprintf(" rows=%d batches=%d time=%s", m.rows, m.batches, m.took.Round(time.Microsecond))
	}
	return s.explain(ctx, w)
}

// note returns the note of a step that has run, after a space.
func (w *writer) note(s step) string {
	if m := w.measures[s]; m != nil && m.note != "" {
		return " " + m.note
	}
	return ""
}

// step writes a step. What it returns writes the steps below it.
func (w *writer) step(format string, args ...any) func(ctx context.Context, below ...step) error {
	fmt.Fprintf(&w.text, "%s"+format+"%s\n", append(append([]any{strings.Repeat("  ", w.depth)}, args...), w.measured)...)
	return func(ctx context.Context, below ...step) error {
		w.depth++
		defer func() { w.depth-- }()
		for _, s := range below {
			if err := w.explain(ctx, s); err != nil {
				return err
			}
		}
		return nil
	}
}

// lines writes the plan of a table.
func (w *writer) lines(text string) {
	for line := range strings.Lines(strings.TrimRight(text, "\n")) {
		fmt.Fprintf(&w.text, "%s%s\n", strings.Repeat("  ", w.depth), strings.TrimRight(line, "\n"))
	}
}

package relation

import (
	"context"
	"fmt"
	"strings"
)

// Explain returns the steps of the plan, each above those that it reads.
func (p *Plan) Explain(ctx context.Context) (string, error) {
	w := new(writer)
	err := p.top.explain(ctx, w)
	return w.text.String(), err
}

// A writer writes the steps of a plan.
type writer struct {
	text  strings.Builder
	depth int
}

// step writes a step. What it returns writes the steps below it.
func (w *writer) step(format string, args ...any) func(ctx context.Context, below ...step) error {
	fmt.Fprintf(&w.text, "%s"+format+"\n", append([]any{strings.Repeat("  ", w.depth)}, args...)...)
	return func(ctx context.Context, below ...step) error {
		w.depth++
		defer func() { w.depth-- }()
		for _, s := range below {
			if err := s.explain(ctx, w); err != nil {
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

// Package explain builds the plan of a query for clients: a tree of steps, each above the steps
// that feed it, with the measurements of each step so far.
package explain

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/arrow/take"
	"tiltyard/shared/storage/objectstore"
)

// A Step is one operation in the answer to a query: its description, the steps that feed it, and
// its measurements so far. The measurements are safe for concurrent use.
type Step struct {
	kind   Kind
	how    []detail // such as "k=10"
	more   []detail // for a verbose plan
	native []string // the equivalent operators of native Lance
	from   []*Step

	now                  func() time.Time
	rows, batches, bytes atomic.Int64
	waited               atomic.Int64 // nanoseconds until its rows were available, including the steps below it
	usage                objectstore.Usage
	ran                  atomic.Bool
}

// New returns a step that is fed by other steps; it ignores nils among them. now is the clock for
// measurements.
func New(now func() time.Time, kind Kind, from ...*Step) *Step {
	s := &Step{kind: kind, now: now, native: slices.Clip(kinds[kind].native)}
	for _, f := range from {
		if f != nil {
			s.from = append(s.from, f)
		}
	}
	return s
}

// From adds a step that was found to feed this one during the query.
func (s *Step) From(f *Step) { s.from = append(s.from, f) }

// A detail is formatted when a plan is shown, which most queries never are.
type detail struct {
	format string
	args   []any
}

func (d detail) String() string { return fmt.Sprintf(d.format, d.args...) }

// With adds a detail. The arguments must not change afterwards.
func (s *Step) With(format string, args ...any) *Step {
	s.how = append(s.how, detail{format, args})
	return s
}

// WithMore adds a detail for a verbose plan. The arguments must not change afterwards.
func (s *Step) WithMore(format string, args ...any) *Step {
	s.more = append(s.more, detail{format, args})
	return s
}

// Like adds names of native Lance's operators that do a part of the step. Clients search plans for
// them.
func (s *Step) Like(operators ...string) *Step {
	for _, name := range operators {
		if !slices.Contains(s.native, name) {
			s.native = append(s.native, name)
		}
	}
	return s
}

// Reading returns a context that counts reads from the storage in the step's measurements.
func (s *Step) Reading(ctx context.Context) context.Context {
	s.ran.Store(true)
	return objectstore.WithUsage(ctx, &s.usage)
}

// Made counts the rows of a batch that the step has produced.
func (s *Step) Made(batch arrow.RecordBatch) {
	s.ran.Store(true)
	s.rows.Add(batch.NumRows())
	s.batches.Add(1)
	s.bytes.Add(take.BatchBytes(batch))
}

// Found counts rows that the step has found without producing batches.
func (s *Step) Found(rows int) { s.rows.Add(int64(rows)) }

// Took adds the time since began to the time of the step.
func (s *Step) Took(began time.Time) {
	s.ran.Store(true)
	s.waited.Add(int64(s.now().Sub(began)))
}

// Counted measures a stream: its batches, and the time until they are available.
func (s *Step) Counted(batches iter.Seq2[arrow.RecordBatch, error]) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		began := s.now()
		for batch, err := range batches {
			s.Took(began)
			if err == nil {
				s.Made(batch)
			}
			if !yield(batch, err) {
				return
			}
			began = s.now()
		}
		s.Took(began)
	}
}

// Measured returns the text of all steps with measurements, indented by depth.
func (s *Step) Measured(depth int) string {
	var b strings.Builder
	s.write(&b, depth, true, true)
	return b.String()
}

// Text returns the step and the steps below it as lines. Each step is indented below the one that
// it feeds. verbose includes all details.
func (s *Step) Text(verbose bool) string {
	var b strings.Builder
	s.write(&b, 0, verbose, false)
	return b.String()
}

// write appends the text of the step and the steps below it.
func (s *Step) write(b *strings.Builder, depth int, verbose, measured bool) {
	var parts []string
	add := func(details []detail) {
		for _, d := range details {
			if text := d.String(); text != "" {
				parts = append(parts, text)
			}
		}
	}
	add(s.how)
	if verbose {
		add(s.more)
	}
	if len(s.native) > 0 {
		parts = append(parts, "native="+strings.Join(s.native, "+"))
	}
	fmt.Fprintf(b, "%s%s", strings.Repeat("  ", depth), kinds[s.kind].name)
	if len(parts) > 0 {
		fmt.Fprintf(b, ": %s", strings.Join(parts, ", "))
	}
	if measured {
		fmt.Fprintf(b, "%s", s.measures())
	}
	b.WriteByte('\n')
	for _, f := range s.from {
		f.write(b, depth+1, verbose, measured)
	}
}

// measures returns the measurements of the step.
func (s *Step) measures() string {
	if !s.ran.Load() {
		return " [not run]"
	}
	text := fmt.Sprintf(" [rows=%d", s.rows.Load())
	if n := s.batches.Load(); n > 0 {
		text += fmt.Sprintf(", batches=%d, bytes=%d", n, s.bytes.Load())
	}
	if n := s.usage.Requests(); n > 0 {
		text += fmt.Sprintf(", requests=%d, bytes_read=%d", n, s.usage.Bytes())
	} else if kinds[s.kind].reads {
		text += ", requests=0, bytes_read=0"
	}
	return fmt.Sprintf("%s, elapsed=%s]", text, time.Duration(s.waited.Load()))
}

// A List is names in a plan.
type List []string

func (l List) String() string { return "[" + strings.Join(l, ", ") + "]" }

// Later is a text that is made when the plan is shown. A detail without any other text is left out if it is "".
type Later func() string

func (l Later) String() string { return l() }

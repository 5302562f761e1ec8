package engine

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"sync/atomic"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/objectstore"
)

// A step is one part of the answer to a query: what it does, of which steps it takes its
// rows, and what it has done so far. Counting is safe from several goroutines.
type step struct {
	what string
	how  []string // as "k=10"
	more []string // the same, for those who want all
	from []*step

	now                  func() time.Time
	rows, batches, bytes atomic.Int64
	waited               atomic.Int64 // nanoseconds for its rows, those of the steps below included
	usage                objectstore.Usage
	ran                  atomic.Bool
}

// newStep returns a step; from may hold nils, which are left out.
func newStep(d *dataset.Dataset, what string, from ...*step) *step {
	s := &step{what: what, now: d.Now}
	for _, f := range from {
		if f != nil {
			s.from = append(s.from, f)
		}
	}
	return s
}

// says adds how a step does its work.
func (s *step) says(format string, args ...any) *step {
	s.how = append(s.how, fmt.Sprintf(format, args...))
	return s
}

// adds is says for what is told only on request.
func (s *step) adds(format string, args ...any) *step {
	s.more = append(s.more, fmt.Sprintf(format, args...))
	return s
}

// reading returns a context in which what is read from the storage is counted as read by
// the step.
func (s *step) reading(ctx context.Context) context.Context {
	s.ran.Store(true)
	return objectstore.WithUsage(ctx, &s.usage)
}

// made counts rows that the step has made.
func (s *step) made(batch arrow.RecordBatch) {
	s.ran.Store(true)
	s.rows.Add(batch.NumRows())
	s.batches.Add(1)
	s.bytes.Add(batchBytes(batch))
}

// took counts in the time since began.
func (s *step) took(began time.Time) {
	s.ran.Store(true)
	s.waited.Add(int64(s.now().Sub(began)))
}

// counted counts the batches of a stream and the time that they took.
func (s *step) counted(batches iter.Seq2[arrow.RecordBatch, error]) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		began := s.now()
		for batch, err := range batches {
			s.took(began)
			if err == nil {
				s.made(batch)
			}
			if !yield(batch, err) {
				return
			}
			began = s.now()
		}
		s.took(began)
	}
}

// below returns what the steps have done, as text does, to stand below a line.
func (s *step) below(depth int) string {
	var b strings.Builder
	s.write(&b, depth, true, true)
	return b.String()
}

// text returns the step and those below it as lines, each step indented below the one
// that takes its rows. verbose tells all that is known of them.
func (s *step) text(verbose bool) string {
	var b strings.Builder
	s.write(&b, 0, verbose, false)
	return b.String()
}

func (s *step) write(b *strings.Builder, depth int, verbose, measured bool) {
	parts := s.how
	if verbose {
		parts = append(parts[:len(parts):len(parts)], s.more...)
	}
	fmt.Fprintf(b, "%s%s", strings.Repeat("  ", depth), s.what)
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

// measures tells what the step did.
func (s *step) measures() string {
	if !s.ran.Load() {
		return " [not run]"
	}
	text := fmt.Sprintf(" [rows=%d", s.rows.Load())
	if n := s.batches.Load(); n > 0 {
		text += fmt.Sprintf(", batches=%d, bytes=%d", n, s.bytes.Load())
	}
	if n := s.usage.Requests(); n > 0 {
		text += fmt.Sprintf(", requests=%d, bytes_read=%d", n, s.usage.Bytes())
	} else if s.reads() {
		text += ", requests=0, bytes_read=0"
	}
	return fmt.Sprintf("%s, elapsed=%s]", text, time.Duration(s.waited.Load()))
}

// reads says whether the step reads from the storage.
func (s *step) reads() bool { return s.what == stepScan || s.what == stepTake || s.what == stepFilter }

// The steps that read from the storage.
const (
	stepScan   = "Scan"
	stepTake   = "Take"
	stepFilter = "Filter"
)

// list writes names for a plan.
func list(names []string) string { return "[" + strings.Join(names, ", ") + "]" }

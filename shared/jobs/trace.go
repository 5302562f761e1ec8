package jobs

import (
	"context"
	"errors"
	"strings"

	"tiltyard/shared/process/tracing"
	"tiltyard/shared/protocol"
	"tiltyard/shared/storage/objectstore"
)

// work returns the name of the span for the message's work.
func (m Message) work() string {
	switch {
	case m.Job == "":
		return "look " + m.Kind
	case m.Part != 0:
		return "part"
	}
	return "job"
}

// run calls Do within a trace span.
func (s Stage) run(ctx context.Context, r *Run) (result any, err error) {
	ctx, span := tracing.Start(objectstore.Ordinary(ctx), "stage "+s.Name, tracing.Inside)
	if span == nil {
		return s.Do(ctx, r)
	}
	defer span.End()
	part, of := r.Part()
	span.Text("tiltyard.job", r.unit.Job)
	span.Text("tiltyard.kind", r.job.Kind)
	span.Text("tiltyard.object", strings.Join(r.Object(), protocol.DefaultDelimiter))
	span.Number("tiltyard.part", int64(part))
	span.Number("tiltyard.parts", int64(of))
	result, err = s.Do(ctx, r)
	switch {
	case err == nil:
	case goesOn(err):
		span.Text("tiltyard.outcome", "goes on later")
	default:
		span.Fail(wordOf(err))
	}
	return result, err
}

// goesOn reports whether the error ends a run without a failure, such as a pause, a deadline or a
// delay.
func goesOn(err error) bool {
	var wait later
	return settled(err) == nil || errors.Is(err, errHeavy) || errors.As(err, &wait)
}

// wordOf returns a word for an error, for the trace. The text of the error may quote confidential
// values.
func wordOf(err error) string {
	switch {
	case errors.Is(err, context.Canceled):
		return "cancelled"
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	}
	return protocol.CodeOf(err).String()
}

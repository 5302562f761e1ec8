// Package tracing makes traces for OpenTelemetry and sends them to a collector, when a program has one.
//
// A trace is a tree of spans, one for each piece of work: a request or a run of a job, and the
// requests to stores, queues and executors that it makes. A trace may begin with a client and go on in other
// processes. It is passed on as the W3C Trace Context: in headers of HTTP, and as one text in messages
// ([Parent]).
//
// The context of a piece of work carries its span. A program without a [Tracer] puts none into any context, and
// what this package does then costs one look into the context.
//
// Tracing never fails a request and never waits for a collector, with one exception: a function that may be frozen after
// its answer first waits a short time ([Tracer.Rest]). Spans that the collector does not take in time are
// dropped. They contain names, sizes and outcomes, and no contents of rows, filters, tokens or errors.
//
// The package does not use the modules of OpenTelemetry, which each cold start of a function would load, also without traces:
// the exporter alone adds 0.9 MB to a zipped function.
package tracing

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"time"
)

// Options configure a Tracer.
type Options struct {
	// Collector is the base URL of a collector that takes OTLP over HTTP; /v1/traces is added.
	Collector string
	// Headers are sent to the collector. They may contain secrets.
	Headers map[string]string
	// Share is the part of the traces that begin here which are recorded, from 0 to 1. A trace that began
	// elsewhere is recorded if it is there.
	Share float64
	// Service is the name of the program in traces, and Release its version.
	Service, Release string
	// Function is the name of the function in Lambda, "" elsewhere. It may be frozen after each answer.
	Function string
	// Logger gets a line when the collector begins to fail, and when it works again.
	Logger *slog.Logger
}

// A Tracer makes the spans that begin in this process. All methods of a nil Tracer do nothing. It is safe for concurrent
// use.
type Tracer struct {
	share   float64
	sender  *sender
	freezes bool
}

// Open returns a Tracer. It sends no request before the first span has ended.
func Open(o Options) *Tracer {
	return &Tracer{share: o.Share, sender: startSender(o), freezes: o.Function != ""}
}

// Request begins the span of a request from a client, whose headers may name a span as its parent. Headers that are not
// well-formed are ignored: the request then begins a trace.
func (t *Tracer) Request(ctx context.Context, headers http.Header) (context.Context, *Span) {
	if t == nil {
		return ctx, nil
	}
	above, ok := linkOf(headers)
	return t.begin(ctx, above, ok, "request", Server)
}

// Message begins the span of the work on a message. parent is what [Parent] returned where it was sent. Any other text is
// ignored.
func (t *Tracer) Message(ctx context.Context, parent, name string) (context.Context, *Span) {
	if t == nil {
		return ctx, nil
	}
	above, ok := parseLink(parent)
	return t.begin(ctx, above, ok, name, Taker)
}

// begin begins a span below another, or a trace. The span is nil when the trace is not recorded; the context then passes
// on that it is not.
func (t *Tracer) begin(ctx context.Context, above link, isBelow bool, name string, kind Kind) (context.Context, *Span) {
	s := &Span{name: name, kind: kind, began: time.Now()}
	if isBelow {
		s.link, s.parent = above.below(), above.span
	} else {
		s.link = newTrace(rand.Float64() < t.share)
	}
	ctx = context.WithValue(ctx, spanKey{}, s)
	if !s.link.isRecorded() {
		return ctx, nil
	}
	s.tracer = t
	return ctx, s
}

// restTimeout is how long a function waits for the collector before it may be frozen.
const restTimeout = 300 * time.Millisecond

// Rest is called when a piece of work that came from outside has ended. A function then sends its spans, because it may be
// frozen until the next request. It does not wait for a collector that has just failed.
func (t *Tracer) Rest(ctx context.Context) {
	if t == nil || !t.freezes || t.sender.failing() {
		return
	}
	waiting, done := context.WithTimeout(context.WithoutCancel(ctx), restTimeout)
	defer done()
	if err := t.sender.flush(waiting); err != nil {
		t.sender.fail(err)
	}
}

// Close sends what is left, for as long as the context allows, and ends the Tracer. Spans that end later are dropped.
func (t *Tracer) Close(ctx context.Context) error {
	if t == nil {
		return nil
	}
	return t.sender.close(ctx)
}

// Package tracing records OpenTelemetry traces and sends them to a collector, if one is configured.
//
// A trace is a tree of spans, one for each piece of work: a request or a run of a job, and its requests to
// stores, queues and executors. A trace may begin in a client and continue in other processes. It is
// propagated as W3C Trace Context: in HTTP headers, and as text in messages ([Parent]).
//
// The context of a piece of work carries its span. Without a [Tracer] contexts have no spans, and a call to
// this package costs one context lookup.
//
// Tracing never fails a request and never waits for a collector, with one exception: a Lambda function,
// which may be frozen after its response, first waits a short time ([Tracer.Rest]). Spans that the
// collector does not accept in time are dropped. Spans contain names, sizes and outcomes, but no rows,
// filters, tokens or error texts.
//
// The package does not use the OpenTelemetry modules, because each cold start of a function would load them
// even without tracing: the exporter alone adds 0.9 MB to a zipped function.
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
	// Share is the sampling ratio of the traces that begin here, from 0 to 1. A trace that began elsewhere
	// keeps its sampling decision.
	Share float64
	// Service is the name of the program in traces, and Release its version.
	Service, Release string
	// Function is the name of the function in Lambda, "" elsewhere. It may be frozen after each answer.
	Function string
	// Logger gets a line when the collector begins to fail, and when it works again.
	Logger *slog.Logger
}

// A Tracer creates the spans of this process. All methods of a nil Tracer do nothing. It is safe for
// concurrent use.
type Tracer struct {
	share   float64
	sender  *sender
	freezes bool
}

// Open returns a Tracer. It sends no request before the first span has ended.
func Open(o Options) *Tracer {
	return &Tracer{share: o.Share, sender: startSender(o), freezes: o.Function != ""}
}

// Request begins the span of a client's request. Its parent is the span in the headers, if any. Malformed
// headers are ignored, and the request begins a new trace.
func (t *Tracer) Request(ctx context.Context, headers http.Header) (context.Context, *Span) {
	if t == nil {
		return ctx, nil
	}
	above, ok := linkOf(headers)
	return t.begin(ctx, above, ok, "request", Server)
}

// Message begins the span of the work on a message. parent is the result of [Parent] at the sender. Any
// other text is ignored.
func (t *Tracer) Message(ctx context.Context, parent, name string) (context.Context, *Span) {
	if t == nil {
		return ctx, nil
	}
	above, ok := parseLink(parent)
	return t.begin(ctx, above, ok, name, Taker)
}

// begin begins a child span, or a trace. The span is nil if the trace is not sampled; the context then
// propagates that decision.
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

// restTimeout is the maximal wait of a function for the collector before it may be frozen.
const restTimeout = 300 * time.Millisecond

// Rest is called at the end of a request or message. A Lambda function then sends its spans, because it may
// be frozen until the next request. It does not wait for a collector that has just failed.
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

// Close sends the remaining spans while the context permits, and shuts the Tracer down. Spans that end
// later are dropped.
func (t *Tracer) Close(ctx context.Context) error {
	if t == nil {
		return nil
	}
	return t.sender.close(ctx)
}

package tracing

import (
	"context"
	"math/rand/v2"
	"strings"
	"sync"
	"time"
)

// A Span is one piece of work. All methods of a nil Span do nothing. It is safe for concurrent use.
type Span struct {
	tracer *Tracer
	link   link
	parent [8]byte // zero: none
	kind   Kind
	began  time.Time

	mu         sync.Mutex
	name       string
	ended      time.Time // zero: not yet
	failed     bool
	properties []property
}

// A property is a text or a number.
type property struct {
	name string
	text string
	// number counts when isNumber is set.
	number   int64
	isNumber bool
}

// A Kind is the role of a span between two processes, with the number of OTLP's SpanKind.
type Kind int

// The kinds of spans.
const (
	Inside Kind = iota + 1 // work within the process
	Server                 // a request from a client
	Client                 // a request to another process
	Sender                 // a message to a queue
	Taker                  // the work on a message
)

type spanKey struct{}

// of returns the span of the context, or nil. The span has no tracer if its trace is not recorded.
func of(ctx context.Context) *Span {
	s, _ := ctx.Value(spanKey{}).(*Span)
	return s
}

// Start begins a child of the context's span. Without one, or if the trace is not recorded, it returns ctx
// and nil.
func Start(ctx context.Context, name string, kind Kind) (context.Context, *Span) {
	above := of(ctx)
	if above == nil || above.tracer == nil {
		return ctx, nil
	}
	return above.tracer.begin(ctx, above.link, true, name, kind)
}

// maxTextBytes bounds the texts of a span, some of which are chosen by clients.
const maxTextBytes = 1 << 10

// cut returns the beginning of a text. The result does not retain a longer text.
func cut(text string) string {
	if len(text) <= maxTextBytes {
		return text
	}
	return strings.Clone(text[:maxTextBytes])
}

// Name replaces the name of the span.
func (s *Span) Name(name string) {
	s.change(func() { s.name = cut(name) })
}

// Text adds a property, unless its value is empty.
func (s *Span) Text(name, value string) {
	if value != "" {
		s.add(property{name: name, text: cut(value)})
	}
}

// Number adds a property.
func (s *Span) Number(name string, value int64) {
	s.add(property{name: name, number: value, isNumber: true})
}

// Fail marks the span as failed. why is a word such as an error code. It must not be an error text, which
// may quote values.
func (s *Span) Fail(why string) {
	s.change(func() { s.failed = true })
	s.Text("error.type", why)
}

// End ends the span. Only the first call counts, and later changes are ignored.
func (s *Span) End() {
	ended := false
	s.change(func() { s.ended, ended = time.Now(), true })
	if ended {
		s.tracer.sender.take(s)
	}
}

// Distrust marks the sender of the request as unauthenticated. The sampling decision in its headers is then
// ignored: the span is sampled like the root of a new trace. A span that is not sampled ends here.
func (s *Span) Distrust() {
	s.change(func() {
		if s.parent != [8]byte{} && rand.Float64() >= s.tracer.share {
			s.ended = time.Now()
		}
	})
}

func (s *Span) add(p property) {
	s.change(func() { s.properties = append(s.properties, p) })
}

// change changes the span unless it has ended.
func (s *Span) change(change func()) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended.IsZero() {
		change()
	}
}

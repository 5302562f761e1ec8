package tracing_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"tiltyard/shared/process/tracing"
	"tiltyard/shared/process/tracing/tracetest"
)

const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

func headers(values ...string) http.Header {
	h := http.Header{}
	for _, value := range values {
		h.Add("traceparent", value)
	}
	return h
}

func TestSpansFormATree(t *testing.T) {
	c := tracetest.NewCollector(t)
	tracer := tracing.Open(tracing.Options{Collector: c.URL, Share: 1, Service: "tiltyard", Release: "v1", Logger: slog.New(slog.DiscardHandler)})
	ctx, request := tracer.Request(t.Context(), headers(parent))
	inner, call := tracing.Start(ctx, "call", tracing.Client)
	sent := http.Header{}
	tracing.PassOn(inner, sent)
	message := tracing.Parent(inner)
	call.Number("bytes", 7)
	call.Fail("timeout")
	call.End()
	call.Name("too late")
	request.Name("DescribeTable")
	request.End()
	request.End()
	_, work := tracer.Message(t.Context(), message, "job")
	work.End()
	if err := tracer.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	spans := c.ByName(t)
	if len(c.Spans()) != 3 {
		t.Errorf("got %d spans, want 3", len(c.Spans()))
	}
	r, in, job := spans["DescribeTable"], spans["call"], spans["job"]
	if r.Trace != parent[3:35] || r.Parent != parent[36:52] {
		t.Errorf("the request is %s below %s, want those of %s", r.Trace, r.Parent, parent)
	}
	if in.Trace != r.Trace || in.Parent != r.ID || job.Trace != r.Trace || job.Parent != in.ID {
		t.Errorf("request %+v, call %+v and job %+v are no tree", r, in, job)
	}
	if in.Properties["bytes"] != "7" || in.Properties["error.type"] != "timeout" || in.Status != 2 || r.Status != 0 {
		t.Errorf("the call is %+v", in)
	}
	if want := "00-" + in.Trace + "-" + in.ID + "-01"; sent.Get("traceparent") != want || message != want {
		t.Errorf("passed on were %q and %q, want %q", sent.Get("traceparent"), message, want)
	}
}

// Headers are untrusted. Malformed ones begin a new trace, and none of their content is propagated.
func TestHostileParents(t *testing.T) {
	c := tracetest.NewCollector(t)
	tracer := tracing.Open(tracing.Options{Collector: c.URL, Share: 1, Logger: slog.New(slog.DiscardHandler)})
	hostile := [][]string{
		{""}, {"00"}, {strings.Repeat("0", 1<<20)}, {parent + "\r\nx: y"}, {parent, parent},
		{"00-00000000000000000000000000000000-b7ad6b7169203331-01"},
		{"00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01"},
		{"ff" + parent[2:]}, {strings.ToUpper(parent)}, {parent + "-00"}, {parent + "x"}, {"cc" + parent[2:] + "x"}, {"+0" + parent[2:]},
		{"00-0af7651916cd43dd8448eb211c8031%s-b7ad6b7169203331-01"},
	}
	for i, values := range hostile {
		h := headers(values...)
		h.Set("tracestate", strings.Repeat("a=b,", 1000)+"\x00")
		ctx, span := tracer.Request(t.Context(), h)
		span.Name(fmt.Sprint(i))
		span.Text("long", strings.Repeat("x", 1<<20))
		out := http.Header{}
		tracing.PassOn(ctx, out)
		if got := out.Get("traceparent"); len(got) != len(parent) || strings.Contains(got, parent[3:35]) || out.Get("tracestate") != "" {
			t.Errorf("%.80q: %q and %q are passed on", values, got, out.Get("tracestate"))
		}
		span.End()
		_, span = tracer.Message(t.Context(), values[0], "message")
		span.End()
	}
	if err := tracer.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if spans := c.Spans(); len(spans) != 2*len(hostile) {
		t.Errorf("got %d spans, want %d", len(spans), 2*len(hostile))
	}
	for _, s := range c.Spans() {
		if s.Parent != "" && s.Name != "message" || len(s.Properties["long"]) > 1<<10 {
			t.Errorf("span %s has the parent %q and %d bytes", s.Name, s.Parent, len(s.Properties["long"]))
		}
	}
}

// Later versions may have additional fields. Unknown flags are not propagated.
func TestTraceparentMayHaveALaterVersion(t *testing.T) {
	tracer := tracing.Open(tracing.Options{Collector: tracetest.NewCollector(t).URL, Logger: slog.New(slog.DiscardHandler)})
	for from, flags := range map[string]string{"00" + parent[2:53] + "ff": "03", "cc" + parent[2:] + "-further": "01"} {
		ctx, _ := tracer.Request(t.Context(), headers(from))
		if got := tracing.Parent(ctx); got[:35] != parent[:35] || got[53:] != flags {
			t.Errorf("%q is passed on as %q", from, got)
		}
	}
	if err := tracer.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// The state of other tracing systems is propagated, up to the required length.
func TestStateOfOtherSystemsIsPropagated(t *testing.T) {
	c := tracetest.NewCollector(t)
	tracer := tracing.Open(tracing.Options{Collector: c.URL, Share: 1, Logger: slog.New(slog.DiscardHandler)})
	for _, state := range []string{"a=b,c=d", "", "a=b\x00", "no state", "=b", "ä=b", "a=" + strings.Repeat("x", 200) + ",c=" + strings.Repeat("y", 200) + ",e=" + strings.Repeat("z", 200)} {
		h := headers(parent)
		h.Set("tracestate", state)
		ctx, span := tracer.Request(t.Context(), h)
		out := http.Header{}
		tracing.PassOn(ctx, out)
		if got := out.Get("tracestate"); got != map[string]string{"a=b,c=d": "a=b,c=d"}[state] || out.Get("traceparent")[:35] != parent[:35] {
			t.Errorf("%q in %q is passed on", got, out)
		}
		span.End()
	}
	if err := tracer.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// A trace that its sender or the sampling ratio excludes is propagated as not recorded, and has no spans.
func TestTraceThatIsNotRecordedHasNoSpans(t *testing.T) {
	c := tracetest.NewCollector(t)
	tracer := tracing.Open(tracing.Options{Collector: c.URL, Share: 0, Logger: slog.New(slog.DiscardHandler)})
	for _, from := range []string{"", parent[:len(parent)-1] + "0"} {
		ctx, span := tracer.Request(t.Context(), headers(from))
		inner, below := tracing.Start(ctx, "call", tracing.Client)
		if span != nil || below != nil {
			t.Errorf("%q: there is a span", from)
		}
		if got := tracing.Parent(inner); !strings.HasSuffix(got, "-00") || tracing.TraceID(inner) != got[3:35] {
			t.Errorf("%q: %q is passed on, of trace %q", from, got, tracing.TraceID(inner))
		}
	}
	ctx, span := tracer.Request(t.Context(), headers(parent))
	span.End()
	if tracing.TraceID(ctx) != parent[3:35] || span == nil {
		t.Error("the trace of a client is not recorded")
	}
	if err := tracer.Close(t.Context()); err != nil || len(c.Spans()) != 1 {
		t.Errorf("got %d spans (%v), want 1", len(c.Spans()), err)
	}
}

func TestTracerThatIsNilDoesNothing(t *testing.T) {
	var none *tracing.Tracer
	ctx, span := none.Request(t.Context(), headers(parent))
	inner, call := tracing.Start(ctx, "call", tracing.Client)
	call.Text("a", "b")
	call.Number("a", 1)
	call.Fail("x")
	call.End()
	span.End()
	none.Rest(ctx)
	if tracing.Parent(inner) != "" || inner != t.Context() || none.Close(ctx) != nil {
		t.Error("there is a trace")
	}
	if n := testing.AllocsPerRun(100, func() { _, s := tracing.Start(ctx, "call", tracing.Client); s.End(); _ = tracing.Parent(ctx) }); n != 0 {
		t.Errorf("a span that is not there takes %v allocations", n)
	}
}

// A function sends its spans before it may be frozen, and a server does not wait.
func TestRest(t *testing.T) {
	for function, want := range map[string]int{"query": 1, "": 0} {
		c := tracetest.NewCollector(t)
		tracer := tracing.Open(tracing.Options{Collector: c.URL, Share: 1, Function: function, Logger: slog.New(slog.DiscardHandler)})
		ctx, span := tracer.Request(t.Context(), nil)
		span.End()
		tracer.Rest(ctx)
		if got := len(c.Spans()); function != "" && got != want {
			t.Errorf("%q: the collector has %d spans, want %d", function, got, want)
		}
		if err := tracer.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// A collector that refuses spans, or is not there, fails no request and has one line in the log, without the headers.
func TestCollectorThatIsDeadFailsNoRequest(t *testing.T) {
	refusing := httptest.NewServer(http.NotFoundHandler())
	defer refusing.Close()
	gone := httptest.NewServer(nil)
	gone.Close()
	for name, url := range map[string]string{"refusing": refusing.URL, "gone": gone.URL} {
		t.Run(name, func(t *testing.T) {
			var lines bytes.Buffer
			tracer := tracing.Open(tracing.Options{
				Collector: url, Headers: map[string]string{"x-key": "secret"}, Share: 1, Function: "query",
				Logger: slog.New(slog.NewJSONHandler(&lines, nil)),
			})
			for range 3 {
				ctx, span := tracer.Request(t.Context(), nil)
				span.End()
				tracer.Rest(ctx)
			}
			if err := tracer.Close(t.Context()); err != nil {
				t.Error(err)
			}
			if text := lines.String(); strings.Count(text, "\n") != 1 || strings.Contains(text, "secret") {
				t.Errorf("the log is %q, want one line", text)
			}
		})
	}
}

func TestLinesHaveTheTrace(t *testing.T) {
	c := tracetest.NewCollector(t)
	tracer := tracing.Open(tracing.Options{Collector: c.URL, Share: 1, Logger: slog.New(slog.DiscardHandler)})
	ctx, span := tracer.Request(t.Context(), headers(parent))
	defer span.End()
	var text bytes.Buffer
	log := slog.New(tracing.Logging(slog.NewJSONHandler(&text, nil))).With("a", 1)
	log.InfoContext(ctx, "within")
	log.InfoContext(t.Context(), "outside")
	decoder := json.NewDecoder(&text)
	for _, want := range []any{parent[3:35], nil} {
		var line map[string]any
		if err := decoder.Decode(&line); err != nil {
			t.Fatal(err)
		}
		if line["trace_id"] != want {
			t.Errorf("line %v, want the trace %v", line, want)
		}
	}
	if err := tracer.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

package jobs_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"tiltyard/shared/jobs"
	"tiltyard/shared/jobs/memqueue"
	"tiltyard/shared/process/tracing"
	"tiltyard/shared/process/tracing/tracetest"
	"tiltyard/shared/protocol"
	"tiltyard/shared/storage/objectstore/memstore"
)

// The spans of a job, of its parts and of the job that a poll begins are in the trace of the request that began it.
func TestJobJoinsTheTraceOfItsRequest(t *testing.T) {
	c := tracetest.NewCollector(t)
	tracer := tracing.Open(tracing.Options{Collector: c.URL, Share: 1, Logger: slog.New(slog.DiscardHandler)})
	queue := new(memqueue.Queue)
	failed := false
	h := newHouse(memstore.New(), queue, jobs.Kind{
		Stages: []jobs.Stage{
			{Name: "plan", Do: func(context.Context, *jobs.Run) (any, error) { return 0, nil }},
			{
				Name: "parts", Parts: func(context.Context, *jobs.Run) (int, error) { return 2, nil },
				Do: func(context.Context, *jobs.Run) (any, error) { return 0, nil },
			},
			{Name: "commit", Do: func(context.Context, *jobs.Run) (any, error) {
				if !failed {
					failed = true
					return nil, jobs.Later(time.Millisecond)
				}
				return 0, errors.New("secret: the value 7")
			}},
		},
		Poll: func(context.Context, []string) (*jobs.Trigger, error) { return &jobs.Trigger{}, nil },
	})
	h.Traces = tracer
	ctx, request := tracer.Request(t.Context(), nil)
	if err := h.Suggest(ctx, "k", []string{"ns", "t"}, 0); err != nil {
		t.Fatal(err)
	}
	trace := tracing.TraceID(ctx)
	request.Name("InsertIntoTable")
	request.End()
	for range 7 { // a poll, the job, two parts, the job thrice; the next repetition would be seconds away
		d, err := queue.Receive(t.Context(), time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(h.Do(t.Context(), d.Message), queue.Done(t.Context(), d)); err != nil {
			t.Fatal(err)
		}
		if jobs, _, err := h.Transactions.Jobs(t.Context(), "", 1); err == nil && len(jobs) == 1 && jobs[0].Work.Failures > 0 {
			break
		}
	}
	if err := tracer.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	byID, names := map[string]tracetest.Span{}, map[string]int{}
	for _, s := range c.Spans() {
		byID[s.ID] = s
		names[s.Name]++
	}
	for _, s := range c.Spans() {
		if above, ok := byID[s.Parent]; s.Trace != trace || !ok != (s.Name == "InsertIntoTable") {
			t.Errorf("span %s is below %q in trace %s, want the trace %s", s.Name, above.Name, s.Trace, trace)
		}
		if s.Name == "stage parts" && byID[s.Parent].Name != "part" || s.Name == "stage commit" && byID[s.Parent].Name != "job" {
			t.Errorf("span %s is below %s", s.Name, byID[s.Parent].Name)
		}
		for key, value := range s.Properties {
			if key == "error.type" && value != protocol.Internal.String() {
				t.Errorf("the failure of %s is %q", s.Name, value)
			}
		}
	}
	want := map[string]int{"InsertIntoTable": 1, "look k": 1, "part": 2, "stage plan": 1, "stage parts": 2, "stage commit": 2}
	for name, n := range want {
		if names[name] != n {
			t.Errorf("there are %d spans %q, want %d", names[name], name, n)
		}
	}
}

// A message of another release, or of a program without traces, begins a trace.
func TestMessageWithoutTraceBeginsOne(t *testing.T) {
	for _, text := range []string{`{"kind":"k","object":["t"]}`, `{"kind":"k","object":["t"],"trace":"\u0000no trace"}`} {
		c := tracetest.NewCollector(t)
		tracer := tracing.Open(tracing.Options{Collector: c.URL, Share: 1, Logger: slog.New(slog.DiscardHandler)})
		h := newHouse(memstore.New(), new(memqueue.Queue), jobs.Kind{Poll: func(context.Context, []string) (*jobs.Trigger, error) { return nil, nil }})
		h.Traces = tracer
		m, err := jobs.Parse([]byte(text))
		if err == nil {
			err = h.Do(t.Context(), m)
		}
		if err := errors.Join(err, tracer.Close(t.Context())); err != nil {
			t.Fatal(err)
		}
		if spans := c.Spans(); len(spans) != 1 || spans[0].Name != "look k" || spans[0].Parent != "" {
			t.Errorf("%s: the spans are %+v", text, spans)
		}
	}
}

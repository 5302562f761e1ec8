// Package executortest tests the contract of carriers: called functions compute their rows, and no
// behaviour of an executor harms the service or other rows.
package executortest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/google/go-cmp/cmp"

	allocator "github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/engine/udf"
	"tiltyard/shared/engine/udf/executor"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/process/tracing"
	"tiltyard/shared/process/tracing/tracetest"
	"tiltyard/shared/protocol"
)

// Payload is the limit of the streams in the contract.
const Payload = 16 << 10

// A Connect starts a program that behaves like the named peer, and returns its configuration. The test
// stops the program.
type Connect func(t *testing.T, peer string) (executor.Config, executor.Options)

// Run runs the contract.
func Run(t *testing.T, connect Connect) {
	t.Run("ComputesRows", connect.computesRows)
	t.Run("MarksRows", connect.marksRows)
	t.Run("IsolatesRows", connect.isolatesRows)
	t.Run("Repeats", connect.repeats)
	t.Run("RefusesReplies", connect.refusesReplies)
	t.Run("SurvivesCuts", connect.survivesCuts)
	t.Run("EndsWithItsContext", connect.endsWithItsContext)
	t.Run("BoundsCalls", connect.boundsCalls)
	t.Run("TakesMemory", connect.takesMemory)
	t.Run("PassesTracesOn", connect.passesTracesOn)
}

// open opens the function for a peer. waits counts the pauses between attempts.
func (connect Connect) open(t *testing.T, peer string, timeout time.Duration) (caller udf.Caller, waits *int) {
	t.Helper()
	config, options := connect(t, peer)
	config.Name, config.Concurrency, config.Timeout, config.PayloadBytes = "peer", 2, timeout, Payload
	waits = new(int)
	options.Wait = func(ctx context.Context, d time.Duration) error {
		if *waits++; d < 0 || d > time.Minute {
			t.Errorf("waits for %v", d)
		}
		return ctx.Err()
	}
	set, err := executor.Open([]executor.Config{config}, options)
	if err != nil {
		t.Fatal(err)
	}
	caller, err = set.Open(t.Context(), udf.Spec{
		Name: "double", Version: "7", Kind: "python_callable", Entrypoint: "double", Digest: "sha256:00", Artifact: []byte("def double(value)"),
		Runtime: []byte(`{"kind":"executor","executor":"peer"}`), Inputs: []arrow.Field{{Name: "value", Type: arrow.PrimitiveTypes.Int64}},
		Outputs: fields(), Initialization: []byte("row"), Environment: map[string]string{"KEY": Secret}, Binding: "b", Job: "j",
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := caller.Close(); err != nil {
			t.Error(err)
		}
	})
	return caller, waits
}

func isUnavailable(err error) bool {
	var wrong *protocol.Error
	return errors.As(err, &wrong) && wrong.Code == protocol.ServiceUnavailable
}

// rows returns a batch of the numbers from 0.
func rows(n int) arrow.RecordBatch {
	b := array.NewInt64Builder(allocator.DefaultAllocator)
	for i := range n {
		b.Append(int64(i))
	}
	schema := arrow.NewSchema([]arrow.Field{{Name: "value", Type: arrow.PrimitiveTypes.Int64}}, nil)
	return array.NewRecordBatch(schema, []arrow.Array{b.NewArray()}, int64(n))
}

// expect compares a result for n rows: failed rows are null, all others are doubled.
func expect(t *testing.T, got udf.Result, n int, failed ...udf.Failure) {
	t.Helper()
	if diff := cmp.Diff(failed, got.Failed); diff != "" {
		t.Errorf("failures differ (-want +got):\n%s", diff)
	}
	if got.Outputs == nil || got.Outputs.NumRows() != int64(n) || got.Outputs.NumCols() != 1 {
		t.Fatalf("got %v for %d rows", got.Outputs, n)
	}
	isFailed := map[int]bool{}
	for _, f := range failed {
		isFailed[f.Row] = true
	}
	column := got.Outputs.Column(0).(*array.Int64)
	for i := range n {
		if column.IsNull(i) != isFailed[i] || !isFailed[i] && column.Value(i) != int64(2*i) {
			t.Errorf("row %d is %s", i, column.ValueStr(i))
		}
	}
}

// computesRows checks batches of several sizes, including the empty one.
func (connect Connect) computesRows(t *testing.T) {
	caller, _ := connect.open(t, "honest", time.Minute)
	for _, n := range []int{0, 1, 100, 5000} {
		got, err := caller.Call(t.Context(), rows(n))
		if err != nil {
			t.Fatal(err)
		}
		expect(t, got, n)
	}
}

// marksRows checks rows that the function marks as failed.
func (connect Connect) marksRows(t *testing.T) {
	caller, _ := connect.open(t, "marking", time.Minute)
	got, err := caller.Call(t.Context(), rows(40))
	if err != nil {
		t.Fatal(err)
	}
	var want []udf.Failure
	for i, message := range []string{"no 3", "no 13", "no 23", "no 33"} {
		want = append(want, udf.Failure{Row: 10*i + 3, Type: "ValueError", Message: message})
	}
	expect(t, got, 40, want...)
}

// isolatesRows checks that one failing row does not affect the others of its batch.
func (connect Connect) isolatesRows(t *testing.T) {
	caller, _ := connect.open(t, "poisoned", time.Minute)
	got, err := caller.Call(t.Context(), rows(100))
	if err != nil {
		t.Fatal(err)
	}
	expect(t, got, 100, udf.Failure{Row: poison, Type: "Poisoned", Message: "unlucky"})
	caller, _ = connect.open(t, "talkative", time.Minute)
	if got, err = caller.Call(t.Context(), rows(poison+1)); err != nil || len(got.Failed) != 1 {
		t.Fatalf("got %v, %v", got, err)
	}
	failed := got.Failed[0]
	if failed.Type != "Key ***" || len(failed.Message) != 4<<10 || !strings.HasPrefix(failed.Message, "the key *** is wrong") || failed.Row != poison {
		t.Errorf("got %+v", failed)
	}
}

// repeats checks that calls are retried after transient failures only, and with pauses.
func (connect Connect) repeats(t *testing.T) {
	caller, waits := connect.open(t, "third time", time.Minute)
	got, err := caller.Call(t.Context(), rows(4))
	if err != nil || *waits != 2 {
		t.Fatalf("got error %v after %d pauses", err, *waits)
	}
	expect(t, got, 4)
	caller, waits = connect.open(t, "never", time.Minute)
	got, err = caller.Call(t.Context(), rows(1))
	if !isUnavailable(err) && (err != nil || len(got.Failed) != 1) || *waits != 4 { // a command is never overloaded, only a function
		t.Errorf("got %v, %v after %d pauses", got, err, *waits)
	}
	caller, _ = connect.open(t, "retryable", time.Minute)
	if got, err = caller.Call(t.Context(), rows(16)); err != nil {
		t.Fatal(err)
	}
	expect(t, got, 16, udf.Failure{Row: poison, Type: "Later", Message: "not now"})
}

// refusesReplies checks that invalid replies fail the rows of their call, and nothing else.
func (connect Connect) refusesReplies(t *testing.T) {
	for peer, kind := range hostile {
		t.Run(peer, func(t *testing.T) {
			timeout := time.Minute
			if peer == "drip" {
				timeout = 200 * time.Millisecond
			}
			caller, _ := connect.open(t, peer, timeout)
			got, err := caller.Call(t.Context(), rows(2))
			for isUnavailable(err) && timeout < 10*time.Second { // on a busy machine the peer has not begun
				timeout *= 3
				caller, _ = connect.open(t, peer, timeout)
				got, err = caller.Call(t.Context(), rows(2))
			}
			if err != nil {
				t.Fatal(err)
			}
			for i, f := range got.Failed {
				if f.Row != i || f.Type != kind || f.Message == "" {
					t.Errorf("got %+v, want one of the type %s", f, kind)
				}
				got.Failed[i].Message = ""
			}
			expect(t, got, 2, udf.Failure{Row: 0, Type: kind}, udf.Failure{Row: 1, Type: kind})
		})
	}
}

// survivesCuts expects either outcome of a truncated reply: the executor became unreachable, or a
// function killed it.
func (connect Connect) survivesCuts(t *testing.T) {
	caller, waits := connect.open(t, "cut", time.Minute)
	got, err := caller.Call(t.Context(), rows(2))
	switch {
	case err == nil && len(got.Failed) == 2 && got.Failed[0].Type == executor.Crashed && !strings.Contains(got.Failed[0].Message, Secret):
	case isUnavailable(err) && *waits == 4:
	default:
		t.Errorf("got %v, %v after %d pauses", got, err, *waits)
	}
}

// endsWithItsContext checks that a call ends soon after its context, even if the reply never ends.
func (connect Connect) endsWithItsContext(t *testing.T) {
	caller, _ := connect.open(t, "drip", time.Minute)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	began := time.Now()
	if _, err := caller.Call(ctx, rows(2)); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) > 10*time.Second {
		t.Errorf("got error %v after %v", err, time.Since(began))
	}
}

// boundsCalls checks that a batch beyond the maximum size of a call is sent in parts.
func (connect Connect) boundsCalls(t *testing.T) {
	caller, _ := connect.open(t, "honest", time.Minute)
	for range 10 { // until batches have their largest size
		got, err := caller.Call(t.Context(), rows(2*Payload/8))
		if err != nil {
			t.Fatal(err)
		}
		expect(t, got, 2*Payload/8)
	}
}

// takesMemory checks that calls take memory for replies, refuse to exceed it, and release all of it.
func (connect Connect) takesMemory(t *testing.T) {
	caller, _ := connect.open(t, "honest", time.Minute)
	for _, limit := range []int64{2 << 10, 16 << 20} {
		budget := memory.NewBudget(limit, limit)
		share := budget.Open()
		got, err := caller.Call(memory.WithShare(t.Context(), share), rows(1000))
		if limit < 1<<20 {
			var wrong *memory.Error
			if !errors.As(err, &wrong) {
				t.Errorf("got error %v with %d bytes", err, limit)
			}
		} else if err != nil {
			t.Error(err)
		} else {
			expect(t, got, 1000)
		}
		if share.Held() != 0 || share.Peak() == 0 {
			t.Errorf("%d bytes are held, and %d were", share.Held(), share.Peak())
		}
		share.Close()
	}
}

// passesTracesOn checks that each attempt of a call has its own span, and that the executor receives
// the id of the span, or none without tracing.
func (connect Connect) passesTracesOn(t *testing.T) {
	traceOf := func(ctx context.Context) string {
		caller, _ := connect.open(t, "traced", time.Minute)
		got, err := caller.Call(ctx, rows(1))
		if err != nil || len(got.Failed) != 1 || got.Failed[0].Type != "Traced" {
			t.Fatalf("got %v, %v", got, err)
		}
		return got.Failed[0].Message
	}
	if trace := traceOf(t.Context()); trace != "attempt 2:" {
		t.Errorf("without traces the executor got %q", trace)
	}
	collector := tracetest.NewCollector(t)
	tracer := tracing.Open(tracing.Options{Collector: collector.URL, Share: 1, Logger: slog.New(slog.DiscardHandler)})
	ctx, request := tracer.Request(t.Context(), nil)
	trace := traceOf(ctx)
	request.End()
	if err := tracer.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	var calls []string
	for _, s := range collector.Spans() {
		if s.Name == "executor call" {
			calls = append(calls, fmt.Sprintf("attempt %s:00-%s-%s-01", s.Properties["executor.attempt"], tracing.TraceID(ctx), s.ID))
		}
	}
	if len(calls) != 2 || trace != calls[1] {
		t.Errorf("the executor got %q, and the spans of the calls are %q", trace, calls)
	}
}

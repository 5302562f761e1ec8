package executor

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/arrow/arrowipc"
	"tiltyard/shared/engine/udf"
)

var number = []arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64, Nullable: true}}

func numbers(n int) arrow.RecordBatch {
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema(number, nil))
	for i := range n {
		b.Field(0).(*array.Int64Builder).Append(int64(i))
	}
	return b.NewRecordBatch()
}

// A scripted carrier calls answer with the number of rows of each call, and replies with the rows as they
// came unless it returns an error.
type scripted struct {
	t      *testing.T
	answer func(ctx context.Context, rows int64) error
}

func (s scripted) Connect() Line { return s }
func (s scripted) Close() error  { return nil }
func (s scripted) Do(ctx context.Context, _ *Call, stream []byte, limit int64) (*Bytes, error) {
	r, err := arrowipc.NewReader(ctx, strings.NewReader(string(stream)), arrowipc.Limits{})
	if err != nil {
		s.t.Error(err)
		return nil, err
	}
	batch, err := r.Next()
	if err != nil {
		s.t.Error(err)
		return nil, err
	}
	if err := s.answer(ctx, batch.NumRows()); err != nil {
		return nil, err
	}
	return KeepReply(ctx, stream, limit)
}

func openScripted(t *testing.T, c Config, answer func(ctx context.Context, rows int64) error) udf.Caller {
	t.Helper()
	c.Address, c.PayloadBytes = "lambda:x", 1<<20
	set, err := Open([]Config{c}, Options{Lambda: func(string) (Carrier, error) { return scripted{t, answer}, nil }})
	if err != nil {
		t.Fatal(err)
	}
	caller, err := set.Open(t.Context(), udf.Spec{Runtime: []byte(`{"kind":"executor","executor":""}`), Inputs: number, Outputs: number})
	if err != nil {
		t.Fatal(err)
	}
	return caller
}

func TestBatchesFollowTheTimeOfCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls []int64
		took := []time.Duration{0, time.Second, 3 * time.Second, 11 * time.Second, 20 * time.Second, time.Second, time.Second}
		caller := openScripted(t, Config{Concurrency: 1, Timeout: time.Minute}, func(_ context.Context, rows int64) error {
			time.Sleep(took[len(calls)])
			calls = append(calls, rows)
			return nil
		})
		got, err := caller.Call(t.Context(), numbers(32+64+128+128+64+32+9))
		if err != nil || got.Outputs.NumRows() != 457 {
			t.Errorf("got %v, %v", got, err)
		}
		if diff := cmp.Diff([]int64{32, 64, 128, 128, 64, 32, 9}, calls); diff != "" {
			t.Error(diff)
		}
	})
}

// Batches are cut to the size limit of a call, for rows of any size. A row above the limit fails alone, and
// after a too large reply the batch is sent again in halves.
func TestBatchesAreCutByBytes(t *testing.T) {
	text := []arrow.Field{{Name: "n", Type: arrow.BinaryTypes.String, Nullable: true}}
	open := func(answer func(rows int64) error) udf.Caller {
		set, err := Open([]Config{{Address: "lambda:x", Concurrency: 1, Timeout: time.Minute, PayloadBytes: 64 << 10}}, Options{Lambda: func(string) (Carrier, error) {
			return scripted{t, func(_ context.Context, rows int64) error { return answer(rows) }}, nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		caller, err := set.Open(t.Context(), udf.Spec{Runtime: []byte(`{"kind":"executor","executor":""}`), Inputs: text, Outputs: text})
		if err != nil {
			t.Fatal(err)
		}
		return caller
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema(text, nil))
	for i := range 40 {
		size := 10
		switch {
		case i == 20:
			size = 100 << 10
		case i > 10:
			size = 20 << 10
		}
		b.Field(0).(*array.StringBuilder).Append(strings.Repeat("x", size))
	}
	rows := b.NewRecordBatch()
	var calls []int64
	got, err := open(func(rows int64) error { calls = append(calls, rows); return nil }).Call(t.Context(), rows)
	if err != nil || len(got.Failed) != 1 || got.Failed[0].Row != 20 || got.Failed[0].Type != TooLarge || got.Outputs.NumRows() != 40 {
		t.Errorf("got %v, %v", got, err)
	}
	if diff := cmp.Diff([]int64{14, 3, 3, 3, 3, 3, 3, 3, 3, 1}, calls); diff != "" {
		t.Error(diff)
	}
	calls = nil
	got, err = open(func(rows int64) error {
		calls = append(calls, rows)
		if rows > 2 {
			return &Fault{Type: TooLarge, Message: "the reply is larger"}
		}
		return nil
	}).Call(t.Context(), rows.NewSlice(0, 8))
	if err != nil || len(got.Failed) > 0 || got.Outputs.NumRows() != 8 {
		t.Errorf("got %v, %v", got, err)
	}
	if diff := cmp.Diff([]int64{8, 4, 2, 2, 4, 2, 2}, calls); diff != "" {
		t.Error(diff)
	}
}

// The pause between attempts is random and doubles, or is the pause that the executor requests.
func TestAttemptsAreApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for after, longest := range map[time.Duration]time.Duration{0: 15 * time.Second, 30 * time.Second: 2 * time.Minute, 24 * time.Hour: 4 * time.Minute} {
			began, calls := time.Now(), 0
			caller := openScripted(t, Config{Concurrency: 1, Timeout: time.Minute}, func(context.Context, int64) error {
				calls++
				return &Fault{Type: Overloaded, Message: "m", Retryable: true, Lost: true, After: after}
			})
			if _, err := caller.Call(t.Context(), numbers(1)); err == nil || calls != 5 {
				t.Errorf("got error %v after %d calls", err, calls)
			}
			if took := time.Since(began); took > longest || took < 4*min(after, time.Minute) {
				t.Errorf("took %v; the executor asked for %v", took, after)
			}
		}
	})
}

func TestConcurrencyIsThatOfTheExecutor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		running := make(chan struct{}, 2)
		c := Config{Concurrency: 2, Timeout: time.Minute, Address: "lambda:x", PayloadBytes: 1 << 20}
		set, err := Open([]Config{c}, Options{Lambda: func(string) (Carrier, error) {
			return scripted{t, func(context.Context, int64) error {
				select {
				case running <- struct{}{}:
				default:
					t.Error("a third call is running")
				}
				time.Sleep(time.Second)
				<-running
				return nil
			}}, nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		done := make(chan error)
		for range 6 {
			go func() {
				caller, err := set.Open(t.Context(), udf.Spec{Runtime: []byte(`{"kind":"executor","executor":""}`), Inputs: number, Outputs: number})
				if err == nil {
					_, err = caller.Call(t.Context(), numbers(1))
				}
				done <- err
			}()
		}
		for range 6 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("took %v", took)
		}
	})
}

func TestLargeArtifactsAreRefused(t *testing.T) {
	set, err := Open([]Config{{Name: "e", Address: "exec:/x"}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = set.Open(t.Context(), udf.Spec{Runtime: []byte(`{"kind":"executor","executor":"e"}`), Artifact: make([]byte, maxArtifactBytes+1)})
	if err == nil || !strings.Contains(err.Error(), "16777217 bytes") {
		t.Errorf("got error %v", err)
	}
}

func TestTailsHoldNoPartOfAValue(t *testing.T) {
	const value = "canary-canary"
	environment := map[string]string{"A": value, "B": "canary", "C": ""}
	for cutAt := range len(value) {
		var whole, begun, long tail
		_, _ = whole.Write([]byte("it is " + value + "."))
		_, _ = begun.Write([]byte("it is " + value[:cutAt]))
		_, _ = long.Write([]byte(value))
		_, _ = long.Write([]byte(strings.Repeat(".", tailBytes-cutAt)))
		for name, text := range map[string]string{"whole": whole.text(environment), "begun": begun.text(environment), "long": long.text(environment)} {
			if strings.Contains(text, "cana") || strings.Contains(text, "nary") || text == "" || len(text) > toldBytes {
				t.Errorf("%s, %d bytes: %.40q", name, cutAt, text)
			}
		}
	}
}

func FuzzReplies(f *testing.F) {
	stream, err := emptyStream(number)
	if err != nil {
		f.Fatal(err)
	}
	frame := append([]byte("TYR1\x00\x00\x00\x00"), byte(len(stream)), byte(len(stream)>>8), 0, 0, 0, 0, 0, 0)
	f.Add(append(frame, stream...))
	f.Add([]byte("TYR1\x01\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00{}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		reply, err := readFrame(t.Context(), strings.NewReader(string(data)), 1<<16)
		if err != nil {
			return
		}
		for rows := range int64(3) {
			got, err := wanted{outputs: number, rows: rows, limit: 1 << 16, conceal: concealer(nil)}.decode(t.Context(), reply.Data)
			if err == nil && (got.Outputs.NumRows() != rows || len(got.Failed) > int(rows)) {
				t.Errorf("got %v for %d rows", got, rows)
			}
		}
	})
}

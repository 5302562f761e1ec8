package executor

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/arrow/arrowipc"
	"tiltyard/shared/engine/udf"
	"tiltyard/shared/protocol"
)

// replyOf returns a stream of rows in JSON, with the fields of a reply to a function of a shape.
func replyOf(t testing.TB, shape udf.Shape, marks bool, rows string) []byte {
	t.Helper()
	fields := []arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64, Nullable: true}}
	if shape == udf.ManyRows {
		fields = append([]arrow.Field{{Name: parentColumn, Type: arrow.PrimitiveTypes.Int32, Nullable: true}}, fields...)
	}
	if marks {
		fields = append(fields, arrow.Field{Name: errorColumn, Type: arrow.BinaryTypes.String, Nullable: true})
	}
	schema := arrow.NewSchema(fields, nil)
	batch, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader("["+rows+"]"))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w := arrowipc.NewStreamWriter(&b, schema, arrowipc.Uncompressed)
	if err := errors.Join(w.Write(batch), w.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestRepliesWithOtherRows(t *testing.T) {
	for name, test := range map[string]struct {
		shape   udf.Shape
		marks   bool
		rows    string
		strict  bool // outputs must not be null
		values  string
		parents []int32
		failed  []udf.Failure
		wrong   string
	}{
		"rows of some parents": {shape: udf.ManyRows, rows: `{"__parent":0,"n":1},{"__parent":0,"n":null},{"__parent":2,"n":3}`, values: "[1 (null) 3]", parents: []int32{0, 0, 2}},
		"no rows":              {shape: udf.ManyRows, values: "[]"},
		"a parent that failed": {
			shape: udf.ManyRows, marks: true, strict: true, values: "[1 2]", parents: []int32{0, 2},
			rows:   `{"__parent":0,"n":1},{"__parent":1,"__error":"ValueError: bad"},{"__parent":2,"n":2}`,
			failed: []udf.Failure{{Row: 1, Type: "ValueError", Message: "bad"}},
		},
		"rows beside an error":      {shape: udf.ManyRows, marks: true, rows: `{"__parent":1,"n":1},{"__parent":1,"__error":"E: x"}`, wrong: "failed and has rows"},
		"rows behind an error":      {shape: udf.ManyRows, marks: true, rows: `{"__parent":1,"__error":"E: x"},{"__parent":1,"n":1}`, wrong: "failed and has rows"},
		"two errors":                {shape: udf.ManyRows, marks: true, rows: `{"__parent":1,"__error":"E: x"},{"__parent":1,"__error":"E: y"}`, wrong: "failed and has rows"},
		"parents that descend":      {shape: udf.ManyRows, rows: `{"__parent":1,"n":1},{"__parent":0,"n":1}`, wrong: "the parent 0 after 1"},
		"a parent that is negative": {shape: udf.ManyRows, rows: `{"__parent":-1,"n":1}`, wrong: "the parent -1"},
		"a parent beyond the call":  {shape: udf.ManyRows, rows: `{"__parent":3,"n":1}`, wrong: "of 3 rows"},
		"no parent":                 {shape: udf.ManyRows, rows: `{"n":1}`, wrong: "has the parent"},
		"a null":                    {shape: udf.ManyRows, strict: true, rows: `{"__parent":1,"n":null}`, wrong: "no value of output"},
		"a table":                   {shape: udf.AllRows, rows: `{"n":1},{"n":null},{"n":3},{"n":4},{"n":5}`, values: "[1 (null) 3 4 5]"},
		"an empty table":            {shape: udf.AllRows, values: "[]"},
		"a null in a table":         {shape: udf.AllRows, strict: true, rows: `{"n":null}`, wrong: "no value of output"},
		"errors in a table":         {shape: udf.AllRows, marks: true, rows: `{"n":1}`, wrong: "2 outputs"},
	} {
		t.Run(name, func(t *testing.T) {
			fields := []arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64, Nullable: !test.strict}}
			got, err := wanted{outputs: fields, shape: test.shape, rows: 3, limit: 1 << 16, conceal: concealer(nil)}.decode(t.Context(), replyOf(t, test.shape, test.marks, test.rows))
			if test.wrong != "" {
				var fault *Fault
				if !errors.As(err, &fault) || fault.Type != Malformed || !strings.Contains(fault.Message, test.wrong) {
					t.Errorf("error %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if text := got.Outputs.Column(0).String(); text != test.values || !cmp.Equal(got.Parents, test.parents) || !cmp.Equal(got.Failed, test.failed) {
				t.Errorf("got %s of %v, failed %v", text, got.Parents, got.Failed)
			}
		})
	}
}

// A replying carrier answers calls with a Go function.
type replying struct {
	t      *testing.T
	answer func(c *Call, rows int64) ([]byte, error)
}

func (r replying) Connect() Line { return r }
func (r replying) Close() error  { return nil }
func (r replying) Do(ctx context.Context, c *Call, stream []byte, limit int64) (*Bytes, error) {
	in, err := arrowipc.NewReader(ctx, bytes.NewReader(stream), arrowipc.Limits{})
	if err != nil {
		return nil, err
	}
	batch, err := in.Next()
	if err != nil {
		return nil, err
	}
	reply, err := r.answer(c, batch.NumRows())
	if err != nil {
		return nil, err
	}
	return KeepReply(ctx, reply, limit)
}

func openShape(t *testing.T, shape udf.Shape, answer func(c *Call, rows int64) ([]byte, error)) udf.Caller {
	t.Helper()
	set, err := Open([]Config{{Address: "lambda:x", Backends: []string{"pick*"}, Concurrency: 1, Timeout: time.Minute, PayloadBytes: 1 << 20}},
		Options{Lambda: func(string) (Carrier, error) { return replying{t, answer}, nil }, Wait: func(ctx context.Context, _ time.Duration) error { return ctx.Err() }})
	if err != nil {
		t.Fatal(err)
	}
	caller, err := set.Open(t.Context(), udf.Spec{
		Kind: udf.Envelope, Runtime: []byte(`{"kind":"envelope","backend":"pickled","batch":true}`), Shape: shape, Inputs: number, Outputs: number,
	})
	if err != nil {
		t.Fatal(err)
	}
	return caller
}

// The parents of several calls count on, and a call that fails as a whole is halved down to its row.
func TestParentsOfSeveralCalls(t *testing.T) {
	caller := openShape(t, udf.ManyRows, func(c *Call, rows int64) ([]byte, error) {
		if c.Backend != "pickled" || !c.Batch || c.Adapter.Kind != "row_to_arrow_rows" {
			t.Errorf("got %+v", c)
		}
		if rows > 1 {
			return nil, &Fault{Type: "TooMuch"}
		}
		return replyOf(t, udf.ManyRows, false, `{"__parent":0,"n":1},{"__parent":0,"n":2}`), nil
	})
	got, err := caller.Call(t.Context(), numbers(3))
	if err != nil || !cmp.Equal(got.Parents, []int32{0, 0, 1, 1, 2, 2}) || got.Outputs.NumRows() != 6 {
		t.Errorf("got %v, %v", got, err)
	}
}

// All rows are one call, however many they are, which fails as a whole.
func TestCallsWithAllRows(t *testing.T) {
	fault := false
	caller := openShape(t, udf.AllRows, func(_ *Call, rows int64) ([]byte, error) {
		if rows != 9000 {
			t.Errorf("a call of %d rows", rows)
		}
		if fault {
			return nil, &Fault{Type: "ValueError", Message: "bad"}
		}
		return replyOf(t, udf.AllRows, false, `{"n":1},{"n":2}`), nil
	})
	got, err := caller.Call(t.Context(), numbers(9000))
	if err != nil || got.Outputs.NumRows() != 2 || got.Parents != nil || got.Failed != nil {
		t.Errorf("got %v, %v", got, err)
	}
	fault = true
	got, err = caller.Call(t.Context(), numbers(9000))
	if err != nil || got.Outputs.NumRows() != 0 || !cmp.Equal(got.Failed, []udf.Failure{{Type: "ValueError", Message: "bad"}}) {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestBackendsWithoutAnExecutor(t *testing.T) {
	set, err := Open([]Config{{Address: "lambda:x", Backends: []string{"pick*"}}}, Options{Lambda: func(string) (Carrier, error) { return replying{}, nil }})
	if err != nil {
		t.Fatal(err)
	}
	for _, backend := range []string{"", "other", "pic"} {
		_, err := set.Open(t.Context(), udf.Spec{Runtime: []byte(`{"kind":"envelope","backend":"` + backend + `"}`)})
		if protocol.CodeOf(err) != protocol.Unsupported || !strings.Contains(err.Error(), "backend") {
			t.Errorf("%q: error %v", backend, err)
		}
	}
}

func FuzzRepliesWithOtherRows(f *testing.F) {
	f.Add(replyOf(f, udf.ManyRows, true, `{"__parent":0,"n":1},{"__parent":1,"__error":"E: x"}`), true)
	f.Add(replyOf(f, udf.AllRows, false, `{"n":1}`), false)
	f.Fuzz(func(t *testing.T, reply []byte, many bool) {
		w := wanted{outputs: number, shape: udf.AllRows, rows: 2, limit: 1 << 16, conceal: concealer(nil)}
		if many {
			w.shape = udf.ManyRows
		}
		got, err := w.decode(t.Context(), reply)
		if err == nil && many && (len(got.Parents) != int(got.Outputs.NumRows()) || len(got.Failed) > 2) {
			t.Errorf("got %v", got)
		}
	})
}

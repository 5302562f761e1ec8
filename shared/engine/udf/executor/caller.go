package executor

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/arrow/arrowipc"
	"tiltyard/shared/arrow/take"
	"tiltyard/shared/engine/udf"
	"tiltyard/shared/process/tracing"
	"tiltyard/shared/protocol"
)

// The number of rows per call, if they fit: firstRows at first, doubled while calls are faster than
// briskly, and halved when they are slower than slowly.
const (
	firstRows = 32
	mostRows  = 4096
	briskly   = 2 * time.Second
	slowly    = 10 * time.Second
)

// Retries of a call that fails for a transient reason. A pause is random, up to firstPause before the first
// retry and up to twice as long each time. It is at least as long as the executor requests, within
// longestPause.
const (
	attempts     = 5
	firstPause   = time.Second
	longestPause = time.Minute
)

// A caller is one use of a function on an executor.
type caller struct {
	executor *executor
	line     Line
	spec     udf.Spec
	call     Call
	schema   *arrow.Schema
	conceal  *udf.Concealer
	wait     func(ctx context.Context, d time.Duration) error
	room     int64 // bytes of the streams that batches are cut to
	rows     int64 // of the next call
	most     int64 // of a call
}

func (c *caller) Close() error { return c.line.Close() }

// Call computes the rows of in, batch by batch. A batch that fails as a whole is halved; a single row that
// fails is a failure in the result. An error means that the executor cannot compute any row, or that ctx
// has ended.
func (c *caller) Call(ctx context.Context, in arrow.RecordBatch) (udf.Result, error) {
	w := &work{caller: c, in: in}
	defer func() {
		for _, reply := range w.replies {
			reply.Release()
		}
	}()
	// An empty batch is called once as well, to get outputs without rows.
	for first := true; first || w.done < in.NumRows(); first = false {
		to := in.NumRows()
		if c.spec.Shape != udf.AllRows {
			to = w.fitting(w.done, min(w.done+c.rows, to))
		}
		if err := w.compute(ctx, w.done, to); err != nil {
			return udf.Result{}, err
		}
	}
	outputs, err := join(ctx, w.batches, c.spec.Outputs)
	if err != nil {
		return udf.Result{}, err
	}
	return udf.Result{Outputs: outputs, Parents: w.parents, Failed: w.failed}, nil
}

// streamBytes bounds the size of a stream without the values of its columns.
const streamBytes = 1 << 10

// fitting returns the end of the longest batch of rows [from, to) whose stream fits into a call. A first
// row that does not fit is a batch of its own.
func (w *work) fitting(from, to int64) int64 {
	left := w.room - streamBytes
	for at := from; at < to; at++ {
		for _, column := range w.in.Columns() {
			left -= take.Bytes(column, []int32{int32(at)})
		}
		if left < 0 {
			return max(at, from+1)
		}
	}
	return to
}

// A work is one Call in progress. Its rows before done are computed.
type work struct {
	*caller
	in      arrow.RecordBatch
	done    int64
	batches []arrow.RecordBatch // outputs of the rows that are done
	parents []int32             // with the shape ManyRows, of the rows of batches
	failed  []udf.Failure
	replies []*Bytes // keep the memory of batches alive
}

// compute computes rows [from, to), which follow the completed rows.
func (w *work) compute(ctx context.Context, from, to int64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	result, err := w.repeat(ctx, w.in.NewSlice(from, to))
	var fault *Fault
	switch {
	case err == nil:
		for i := range result.Failed {
			result.Failed[i].Row += int(from)
		}
		for _, parent := range result.Parents {
			w.parents = append(w.parents, parent+int32(from))
		}
		w.add(result.Outputs, to, result.Failed...)
		return nil
	case !errors.As(err, &fault):
		return err
	case fault.Lost || to == from:
		return w.lost(fault)
	case to-from == 1 || w.spec.Shape == udf.AllRows:
		w.add(w.nothing(), to, udf.Failure{Row: int(from), Type: fault.Type, Message: fault.Message})
		return nil
	}
	// Divide the batch to find the rows that make it fail. Later batches begin with the smaller size.
	half := (to - from) / 2
	w.rows = min(w.rows, half)
	// Rows that are too large together would fail again, so the size stays limited.
	if fault.Type == TooLarge {
		w.most = min(w.most, half)
	}
	middle := from + half
	if err := w.compute(ctx, from, middle); err != nil {
		return err
	}
	return w.compute(ctx, middle, to)
}

// add records the outputs of the rows up to done. It conceals secrets in failures before it shortens
// them, so that no part of a secret remains.
func (w *work) add(outputs arrow.RecordBatch, done int64, failed ...udf.Failure) {
	for i := range failed {
		failed[i].Type, failed[i].Message = cut(w.conceal.Hide(failed[i].Type), maxType), cut(w.conceal.Hide(failed[i].Message), maxMessage)
	}
	w.batches, w.done, w.failed = append(w.batches, outputs), done, append(w.failed, failed...)
}

// nothing returns the outputs of a failed row: one row of NULLs, or no rows.
func (c *caller) nothing() arrow.RecordBatch {
	rows := 1
	if c.spec.Shape != udf.EachRow {
		rows = 0
	}
	fields, columns := nullable(c.spec.Outputs), make([]arrow.Array, len(c.spec.Outputs))
	for i, f := range fields {
		columns[i] = take.Nulls(f.Type, rows)
	}
	return array.NewRecordBatch(arrow.NewSchema(fields, nil), columns, int64(rows))
}

// lost is the error of a fault that concerns the function or the executor, and not rows.
func (w *work) lost(f *Fault) error {
	code := protocol.InvalidInput
	if f.Lost || f.Retryable {
		code = protocol.ServiceUnavailable
	}
	told := cut(w.conceal.Hide(f.Error()), maxMessage)
	line, _, _ := strings.Cut(told, "\n")
	return &protocol.Error{
		Code: code, Err: f.Err, Detail: told,
		Message: fmt.Sprintf("executor %s cannot compute function %s: %s", w.executor.Name, w.spec.Name, cut(line, maxLine)),
	}
}

// repeat sends a batch until it gets a reply or fails permanently.
func (w *work) repeat(ctx context.Context, in arrow.RecordBatch) (udf.Result, error) {
	defer in.Release()
	stream, err := w.encode(ctx, in)
	if err != nil {
		return udf.Result{}, err
	}
	defer stream.Release()
	for attempt := 1; ; attempt++ {
		result, err := w.attempt(ctx, stream.Data, in.NumRows(), attempt)
		var fault *Fault
		if !errors.As(err, &fault) {
			return result, err
		}
		if !fault.Retryable {
			return result, fault
		}
		if attempt == attempts {
			return result, fault
		}
		// The executor's own request for a pause has precedence, up to a limit.
		pause := max(rand.N(firstPause<<(attempt-1)), min(fault.After, longestPause))
		if err := w.wait(ctx, pause); err != nil {
			return result, err
		}
	}
}

// encode writes a batch as a stream within the payload of the executor.
func (w *work) encode(ctx context.Context, in arrow.RecordBatch) (*Bytes, error) {
	stream := newBytes(ctx, "call", w.executor.PayloadBytes)
	writer := arrowipc.NewStreamWriter(stream, w.schema, arrowipc.Uncompressed)
	err := writer.Write(in)
	if err == nil {
		err = writer.Close()
	}
	if err != nil {
		stream.Release()
		return nil, err
	}
	return stream, nil
}

// send sends a call, in a span.
func (w *work) send(ctx context.Context, call *Call, stream []byte, rows int64) (*Bytes, error) {
	ctx, span := tracing.Start(ctx, "executor call", tracing.Client)
	defer span.End()
	span.Text("executor.name", w.executor.Name)
	span.Text("executor.function", w.spec.Name)
	span.Number("executor.rows", rows)
	span.Number("executor.attempt", int64(call.Attempt))
	call.Trace = tracing.Parent(ctx)
	reply, err := w.line.Do(ctx, call, stream, w.executor.PayloadBytes)
	if err != nil {
		span.Fail("failed")
	}
	return reply, err
}

// attempt sends a batch once.
func (w *work) attempt(ctx context.Context, stream []byte, rows int64, attempt int) (udf.Result, error) {
	if err := w.executor.take(ctx); err != nil {
		return udf.Result{}, err
	}
	defer w.executor.give()
	limited, cancel := context.WithTimeout(ctx, w.executor.Timeout)
	defer cancel()
	call := w.call
	call.Attempt, call.Milliseconds, call.ReplyBytes = attempt, w.executor.Timeout.Milliseconds(), w.executor.PayloadBytes
	began := time.Now()
	reply, err := w.send(limited, &call, stream, rows)
	took := time.Since(began)
	w.adapt(took, rows)
	switch {
	case err == nil:
		w.replies = append(w.replies, reply)
		want := wanted{outputs: w.spec.Outputs, shape: w.spec.Shape, rows: rows, limit: w.executor.PayloadBytes, conceal: w.conceal}
		return want.decode(ctx, reply.Data)
	case ctx.Err() != nil:
		return udf.Result{}, ctx.Err()
	// A timeout of the attempt is a fault of the executor, and not the end of the request.
	case (limited.Err() != nil || took >= w.executor.Timeout) && !lasts(err):
		return udf.Result{}, &Fault{Type: TimedOut, Message: fmt.Sprintf("the executor did not answer within %v", w.executor.Timeout)}
	}
	return udf.Result{}, err
}

// lasts reports whether an error is a fault of the executor that no repetition mends.
func lasts(err error) bool {
	var fault *Fault
	return errors.As(err, &fault) && fault.Lost && !fault.Retryable
}

// adapt sets the size of the next batch by the time that a call took.
func (c *caller) adapt(took time.Duration, rows int64) {
	switch {
	case took > slowly:
		c.rows = max(1, min(c.rows, rows/2))
	case took < briskly && rows == c.rows:
		c.rows = min(2*c.rows, c.most)
	}
}

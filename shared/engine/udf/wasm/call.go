package wasm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/arrow/arrowipc"
	"tiltyard/shared/arrow/take"
	"tiltyard/shared/engine/udf"
	"tiltyard/shared/engine/udf/wasm/frame"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/protocol"
)

const (
	// maxLost and maxLostTimes bound the cost of failures in one batch: calls that lost their process, and
	// their total time as a multiple of the time limit of a call.
	maxLost      = 256
	maxLostTimes = 10

	// slowPieces is the number of pieces into which a batch that times out is divided. If a single row
	// loops, each level of division costs one timeout.
	slowPieces = 16

	maxMessage  = 4 << 10
	maxPrinted  = 2 << 10 // of the end of a module's output
	maxTypeName = 100
)

// A caller is an open function. It has a process, unless the last one was lost.
type caller struct {
	runtime *Runtime
	spec    udf.Spec
	order   []byte
	conceal *udf.Concealer
	inputs  *arrow.Schema
	outputs *arrow.Schema
	memory  memory.Hold // memory of the module
	process *process
}

// Close ends the process, after the module's own close.
func (c *caller) Close() error {
	if c.process != nil {
		c.process.end()
		c.process = nil
	}
	c.memory.Release()
	return nil
}

// Call computes a batch. To find the rows for which the function fails, it divides each failing piece and
// computes the parts.
func (c *caller) Call(ctx context.Context, in arrow.RecordBatch) (udf.Result, error) {
	if err := c.checkBatch(in); err != nil {
		return udf.Result{}, err
	}
	w := &work{caller: c, in: array.NewRecordBatch(c.inputs, in.Columns(), in.NumRows())}
	defer w.held.Release()
	defer w.stream.held.Release()
	defer w.in.Release()
	rows := int(in.NumRows())
	if err := w.pieces(ctx, 0, rows, max(1, (rows+c.runtime.limits.BatchRows-1)/c.runtime.limits.BatchRows)); err != nil {
		return udf.Result{}, err
	}
	return w.result(ctx)
}

// checkBatch checks that the columns are the parameters.
func (c *caller) checkBatch(in arrow.RecordBatch) error {
	if int(in.NumCols()) != c.inputs.NumFields() {
		return fmt.Errorf("function %s takes %d parameters, not %d", c.spec.Name, c.inputs.NumFields(), in.NumCols())
	}
	for i, f := range c.inputs.Fields() {
		if got := in.Column(i).DataType(); !arrow.TypeEqual(got, f.Type) {
			return fmt.Errorf("parameter %s of function %s is of type %s, not %s", f.Name, c.spec.Name, f.Type, got)
		}
	}
	return nil
}

// A work is one Call in progress.
type work struct {
	*caller
	in     arrow.RecordBatch
	stream buffer      // of the piece that is being computed
	done   []piece     // in order
	held   memory.Hold // memory of done, and of the result

	lost     int // calls that ended with the process
	lostTime time.Duration
}

// A piece is a range of computed rows, or one failed row.
type piece struct {
	outputs arrow.RecordBatch
	failed  []udf.Failure
}

// pieces computes rows of the batch in equal pieces.
func (w *work) pieces(ctx context.Context, first, rows, count int) error {
	count = max(1, min(count, rows))
	for i := range count {
		begin, end := first+rows*i/count, first+rows*(i+1)/count
		if err := w.piece(ctx, begin, end-begin); err != nil {
			return err
		}
	}
	return nil
}

// piece computes rows of the batch. If that fails, it divides them into smaller pieces.
func (w *work) piece(ctx context.Context, first, rows int) error {
	p, failure, err := w.compute(ctx, first, rows)
	switch {
	case err != nil:
		return err
	case failure == nil:
		return w.add(ctx, p)
	case rows == 0:
		return w.refused(failure)
	case w.lost > maxLost || w.lostTime > maxLostTimes*w.runtime.limits.CallTime:
		err := w.refused(failure)
		err.Message = fmt.Sprintf("it was ended %d times within one batch, which took %v; the last reason is %s", w.lost, w.lostTime.Round(time.Millisecond), err.Message)
		return err
	case rows == 1:
		return w.add(ctx, piece{outputs: w.nulls(), failed: []udf.Failure{w.failed(first, failure)}})
	case failure.Type == frame.TimeLimit:
		return w.pieces(ctx, first, rows, slowPieces)
	}
	return w.pieces(ctx, first, rows, 2)
}

// compute calls the function for rows of the batch.
func (w *work) compute(ctx context.Context, first, rows int) (piece, *frame.Failure, error) {
	slice := w.in.NewSlice(int64(first), int64(first+rows))
	defer slice.Release()
	if err := w.stream.encode(ctx, slice, w.runtime.limits.BatchBytes); err != nil {
		if errors.Is(err, errTooLarge) {
			return piece{}, &frame.Failure{Type: frame.InputLimit, Message: fmt.Sprintf("the parameters of one call exceed %d bytes", w.runtime.limits.BatchBytes)}, nil
		}
		return piece{}, nil, err
	}
	reply, failure, err := w.exchange(ctx, rows)
	if failure != nil || err != nil {
		return piece{}, failure, err
	}
	p := piece{outputs: reply.outputs}
	for _, f := range reply.failed {
		p.failed = append(p.failed, udf.Failure{Row: first + f.Row, Type: w.clean(f.Type, maxTypeName), Message: w.clean(f.Message, maxMessage)})
	}
	return p, nil, nil
}

// add records the outputs of a piece, and takes memory for them.
func (w *work) add(ctx context.Context, p piece) error {
	if err := w.held.Resize(ctx, w.held.Bytes()+take.BatchBytes(p.outputs)); err != nil {
		return err
	}
	w.done = append(w.done, p)
	return nil
}

// nulls returns the outputs of a row that failed.
func (w *work) nulls() arrow.RecordBatch {
	columns := make([]arrow.Array, w.outputs.NumFields())
	for i, f := range w.outputs.Fields() {
		columns[i] = take.Nulls(f.Type, 1)
	}
	return array.NewRecordBatch(w.outputs, columns, 1)
}

// result joins the pieces.
func (w *work) result(ctx context.Context) (udf.Result, error) {
	batches := make([]arrow.RecordBatch, len(w.done))
	var failed []udf.Failure
	for i, p := range w.done {
		batches[i] = p.outputs
		failed = append(failed, p.failed...)
	}
	if len(batches) > 1 {
		if err := w.held.Resize(ctx, 2*w.held.Bytes()); err != nil {
			return udf.Result{}, err
		}
	}
	outputs, err := take.Concat(w.outputs, batches)
	return udf.Result{Outputs: outputs, Failed: failed}, err
}

// failed describes the failure of a row.
func (c *caller) failed(row int, f *frame.Failure) udf.Failure {
	return udf.Failure{Row: row, Type: c.clean(f.Type, maxTypeName), Message: c.explained(f)}
}

// refused describes the failure of a function as a whole. The log does not contain the function's
// text, which may quote rows.
func (c *caller) refused(f *frame.Failure) *protocol.Error {
	kind := c.clean(f.Type, maxTypeName)
	return &protocol.Error{
		Code: protocol.InvalidInput, Object: "function " + c.spec.Name,
		Message: kind + ": " + c.explained(f), Logged: kind,
	}
}

// explained returns the message of a failure, followed by the output of the module.
func (c *caller) explained(f *frame.Failure) string {
	printed := strings.TrimSpace(c.conceal.HideEnd(f.Log, f.LogCut))
	if printed == "" {
		return c.clean(f.Message, maxMessage)
	}
	if more := len(printed) - maxPrinted; more > 0 {
		printed = strings.ToValidUTF8(printed[more:], "")
	}
	const before = "; it printed: "
	return c.clean(f.Message, maxMessage-maxPrinted-len(before)) + before + printed
}

// clean removes the values of variables from a function's text, makes it valid UTF-8 and shortens
// it.
func (c *caller) clean(text string, most int) string {
	text = strings.ToValidUTF8(c.conceal.Hide(text), "�")
	if len(text) <= most {
		return text
	}
	const more = "…"
	cut := most - len(more)
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + more
}

// A buffer contains the stream of a batch, and charges it to the memory of the context.
type buffer struct {
	bytes bytes.Buffer
	held  memory.Hold
}

var errTooLarge = errors.New("the batch is too large")

// encode writes a batch as an Arrow IPC stream. A stream longer than most bytes is errTooLarge.
func (b *buffer) encode(ctx context.Context, batch arrow.RecordBatch, most int64) error {
	b.bytes.Reset()
	w := &limitedWriter{ctx: ctx, buffer: b, most: most}
	stream := arrowipc.NewStreamWriter(w, batch.Schema(), arrowipc.Uncompressed)
	err := stream.Write(batch)
	if err == nil {
		err = stream.Close()
	}
	if w.err != nil {
		return w.err
	}
	return err
}

// A limitedWriter writes to a buffer. Its error is kept, because the writer of the stream hides it.
type limitedWriter struct {
	ctx    context.Context //nolint:containedctx // of one call of encode
	buffer *buffer
	most   int64
	err    error
}

// Write appends to the buffer, within its limit and with its memory accounted for.
func (w *limitedWriter) Write(p []byte) (int, error) {
	size := int64(w.buffer.bytes.Len() + len(p))
	if size > w.most {
		w.err = errTooLarge
		return 0, w.err
	}
	if more := 2 * size; more > w.buffer.held.Bytes() { // the buffer doubles when it grows
		if w.err = w.buffer.held.Resize(w.ctx, more); w.err != nil {
			return 0, w.err
		}
	}
	return w.buffer.bytes.Write(p)
}

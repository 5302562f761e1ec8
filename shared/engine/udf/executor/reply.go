package executor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/arrow/arrowipc"
	"tiltyard/shared/arrow/take"
	"tiltyard/shared/engine/udf"
	"tiltyard/shared/process/memory"
)

// errorColumn is the column of a reply that marks rows that failed.
const errorColumn = "__error"

// parentColumn is the first column of a reply to a function with the shape ManyRows.
const parentColumn = "__parent"

// A wanted describes the valid replies to a call.
type wanted struct {
	outputs []arrow.Field
	shape   udf.Shape
	rows    int64 // of the call
	limit   int64 // bytes of the reply
	// conceal removes the values of variables from quoted parts of a reply, before these are shortened.
	conceal *udf.Concealer
}

// decode decodes the reply to a call. An invalid reply is a *Fault.
func (w wanted) decode(ctx context.Context, reply []byte) (udf.Result, error) {
	var none udf.Result
	r, err := arrowipc.NewReader(ctx, bytes.NewReader(reply), arrowipc.Limits{MaxMessageBytes: w.limit, MaxDecodedBytes: 4 * w.limit, MaxColumns: len(w.outputs) + 2})
	if err != nil {
		return none, malformedStream(err)
	}
	marks, err := w.checkSchema(r.Schema())
	if err != nil {
		return none, err
	}
	var batches []arrow.RecordBatch
	total := int64(0)
	for {
		batch, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return none, malformedStream(err)
		}
		// The number of rows is checked before the batches are kept, to bound their memory.
		if total += batch.NumRows(); total > w.most() {
			return none, malformed("the reply has more than the %d rows of the call", w.most())
		}
		if batch.NumRows() > 0 {
			batches = append(batches, batch)
		}
	}
	switch {
	case !r.Ended():
		return none, malformed("the reply has no end marker")
	case w.shape == udf.EachRow && total != w.rows:
		return none, malformed("the reply has %d rows; the call has %d", total, w.rows)
	case w.shape == udf.EachRow:
		return assemble(ctx, batches, w.outputs, marks)
	}
	return w.gather(ctx, batches, marks)
}

// most returns the maximum number of rows in a reply.
func (w wanted) most() int64 {
	if w.shape == udf.EachRow {
		return w.rows
	}
	return math.MaxInt32
}

func malformed(format string, args ...any) *Fault {
	return &Fault{Type: Malformed, Message: fmt.Sprintf(format, args...)}
}

// malformedStream turns an error about the stream of a reply into a fault. Other errors are returned
// unchanged.
func malformedStream(err error) error {
	var e *arrowipc.Error
	switch {
	case errors.Is(err, arrowipc.ErrTooLarge):
		return &Fault{Type: TooLarge, Message: "the reply: " + err.Error()}
	case errors.As(err, &e), errors.Is(err, io.ErrUnexpectedEOF):
		return malformed("the reply: %v", err)
	}
	return err
}

// checkSchema compares the columns of a reply with the outputs. Names and types must match; marks
// is true if the column of errors follows.
func (w wanted) checkSchema(s *arrow.Schema) (marks bool, err error) {
	fields := s.Fields()
	// A function with several rows for one row names the parent of each.
	if w.shape == udf.ManyRows {
		if len(fields) == 0 || fields[0].Name != parentColumn || fields[0].Type.ID() != arrow.INT32 {
			return false, malformed("the reply does not begin with the column %s of int32", parentColumn)
		}
		fields = fields[1:]
	}
	if n := len(w.outputs); len(fields) == n+1 && fields[n].Name == errorColumn && w.shape != udf.AllRows {
		if fields[n].Type.ID() != arrow.STRING {
			return false, malformed("column %s is %v; it must be utf8", errorColumn, fields[n].Type)
		}
		fields, marks = fields[:n], true
	}
	if len(fields) != len(w.outputs) {
		return false, malformed("the reply has %d outputs; the function has %d", len(fields), len(w.outputs))
	}
	for i, want := range w.outputs {
		if got := fields[i]; got.Name != want.Name || !arrow.TypeEqual(got.Type, storage(want.Type)) {
			return false, malformed("output %d of the reply is %.80q of %v; the function has %.80q of %v", i, w.conceal.Hide(got.Name), got.Type, want.Name, want.Type)
		}
	}
	return marks, nil
}

// storage returns the type that the values of an extension type are stored in.
func storage(t arrow.DataType) arrow.DataType {
	if e, ok := t.(arrow.ExtensionType); ok {
		return e.StorageType()
	}
	return t
}

// assemble joins the batches of a reply, and finds the rows that failed.
func assemble(ctx context.Context, batches []arrow.RecordBatch, outputs []arrow.Field, marks bool) (udf.Result, error) {
	var result udf.Result
	row := 0
	for _, batch := range batches {
		var errs *array.String
		if marks {
			errs = batch.Column(len(outputs)).(*array.String)
		}
		for i := range int(batch.NumRows()) {
			failed := errs != nil && errs.IsValid(i)
			if failed {
				result.Failed = append(result.Failed, failureOf(row, errs.Value(i)))
			}
			// A failed row has no values, and other rows have all required ones.
			for n, output := range outputs {
				isNull := batch.Column(n).IsNull(i)
				if failed && !isNull {
					return udf.Result{}, malformed("row %d failed and has a value of output %.80q", row, output.Name)
				}
				if !failed && isNull && !output.Nullable {
					return udf.Result{}, malformed("row %d has no value of output %.80q, and did not fail", row, output.Name)
				}
			}
			row++
		}
	}
	var err error
	result.Outputs, err = join(ctx, batches, outputs)
	return result, err
}

// failureOf parses a value of the error column.
func failureOf(row int, text string) udf.Failure {
	kind, message, found := strings.Cut(text, ": ")
	if !found {
		kind, message = "Error", text
	}
	return udf.Failure{Row: row, Type: kind, Message: message}
}

// nullable returns the fields of results: rows may have failed.
func nullable(outputs []arrow.Field) []arrow.Field {
	fields := slices.Clone(outputs)
	for i, f := range outputs {
		fields[i].Nullable, fields[i].Type = true, storage(f.Type)
	}
	return fields
}

// join joins the outputs of batches.
func join(ctx context.Context, batches []arrow.RecordBatch, outputs []arrow.Field) (arrow.RecordBatch, error) {
	schema := arrow.NewSchema(nullable(outputs), nil)
	bytes := int64(0)
	for i, batch := range batches {
		batches[i] = array.NewRecordBatch(schema, batch.Columns()[:len(outputs)], batch.NumRows())
		bytes += take.BatchBytes(batches[i])
	}
	if len(batches) == 1 {
		return batches[0], nil
	}
	held, err := memory.Take(ctx, bytes)
	if err != nil {
		return nil, err
	}
	defer held.Release()
	return take.Concat(schema, batches)
}

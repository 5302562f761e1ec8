package executor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/arrowipc"
	"tiltyard/shared/function"
	"tiltyard/shared/memory"
	"tiltyard/shared/take"
)

// errorColumn is the column of a reply that marks rows that failed.
const errorColumn = "__error"

// decode reads the reply to a call with a number of rows. What does not fit is a *Fault.
func decode(ctx context.Context, reply []byte, outputs []arrow.Field, rows int64, limit int64) (function.Result, error) {
	var none function.Result
	r, err := arrowipc.NewReader(ctx, bytes.NewReader(reply), arrowipc.Limits{MaxMessageBytes: limit, MaxDecodedBytes: 4 * limit, MaxColumns: len(outputs) + 1})
	if err != nil {
		return none, malformedStream(err)
	}
	marks, err := checkSchema(r.Schema(), outputs)
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
		if total += batch.NumRows(); total > rows {
			return none, malformed("the reply has more than the %d rows of the call", rows)
		}
		if batch.NumRows() > 0 {
			batches = append(batches, batch)
		}
	}
	switch {
	case !r.Ended():
		return none, malformed("the reply has no end marker")
	case total != rows:
		return none, malformed("the reply has %d rows; the call has %d", total, rows)
	}
	return assemble(ctx, batches, outputs, marks)
}

func malformed(format string, args ...any) *Fault {
	return &Fault{Type: Malformed, Message: fmt.Sprintf(format, args...)}
}

// malformedStream turns an error about the stream of a reply into a fault. Other errors remain.
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

// checkSchema compares the columns of a reply with the outputs. Names and types must agree; marks is
// true when the column of errors follows.
func checkSchema(s *arrow.Schema, outputs []arrow.Field) (marks bool, err error) {
	fields := s.Fields()
	if n := len(outputs); len(fields) == n+1 && fields[n].Name == errorColumn {
		if fields[n].Type.ID() != arrow.STRING {
			return false, malformed("column %s is %v; it must be utf8", errorColumn, fields[n].Type)
		}
		fields, marks = fields[:n], true
	}
	if len(fields) != len(outputs) {
		return false, malformed("the reply has %d outputs; the function has %d", len(fields), len(outputs))
	}
	for i, want := range outputs {
		if got := fields[i]; got.Name != want.Name || !arrow.TypeEqual(got.Type, storage(want.Type)) {
			return false, malformed("output %d of the reply is %.80q of %v; the function has %.80q of %v", i, got.Name, got.Type, want.Name, want.Type)
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
func assemble(ctx context.Context, batches []arrow.RecordBatch, outputs []arrow.Field, marks bool) (function.Result, error) {
	var result function.Result
	row := 0
	for _, batch := range batches {
		var errs *array.String
		if marks {
			errs = batch.Column(len(outputs)).(*array.String)
		}
		for i := range int(batch.NumRows()) {
			failed := errs != nil && errs.IsValid(i)
			if failed {
				kind, message, found := strings.Cut(errs.Value(i), ": ")
				if !found {
					kind, message = "Error", errs.Value(i)
				}
				result.Failed = append(result.Failed, function.Failure{Row: row, Type: kind, Message: message})
			}
			for n, output := range outputs {
				isNull := batch.Column(n).IsNull(i)
				if failed && !isNull {
					return function.Result{}, malformed("row %d failed and has a value of output %.80q", row, output.Name)
				}
				if !failed && isNull && !output.Nullable {
					return function.Result{}, malformed("row %d has no value of output %.80q, and did not fail", row, output.Name)
				}
			}
			row++
		}
	}
	var err error
	result.Outputs, err = join(ctx, batches, outputs)
	return result, err
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

package wasm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/arrow/arrowipc"
	"tiltyard/shared/engine/udf"
	"tiltyard/shared/engine/udf/wasm/frame"
)

// These columns of a reply are no outputs.
const (
	errorColumn  = "__error"  // the last: why a row failed
	parentColumn = "__parent" // the first column of functions with several rows per input row
)

// A reply contains the outputs of a piece, and the rows that the function reports as failed.
type reply struct {
	outputs arrow.RecordBatch
	failed  []udf.Failure // numbered from the first row of the piece
}

// verify reads the stream of a reply and checks it against the function's declaration: one batch with as
// many rows as the call, and a column of the declared type for each output. It trusts none of the bytes. A
// failure is the function's fault; an error comes from the pipe, or from the memory limit.
func (c *caller) verify(ctx context.Context, content io.Reader, rows int) (*reply, *frame.Failure, error) {
	r, err := arrowipc.NewReader(ctx, content, arrowipc.Limits{
		MaxMessageBytes: c.runtime.limits.ResultBytes, MaxDecodedBytes: c.runtime.limits.ResultBytes,
		MaxMetadataBytes: 1 << 20, MaxColumns: c.outputs.NumFields() + 1,
	})
	if err != nil {
		return refusedReply(err)
	}
	batch, err := r.Next()
	if errors.Is(err, io.EOF) {
		return nil, invalidReply("it holds no batch"), nil
	}
	if err != nil {
		return refusedReply(err)
	}
	if batch.NumRows() != int64(rows) {
		return nil, invalidReply("it has %d rows for %d", batch.NumRows(), rows), nil
	}
	if _, err = r.Next(); err == nil {
		return nil, invalidReply("it holds more than one batch"), nil
	}
	if !errors.Is(err, io.EOF) {
		return refusedReply(err)
	}
	if !r.Ended() {
		return nil, invalidReply("the stream has no end marker"), nil
	}
	answer, failure := c.take(batch)
	return answer, failure, nil
}

// refusedReply sorts the error of a reader.
func refusedReply(err error) (*reply, *frame.Failure, error) {
	if fault, ok := errors.AsType[*arrowipc.Error](err); ok {
		failure := invalidReply("%v", fault)
		if errors.Is(fault, arrowipc.ErrTooLarge) {
			failure.Type = frame.OutputLimit
		}
		return nil, failure, nil
	}
	return nil, nil, err
}

// take makes a reply from a batch.
func (c *caller) take(batch arrow.RecordBatch) (*reply, *frame.Failure) {
	fields, count := batch.Schema().Fields(), c.outputs.NumFields()
	// Only executors support functions with several rows for one.
	if len(fields) > 0 && fields[0].Name == parentColumn {
		return nil, invalidReply("the column %s: functions that make several rows of one are not supported; return a list", parentColumn)
	}
	if len(fields) != count && (len(fields) != count+1 || fields[count].Name != errorColumn) {
		return nil, invalidReply("it has the columns %.200q; the outputs are %d, which only %s may follow", c.names(fields), count, errorColumn)
	}
	columns := make([]arrow.Array, count)
	for i, want := range c.outputs.Fields() {
		data, err := conform(batch.Column(i).Data(), want.Type, want.Name)
		if err != nil {
			return nil, invalidReply("%v", err)
		}
		columns[i] = array.MakeFromData(data)
	}
	answer := &reply{outputs: array.NewRecordBatch(c.outputs, columns, batch.NumRows())}
	if len(fields) > count {
		reasons, ok := batch.Column(count).(*array.String)
		if !ok {
			return nil, invalidReply("%s is of type %s, not utf8", errorColumn, batch.Column(count).DataType())
		}
		answer.failed = failures(reasons)
	}
	return answer, checkFailed(answer)
}

// names returns the names of columns, without values of variables.
func (c *caller) names(fields []arrow.Field) []string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = c.conceal.Hide(f.Name)
	}
	return names
}

// failures returns the rows that have a reason. A reason may begin with the name of a type and a colon.
func failures(reasons *array.String) []udf.Failure {
	var failed []udf.Failure
	for i := range reasons.Len() {
		if reasons.IsNull(i) {
			continue
		}
		kind, message, found := strings.Cut(reasons.Value(i), ": ")
		if !found || !isTypeName(kind) {
			kind, message = "Error", reasons.Value(i)
		}
		// The batch does not stay, so the texts are copied.
		failed = append(failed, udf.Failure{Row: i, Type: strings.Clone(kind), Message: strings.Clone(message)})
	}
	return failed
}

func isTypeName(text string) bool {
	return text != "" && len(text) <= maxTypeName && strings.IndexFunc(text, func(r rune) bool {
		return r != '_' && r != '.' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}) < 0
}

// checkFailed checks that failed rows have no values.
func checkFailed(r *reply) *frame.Failure {
	for i, f := range r.outputs.Schema().Fields() {
		for _, failed := range r.failed {
			if r.outputs.Column(i).IsValid(failed.Row) {
				return invalidReply("row %d has a reason in %s, and a value in %s", failed.Row, errorColumn, f.Name)
			}
		}
	}
	return nil
}

// conform converts data to the declared type. The names of list items and the nullability of fields
// do not affect the layout in memory.
func conform(data arrow.ArrayData, want arrow.DataType, path string) (arrow.ArrayData, error) {
	got := data.DataType()
	mismatch := fmt.Errorf("output %s is of type %s, not %s", path, got, want)
	wanted, nested := want.(arrow.NestedType)
	if !nested {
		if !arrow.TypeEqual(got, want) {
			return nil, mismatch
		}
		return data, nil
	}
	has, ok := got.(arrow.NestedType)
	if !ok || got.ID() != want.ID() || len(has.Fields()) != len(wanted.Fields()) {
		return nil, mismatch
	}
	if list, ok := want.(*arrow.FixedSizeListType); ok && list.Len() != got.(*arrow.FixedSizeListType).Len() {
		return nil, mismatch
	}
	children := make([]arrow.ArrayData, len(data.Children()))
	for i, field := range wanted.Fields() {
		if want.ID() == arrow.STRUCT && has.Fields()[i].Name != field.Name {
			return nil, mismatch
		}
		if want.ID() == arrow.MAP {
			break // its only child has the fields
		}
		child := data.Children()[i]
		if !field.Nullable && hasVisibleNull(data, child) {
			return nil, fmt.Errorf("output %s.%s has nulls, which it must not have", path, field.Name)
		}
		var err error
		if children[i], err = conform(child, field.Type, path+"."+field.Name); err != nil {
			return nil, err
		}
	}
	if want.ID() == arrow.MAP {
		if !arrow.TypeEqual(got, want) {
			return nil, mismatch
		}
		return data, nil
	}
	return array.NewData(want, data.Len(), data.Buffers(), children, data.NullN(), data.Offset()), nil
}

// hasVisibleNull reports whether a child has a null outside of the nulls of its parent.
func hasVisibleNull(parent, child arrow.ArrayData) bool {
	items := array.MakeFromData(child)
	if items.NullN() == 0 {
		return false
	}
	// A null item is invisible if its parent is null.
	rows := array.MakeFromData(parent)
	for i := range rows.Len() {
		if rows.IsNull(i) {
			continue
		}
		begin, end := int64(i), int64(i+1)
		if list, ok := rows.(array.ListLike); ok {
			begin, end = list.ValueOffsets(i)
		}
		for j := begin; j < end; j++ {
			if items.IsNull(int(j)) {
				return true
			}
		}
	}
	return false
}

func invalidReply(format string, args ...any) *frame.Failure {
	return &frame.Failure{Type: frame.InvalidReply, Message: fmt.Sprintf(format, args...)}
}

package sql

import (
	"encoding/json"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/protocol"
)

// jsonValue is a value of a parameter.
type jsonValue = json.RawMessage

// A column is a column of an answer.
type column struct {
	name   string
	values any // []string, []int64, []*int64, []bool or []time.Time
}

// answer returns rows of columns, all of one length.
func answer(version int64, columns ...column) *protocol.Rows {
	batch := batchOf(columns)
	return &protocol.Rows{Schema: batch.Schema(), Version: version, Batches: func(yield func(arrow.RecordBatch, error) bool) { yield(batch, nil) }}
}

// batchOf returns columns as a batch.
func batchOf(columns []column) arrow.RecordBatch {
	fields, arrays := make([]arrow.Field, len(columns)), make([]arrow.Array, len(columns))
	for i, c := range columns {
		arrays[i] = arrayOf(c.values)
		_, nullable := c.values.([]*int64)
		fields[i] = arrow.Field{Name: c.name, Type: arrays[i].DataType(), Nullable: nullable}
	}
	return array.NewRecordBatch(arrow.NewSchema(fields, nil), arrays, int64(arrays[0].Len()))
}

func arrayOf(values any) arrow.Array {
	switch values := values.(type) {
	case []string:
		b := array.NewStringBuilder(memory.DefaultAllocator)
		b.AppendValues(values, nil)
		return b.NewArray()
	case []int64:
		b := array.NewInt64Builder(memory.DefaultAllocator)
		b.AppendValues(values, nil)
		return b.NewArray()
	case []*int64:
		b := array.NewInt64Builder(memory.DefaultAllocator)
		for _, v := range values {
			if v == nil {
				b.AppendNull()
				continue
			}
			b.Append(*v)
		}
		return b.NewArray()
	case []bool:
		b := array.NewBooleanBuilder(memory.DefaultAllocator)
		b.AppendValues(values, nil)
		return b.NewArray()
	}
	b := array.NewTimestampBuilder(memory.DefaultAllocator, &arrow.TimestampType{Unit: arrow.Millisecond, TimeZone: "UTC"})
	for _, v := range values.([]time.Time) {
		b.Append(arrow.Timestamp(v.UnixMilli()))
	}
	return b.NewArray()
}

// counted is the answer to a statement that has changed rows, as in DataFusion.
func counted(rows, version int64) *protocol.Rows {
	return answer(version, column{"count", []int64{rows}})
}

// begun is the answer to a statement whose work a job does.
func begun(job string) *protocol.Rows { return answer(0, column{"job_id", []string{job}}) }

// done is the answer to any other statement that has changed something: a sentence.
func done(status string, version int64) *protocol.Rows {
	return answer(version, column{"status", []string{status}})
}

// warned adds a warning to a sentence.
func warned(status, warning string) string {
	if warning == "" {
		return status
	}
	return status + "; " + warning
}

package job

import (
	"context"
	"fmt"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmemory "github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/engine/apierror"
	"tiltyard/shared/jobs/transaction"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/jobapi"
	"tiltyard/shared/sql/plan"
	"tiltyard/shared/sql/syntax"
)

// eventSchema has the columns of events. A filter may use the columns from state to rows_processed.
var eventSchema = arrow.NewSchema([]arrow.Field{
	{Name: "job_id", Type: arrow.BinaryTypes.String},
	{Name: "created_at_millis", Type: arrow.PrimitiveTypes.Int64},
	{Name: "state", Type: arrow.BinaryTypes.String},                            // see transaction.EventState
	{Name: "updated_by", Type: arrow.BinaryTypes.String},                       // "client" or "worker"
	{Name: "emitted_from", Type: arrow.BinaryTypes.String, Nullable: true},     // the stage of the job
	{Name: "emitted_by", Type: arrow.BinaryTypes.String, Nullable: true},       // the run of a worker
	{Name: "claim_entity", Type: arrow.BinaryTypes.String},                     // "job", or the part of the event
	{Name: "rows_processed", Type: arrow.PrimitiveTypes.Int64, Nullable: true}, // rows of the run that ended
	{Name: "message", Type: arrow.BinaryTypes.String, Nullable: true},
}, nil)

// firstFiltered and lastFiltered delimit the columns for filters.
const firstFiltered, lastFiltered = 2, 6

// QueryEvents returns the events of a job and of its parts, oldest first.
func (s *Service) QueryEvents(ctx context.Context, req *jobapi.QueryEventsRequest) (*protocol.Rows, error) {
	named, err := s.admit(ctx, "QueryJobEvents", req.JobID)
	if err != nil {
		return nil, err
	}
	filter, err := eventFilter(ctx, req.Filter)
	if err != nil {
		return nil, err
	}
	job, err := s.tables.Transactions.Job(ctx, named)
	if err != nil {
		return nil, err
	}
	events, err := s.tables.Transactions.Events(ctx, job)
	if err != nil {
		return nil, err
	}
	return &protocol.Rows{Schema: eventSchema, Batches: func(yield func(arrow.RecordBatch, error) bool) {
		for most := req.Most(); most > 0 && len(events) > 0; {
			n := min(len(events), eventBatch)
			batch, err := someEvents(ctx, req.JobID, events[:n], filter, most)
			if err != nil {
				yield(nil, err)
				return
			}
			if batch.NumRows() > 0 && !yield(batch, nil) {
				return
			}
			events, most = events[n:], most-int(batch.NumRows())
		}
	}}, nil
}

// eventBatch is the number of events to which a filter is applied together.
const eventBatch = 1024

// eventFilter compiles the filter of a request, or returns nil if there is none.
func eventFilter(ctx context.Context, text string) (*plan.Bound, error) {
	if text == "" {
		return nil, nil
	}
	parsed, err := syntax.Parse(text)
	if err != nil {
		return nil, apierror.OfExpression("filter", err)
	}
	columns := arrow.NewSchema(eventSchema.Fields()[firstFiltered:lastFiltered+1], nil)
	bound, err := plan.BindFilter(ctx, parsed, columns, time.Now())
	return bound, apierror.OfFilter(apierror.OfExpression("filter", err))
}

// someEvents returns the events that match the filter as a batch of at most most rows.
func someEvents(ctx context.Context, job string, events []transaction.Event, filter *plan.Bound, most int) (arrow.RecordBatch, error) {
	ctx, room, err := memory.Within(ctx)
	if err != nil {
		return nil, err
	}
	defer room.Close()
	batch, err := rowsOf(ctx, job, events)
	if err != nil {
		return nil, err
	}
	if filter == nil {
		return batch.NewSlice(0, min(batch.NumRows(), int64(most))), nil
	}
	// The filter sees only the columns that it may use.
	filtered := array.NewRecordBatch(
		arrow.NewSchema(eventSchema.Fields()[firstFiltered:lastFiltered+1], nil), batch.Columns()[firstFiltered:lastFiltered+1], batch.NumRows(),
	)
	rows, err := filter.Select(ctx, filtered, nil)
	if err != nil {
		return nil, apierror.OfExpression("filter", err)
	}
	passed := make([]transaction.Event, min(len(rows), most))
	for i := range passed {
		passed[i] = events[rows[i]]
	}
	return rowsOf(ctx, job, passed)
}

// rowBytes bounds the memory of one row, without its message.
const rowBytes = 256

// rowsOf converts events to a batch, for which it reserves memory.
func rowsOf(ctx context.Context, job string, events []transaction.Event) (arrow.RecordBatch, error) {
	var held int64
	for i := range events {
		held += rowBytes + 2*int64(len(events[i].Message)) // a builder may double its buffer
	}
	if _, err := memory.Take(ctx, held); err != nil {
		return nil, err
	}
	b := array.NewRecordBuilder(arrowmemory.DefaultAllocator, eventSchema)
	text := func(column int, value string) {
		if value == "" {
			b.Field(column).AppendNull()
			return
		}
		b.Field(column).(*array.StringBuilder).Append(value)
	}
	for i := range events {
		e := &events[i]
		text(0, job)
		b.Field(1).(*array.Int64Builder).Append(e.At.UnixMilli())
		text(2, string(e.State))
		text(3, updatedBy(e))
		text(4, e.Stage)
		text(5, e.By)
		text(6, entity(e.Unit))
		if rows, ok := e.RowsProcessed(); ok {
			b.Field(7).(*array.Int64Builder).Append(rows)
		} else {
			b.Field(7).AppendNull()
		}
		text(8, e.Message)
	}
	return b.NewRecordBatch(), nil
}

// updatedBy returns "client" for a change by a request, else "worker".
func updatedBy(e *transaction.Event) string {
	if e.By == "" && e.State != transaction.EventOmitted {
		return "client"
	}
	return "worker"
}

// entity returns "job", or the stage and the number of a part.
func entity(unit transaction.Unit) string {
	if unit.Part == 0 {
		return "job"
	}
	return fmt.Sprintf("%s/%d", unit.Stage, unit.Part)
}

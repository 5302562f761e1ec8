package jobtable

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/engine"
	"tiltyard/shared/jobs/transaction"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/protocol/transactionapi"
	"tiltyard/shared/tables"
)

var states = map[transactionapi.Status]string{
	transactionapi.Queued:    "PENDING",
	transactionapi.Running:   "RUNNING",
	transactionapi.Succeeded: "DONE",
	transactionapi.Failed:    "FAILED",
	transactionapi.Canceled:  "CANCELLED",
}

// write sets the columns of the rows of a job. If there is no row, and the request that began the job has had the time to
// add one, write adds it.
func write(ctx context.Context, table *engine.Table, t *transaction.Transaction, now time.Time) (engine.Written, error) {
	columns, err := columnsOf(ctx, table)
	if err != nil {
		return engine.Written{}, err
	}
	set := assignments(columns, t)
	where := jobID + " = " + text(t.ID)
	done, err := table.Update(ctx, set, where)
	// The request that began the job may be about to add the row itself.
	if err != nil || done.Updated > 0 || now.Sub(t.Created) < lastLook {
		return done, err
	}
	if _, err := table.Insert(ctx, row(columns, t)); err != nil {
		return engine.Written{}, err
	}
	// The row has only the required columns so far.
	return table.Update(ctx, set, where)
}

func columnsOf(ctx context.Context, table *engine.Table) (*arrow.Schema, error) {
	return engine.Read(ctx, table, nil, func(_ context.Context, d *dataset.Dataset) (*arrow.Schema, error) { return d.ArrowSchema(), nil })
}

// row returns the row of a new job. It has the id, the status and all columns that must not be
// null.
func row(columns *arrow.Schema, t *transaction.Transaction) dataset.Rows {
	var fields []arrow.Field
	for _, f := range columns.Fields() {
		if f.Name == jobID || f.Name == status || !f.Nullable {
			fields = append(fields, f)
		}
	}
	schema := arrow.NewSchema(fields, nil)
	texts := described(t)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	for i, f := range fields {
		switch b := b.Field(i).(type) {
		case *array.StringBuilder:
			b.Append(texts[f.Name])
		case *array.TimestampBuilder:
			b.AppendTime(t.Created)
		// A required column of another type gets the empty value.
		default:
			b.AppendEmptyValue()
		}
	}
	batch := b.NewRecordBatch()
	return dataset.Rows{Schema: schema, Batches: func(yield func(arrow.RecordBatch, error) bool) { yield(batch, nil) }}
}

// described returns the texts of a new job's row, by column name.
func described(t *transaction.Transaction) map[string]string {
	values := map[string]string{jobID: t.ID, status: states[transactionapi.Queued], "job_type": "BACKFILL", "config": "{}"}
	if t.Kind == tables.RefreshKind {
		values["job_type"] = "REFRESH"
	}
	if len(t.Object) > 0 {
		values["table_name"] = t.Object[len(t.Object)-1]
	}
	if t.Work != nil {
		var order struct {
			Column string `json:"column"`
		}
		_ = json.Unmarshal(t.Work.Input, &order) // the order of a view has no column
		values["column_name"] = order.Column
	}
	return values
}

// assignments returns the new values of a row's columns for a job. It skips columns of unexpected
// types.
func assignments(columns *arrow.Schema, t *transaction.Transaction) []engine.Assignment {
	set := []engine.Assignment{{Column: status, SQL: text(states[t.Status])}}
	for _, f := range columns.Fields() {
		switch f.Name {
		case "metrics":
			if list, ok := f.Type.(arrow.ListLikeType); ok && list.Elem().ID() == arrow.STRING {
				set = append(set, engine.Assignment{Column: f.Name, SQL: metrics(t)})
			}
		case "updated_at":
			set = appendTime(set, f, t.Updated)
		case "completed_at":
			if t.Status.Ended() {
				set = appendTime(set, f, t.Updated)
			}
		}
	}
	return set
}

// appendTime adds an assignment of a time to a column of type timestamp or string.
func appendTime(set []engine.Assignment, f arrow.Field, at time.Time) []engine.Assignment {
	switch at := text(at.UTC().Format("2006-01-02T15:04:05.000000")); f.Type.ID() {
	case arrow.TIMESTAMP:
		return append(set, engine.Assignment{Column: f.Name, SQL: "CAST(" + at + " AS TIMESTAMP)"})
	case arrow.STRING:
		return append(set, engine.Assignment{Column: f.Name, SQL: at})
	}
	return set
}

// A metric is an element of the column metrics.
type metric struct {
	Name  string `json:"name"`
	N     int64  `json:"n"`
	Total int64  `json:"total"`
	Done  bool   `json:"done"`
	Desc  string `json:"desc"`
}

// metrics returns the metrics of a job as an SQL list.
func metrics(t *transaction.Transaction) string {
	isDone := t.Status == transactionapi.Succeeded
	var result struct {
		Rows   int64 `json:"rows_assigned"`
		Made   int64 `json:"rows_written"`
		Failed int64 `json:"rows_failed"`
	}
	if len(t.Result) > 0 {
		_ = json.Unmarshal(t.Result, &result) // other results leave the counts at zero
	}
	rows := max(t.Rows, result.Rows, result.Made)
	counts := []metric{{"rows_checkpointed", rows, rows, isDone, "rows that have got a value"}, {"rows_skipped", result.Failed, result.Failed, isDone, "rows that the function failed for"}}
	if t.Kind == tables.RefreshKind {
		counts = []metric{{"rows_refreshed", rows, rows, isDone, "rows of the view that were made"}}
	}
	if t.Total > 0 {
		counts = append(counts, metric{"steps", t.Done, t.Total, isDone, "steps of the stage that runs"})
	}
	list := make([]string, len(counts))
	for i, m := range counts {
		encoded, _ := json.Marshal(m) // cannot fail: all fields are strings, numbers and booleans
		list[i] = text(string(encoded))
	}
	return "[" + strings.Join(list, ", ") + "]"
}

// text returns an SQL string literal.
func text(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

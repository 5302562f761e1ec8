// Package backfill computes the values of computed columns in jobs: the engine does the work.
//
// A job commits as it goes. One that a crash has interrupted begins anew and finds what it has committed:
// rows with a value need none any more. With a condition it computes the rows once more.
package backfill

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/catalog"
	"tiltyard/shared/engine"
	"tiltyard/shared/function"
	"tiltyard/shared/job"
	"tiltyard/shared/protocol"
	"tiltyard/shared/tables"
	"tiltyard/shared/work/calling"
)

// Kind is the kind of the jobs that compute the values of a column.
const Kind = "refresh_column"

// An Order is the input of a job.
type Order struct {
	Column    string `json:"column"`
	Where     string `json:"where,omitempty"`        // rows to compute; "" is those that need it
	Version   *int64 `json:"read_version,omitempty"` // whose fragments are filled; nil is the newest
	Fragments int    `json:"num_frags,omitempty"`    // most fragments to fill; 0 is all
	PerCommit int    `json:"commit_granularity,omitempty"`
	Branch    string `json:"branch,omitempty"`
}

// Work returns the order as the engine takes it.
func (o Order) Work() engine.Backfill {
	return engine.Backfill{Column: o.Column, Where: o.Where, Version: o.Version, Fragments: o.Fragments, PerCommit: o.PerCommit}
}

// Fill returns the kind of job that computes the values of a column.
func Fill(on tables.Tables, functions calling.Directory) job.Kind {
	return job.Single("backfill", func(ctx context.Context, r *job.Run) (any, error) {
		var order Order
		if err := r.Input(&order); err != nil {
			return nil, err
		}
		work := order.Work()
		work.Progress = func(done, total, rows int64) { r.Progress(job.Progress{Done: done, Total: total, Rows: rows}) }
		work.Open = func(ctx context.Context, b *protocol.FunctionBinding) (function.Caller, []arrow.Field, error) {
			return functions.Open(ctx, b, r.ID())
		}
		var filled engine.Backfilled
		_, err := on.ChangeFound(ctx, r.Object(), order.Branch, func(t *engine.Table, _ *catalog.Lookup) (engine.Written, error) {
			var err error
			filled, err = t.Backfill(ctx, work)
			done := engine.Written{Version: filled.Source}
			if filled.Published != nil {
				done.Version = *filled.Published
			}
			return done, err
		})
		return filled, err
	})
}

// Package backfill computes the values of computed columns in jobs: the engine does the work.
//
// A job commits as it goes, and records after each commit where it is. One that was interrupted goes on
// from there. Two jobs do not fill a column at the same time: the second waits until the first has ended
// or is paused. Rows that a function fails for are recorded by package rowerror.
package backfill

import (
	"context"
	"reflect"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/catalog"
	"tiltyard/shared/engine"
	"tiltyard/shared/engine/computed"
	"tiltyard/shared/function"
	"tiltyard/shared/job"
	"tiltyard/shared/protocol"
	"tiltyard/shared/tables"
	"tiltyard/shared/work/calling"
	"tiltyard/shared/work/jobtable"
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
	// TaskSize and CheckpointSize are rows after which a commit ends, together with a fragment; 0 is no bound.
	TaskSize       int64  `json:"task_size,omitempty"`
	CheckpointSize int64  `json:"checkpoint_size,omitempty"`
	Branch         string `json:"branch,omitempty"`
	// Function is the one that the column had when the order was given, and that its giver may use; nil
	// allows none. The column may have got another one since.
	Function *protocol.FunctionReference `json:"function,omitempty"`
	// Use is the id of the use of the function. A job fills all of its columns.
	Use string `json:"use,omitempty"`

	jobtable.Mark
}

// Work returns the order as the engine takes it.
func (o Order) Work() engine.Backfill {
	work := engine.Backfill{Column: o.Column, Where: o.Where, Version: o.Version, Fragments: o.Fragments, PerCommit: o.PerCommit, Rows: o.TaskSize}
	if o.CheckpointSize > 0 && (work.Rows == 0 || o.CheckpointSize < work.Rows) {
		work.Rows = o.CheckpointSize
	}
	return work
}

// claim returns the name of what a job at a place holds while it works: the column, or all that one use of a
// function computes.
func (o Order) claim(place string) string {
	what := []string{"backfill", place, o.Branch, o.Column}
	if o.Use != "" {
		what = []string{"backfill use", place, o.Branch, o.Use}
	}
	return strings.Join(what, "\x00")
}

// Fill returns the kind of job that computes the values of a column.
func Fill(on tables.Tables, functions calling.Directory) job.Kind {
	return job.Single("backfill", func(ctx context.Context, r *job.Run) (any, error) {
		work := filler{on: on, functions: functions, run: r}
		if err := r.Input(&work.order); err != nil {
			return nil, err
		}
		var filled engine.Backfilled
		_, err := on.ChangeFound(ctx, r.Object(), work.order.Branch, func(t *engine.Table, found *catalog.Lookup) (engine.Written, error) {
			var err error
			filled, err = work.fill(ctx, t, found.Table.Location.URI)
			done := engine.Written{Version: filled.Source}
			if filled.Published != nil {
				done.Version = *filled.Published
			}
			return done, err
		})
		return filled, err
	})
}

// A filler is one run of a job.
type filler struct {
	on        tables.Tables
	functions calling.Directory
	run       *job.Run
	order     Order
}

const (
	// leastWait and mostWait bound how long a job waits before it asks again whether another one still
	// fills its column.
	leastWait, mostWait = time.Second, time.Minute
	// enough is the time that a run must have left to begin another commit.
	enough = 2 * time.Minute
)

// A state is where a run has left off. It is of the table at a place: another one may have its name by the
// next run.
type state struct {
	Place string `json:"place"`
	engine.BackfillState
}

// fill computes the values of a table at a place.
func (f *filler) fill(ctx context.Context, t *engine.Table, place string) (engine.Backfilled, error) {
	switch claimed, err := f.on.Transactions.Claim(ctx, f.order.claim(place), f.run.ID()); {
	case err != nil:
		return engine.Backfilled{}, err
	case !claimed:
		waited := time.Since(f.run.Began())
		return engine.Backfilled{}, job.Later(min(max(waited/4, leastWait), mostWait))
	}
	failures := failures{area: t.RowErrors(), job: f.run.ID(), column: f.order.Column}
	work := f.order.Work()
	var before state
	if err := f.run.State(&before); err != nil {
		return engine.Backfilled{}, err
	}
	if before.Place == place {
		work.From = &before.BackfillState
	}
	work.Progress = func(done, total, rows int64) { f.run.Progress(job.Progress{Done: done, Total: total, Rows: rows}) }
	work.Open = func(ctx context.Context, b *protocol.FunctionBinding) (function.Caller, []arrow.Field, error) {
		if allowed := f.order.Function; allowed == nil || !reflect.DeepEqual(*allowed, b.Function) {
			return nil, nil, protocol.Errorf(protocol.InvalidInput, "column %q has got another function since the job has begun; begin the job again", f.order.Column)
		}
		return f.functions.Open(ctx, b, f.run.ID())
	}
	work.OpenEnvelope = func(ctx context.Context, e *computed.Envelope) (function.Caller, error) {
		spec, err := e.Spec(ctx)
		if err != nil {
			return nil, err
		}
		return f.functions.OpenEnvelope(ctx, spec, f.run.ID())
	}
	work.Failed, work.Save = failures.add, failures.save
	work.Reached = func(ctx context.Context, at engine.BackfillState) error {
		if err := f.run.Checkpoint(ctx, state{place, at}); err != nil {
			return err
		}
		if until, ok := ctx.Deadline(); ok && time.Until(until) < enough {
			return job.Later(0)
		}
		return nil
	}
	return t.Backfill(ctx, work)
}

// Package backfill fills computed columns in jobs. The engine computes the values.
//
// One worker does a small backfill; a large one runs in rounds. In a round many workers each compute some rows and write
// files of them; other workers join the files of a fragment that several workers have computed; and one worker commits the
// round:
//
//	backfill ─> fill: part 1 ┐─> join: part 1 ┐─> commit ─┐
//	        ↑         part 2 ┤         part n ┘           │
//	        │         part n ┘                            │
//	        └──────────── the next round ─────────────────┘
//
// All parts of a round read one version. Each part checkpoints its results in its record, which two workers never write at
// the same time: if two run the same part, only one counts. The commit leaves out fragments that other writers have
// changed; the next round computes them again.
//
// A job without parts commits as it goes, and records its position after each commit. An interrupted job continues there.
// Two jobs do not fill a column at the same time: the second waits until the first has ended or is paused. Package
// rowerror stores the rows for which a function fails. Columns with automatic backfill are filled without requests
// (follow.go).
//
// Files to which no commit refers are garbage, which the cleanup of orphans deletes.
package backfill

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/catalog"
	"tiltyard/shared/engine"
	"tiltyard/shared/engine/computed"
	"tiltyard/shared/engine/fill"
	"tiltyard/shared/engine/rowerror"
	"tiltyard/shared/engine/udf"
	"tiltyard/shared/jobs"
	"tiltyard/shared/jobs/transaction"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/schemaapi"
	"tiltyard/shared/tables"
	"tiltyard/shared/work/jobtable"
	"tiltyard/shared/work/udfcall"
)

// Kind is the kind of the jobs that compute the values of a column.
const Kind = tables.FillKind

// An Order is the input of a job.
type Order struct {
	Column    string `json:"column"`
	Where     string `json:"where,omitempty"`        // filter of the rows to compute; "" selects rows without an up-to-date value
	Version   *int64 `json:"read_version,omitempty"` // the version whose fragments are filled; nil is the newest
	Fragments int    `json:"num_frags,omitempty"`    // maximum of filled fragments; 0 means all
	PerCommit int    `json:"commit_granularity,omitempty"`
	Parts     int    `json:"concurrency,omitempty"` // maximum of concurrent workers; 0 sets no limit
	// TaskSize and CheckpointSize bound the rows of a commit, which ends with a fragment; 0 sets no
	// bound.
	TaskSize       int64  `json:"task_size,omitempty"`
	CheckpointSize int64  `json:"checkpoint_size,omitempty"`
	Branch         string `json:"branch,omitempty"`
	// Function is the column's function at the time of the request, whose sender may use it. Without it
	// the job may call no function. The job fails if the column has another function when it runs.
	Function *schemaapi.FunctionReference `json:"function,omitempty"`
	// Use is the id of a use of the function. The job fills all columns of that use.
	Use string `json:"use,omitempty"`

	jobtable.Mark
}

// Work returns the order in the engine's form.
func (o Order) Work() fill.Order {
	work := fill.Order{Column: o.Column, Where: o.Where, Version: o.Version, Fragments: o.Fragments, PerCommit: o.PerCommit, Rows: o.TaskSize, Parts: o.Parts}
	if o.CheckpointSize > 0 && (work.Rows == 0 || o.CheckpointSize < work.Rows) {
		work.Rows = o.CheckpointSize
	}
	return work
}

// claim returns the name under which a job reserves the values that it computes: a column at a place, or all columns of
// one use of a function.
func (o Order) claim(place string) string {
	what := []string{"backfill", place, o.Branch, o.Column}
	if o.Use != "" {
		what = []string{"backfill use", place, o.Branch, o.Use}
	}
	return strings.Join(what, "\x00")
}

// rowTime and callTime are estimates of the time per row for an expression and for a function, at
// most.
const (
	rowTime  = 10 * time.Microsecond
	callTime = 5 * time.Millisecond
)

// PartSizes fit parts to Lambda functions of 2 GiB with a limit of 10 minutes.
var PartSizes = fill.Sizes{Whole: 1 << 20, Rows: 2 << 20, Calls: 12_000, Parts: transaction.MaxParts, CallParts: 32}

// Names of stages.
const (
	wholeStage  = "backfill"
	fillStage   = "fill"
	joinStage   = "join"
	commitStage = "commit"
)

// Fill returns the kind of jobs that compute the values of a column.
func Fill(on tables.Tables, functions udfcall.Directory, sizes fill.Sizes) jobs.Kind {
	b := filler{on: on, functions: functions, sizes: sizes}
	return jobs.Kind{Stages: []jobs.Stage{
		{Name: wholeStage, Do: b.whole},
		{Name: fillStage, Parts: b.parts, Estimate: b.effort, Do: b.part},
		{Name: joinStage, Parts: b.joins, Do: b.join},
		{Name: commitStage, Do: b.commit},
	}}
}

// A filler runs the stages of jobs.
type filler struct {
	on        tables.Tables
	functions udfcall.Directory
	sizes     fill.Sizes
}

const (
	// leastWait and mostWait bound the pause between two checks whether another job still fills the
	// column.
	leastWait, mostWait = time.Second, time.Minute
	// enough is the remaining time that a run needs to begin another commit.
	enough = 2 * time.Minute
)

// A state is the position of a run without parts. Place identifies the table, because another one may have its name by the
// next run.
type state struct {
	Place string `json:"place"`
	fill.State
}

// A task is the work of one stage on the job's table.
type task func(ctx context.Context, t *engine.Table, place string, w fill.Order) (fill.Result, error)

// change runs a task that commits.
func (b filler) change(ctx context.Context, r *jobs.Run, do task) (fill.Result, error) {
	var order Order
	if err := r.Input(&order); err != nil {
		return fill.Result{}, err
	}
	var filled fill.Result
	_, err := b.on.Open(r.Object(), order.Branch).Commit(ctx, func(t tables.Table) (_ engine.Written, err error) {
		filled, err = b.claimed(ctx, r, order, t.Table, t.Found.Table, do)
		done := engine.Written{Version: filled.Source}
		if filled.Published != nil {
			done.Version = *filled.Published
		}
		return done, err
	})
	return filled, err
}

// stage runs a task that writes files but commits nothing.
func (b filler) stage(ctx context.Context, r *jobs.Run, do task) error {
	var order Order
	if err := r.Input(&order); err != nil {
		return err
	}
	_, err := tables.Inspect(ctx, b.on.Open(r.Object(), order.Branch), func(ctx context.Context, t tables.Table) (fill.Result, error) {
		return b.claimed(ctx, r, order, t.Table, t.Found.Table, do)
	})
	return err
}

// claimed runs a task once the job has reserved the column, or returns [jobs.Later].
func (b filler) claimed(ctx context.Context, r *jobs.Run, order Order, t *engine.Table, found *catalog.Table, do task) (fill.Result, error) {
	place := found.Location.URI
	switch claimed, err := b.on.Transactions.Claim(ctx, order.claim(place), transaction.Unit{Job: r.ID()}); {
	case err != nil:
		return fill.Result{}, err
	case !claimed:
		waited := time.Since(r.Began())
		return fill.Result{}, jobs.Later(min(max(waited/4, leastWait), mostWait))
	}
	return do(ctx, t, place, b.order(r, order, t, found))
}

// order returns the order in the engine's form, with the callbacks of this run.
func (b filler) order(r *jobs.Run, order Order, t *engine.Table, found *catalog.Table) fill.Order {
	failures := failures{area: rowerror.Of(t.Data()), job: r.ID(), column: order.Column}
	w := order.Work()
	w.Sizes = &b.sizes
	w.Progress = func(done, total, rows int64) { r.Progress(jobs.Progress{Done: done, Total: total, Rows: rows}) }
	w.Open = func(ctx context.Context, binding *schemaapi.FunctionBinding) (udf.Caller, []arrow.Field, error) {
		// Only the function that the sender of the request may use is called.
		if allowed := order.Function; allowed == nil || !reflect.DeepEqual(*allowed, binding.Function) {
			return nil, nil, protocol.Errorf(protocol.InvalidInput, "column %q has got another function since the job has begun; begin the job again", order.Column)
		}
		// The rights are checked again in each run, because they may have been revoked.
		as, err := userOf(ctx, b.on.Rights, found, order.Column, binding)
		if err != nil {
			return nil, nil, err
		}
		caller, params, err := b.functions.Open(as, binding, r.ID())
		return caller, params, unusable(found, order.Column, err)
	}
	w.OpenEnvelope = func(ctx context.Context, e *computed.Envelope) (udf.Caller, error) {
		spec, err := e.Spec(ctx)
		if err != nil {
			return nil, err
		}
		return b.functions.OpenEnvelope(ctx, spec, r.ID())
	}
	w.Failed, w.Save, w.Again = failures.add, failures.save, failures.again
	return w
}

// whole does a small backfill, which ends the job. For a large one it returns the first round.
func (b filler) whole(ctx context.Context, r *jobs.Run) (any, error) {
	var first *round
	done, err := b.change(ctx, r, func(ctx context.Context, t *engine.Table, place string, w fill.Order) (fill.Result, error) {
		var before state
		if err := r.State(&before); err != nil {
			return fill.Result{}, err
		}
		// The checkpoint belongs to this table and not to a former one of the same name.
		if before.Place == place {
			w.From = &before.State
		}
		w.Reached = func(ctx context.Context, at fill.State) error {
			return r.CheckpointBefore(ctx, state{place, at}, enough)
		}
		done, err := fill.Run(ctx, t, w)
		if divided := (*fill.Divided)(nil); errors.As(err, &divided) {
			first = &round{place, *divided.Round}
		}
		return done, err
	})
	if first != nil {
		return first, nil
	}
	return jobs.End{Result: done}, err
}

// Package refresh updates materialized views in jobs. Package materialize computes the rows.
//
// One worker does a small refresh. For a large one, many workers compute rows of the view, each from some rows of its
// source, and write files of them, which one commit then adds to the view:
//
//	refresh ─> rows: part 1 ┐─> commit
//	                 part 2 ┤
//	                 part n ┘
//
// Each part checkpoints its results every minute in its record, which two workers never write at the same time. If the
// view has changed since its refresh was divided, the commit divides it anew.
//
// Of several jobs for one view one works at a time (history.go). The others wait, and usually find then that the view is
// already up to date. Views with automatic refresh are refreshed without requests (follow.go).
//
// The commit of a job is made at most once. Each run reads the source with the rights of the principal that defined the
// view (rights.go). A job ends if the definition differs from that in the record of the view.
package refresh

import (
	"context"
	"errors"

	"tiltyard/shared/catalog"
	"tiltyard/shared/catalog/stored"
	"tiltyard/shared/engine"
	"tiltyard/shared/engine/rowerror"
	"tiltyard/shared/engine/view"
	"tiltyard/shared/engine/view/materialize"
	"tiltyard/shared/jobs"
	"tiltyard/shared/jobs/transaction"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/protocol"
	"tiltyard/shared/tables"
	"tiltyard/shared/work/jobtable"
	"tiltyard/shared/work/udfcall"
)

// Kind is the kind of the jobs that refresh a view.
const Kind = tables.RefreshKind

// An Order is the input of a job.
type Order struct {
	UID    string `json:"uid"`               // of the view; a later view of the same name has another
	Digest string `json:"definition_sha256"` // of the definition
	Full   bool   `json:"full,omitempty"`    // compute all rows
	// SourceVersion is the version of the source to compute the view from; nil is the newest.
	SourceVersion *int64 `json:"source_version,omitempty"`
	Incarnation   string `json:"expected_incarnation,omitempty"` // "" accepts any
	OutputLimit   *int64 `json:"output_limit,omitempty"`         // as in materialize.Order
	Parts         int    `json:"concurrency,omitempty"`          // maximum of concurrent workers; 0 sets no limit

	jobtable.Mark
}

// PartSizes fit parts to Lambda functions of 2 GiB with a limit of 10 minutes.
var PartSizes = materialize.Sizes{Whole: 1 << 20, Rows: 2 << 20, Parts: transaction.MaxParts}

// Names of stages.
const (
	wholeStage  = "refresh"
	rowsStage   = "rows"
	commitStage = "commit"
)

// Refresh returns the kind of jobs that refresh a view. functions opens the functions that compute
// rows.
func Refresh(on tables.Tables, functions udfcall.Directory, sizes materialize.Sizes) jobs.Kind {
	b := builder{on, functions, sizes}
	return jobs.Kind{Poll: follower{on}.poll, Stages: []jobs.Stage{
		{Name: wholeStage, Do: b.whole},
		{Name: rowsStage, Parts: b.parts, Estimate: b.effort, Do: b.part},
		{Name: commitStage, Do: b.commit},
	}}
}

// A builder runs the stages of jobs.
type builder struct {
	on        tables.Tables
	functions udfcall.Directory
	sizes     materialize.Sizes
}

// A refresher is one run of a job.
type refresher struct {
	builder
	run   *jobs.Run
	order Order
}

// run returns the refresher for a run.
func (b builder) run(r *jobs.Run) (*refresher, error) {
	f := &refresher{builder: b, run: r}
	return f, r.Input(&f.order)
}

// errChanged ends a job whose view got another definition.
var errChanged = protocol.Errorf(protocol.InvalidInput, "the definition of the view has changed since its refresh was asked for; refresh it again")

// errReplaced ends a job whose view was dropped and replaced by another of that name.
var errReplaced = protocol.Errorf(protocol.TableNotFound, "the view was replaced while its refresh waited")

// A work refreshes a view. t is its table; as is the same table, but commits under the id of the
// job.
type work func(ctx context.Context, t, as *engine.Table, o materialize.Order) (materialize.Result, error)

// change runs work that commits, once the job owns the view.
func (f *refresher) change(ctx context.Context, do work) (materialize.Result, error) {
	wait, err := f.hold(ctx)
	if err != nil {
		return materialize.Result{}, err
	}
	if wait > 0 {
		return materialize.Result{}, jobs.Later(wait)
	}
	var done materialize.Result
	_, err = f.on.Open(f.run.Object(), "").Commit(ctx, func(t tables.Table) (_ engine.Written, err error) {
		done, err = f.onView(ctx, t.Table, t.Found.Table, do)
		return engine.Written{Version: done.Version}, err
	})
	return done, err
}

// stage runs work that writes files but commits nothing.
func (f *refresher) stage(ctx context.Context, do func(ctx context.Context, t *engine.Table, o materialize.Order) error) error {
	_, err := tables.Inspect(ctx, f.on.Open(f.run.Object(), ""), func(ctx context.Context, t tables.Table) (materialize.Result, error) {
		return f.onView(ctx, t.Table, t.Found.Table, func(ctx context.Context, t, _ *engine.Table, o materialize.Order) (materialize.Result, error) {
			return materialize.Result{}, do(ctx, t, o)
		})
	})
	return err
}

// onView checks that the view is the one of the order, and runs work on its table.
func (f *refresher) onView(ctx context.Context, t *engine.Table, found *catalog.Table, do work) (materialize.Result, error) {
	switch v := found.View; {
	case v == nil || v.Kind != stored.Materialized:
		return materialize.Result{}, view.ErrNone
	case v.UID != f.order.UID:
		return materialize.Result{}, errReplaced
	case v.Digest != f.order.Digest:
		return materialize.Result{}, errChanged
	}
	d, err := engine.Read(ctx, t, nil, func(_ context.Context, d *dataset.Dataset) (*view.Definition, error) {
		return f.definition(d)
	})
	if err == nil {
		err = d.Check()
	}
	if err != nil {
		return materialize.Result{}, err
	}
	source, err := sourceOf(ctx, f.on, found, d.Source)
	if err != nil {
		return materialize.Result{}, err
	}
	if err := f.on.Names.Views.Enter(ctx, found.ID, found.View, source.ID, source.Dependents); err != nil {
		return materialize.Result{}, err
	}
	as := t.As(f.run.Attempt)
	failures := &failures{area: rowerror.Of(t.Data())}
	done, err := do(ctx, t, as, materialize.Order{
		Query: d.Query, Call: f.call(d, found.Location, failures),
		Source: f.on.At(source), SourceVersion: f.order.SourceVersion, Full: f.order.Full, Limit: f.order.OutputLimit,
		Check: func(d *dataset.Dataset) error {
			if _, err := f.definition(d); err != nil {
				return err
			}
			return mayRead(ctx, f.on, found, source.ID)
		},
		Progress: func(read, total, made int64) { f.run.Progress(jobs.Progress{Done: read, Total: total, Rows: made}) },
		Sizes:    &f.sizes, Parts: f.order.Parts,
	})
	return done, errors.Join(err, failures.save(ctx))
}

// whole does a small refresh, which ends the job. For a large one it returns the division.
func (b builder) whole(ctx context.Context, r *jobs.Run) (any, error) {
	f, err := b.run(r)
	if err != nil {
		return nil, err
	}
	done, err := f.change(ctx, materialize.Refresh)
	if divided := (*materialize.Divided)(nil); errors.As(err, &divided) {
		return divided.Division, nil
	}
	return jobs.End{Result: done}, err
}

// definition returns the definition in the schema of the view. It fails if the definition differs
// from the order.
func (f *refresher) definition(d *dataset.Dataset) (*view.Definition, error) {
	definition, err := view.ReadFrom(d)
	switch {
	case err != nil:
		return nil, err
	case definition.Digest() != f.order.Digest:
		return nil, errChanged
	case f.order.Incarnation != "" && d.Schema().Metadata[view.IncarnationKey] != f.order.Incarnation:
		return nil, protocol.Errorf(protocol.TableNotFound, "the view was dropped and created again: its incarnation is not the expected one")
	}
	return definition, nil
}

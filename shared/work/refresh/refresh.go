// Package refresh brings materialized views up to date in jobs: package materialize does the work.
//
// Of several jobs for one view one works (history.go); the others wait, and most often find then that the
// view shows what they want. Views that ask for it are refreshed without requests (follow.go).
//
// The commit of a job is made at most once. A job has no rights of its own: the request that begins
// one checks that its sender may read what the definition of the view names, and passes the digest of
// that definition on. A job that finds another definition ends.
package refresh

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"tiltyard/shared/catalog"
	"tiltyard/shared/catalog/stored"
	"tiltyard/shared/engine"
	"tiltyard/shared/job"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/objectstore"
	"tiltyard/shared/protocol"
	"tiltyard/shared/tables"
	"tiltyard/shared/view"
	"tiltyard/shared/view/materialize"
	"tiltyard/shared/work/calling"
	"tiltyard/shared/work/jobtable"
)

// Kind is the kind of the jobs that refresh a view.
const Kind = tables.RefreshKind

// An Order is the input of a job.
type Order struct {
	UID    string `json:"uid"`               // of the view; a later one of the same name has another
	Digest string `json:"definition_sha256"` // of the definition that the sender of the request may run
	Full   bool   `json:"full,omitempty"`    // compute all rows
	// SourceVersion is the version of the source to show; nil is the newest.
	SourceVersion *int64 `json:"source_version,omitempty"`
	Incarnation   string `json:"expected_incarnation,omitempty"` // "" is any
	OutputLimit   *int64 `json:"output_limit,omitempty"`         // as in materialize.Order

	jobtable.Mark
}

// Refresh returns the kind of job that refreshes a view. functions opens those that make rows.
func Refresh(on tables.Tables, functions calling.Directory) job.Kind {
	kind := job.Single("refresh", func(ctx context.Context, r *job.Run) (any, error) {
		work := refresher{on: on, functions: functions, run: r}
		if err := r.Input(&work.order); err != nil {
			return nil, err
		}
		return work.refresh(ctx)
	})
	kind.Wanted = follower{on}.wanted
	return kind
}

// A refresher is one run of a job.
type refresher struct {
	on        tables.Tables
	functions calling.Directory
	run       *job.Run
	order     Order
}

// errReplaced ends a job whose view was dropped, and another one made under its name.
var errReplaced = protocol.Errorf(protocol.TableNotFound, "the view was replaced while its refresh waited")

func (f *refresher) refresh(ctx context.Context) (materialize.Result, error) {
	wait, err := f.hold(ctx)
	if err != nil {
		return materialize.Result{}, err
	}
	if wait > 0 {
		return materialize.Result{}, job.Later(wait)
	}
	var done materialize.Result
	_, err = f.on.ChangeFound(ctx, f.run.Object(), "", func(t *engine.Table, found *catalog.Lookup) (engine.Written, error) {
		v := found.Table.View
		switch {
		case v == nil || v.Kind != stored.Materialized:
			return engine.Written{}, view.ErrNone
		case v.UID != f.order.UID:
			return engine.Written{}, errReplaced
		}
		var err error
		done, err = f.refreshTable(ctx, t, found.Table.Location)
		return engine.Written{Version: done.Version}, err
	})
	return done, err
}

// refreshTable refreshes the table of the view, which is at a location.
func (f *refresher) refreshTable(ctx context.Context, t *engine.Table, location objectstore.Location) (materialize.Result, error) {
	d, err := engine.Read(ctx, t, nil, func(_ context.Context, d *dataset.Dataset) (*view.Definition, error) {
		return f.definition(d)
	})
	if err == nil {
		err = d.Check()
	}
	if err != nil {
		return materialize.Result{}, err
	}
	found, err := f.on.Names.Table(ctx, d.Source)
	if err != nil {
		return materialize.Result{}, missingSource(err)
	}
	// The id of the transaction follows from the job, so a run that follows a crash finds its commit.
	id := uuid.NewSHA1(uuid.NameSpaceOID, []byte(f.run.ID())).String()
	as := t.As(func() (string, time.Time) { return id, f.run.Began() })
	failures := &failures{area: t.RowErrors()}
	done, err := materialize.Refresh(ctx, t, as, materialize.Order{
		Query: d.Query, Call: f.call(d, location, failures),
		Source: f.on.At(found), SourceVersion: f.order.SourceVersion, Full: f.order.Full, Limit: f.order.OutputLimit,
		Check: func(d *dataset.Dataset) error {
			_, err := f.definition(d)
			return err
		},
		Progress: func(read, total, made int64) { f.run.Progress(job.Progress{Done: read, Total: total, Rows: made}) },
	})
	return done, errors.Join(err, failures.save(ctx))
}

// missingSource returns the error for a source that does not exist.
func missingSource(err error) error {
	if protocol.CodeOf(err) != protocol.TableNotFound && protocol.CodeOf(err) != protocol.NamespaceNotFound {
		return err
	}
	return &protocol.Error{
		Code: protocol.CodeOf(err), Message: "the source of the view: " + err.Error(),
		Detail: "if it was renamed, give it its former name, or create the view anew", Err: err,
	}
}

// definition returns the definition in the schema of the view, if it is the one of the order.
func (f *refresher) definition(d *dataset.Dataset) (*view.Definition, error) {
	definition, err := view.ReadFrom(d)
	switch {
	case err != nil:
		return nil, err
	case definition.Digest() != f.order.Digest:
		return nil, protocol.Errorf(protocol.InvalidInput, "the definition of the view has changed since its refresh was asked for; refresh it again")
	case f.order.Incarnation != "" && d.Schema().Metadata[view.IncarnationKey] != f.order.Incarnation:
		return nil, protocol.Errorf(protocol.TableNotFound, "the view was dropped and created again: its incarnation is not the expected one")
	}
	return definition, nil
}

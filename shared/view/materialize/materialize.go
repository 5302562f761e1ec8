// Package materialize computes the rows of materialized views and commits them.
//
// A refresh pins the version of the source that the view shall show. When the view shows another one,
// and its rows are as that refresh left them, only rows that differ between the two versions are
// computed (package difference). Otherwise all rows are. Either way one commit takes rows out of the
// view and puts others in; its transaction has the watermark among its properties, so that the view
// never shows rows of one version and the watermark of another. A second commit, the stamp, copies the
// watermark into the metadata of the schema, where native readers look for it. A refresh that ends
// between the two costs a stamp, and no rows.
//
// Two refreshes of one view carry the same key in their transactions, whichever program makes them, so
// they conflict: the second begins again on what the first has left, and most often finds nothing to
// do.
//
// A refresh of many rows ends with a [Division] before it reads them. Its parts compute rows and write files
// of them ([Compute]), each from rows of its own, and one commit puts all of them into the view ([Publish]).
package materialize

import (
	"context"
	"errors"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/history"
	"tiltyard/shared/engine/wal"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/protocol"
	"tiltyard/shared/sql/selection"
	"tiltyard/shared/view"
)

// Modes of a refresh, as results name them.
const (
	modeRebuild     = "rebuild"
	modeIncremental = "incremental"
	modeNone        = "no_op"
)

// modeProperty is the property with the mode in the transaction of a refresh.
const modeProperty = "tiltyard.refresh"

// A Result is what a refresh did.
type Result struct {
	Mode    string `json:"mode"`
	Rows    int64  `json:"rows_written"`
	Source  uint64 `json:"source_version"`
	Version int64  `json:"version"` // of the view
	// Failed counts rows, or parts, of the source that a function failed for, so that the view lacks them.
	Failed int64 `json:"rows_failed,omitempty"`
}

// Progress is called with how many of the rows to read were read, and how many rows of the view they
// gave.
type Progress func(read, total, made int64)

// An Order is what a view shall show.
type Order struct {
	Query         *selection.Query
	Call          *Call // a function that makes the rows; nil when the query does
	Source        *engine.Table
	SourceVersion *int64 // nil is the newest
	Full          bool   // compute all rows
	// Limit is how many rows are computed at most, in the order of the rows of the source; nil is any
	// number. With a limit all rows are computed, and by the next refresh again: the view then does not
	// show a version of its source.
	Limit *int64
	// Check is asked before each commit whether the schema of the view still defines it.
	Check    func(d *dataset.Dataset) error
	Progress Progress
	// Sizes are those of parts. A large refresh then ends with a [*Divided] before it reads rows of the source.
	// Nil: it does not, whatever its size.
	Sizes *Sizes
	Parts int // most parts; 0 is no bound of the order
}

// Refresh makes a view show what an order wants. as is the table of the view for the one commit that
// changes rows (see [engine.Table.As]), and t is the same without an attempt.
func Refresh(ctx context.Context, t, as *engine.Table, o Order) (Result, error) {
	return engine.Settled(ctx, o.Source, o.SourceVersion, func(ctx context.Context, s *dataset.Dataset) (Result, error) {
		to, err := o.target(ctx, s)
		if err != nil {
			return Result{}, err
		}
		return show(ctx, t, as, o, to, func(ctx context.Context, c *change, s state) (string, dataset.Replacement, error) {
			return c.replacement(ctx, s)
		})
	})
}

// all reports whether all rows are computed, whatever the view shows.
func (o Order) all() bool { return o.Full || o.Limit != nil }

// target resolves what the order wants over a version of the source.
func (o Order) target(ctx context.Context, s *dataset.Dataset) (*target, error) {
	if err := wal.CheckWhole(s); err != nil {
		return nil, err
	}
	columns := s.Schema().BlobValues()
	plan, err := o.Query.Plan(ctx, columns)
	if err == nil && o.Call != nil {
		err = o.Call.plan(ctx, columns, plan)
	}
	if err != nil {
		return nil, protocol.Errorf(protocol.TableSchemaValidationError, "the query of the view does not fit its source any more: %w", err)
	}
	return &target{source: o.Source, version: s, plan: plan, query: o.Query, call: o.Call}, nil
}

// A target is what a view shall show: a query on a version of its source.
type target struct {
	source  *engine.Table
	version *dataset.Dataset
	plan    *selection.Plan
	query   *selection.Query
	call    *Call
}

// mark returns what a view of the target shows.
func (t *target) mark() view.Watermark {
	m := t.version.Manifest()
	return view.Watermark{Source: m.Version, SourceTS: uint64(m.Time().UnixNano()), At: t.version.Now()}
}

// errShown ends a change of a view that already shows the target.
var errShown = errors.New("the view shows this version of its source")

// A replacer returns what has to be replaced in a view of some state, and in which mode that is.
type replacer func(ctx context.Context, c *change, s state) (mode string, r dataset.Replacement, err error)

// show makes the view show the target.
func show(ctx context.Context, t, as *engine.Table, o Order, to *target, replace replacer) (Result, error) {
	mark := to.mark()
	mode := ""
	done, err := as.Replace(ctx, func(ctx context.Context, newest *dataset.Dataset) (r dataset.Replacement, err error) {
		if err := o.Check(newest); err != nil {
			return r, err
		}
		state, err := stateOf(ctx, t, newest)
		if err != nil {
			return r, err
		}
		c := &change{target: to, view: newest, order: o}
		if mode, r, err = replace(ctx, c, state); err != nil {
			return r, err
		}
		key := newest.Schema().Field(selection.SourceRowID)
		if key == nil { // the rows do not know what they were made of
			key = newest.Schema().Fields[0]
		}
		r.Keys = &pb.KeyExistenceFilter{FieldIDs: []int32{key.ID}, Exact: &pb.KeyHashes{Hashes: []uint64{refreshKey}}}
		if o.Limit == nil {
			r.Properties = mark.Properties()
		} else {
			r.Properties = map[string]string{}
		}
		r.Properties[modeProperty] = mode
		r.Whole = true // rows that others write to the view meanwhile are no rows of its source
		return r, nil
	})
	switch {
	case errors.Is(err, errShown):
		mode = modeNone
	case err != nil:
		return Result{}, err
	case mode == "": // an earlier attempt has made the commit
		made, err := history.TransactionOf(ctx, t, uint64(done.Version))
		if err != nil {
			return Result{}, err
		}
		mode = made.Properties[modeProperty]
		if made, ok := view.WatermarkOf(made.Properties); ok {
			mark = made
		}
	}
	version, err := stamp(ctx, t)
	result := Result{Mode: mode, Rows: done.Inserted + done.Updated, Source: mark.Source, Version: version}
	if o.Call != nil && mode != modeNone {
		result.Failed = o.Call.failed
	}
	return result, err
}

// Package materialize computes the rows of materialized views and commits them.
//
// A refresh pins a version of the source. If the rows of the view are unchanged since an earlier refresh,
// it computes only the rows that differ between the two source versions (package difference), otherwise all
// rows. Either way one commit removes old rows and adds new ones. The properties of its transaction contain
// the watermark, so that rows and watermark always agree. A second commit, the stamp, copies the watermark
// into the metadata of the schema, where native readers look for it. If a refresh is interrupted between
// the two commits, only the stamp is missing.
//
// The transactions of all refreshes of a view contain the same key, whichever program commits them, so
// concurrent refreshes conflict. The second one starts again on the result of the first, and usually finds
// nothing to do.
//
// A refresh of many rows returns a [Division] before it reads them. Its parts compute disjoint rows and
// write them to files ([Compute]), and one commit adds all files to the view ([Publish]).
package materialize

import (
	"context"
	"errors"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/history"
	"tiltyard/shared/engine/selection"
	"tiltyard/shared/engine/view"
	"tiltyard/shared/engine/wal"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/protocol"
)

// Modes of a refresh, as in results.
const (
	modeRebuild     = "rebuild"
	modeIncremental = "incremental"
	modeNone        = "no_op"
)

// modeProperty is the property with the mode in the transaction of a refresh.
const modeProperty = "tiltyard.refresh"

// A Result summarizes a refresh.
type Result struct {
	Mode    string `json:"mode"`
	Rows    int64  `json:"rows_written"`
	Source  uint64 `json:"source_version"`
	Version int64  `json:"version"` // of the view
	// Failed is the number of source rows, or partitions, for which a function failed. The view lacks their
	// rows.
	Failed int64 `json:"rows_failed,omitempty"`
}

// Progress is called with the number of source rows read so far, their total, and the number of view rows
// made.
type Progress func(read, total, made int64)

// An Order describes the target of a refresh.
type Order struct {
	Query         *selection.Query
	Call          *Call // makes the rows; nil if the query does
	Source        *engine.Table
	SourceVersion *int64 // nil is the newest
	Full          bool   // compute all rows
	// Limit is the maximal number of computed rows, in source order; nil is unlimited. With a limit the
	// refresh is a full one, and so is the next refresh, because the view then does not show a version of
	// its source.
	Limit *int64
	// Check is called before each commit, to verify that the schema still defines the view.
	Check    func(d *dataset.Dataset) error
	Progress Progress
	// Sizes bounds the parts. A large refresh then returns a [*Divided] before it reads source rows. If
	// it is nil, the refresh is never divided.
	Sizes *Sizes
	Parts int // most parts; 0 is no bound of the order
}

// Refresh brings a view up to date. as is the handle of the view for the one commit that changes rows (see
// [engine.Table.As]), and t the same handle without an attempt.
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

// target plans the query of the order for a version of the source.
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

// A target is the state that a view shall show: a query on a version of its source.
type target struct {
	source  *engine.Table
	version *dataset.Dataset
	plan    *selection.Plan
	query   *selection.Query
	call    *Call
}

// mark returns the watermark of a view that shows the target.
func (t *target) mark() view.Watermark {
	m := t.version.Manifest()
	return view.Watermark{Source: m.Version, SourceTS: uint64(m.Time().UnixNano()), At: t.version.Now()}
}

// errShown ends a change of a view that already shows the target.
var errShown = errors.New("the view shows this version of its source")

// A replacer returns the rows to replace in a view with a given state, and the mode of the refresh.
type replacer func(ctx context.Context, c *change, s state) (mode string, r dataset.Replacement, err error)

// show refreshes the view to the target.
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
		if key == nil { // the rows have no source row ids
			key = newest.Schema().Fields[0]
		}
		r.Keys = &pb.KeyExistenceFilter{FieldIDs: []int32{key.ID}, Exact: &pb.KeyHashes{Hashes: []uint64{refreshKey}}}
		if o.Limit == nil {
			r.Properties = mark.Properties()
		} else {
			r.Properties = map[string]string{}
		}
		r.Properties[modeProperty] = mode
		r.Whole = true // concurrent rows of other writers do not come from the source
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

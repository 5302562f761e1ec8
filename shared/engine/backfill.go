package engine

import (
	"context"
	"maps"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/engine/computed"
	"tiltyard/shared/engine/freshness"
	"tiltyard/shared/function"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/lance/schema"
	"tiltyard/shared/protocol"
)

// A Backfill is an order to compute values of a computed column.
type Backfill struct {
	Column string
	// Where chooses the rows whose values are computed, also those that have one. "" is the rows
	// without a value, and all rows of fragments whose inputs are others than those their values
	// were computed from.
	Where     string
	Version   *int64 // the fragments of this version are filled; nil is the newest
	Fragments int    // at most so many fragments are filled; 0 is all
	PerCommit int    // fragments that are committed together; 0 is a number of our own
	// Progress is called with how many fragments were looked at, and how many rows have got a value.
	Progress func(done, total, rows int64)
	// Open opens the function of a binding, and returns its parameters as it declares them. It is not
	// called for columns that an expression computes.
	Open func(context.Context, *protocol.FunctionBinding) (function.Caller, []arrow.Field, error)
	// Failed is called for each row that a function failed for, in the order of the rows of a fragment. A
	// fragment that is computed again after a conflict calls it again. It may be nil.
	Failed func(RowFailure)
}

// A RowFailure is the failure of a function for one row.
type RowFailure struct {
	Fragment uint64
	Offset   uint32 // of the row in the fragment; deleted rows count
	Function string // its id, as clients write it
	Version  string // of the function
	function.Failure
}

// perCommit is how many fragments are committed together unless the order says another number.
const perCommit = 64

// A Backfilled is the result of a backfill.
type Backfilled struct {
	Assigned  int64  `json:"rows_assigned"`  // rows that have got a value
	Failed    int64  `json:"rows_failed"`    // rows whose function failed; an expression that fails ends the backfill
	Remaining int64  `json:"rows_remaining"` // rows that the bound on fragments has left out
	Source    int64  `json:"source_version"` // the version whose fragments were filled
	Published *int64 `json:"published_version,omitempty"`
}

// CheckBackfill returns the error that a backfill would end with before it reads any row.
func (t *Table) CheckBackfill(ctx context.Context, b Backfill) error {
	return Do(ctx, t, b.Version, func(ctx context.Context, d *dataset.Dataset) error {
		_, err := computed.Open(ctx, d, b.Column, b.Where)
		return err
	})
}

// Backfill computes values of a computed column and commits them, a number of fragments at a time. What is
// committed stays if a later step fails; to run the backfill again computes what is left.
func (t *Table) Backfill(ctx context.Context, b Backfill) (Backfilled, error) {
	if b.PerCommit == 0 {
		b.PerCommit = perCommit
	}
	r := filling{table: t, order: b, fresh: freshness.Signatures{}}
	defer r.close()
	if err := Do(ctx, t, b.Version, r.begin); err != nil {
		return r.result, err
	}
	for range maxPlans {
		if err := r.pass(ctx); err != nil {
			return r.result, err
		}
		if !r.lost {
			return r.result, r.note(ctx)
		}
		// A compaction has put rows into other fragments.
		if err := Do(ctx, t, nil, r.rescope); err != nil {
			return r.result, err
		}
	}
	return r.result, protocol.Errorf(protocol.ConcurrentModification, "table %s is compacted faster than column %q can be filled; retry", t.name, b.Column)
}

// A filling is a backfill at work.
type filling struct {
	table  *Table
	order  Backfill
	result Backfilled
	scope  []uint64             // fragments to look at
	next   int                  // the first of them that is not done
	lost   bool                 // a fragment of the scope is gone
	stamp  freshness.Stamp      // of the version that the scope is of
	filled int                  // fragments
	fresh  freshness.Signatures // of fragments whose values are fresh

	caller  function.Caller // of the binding; nil for an expression, and before the first commit
	params  []arrow.Field
	binding string // its id
}

// close ends the use of the function. Its error does not matter: all that the function was to compute is
// there.
func (r *filling) close() {
	if r.caller != nil {
		_ = r.caller.Close()
	}
}

// column returns the column of the order, ready to be computed.
func (r *filling) column(ctx context.Context, d *dataset.Dataset) (*computed.Column, error) {
	c, err := computed.Open(ctx, d, r.order.Column, r.order.Where)
	if err != nil || c.Binding == nil {
		return c, err
	}
	if r.caller == nil {
		if r.order.Open == nil {
			return nil, protocol.Errorf(protocol.Unsupported, "column %q is computed by a function, and none can be run here", r.order.Column)
		}
		if r.caller, r.params, err = r.order.Open(ctx, c.Binding); err != nil {
			return nil, err
		}
		r.binding = c.Binding.ID
	}
	if r.binding != c.Binding.ID {
		return nil, protocol.Errorf(protocol.ConcurrentModification, "column %q was dropped and declared again while it was filled; retry", r.order.Column)
	}
	c.Use(r.caller, r.params)
	return c, nil
}

// failed returns what Fill calls for the failures of a fragment.
func (r *filling) failed(c *computed.Column, fragment uint64) func(uint32, function.Failure) {
	if r.order.Failed == nil || c.Binding == nil {
		return nil
	}
	name := strings.Join(c.Binding.Function.ID(), protocol.DefaultDelimiter)
	return func(offset uint32, f function.Failure) {
		r.order.Failed(RowFailure{Fragment: fragment, Offset: offset, Function: name, Version: c.Binding.Function.Version, Failure: f})
	}
}

// begin checks the order and finds the fragments to fill.
func (r *filling) begin(ctx context.Context, d *dataset.Dataset) error {
	c, err := computed.Open(ctx, d, r.order.Column, r.order.Where)
	if err == nil {
		err = c.CheckInputs(ctx)
	}
	if err != nil {
		return err
	}
	r.result.Source = int64(d.Version())
	return r.rescope(ctx, d)
}

// rescope makes all fragments of a version those to look at, and reads what is known of their values.
// The sidecars of branches lie with the table, so a branch has no stamps of its own: its fragments are
// computed again.
func (r *filling) rescope(ctx context.Context, d *dataset.Dataset) error {
	r.scope, r.next, r.lost = nil, 0, false
	for _, f := range d.Fragments() {
		r.scope = append(r.scope, f.Meta.ID)
	}
	if r.table.onBranch {
		return nil
	}
	c, err := computed.Open(ctx, d, r.order.Column, "")
	if err != nil {
		return err
	}
	r.stamp, err = freshness.Read(ctx, d, c.Name, c.Definition, c.Inputs, func(ctx context.Context, version uint64, work func(context.Context, *dataset.Dataset) error) error {
		number := int64(version)
		return Do(ctx, r.table, &number, work)
	})
	maps.Copy(r.fresh, r.stamp.Carried)
	if r.stamp.Absent {
		maps.Copy(r.fresh, r.stamp.Now)
	}
	return err
}

// pass fills the fragments of the scope.
func (r *filling) pass(ctx context.Context) error {
	for r.next < len(r.scope) {
		done, err := r.table.alter(ctx, r.commit)
		if err != nil {
			return err
		}
		if done.Version > 0 {
			r.result.Published = &done.Version
		}
	}
	return nil
}

// commit fills the next fragments of the scope in the newest version, and commits them. Without any it
// returns a nil dataset.
func (r *filling) commit(ctx context.Context, d *dataset.Dataset) (*dataset.Dataset, error) {
	c, err := r.column(ctx, d)
	if err != nil {
		return nil, err
	}
	stamp := r.stamp.At(d, c.Definition, c.Inputs)
	var files []pb.FileReplacement
	to, fresh := *r, freshness.Signatures{} // what holds after the commit
	for ; to.next < len(to.scope) && len(files) < r.order.PerCommit; to.next++ {
		id := to.scope[to.next]
		at := d.Fragment(id)
		if at == nil {
			to.lost = true
			continue
		}
		if to.order.Fragments > 0 && to.filled >= to.order.Fragments {
			n, err := c.Count(ctx, at, stamp.IsStale(id))
			if err != nil {
				return nil, err
			}
			to.result.Remaining += n
			continue
		}
		filled, err := c.Fill(ctx, at, stamp.IsStale(id), r.failed(c, id))
		if err != nil {
			return nil, err
		}
		if filled.File != nil {
			files = append(files, *filled.File)
			to.filled++
		}
		if signature, ok := stamp.Now[uint32(id)]; ok && filled.Whole {
			fresh[uint32(id)] = signature
		}
		to.result.Assigned += filled.Assigned
		to.result.Failed += filled.Failed
		if r.order.Progress != nil {
			r.order.Progress(int64(to.next+1), int64(len(to.scope)), to.result.Assigned)
		}
	}
	var made *dataset.Dataset
	if len(files) > 0 {
		if made, err = d.Commit(ctx, &pb.DataReplacement{Replacements: files}); err != nil {
			return nil, err
		}
	}
	*r = to
	maps.Copy(r.fresh, fresh)
	return made, nil
}

// note writes into the metadata of the column which fragments have fresh values.
func (r *filling) note(ctx context.Context) error {
	if len(r.fresh) == 0 || r.table.onBranch {
		return nil
	}
	done, err := r.table.alter(ctx, func(ctx context.Context, d *dataset.Dataset) (*dataset.Dataset, error) {
		c, err := computed.Open(ctx, d, r.order.Column, "")
		if err != nil {
			return nil, err
		}
		set, err := freshness.Write(ctx, d, c.Name, c.Definition, c.Inputs, r.fresh)
		if err != nil {
			return nil, err
		}
		update := FieldMetadata{Path: schema.FormatPath(c.Name), Set: map[string]*string{}}
		for key, value := range set {
			update.Set[key] = &value
		}
		op, err := fieldMetadata(d, []FieldMetadata{update})
		if err != nil {
			return nil, err
		}
		return d.Commit(ctx, op)
	})
	if err == nil {
		r.result.Published = &done.Version
	}
	return err
}

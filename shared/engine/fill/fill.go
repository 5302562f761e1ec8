// Package fill computes the values of computed columns and commits them. [Run] fills a column alone. A large fill is
// divided into rounds of parts (round.go, part.go), which many workers compute. [AllBehind] finds the columns that
// need one.
package fill

import (
	"context"
	"errors"
	"maps"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/computed"
	"tiltyard/shared/engine/evolution"
	"tiltyard/shared/engine/internal/staleness"
	"tiltyard/shared/engine/udf"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/fragment"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/lance/schema"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/schemaapi"
)

// A Order is an order to compute values of a computed column.
type Order struct {
	Column string
	// Where chooses the rows whose values are computed, also those that have one. "" is the rows
	// without a value, and all rows of fragments whose inputs are others than those their values
	// were computed from.
	Where     string
	Version   *int64 // the fragments of this version are filled; nil is the newest
	Fragments int    // at most so many fragments are filled; 0 is all
	PerCommit int    // fragments that are committed together; 0 is a number of our own
	Rows      int64  // a commit ends with the fragment that brings it to so many rows; 0 is no bound
	Parts     int    // at most so many parts at a time; 0 is no bound of the order
	// Sizes are those of parts. A large backfill then ends with a [*Divided] before it reads rows. Nil: it does
	// not, whatever its size.
	Sizes *Sizes
	// From is where an earlier backfill of this order ended; nil begins it.
	From *State
	// Progress is called with how many fragments were looked at, and how many rows have got a value.
	Progress func(done, total, rows int64)
	// Open opens the function of a binding, and returns its parameters as it declares them. It is not
	// called for columns that an expression computes.
	Open func(context.Context, *schemaapi.FunctionBinding) (udf.Caller, []arrow.Field, error)
	// OpenEnvelope opens the function of a virtual column.
	OpenEnvelope func(context.Context, *computed.Envelope) (udf.Caller, error)
	// Runs returns an error for the function of a virtual column that nothing runs. It may be nil when that is
	// not known.
	Runs udf.Check
	// Failed is called for each row that a function failed for, in the order of the rows of a fragment. A
	// fragment that is computed again after a conflict calls it again. It may be nil.
	Failed func(RowFailure)
	// Save is called after the last failure of a fragment, with the version whose rows were read, and before
	// the values are committed. An error ends the backfill. It may be nil.
	Save func(ctx context.Context, version int64) error
	// Again is called for each fragment that the next round of parts computes again, because others have changed
	// it. It may be nil.
	Again func(ctx context.Context, fragment uint64) error
	// Reached is called after each commit. An error ends the backfill. It may be nil.
	Reached func(ctx context.Context, at State) error
}

// A State is how far a backfill has come. Another one may continue from there.
type State struct {
	Result
	Scope  int64 `json:"scope"`  // the version whose fragments are looked at
	Next   int   `json:"next"`   // the first of them that is not done
	Filled int   `json:"filled"` // fragments that were filled
}

// A RowFailure is the failure of a function for one row.
type RowFailure struct {
	Fragment uint64
	Offset   uint32 // of the row in the fragment; deleted rows count
	From     int64  // the first row of those that were computed together
	Function string // its id, as clients write it
	Version  string // of the function
	udf.Failure
}

const (
	// maxTries bounds how often a backfill begins again because others have changed the table.
	maxTries = 25
	// perCommit is how many fragments are committed together unless the order says another number.
	perCommit = 64
	// commitEvery is how long a backfill computes before it commits at the end of a fragment.
	commitEvery = 5 * time.Minute
	// commitMargin is how long before the deadline of its context it does so.
	commitMargin = 90 * time.Second
)

// A Result is the result of a backfill.
type Result struct {
	Assigned  int64  `json:"rows_assigned"`  // rows that have got a value
	Failed    int64  `json:"rows_failed"`    // rows whose function failed; an expression that fails ends the backfill
	Remaining int64  `json:"rows_remaining"` // rows that the bound on fragments has left out
	Source    int64  `json:"source_version"` // the version whose fragments were filled
	Published *int64 `json:"published_version,omitempty"`
}

// Check returns the error that a backfill would end with before it reads any row, and the use of a
// registered function that computes the column; nil when it is another one.
func Check(ctx context.Context, t *engine.Table, b Order) (use *schemaapi.FunctionBinding, err error) {
	err = engine.Do(ctx, t, b.Version, func(ctx context.Context, d *dataset.Dataset) error {
		column, err := computed.Open(ctx, d, b.Column, b.Where)
		switch {
		case err != nil:
			return err
		case column.Envelope == nil:
			use = column.Binding
		case b.Runs != nil:
			return b.Runs(udf.RuntimeOf(column.Envelope.Backend))
		}
		return nil
	})
	return use, err
}

// Run computes values of a computed column and commits them, a number of fragments at a time. What is
// committed stays if a later step fails; to run the backfill again computes what is left.
func Run(ctx context.Context, t *engine.Table, b Order) (Result, error) {
	if b.PerCommit == 0 {
		b.PerCommit = perCommit
	}
	r := filling{table: t, order: b, fresh: staleness.Signatures{}}
	defer r.close()
	if err := r.start(ctx); err != nil {
		return r.result, err
	}
	for range maxTries {
		if err := r.pass(ctx); err != nil {
			if r.stopped { // what was computed is fresh, though another backfill goes on
				err = errors.Join(err, r.note(ctx))
			}
			return r.result, err
		}
		if !r.lost {
			return r.result, r.note(ctx)
		}
		// A compaction has put rows into other fragments.
		if err := engine.Do(ctx, t, nil, r.rescope); err != nil {
			return r.result, err
		}
	}
	return r.result, protocol.Errorf(protocol.ConcurrentModification, "table %s is compacted faster than column %q can be filled; retry", t.Name(), b.Column)
}

// A filling is a backfill at work.
type filling struct {
	table  *engine.Table
	order  Order
	result Result
	scope  []uint64             // fragments to look at
	next   int                  // the first of them that is not done
	scoped int64                // the version that the scope is of
	lost   bool                 // a fragment of the scope is gone
	stamp  staleness.Stamp      // of the version that the scope is of
	filled int                  // fragments
	fresh  staleness.Signatures // of fragments whose values are fresh

	stopped bool // Reached has ended the backfill

	caller  udf.Caller // of the binding; nil for an expression, and before the first commit
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
		if err := r.open(ctx, c); err != nil {
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

// open opens the function of a column.
func (r *filling) open(ctx context.Context, c *computed.Column) (err error) {
	switch {
	case c.Envelope != nil && r.order.OpenEnvelope != nil:
		r.params = c.Envelope.Inputs
		r.caller, err = r.order.OpenEnvelope(ctx, c.Envelope)
	case c.Envelope == nil && r.order.Open != nil:
		r.caller, r.params, err = r.order.Open(ctx, c.Binding)
	default:
		err = protocol.Errorf(protocol.Unsupported, "column %q is computed by a function, and none can be run here", r.order.Column)
	}
	return err
}

// failed returns what Fill calls for the failures of rows of a fragment, of which from is the first.
func (r *filling) failed(c *computed.Column, fragment uint64, from int64) func(uint32, udf.Failure) {
	if r.order.Failed == nil || c.Binding == nil {
		return nil
	}
	name := strings.Join(c.Binding.Function.ID(), protocol.DefaultDelimiter)
	return func(offset uint32, f udf.Failure) {
		r.order.Failed(RowFailure{Fragment: fragment, Offset: offset, From: from, Function: name, Version: c.Binding.Function.Version, Failure: f})
	}
}

// start finds the fragments to fill.
func (r *filling) start(ctx context.Context) error {
	from := r.order.From
	if from == nil {
		return engine.Do(ctx, r.table, r.order.Version, r.begin)
	}
	r.result, r.filled = from.Result, from.Filled
	err := engine.Do(ctx, r.table, &from.Scope, func(ctx context.Context, d *dataset.Dataset) error {
		err := r.rescope(ctx, d)
		r.next = min(max(from.Next, 0), len(r.scope))
		return err
	})
	if protocol.HasCode(err, protocol.TableVersionNotFound) { // it was cleaned up
		err = engine.Do(ctx, r.table, nil, r.rescope)
	}
	return err
}

// begin checks the order and finds the fragments to fill.
func (r *filling) begin(ctx context.Context, d *dataset.Dataset) error {
	c, err := computed.Open(ctx, d, r.order.Column, r.order.Where)
	if err == nil && r.order.Sizes != nil {
		err = divide(ctx, r.table, d, c, r.order)
	}
	if err == nil {
		err = c.CheckInputs(ctx, fragment.Whole(d.Fragments()))
	}
	if err != nil {
		return err
	}
	r.result.Source = int64(d.Version())
	return r.rescope(ctx, d)
}

// rescope makes all fragments of a version those to look at, and reads what is known of their values.
func (r *filling) rescope(ctx context.Context, d *dataset.Dataset) error {
	r.scope, r.next, r.lost, r.scoped = nil, 0, false, int64(d.Version())
	for _, f := range d.Fragments() {
		r.scope = append(r.scope, f.Meta.ID)
	}
	c, err := computed.Open(ctx, d, r.order.Column, "")
	if err != nil {
		return err
	}
	r.stamp, err = stampOf(ctx, r.table, d, c)
	maps.Copy(r.fresh, r.stamp.Carried)
	if r.stamp.Absent {
		maps.Copy(r.fresh, r.stamp.Now)
	}
	return err
}

// pass fills the fragments of the scope.
func (r *filling) pass(ctx context.Context) error {
	for r.next < len(r.scope) {
		done, err := r.table.Alter(ctx, r.commit)
		if err != nil {
			return err
		}
		if done.Version > 0 {
			r.result.Published = &done.Version
		}
		if r.order.Reached == nil || r.next == len(r.scope) {
			continue
		}
		if err := r.order.Reached(ctx, State{Result: r.result, Scope: r.scoped, Next: r.next, Filled: r.filled}); err != nil {
			r.stopped = true
			return err
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
	part := commitPart{filling: *r, target: c, stamp: r.stamp.At(d, c.Definition, c.Inputs), fresh: staleness.Signatures{}, began: time.Now()}
	for part.next < len(part.scope) && !part.isFull(ctx) {
		if err := part.fill(ctx, d); err != nil {
			return nil, err
		}
		part.next++
		if r.order.Progress != nil {
			r.order.Progress(int64(part.next), int64(len(part.scope)), part.result.Assigned)
		}
	}
	var made *dataset.Dataset
	if len(part.files) > 0 {
		if made, err = d.Commit(ctx, &pb.DataReplacement{Replacements: part.files}); err != nil {
			return nil, err
		}
	}
	*r = part.filling
	maps.Copy(r.fresh, part.fresh)
	return made, nil
}

// A commitPart is the part of a backfill that becomes one commit.
type commitPart struct {
	filling // as it is after the commit
	target  *computed.Column
	stamp   staleness.Stamp
	fresh   staleness.Signatures // of its fragments
	files   []pb.FileReplacement
	rows    int64 // in the fragments of the files
	began   time.Time
}

// isFull reports whether it is time to commit.
func (p *commitPart) isFull(ctx context.Context) bool {
	if len(p.files) == 0 {
		return false
	}
	if len(p.files) >= p.order.PerCommit || p.order.Rows > 0 && p.rows >= p.order.Rows || time.Since(p.began) > commitEvery {
		return true
	}
	until, ok := ctx.Deadline()
	return ok && time.Until(until) < commitMargin
}

// fill fills the next fragment.
func (p *commitPart) fill(ctx context.Context, d *dataset.Dataset) error {
	id := p.scope[p.next]
	at := d.Fragment(id)
	if at == nil {
		p.lost = true
		return nil
	}
	if p.order.Fragments > 0 && p.filled >= p.order.Fragments {
		n, err := p.target.Count(ctx, at, p.stamp.IsStale(id))
		p.result.Remaining += n
		return err
	}
	filled, err := p.target.Fill(ctx, computed.Filling{
		Span: fragment.Span{At: at, To: at.Rows}, Stale: p.stamp.IsStale(id), Failed: p.failed(p.target, id, 0),
	})
	if err == nil && p.order.Save != nil {
		err = p.order.Save(ctx, int64(d.Version()))
	}
	if err != nil {
		return err
	}
	if filled.File != nil {
		p.files = append(p.files, pb.FileReplacement{FragmentID: id, NewFile: *filled.File})
		p.filled++
		p.rows += fragment.LiveRows(at.Meta)
	}
	if signature, ok := p.stamp.Now[uint32(id)]; ok && filled.Whole {
		p.fresh[uint32(id)] = signature
	}
	p.result.Assigned += filled.Assigned
	p.result.Failed += filled.Failed
	return nil
}

// note writes into the metadata of the column which fragments have fresh values.
func (r *filling) note(ctx context.Context) error {
	if len(r.fresh) == 0 {
		return nil
	}
	done, err := noteFresh(ctx, r.table, r.order.Column, r.fresh)
	if err == nil {
		r.result.Published = &done.Version
	}
	return err
}

// stampOf returns what is known of the values of a column in a version.
func stampOf(ctx context.Context, t *engine.Table, d *dataset.Dataset, c *computed.Column) (staleness.Stamp, error) {
	return staleness.Read(ctx, d, c.Name, c.Definition, c.Inputs, func(ctx context.Context, version uint64, work func(context.Context, *dataset.Dataset) error) error {
		number := int64(version)
		return engine.Do(ctx, t, &number, work)
	})
}

// noteFresh writes into the metadata of a column which fragments have fresh values.
func noteFresh(ctx context.Context, t *engine.Table, column string, fresh staleness.Signatures) (engine.Written, error) {
	return t.Alter(ctx, func(ctx context.Context, d *dataset.Dataset) (*dataset.Dataset, error) {
		c, err := computed.Open(ctx, d, column, "")
		if err != nil {
			return nil, err
		}
		set, err := staleness.Write(ctx, d, c.Name, c.Definition, c.Inputs, fresh)
		if err != nil {
			return nil, err
		}
		update := evolution.FieldMetadata{Path: schema.FormatPath(c.Name), Set: map[string]*string{}}
		for key, value := range set {
			update.Set[key] = &value
		}
		op, err := evolution.MetadataOf(d, []evolution.FieldMetadata{update})
		if err != nil {
			return nil, err
		}
		return d.Commit(ctx, op)
	})
}

// Package fill computes the values of computed columns and commits them. [Run] fills a column in one process. A large fill
// is divided into rounds of parts (round.go, part.go), which several workers compute. [AllBehind] finds the columns to
// fill.
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
	// Where is an SQL condition on the rows to compute, including those with a value. "" chooses the
	// rows without a value, and all rows of fragments whose inputs have changed since their values were
	// computed.
	Where     string
	Version   *int64 // the version whose fragments are filled; nil: the newest
	Fragments int    // maximum number of fragments to fill; 0: all
	PerCommit int    // number of fragments per commit; 0: a default
	Rows      int64  // a commit ends with the fragment that brings it to this number of rows; 0: unbounded
	Parts     int    // maximum number of parts at a time; 0: the limit of Sizes
	// Sizes bounds the parts. A large backfill then returns a [*Divided] before it reads rows. If it is
	// nil, the backfill is never divided.
	Sizes *Sizes
	// From is the state in which an earlier backfill of this order ended, or nil at the beginning.
	From *State
	// Progress is called with the numbers of examined fragments, of all fragments, and of rows with a
	// new value.
	Progress func(done, total, rows int64)
	// Open opens the function of a binding, and returns its declared parameters. It is not called for
	// columns that an expression computes.
	Open func(context.Context, *schemaapi.FunctionBinding) (udf.Caller, []arrow.Field, error)
	// OpenEnvelope opens the function of a virtual column.
	OpenEnvelope func(context.Context, *computed.Envelope) (udf.Caller, error)
	// Runs returns an error if no executor runs the function of a virtual column. It may be nil if that
	// is not known.
	Runs udf.Check
	// Failed is called for each row for which the function failed, in the order of the rows in a
	// fragment. If a fragment is computed again after a conflict, Failed is called again. It may be
	// nil.
	Failed func(RowFailure)
	// Save is called after the last failure of a fragment, with the version that was read, before the
	// values are committed. An error ends the backfill. It may be nil.
	Save func(ctx context.Context, version int64) error
	// Again is called for each fragment that the next round computes again because of a concurrent change. It may be nil.
	Again func(ctx context.Context, fragment uint64) error
	// Reached is called after each commit. An error ends the backfill. It may be nil.
	Reached func(ctx context.Context, at State) error
}

// A State is the progress of a backfill, from which another one can continue.
type State struct {
	Result
	Scope  int64 `json:"scope"`  // the version that lists the fragments to examine
	Next   int   `json:"next"`   // index of the first fragment that is not done
	Filled int   `json:"filled"` // fragments that were filled
}

// A RowFailure is the failure of a function for one row.
type RowFailure struct {
	Fragment uint64
	Offset   uint32 // of the row in the fragment, counting deleted rows
	From     int64  // the first row of the batch that was computed together
	Function string // its id, as clients write it
	Version  string // of the function
	udf.Failure
}

const (
	// maxTries bounds how often a backfill begins again after concurrent changes of the table.
	maxTries = 25
	// perCommit is the default number of fragments per commit.
	perCommit = 64
	// commitEvery is the time after which a backfill commits at the end of a fragment.
	commitEvery = 5 * time.Minute
	// commitMargin is the minimum time that is left for a commit before the deadline of the context.
	commitMargin = 90 * time.Second
)

// A Result is the result of a backfill.
type Result struct {
	Assigned  int64  `json:"rows_assigned"`  // rows with a new value
	Failed    int64  `json:"rows_failed"`    // rows for which the function failed; a failing expression ends the backfill
	Remaining int64  `json:"rows_remaining"` // rows beyond the bound on fragments
	Source    int64  `json:"source_version"` // the version whose fragments were filled
	Published *int64 `json:"published_version,omitempty"`
}

// Check returns the errors that a backfill would return before it reads rows. use is the registered
// function that computes the column, or nil if it has none.
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

// Run computes values of a computed column and commits them, several fragments at a time. Committed
// values stay if a later step fails; another run computes the remaining ones.
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
			if r.stopped { // the committed values are fresh, even though another backfill continues
				err = errors.Join(err, r.note(ctx))
			}
			return r.result, err
		}
		if !r.lost {
			return r.result, r.note(ctx)
		}
		// A compaction has moved rows to other fragments.
		if err := engine.Do(ctx, t, nil, r.rescope); err != nil {
			return r.result, err
		}
	}
	return r.result, protocol.Errorf(protocol.ConcurrentModification, "table %s is compacted faster than column %q can be filled; retry", t.Name(), b.Column)
}

// A filling is a running backfill.
type filling struct {
	table  *engine.Table
	order  Order
	result Result
	scope  []uint64             // ids of the fragments to examine
	next   int                  // index of the first fragment that is not done
	scoped int64                // the version that lists the fragments of scope
	lost   bool                 // a fragment of scope no longer exists
	stamp  staleness.Stamp      // of the version scoped
	filled int                  // number of filled fragments
	fresh  staleness.Signatures // of fragments with up-to-date values

	stopped bool // Reached has ended the backfill

	caller  udf.Caller // of the binding; nil for an expression, and before the first use
	params  []arrow.Field
	binding string // its id
}

// close closes the function. Its error is ignored, because all results have been received.
func (r *filling) close() {
	if r.caller != nil {
		_ = r.caller.Close()
	}
}

// column opens the column of the order, with its function ready to be called.
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

// failed returns a callback for failures of the function in rows of a fragment. from is the first
// of the rows.
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
	if protocol.HasCode(err, protocol.TableVersionNotFound) { // the version was cleaned up
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

// rescope sets the scope to all fragments of a version, and reads the record of their inputs.
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

// pass fills the fragments of the scope, commit by commit.
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

// commit fills the next fragments of the scope in the newest version, and commits them. If there
// are none, it returns a nil dataset.
func (r *filling) commit(ctx context.Context, d *dataset.Dataset) (*dataset.Dataset, error) {
	c, err := r.column(ctx, d)
	if err != nil {
		return nil, err
	}
	// The part works on a copy of the state, which replaces the state only after the commit.
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
	filling // the state after the commit
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
	// A compaction or an overwrite has removed the fragment.
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
	// A fragment with failed rows counts as fresh, so that automatic fills do not repeat the failures.
	if signature, ok := p.stamp.Now[uint32(id)]; ok && filled.Whole {
		p.fresh[uint32(id)] = signature
	}
	p.result.Assigned += filled.Assigned
	p.result.Failed += filled.Failed
	return nil
}

// note records the fragments with up-to-date values in the metadata of the column.
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

// stampOf reads the record of the inputs from which the values of a column were computed.
func stampOf(ctx context.Context, t *engine.Table, d *dataset.Dataset, c *computed.Column) (staleness.Stamp, error) {
	return staleness.Read(ctx, d, c.Name, c.Definition, c.Inputs, func(ctx context.Context, version uint64, work func(context.Context, *dataset.Dataset) error) error {
		number := int64(version)
		return engine.Do(ctx, t, &number, work)
	})
}

// noteFresh records fragments with up-to-date values in the metadata of a column.
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

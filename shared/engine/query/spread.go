package query

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/engine/internal/condition"
	"tiltyard/shared/engine/internal/explain"
	"tiltyard/shared/engine/scatter"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/protocol"
)

// A Spread lets the parts of a large query run elsewhere: in other instances of the function, or on other servers.
//
// A scan that reads more than Bytes is divided into parts of the rows. Each part does for its rows what the query would
// have done for all: it counts them, finds the nearest of them, the first of them, or all that match the filter. The
// query joins the answers of the parts, and fetches the columns of the rows of the answer itself. All parts read the
// version of the query. What is smaller is done here, and what an index answers, unless a search for vectors or words reads
// that much of it: its parts search some of the partitions each.
type Spread struct {
	// Call runs a part, and returns its answer. An error for which Here is true makes the query do the work itself.
	Call func(ctx context.Context, p *Part) (*Answered, error)
	// Busy reports whether an error means that a part cannot run elsewhere now. It is run here then.
	Busy func(error) bool
	// Here reports whether an error means that no part can run elsewhere.
	Here func(error) bool
	// Bytes is the size of a scan, decoded, above which it is divided, and PartBytes the size of a part.
	Bytes, PartBytes int64
	// Most bounds the parts of a query.
	Most    int
	Options scatter.Options
	// Dollars tells what a part costs, for the plan; nil: nobody knows.
	Dollars func(Usage) float64
}

// An Answered is the answer of a part.
type Answered struct {
	*protocol.Rows
	Usage Usage
	Free  func() // frees the memory of the answer; nil: none is held
}

// Close frees the memory of the answer.
func (a *Answered) Close() {
	if a != nil && a.Free != nil {
		a.Free()
	}
}

// Usage is what a part took.
type Usage struct {
	Requests, Bytes int64 // read from the storage
	Took            time.Duration
}

// A Stretch is the rows [From, To) of a fragment, deleted ones included.
type Stretch struct {
	Fragment uint64 `json:"fragment"`
	From     int64  `json:"from"`
	To       int64  `json:"to"`
}

// spans are stretches by fragment.
type spans map[uint64]Stretch

func spansOf(stretches []Stretch) spans {
	s := make(spans, len(stretches))
	for _, stretch := range stretches {
		s[stretch.Fragment] = stretch
	}
	return s
}

// has reports whether a stretch is in a fragment.
func (s spans) has(fragment uint64) bool { _, has := s[fragment]; return has }

// of returns the rows of a fragment.
func (s spans) of(fragment uint64) (from, to int64) { return s[fragment].From, s[fragment].To }

// stretchRows is the unit in which fragments are divided.
const stretchRows = 1024

// A division is a scan, or a search of an index, that is divided into parts.
type division struct {
	*Spread
	all   Part // what the parts have in common
	parts []*Part
	warn  func(ctx context.Context, message string, about ...slog.Attr) // may be nil
	here  func(context.Context, *Part) (*protocol.Rows, error)          // runs a part in this process
	one   chan struct{}                                                 // has room for the part that runs here
	place whereabouts
}

// A whereabouts settles whether a query runs as parts or as a whole. Instances of two releases may answer its parts.
type whereabouts struct {
	mu      sync.Mutex
	settled bool
	nowhere error // why it runs as a whole; nil if it runs as parts
}

// settle settles it, unless it is settled: nowhere is the error that parts can run nowhere, or nil. It returns what is
// settled.
func (p *whereabouts) settle(nowhere error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.settled {
		p.settled, p.nowhere = true, nowhere
	}
	return p.nowhere
}

// divide divides a scan, or returns nil if it is to be done here. If the filter can use an index, it asks the index first,
// and leaves the answer in the options for the scan.
func (p *Planner) divide(ctx context.Context, r condition.Relation, opts *snapshot.ScanOptions, part Part) (*division, error) {
	d := r.Dataset
	size, err := p.Spread.size(d, *opts)
	if err != nil || size == 0 {
		return nil, err
	}
	if part.View, err = viewOf(r); err != nil {
		return nil, err
	}
	if among := opts.Among; among != nil {
		found, err := among(ctx)
		if err != nil || found != nil {
			opts.Among = func(context.Context) (*snapshot.Candidates, error) { return found, err }
			return nil, err
		}
		opts.Among, part.Unindexed = nil, true
	}
	v := p.division(r, part)
	for _, stretches := range p.Spread.cut(d, *opts, size) {
		v.add(func(p *Part) { p.Stretches = stretches })
	}
	return v, nil
}

// division returns a division without parts, which all begin as the given one. The caller sets the part's view.
func (p *Planner) division(r condition.Relation, part Part) *division {
	part.Format, part.Version, part.Origin, part.Time = partFormat, r.Dataset.Version(), originOf(r.Dataset), r.Time
	return &division{
		Spread: p.Spread, all: part, warn: p.Policy.Warn, one: make(chan struct{}, 1),
		here: func(ctx context.Context, part *Part) (*protocol.Rows, error) { return p.Part(ctx, r, part) },
	}
}

// add adds a part, which set makes of what all parts have.
func (v *division) add(set func(*Part)) {
	part := v.all
	set(&part)
	v.parts = append(v.parts, &part)
}

// size returns the decoded bytes of a scan that has to be divided, and 0 for others.
func (s *Spread) size(d *dataset.Dataset, opts snapshot.ScanOptions) (int64, error) {
	if s == nil || d.CountRows() == 0 {
		return 0, nil
	}
	columns := slices.Clone(opts.Columns)
	if opts.Where != nil {
		columns = append(columns, opts.Where.Columns...)
	}
	slices.Sort(columns)
	all, err := d.ScanBytes(slices.Compact(columns))
	if err != nil || all <= s.Bytes {
		return 0, err
	}
	if opts.Only != nil {
		whole, chosen := int64(0), int64(0)
		for _, f := range d.Fragments() {
			if whole += f.Rows; opts.Only(f.Meta.ID) {
				chosen += f.Rows
			}
		}
		all = int64(float64(all) * float64(chosen) / float64(max(1, whole)))
	}
	if all <= s.Bytes {
		return 0, nil
	}
	return all, nil
}

// count returns the number of parts of so many bytes.
func (s *Spread) count(size int64) int64 {
	return max(2, min(int64(s.Most), (size+s.PartBytes-1)/s.PartBytes))
}

// cut divides the rows of a scan of so many bytes evenly.
func (s *Spread) cut(d *dataset.Dataset, opts snapshot.ScanOptions, size int64) (parts [][]Stretch) {
	var fragments []Stretch
	rows := int64(0)
	for _, f := range d.Fragments() {
		if f.Rows > 0 && (opts.Only == nil || opts.Only(f.Meta.ID)) {
			fragments = append(fragments, Stretch{Fragment: f.Meta.ID, To: f.Rows})
			rows += f.Rows
		}
	}
	each := rows/s.count(size) + 1
	each = (each + stretchRows - 1) / stretchRows * stretchRows
	var part []Stretch
	room := each
	for _, f := range fragments {
		for f.From < f.To {
			piece := f
			piece.To = min(f.To, f.From+room)
			// A short rest of a fragment is not worth a part of its own.
			if f.To-piece.To < stretchRows {
				piece.To = f.To
			}
			part = append(part, piece)
			room -= piece.To - piece.From
			f.From = piece.To
			if room <= 0 {
				parts, part, room = append(parts, part), nil, each
			}
		}
	}
	if len(part) > 0 {
		parts = append(parts, part)
	}
	return parts
}

// describe adds the number of parts to the plan step of a scan that is going to be divided.
func (s *Spread) describe(step *explain.Step, d *dataset.Dataset, opts func() snapshot.ScanOptions) {
	if s == nil {
		return
	}
	step.With("%s", explain.Later(func() string {
		o := opts()
		if o.Among != nil { // an index may answer it
			return ""
		}
		size, err := s.size(d, o)
		if err != nil || size == 0 {
			return ""
		}
		return fmt.Sprintf("parts=%d", len(s.cut(d, o, size)))
	}))
}

// each calls the parts, and then take with the batches of their answers, in the order of the rows. At the end it calls tell
// with its measurements, for the plan. here is true if nothing can run elsewhere; take was not called then.
func (v *division) each(ctx context.Context, tell func(what string, value any), take func(batch arrow.RecordBatch) error) (here bool, err error) {
	calls := scatter.New(v.Options, len(v.parts), func(ctx context.Context, i int) (*Answered, error) {
		return v.run(ctx, v.parts[i])
	})
	var sum Usage
	dollars := 0.0
	for answer, err := range calls.All(ctx) {
		if err != nil {
			if here = v.isNowhere(err); here {
				v.report(ctx, "a query that is divided runs as a whole", err)
			}
			return here, err
		}
		sum.Requests += answer.Usage.Requests
		sum.Bytes += answer.Usage.Bytes
		sum.Took += answer.Usage.Took
		if v.Dollars != nil && answer.Usage.Took > 0 { // otherwise it ran here
			dollars += v.Dollars(answer.Usage)
		}
		if err := answer.each(take); err != nil {
			return false, err
		}
	}
	stats := calls.Stats()
	tell("parts_requests", sum.Requests)
	tell("parts_bytes_read", sum.Bytes)
	tell("parts_elapsed", sum.Took)
	if v.Dollars != nil {
		tell("parts_dollars", fmt.Sprintf("%.7f", dollars))
	}
	tell("slowest_part", stats.Slowest)
	tell("repeated_parts", stats.Repeated)
	tell("doubled_parts", stats.Doubled)
	return false, nil
}

// toStep adds the measurements of parts to a step of the plan.
func toStep(step *explain.Step) func(what string, value any) {
	return func(what string, value any) { step.WithMore("%s=%v", what, value) }
}

// run runs a part elsewhere, or here if no instance is free. If the first thing that is known is that parts can run
// nowhere, that is the error of the query, which then runs as a whole. Once there is another answer, such a part runs here.
func (v *division) run(ctx context.Context, part *Part) (*Answered, error) {
	answer, err := v.Call(ctx, part)
	switch {
	case v.isNowhere(err):
		if err := v.place.settle(err); err != nil {
			return nil, err
		}
		v.report(ctx, "a part of a query runs where the query does", err)
		return v.runHere(ctx, part)
	case err == nil:
		if err := v.place.settle(nil); err != nil {
			answer.Close()
			return nil, err
		}
	case v.Busy != nil && v.Busy(err):
		if err := v.place.settle(nil); err != nil {
			return nil, err
		}
		return v.runHere(ctx, part)
	}
	return answer, err
}

// isNowhere reports whether an error means that no part can run elsewhere.
func (v *division) isNowhere(err error) bool { return err != nil && v.Here != nil && v.Here(err) }

// report logs why something runs here.
func (v *division) report(ctx context.Context, message string, err error) {
	if v.warn != nil {
		v.warn(ctx, message, slog.Any("error", err))
	}
}

// runHere runs a part in this process, one at a time. Without it, queries that occupy all instances would wait for each
// other's parts.
func (v *division) runHere(ctx context.Context, part *Part) (*Answered, error) {
	select {
	case v.one <- struct{}{}:
		defer func() { <-v.one }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	rows, err := v.here(ctx, part)
	if err != nil {
		return nil, err
	}
	return &Answered{Rows: rows}, nil
}

// each calls take with the batches of the answer, and closes it.
func (a *Answered) each(take func(batch arrow.RecordBatch) error) error {
	defer a.Close()
	for batch, err := range a.Batches {
		if err == nil {
			err = take(batch)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

package materialize

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/google/uuid"

	"tiltyard/shared/engine"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/difference"
	"tiltyard/shared/lance/dataset/fragment"
	"tiltyard/shared/lance/dataset/multipart"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/rowset"
)

// A Computed is the progress of a part. Its size grows with the minutes of work, not with the number of
// rows.
type Computed struct {
	Receipts []string `json:"receipts,omitempty"` // names of the receipts of written rows: see package part
	Begun    bool     `json:"begun,omitempty"`
	Last     uint64   `json:"last,omitempty"` // the address of the last row that was read
	Read     int64    `json:"read,omitempty"` // rows of the source
	Made     int64    `json:"made,omitempty"` // rows of the view
}

const (
	// A part completes its current files after unitTime, so that its progress can be saved.
	unitTime = time.Minute
	// It completes them earlier if only lateMargin is left until the context's deadline.
	lateMargin = 90 * time.Second
)

// Compute computes the rows of a part of a refresh, counted from 0. It continues from done, the progress
// that an earlier attempt has saved. Each minute it calls keep with its progress, which it also returns at
// the end.
func Compute(ctx context.Context, t *engine.Table, o Order, v Division, number int, done Computed, keep func(context.Context, Computed) error) (Computed, error) {
	version := int64(v.Source)
	_, err := engine.Settled(ctx, o.Source, &version, func(ctx context.Context, source *dataset.Dataset) (struct{}, error) {
		to, err := o.target(ctx, source)
		if err != nil {
			return struct{}{}, err
		}
		newest, err := engine.Settled(ctx, t, nil, func(_ context.Context, d *dataset.Dataset) (*dataset.Dataset, error) { return d, o.Check(d) })
		if err != nil {
			return struct{}{}, err
		}
		p := partOf{change: &change{target: to, view: newest, order: o}, table: t, division: v, number: number, done: done}
		err = p.work(ctx, keep)
		done = p.done
		return struct{}{}, err
	})
	return done, err
}

// A partOf is a part at work.
type partOf struct {
	*change
	table    *engine.Table
	division Division
	number   int
	output   *output
	left     *rowset.Set // rows of the source that are not read yet
	done     Computed
}

// work computes the rows of the part in units of a minute, and saves the progress after each.
func (p *partOf) work(ctx context.Context, keep func(context.Context, Computed) error) (err error) {
	if p.output, err = p.change.output(); err != nil {
		return err
	}
	if err := p.choose(ctx); err != nil {
		return err
	}
	for more := p.left.Len() > 0; more; {
		if more, err = p.unit(ctx); err == nil && more {
			err = keep(ctx, p.done)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// choose determines the rows of the part. A full refresh divides the source at fragment boundaries if
// possible; an incremental one divides the changed rows evenly.
func (p *partOf) choose(ctx context.Context) (err error) {
	if p.division.Shown == nil {
		p.left, err = live(ctx, &p.new, fragment.Share(p.version.Fragments(), p.number, p.division.Parts))
	} else {
		err = p.sinceDivided(ctx, p.division, func(ctx context.Context, rows *difference.Rows) error {
			all, err := p.computed(ctx, rows)
			if err != nil {
				return err
			}
			length := (all.Len() + int64(p.division.Parts) - 1) / int64(p.division.Parts)
			p.left = all.Slice(length*int64(p.number), length*int64(p.number+1))
			return nil
		})
	}
	if err == nil {
		err = p.new.Resize(ctx, 2*p.left.Bytes()) // of the rows, and of the copy that skipRead makes
	}
	if err == nil && p.done.Begun {
		p.skipRead()
	}
	return err
}

// skipRead removes the rows up to the last one read from the remaining rows. It works on a copy, because an
// interrupted scan may still use the set.
func (p *partOf) skipRead() {
	p.left = p.left.Slice(0, p.left.Len())
	for _, f := range p.version.Fragments() { // in reading order
		if f.Meta.ID == p.done.Last>>32 {
			p.left.RemoveBefore(f.Meta.ID, int64(uint32(p.done.Last))+1)
			return
		}
		p.left.RemoveBefore(f.Meta.ID, f.Rows)
	}
}

// unit computes rows for a minute, and reports whether more remain.
func (p *partOf) unit(ctx context.Context) (more bool, err error) {
	u := unitOf{partOf: p, began: time.Now()}
	staged, err := p.view.StageRows(ctx, dataset.Rows{Schema: p.output.schema, Trusted: true, Batches: func(yield func(arrow.RecordBatch, error) bool) {
		if err := u.compute(ctx, func(piece arrow.RecordBatch) bool { return yield(piece, nil) }); err != nil {
			yield(nil, err)
		}
	}})
	if err != nil {
		return false, err
	}
	if u.made > 0 {
		name := fmt.Sprintf("%d-%s", p.number+1, uuid.NewString())
		if _, err := multipart.Parts(p.table.Data()).Keep(ctx, p.division.Receipts, name, staged); err != nil {
			return false, err
		}
		p.done.Receipts = append(slices.Clip(p.done.Receipts), name)
		p.done.Made += u.made
	}
	p.skipRead()
	return p.left.Len() > 0, nil
}

// A unitOf is the rows that a part computes before it completes their files.
type unitOf struct {
	*partOf
	began time.Time
	made  int64 // rows of the view
}

// compute passes rows to yield until the time is over, or until that returns false.
func (u *unitOf) compute(ctx context.Context, yield func(arrow.RecordBatch) bool) error {
	columns := append([]string{snapshot.RowAddr}, u.output.reads()...)
	total := u.done.Read + u.left.Len()
	_, batches, err := u.version.ScanValues(ctx, snapshot.ScanOptions{Columns: columns, Rows: u.left})
	if err != nil {
		return u.source.Failure(ctx, u.version, err)
	}
	for batch, err := range u.source.Reading(ctx, u.version, batches) {
		if err != nil {
			return err
		}
		for piece, err := range u.output.made(ctx, batch) {
			if err != nil {
				return err
			}
			if u.made += piece.NumRows(); piece.NumRows() > 0 && !yield(piece) {
				return nil
			}
		}
		addresses := batch.Column(0).(*array.Uint64) //nolint:forcetypeassert // the type of addresses
		u.done.Begun, u.done.Last = true, addresses.Value(addresses.Len()-1)
		u.done.Read += batch.NumRows()
		u.order.Progress(u.done.Read, total, u.done.Made+u.made)
		if time.Since(u.began) >= unitTime || isLate(ctx) {
			return nil
		}
	}
	return nil
}

// isLate reports whether the deadline of a context is near.
func isLate(ctx context.Context) bool {
	until, ok := ctx.Deadline()
	return ok && time.Until(until) < lateMargin
}

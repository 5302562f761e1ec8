package materialize

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/view"
	"tiltyard/shared/lance"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/difference"
	"tiltyard/shared/lance/dataset/multipart"
	"tiltyard/shared/lance/dataset/part"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/protocol"
)

// Sizes bound the parts of refreshes.
type Sizes struct {
	Whole int64 // number of source rows that one worker reads undivided
	Rows  int64 // of the source, that a part should read
	Parts int   // most parts
}

// A Division is a refresh in parallel parts. Each part finds its own rows, so the size of a Division does
// not depend on their number. It is stored in the state of jobs.
type Division struct {
	Source uint64 `json:"source"` // the version of the source to show
	// Shown is the version that the view showed at planning time; nil: all rows are computed.
	Shown *view.Watermark `json:"shown,omitempty"`
	// Difference is a digest of the rows that differ between the two versions. All parts and the commit
	// must find the same rows. A cleanup of a version between the two can change the set, because fewer
	// rows are then known to be unchanged.
	Difference string `json:"difference,omitempty"`
	Receipts   string `json:"receipts"` // where the receipts of parts are kept
	Rows       int64  `json:"rows"`     // of the source, that are read
	Parts      int    `json:"parts"`
}

// Divided is the error of a refresh that must be done in parallel parts.
type Divided struct{ Division Division }

// Error describes the division.
func (d *Divided) Error() string {
	return fmt.Sprintf("the refresh reads %d rows in %d parts", d.Division.Rows, d.Division.Parts)
}

// divide returns a [*Divided] if a change should be made in parts, else nil. differ are the source rows
// that changed since the shown version; nil: all. A view with a limit, groups or a function is computed by
// one worker.
func (c *change) divide(rows int64, shown *view.Watermark, differ *difference.Rows) error {
	sizes := c.order.Sizes
	if sizes == nil || rows <= sizes.Whole || c.query.Limit != nil || c.order.Limit != nil || c.plan.Groups != nil || c.call != nil {
		return nil
	}
	if format, err := c.view.Manifest().FileVersion(); err != nil || format == lance.Legacy {
		return err // the dictionaries of these files are in the manifest
	}
	most := int64(sizes.Parts)
	if c.order.Parts > 0 {
		most = min(most, int64(c.order.Parts))
	}
	d := Division{Source: c.version.Version(), Shown: shown, Receipts: "refresh-" + uuid.NewString(), Rows: rows}
	d.Parts = int(min((rows+sizes.Rows-1)/sizes.Rows, most))
	if differ != nil {
		d.Difference = differ.Digest()
	}
	return &Divided{d}
}

// ErrPlanAgain means that the view or its source has changed since the refresh was divided.
var ErrPlanAgain = errors.New("the view has changed since its refresh was divided")

// PlanAgain reports whether a part or a commit of a division has become impossible, but a new
// division is possible: the view has changed, or the source version was cleaned up.
func PlanAgain(err error) bool {
	return errors.Is(err, ErrPlanAgain) || errors.Is(err, errRebuild) || protocol.HasCode(err, protocol.TableVersionNotFound)
}

// sinceDivided calls use with the changed rows and fails if they differ from those at planning time.
func (c *change) sinceDivided(ctx context.Context, v Division, use func(ctx context.Context, rows *difference.Rows) error) error {
	return c.sinceShown(ctx, v.Shown, func(ctx context.Context, rows *difference.Rows) error {
		if rows.Digest() != v.Difference {
			return fmt.Errorf("%w: other rows of the source differ", ErrPlanAgain)
		}
		return use(ctx, rows)
	})
}

// Publish commits the results of all parts in one version of the view. If the view has changed so that they
// no longer fit, the error is ErrPlanAgain.
func Publish(ctx context.Context, t, as *engine.Table, o Order, v Division, parts []Computed) (Result, error) {
	version := int64(v.Source)
	return engine.Settled(ctx, o.Source, &version, func(ctx context.Context, source *dataset.Dataset) (Result, error) {
		to, err := o.target(ctx, source)
		if err != nil {
			return Result{}, err
		}
		return show(ctx, t, as, o, to, func(ctx context.Context, c *change, s state) (mode string, r dataset.Replacement, err error) {
			if s.shows(to.mark()) && !o.all() {
				return "", r, errShown
			}
			// Another refresh has come first, so the parts are based on an old state of the view.
			if v.Shown != nil && !s.shows(*v.Shown) {
				return "", r, ErrPlanAgain
			}
			if _, err := c.output(); err != nil {
				return "", r, err
			}
			if r.Staged, err = c.staged(ctx, t, v, parts); err != nil {
				return "", r, err
			}
			if v.Shown == nil {
				r.Delete, err = c.all(ctx)
				return modeRebuild, r, err
			}
			err = c.sinceDivided(ctx, v, func(ctx context.Context, rows *difference.Rows) (err error) {
				r.Delete, err = c.evicted(ctx, rows)
				return err
			})
			return modeIncremental, r, err
		})
	})
}

// staged returns the rows that all parts have written.
func (c *change) staged(ctx context.Context, t *engine.Table, v Division, parts []Computed) ([]*part.Part, error) {
	var names []string
	for _, p := range parts {
		names = append(names, p.Receipts...)
	}
	all := make([]*part.Part, len(names))
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(snapshot.MaxConcurrentReads)
	for i, name := range names {
		group.Go(func() error {
			rows, err := multipart.Parts(t.Data()).Find(inner, v.Receipts, name)
			if err == nil && (rows == nil || !c.view.Takes(rows)) {
				err = ErrPlanAgain
			}
			all[i] = rows
			return err
		})
	}
	return all, group.Wait()
}

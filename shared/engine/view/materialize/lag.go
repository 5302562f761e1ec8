package materialize

import (
	"context"
	"errors"
	"time"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/view"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/difference"
	"tiltyard/shared/protocol"
)

// A Lag is the distance of a view behind its source.
type Lag struct {
	Source    uint64    // the newest version of the source
	Rows      int64     // source rows that have changed since the shown version; 0 if unknown
	Of        int64     // rows of the source
	Since     time.Time // time of the oldest change not shown; zero: unknown
	Refreshed time.Time // zero: never, or unknown
}

// Shown returns the watermark of a view's rows, or nil if they changed since the last refresh.
func Shown(ctx context.Context, t *engine.Table) (*view.Watermark, error) {
	s, err := engine.Read(ctx, t, nil, func(ctx context.Context, d *dataset.Dataset) (state, error) { return stateOf(ctx, t, d) })
	return s.mark, err
}

// Behind returns the lag of a view behind the newest version of its source, or nil if it is up to date.
func Behind(ctx context.Context, t *engine.Table, o Order) (*Lag, error) {
	mark, err := Shown(ctx, t)
	if err != nil {
		return nil, err
	}
	return engine.Read(ctx, o.Source, nil, func(ctx context.Context, newest *dataset.Dataset) (*Lag, error) {
		lag := &Lag{Source: newest.Version(), Of: newest.CountRows(), Since: newest.Manifest().Time()}
		if mark == nil {
			lag.Rows = lag.Of
			return lag, nil
		}
		lag.Refreshed = mark.At
		// The time distinguishes the source from a new table at its location.
		if mark.Source == newest.Version() && mark.SourceTS == uint64(newest.Manifest().Time().UnixNano()) {
			return nil, nil
		}
		to, err := o.target(ctx, newest)
		if err != nil {
			return nil, err
		}
		c := change{target: to}
		isEmpty := false
		err = c.sinceShown(ctx, mark, func(_ context.Context, rows *difference.Rows) error {
			isEmpty = rows.IsEmpty()
			lag.Rows = int64(rows.Gone.GetCardinality() + rows.Fresh.GetCardinality() + rows.Changed.GetCardinality())
			return nil
		})
		if isEmpty || err != nil && !errors.Is(err, errRebuild) {
			return nil, err
		}
		lag.Since, err = c.firstChange(ctx, mark)
		return lag, err
	})
}

// firstChange returns the time of the source's first change after the version that the view shows.
func (c *change) firstChange(ctx context.Context, shown *view.Watermark) (time.Time, error) {
	next := int64(shown.Source) + 1
	made, err := engine.Read(ctx, c.source, &next, func(_ context.Context, d *dataset.Dataset) (time.Time, error) {
		return d.Manifest().Time(), nil
	})
	if protocol.HasCode(err, protocol.TableVersionNotFound) { // removed, or the source was made anew
		return time.Time{}, nil
	}
	return made, err
}

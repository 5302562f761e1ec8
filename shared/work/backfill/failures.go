package backfill

import (
	"context"
	"time"

	"tiltyard/shared/engine/fill"
	"tiltyard/shared/engine/rowerror"
)

// failures buffers the rows for which a function failed, until they are stored.
type failures struct {
	area   rowerror.Area
	job    string
	column string
	units  []*rowerror.Unit // by fragment and first row
}

// add records the failure of a row.
func (f *failures) add(row fill.RowFailure) {
	last := len(f.units) - 1
	if last < 0 || f.units[last].Fragment != row.Fragment || f.units[last].From != row.From {
		f.units = append(f.units, &rowerror.Unit{
			Job: f.job, Fragment: row.Fragment, From: row.From, Column: f.column, Function: row.Function, FunctionVersion: row.Version,
		})
		last++
	}
	f.units[last].Add(rowerror.Row{Offset: row.Offset, Type: row.Type, Message: row.Message})
}

// save stores the failures. version is the table version that was read.
func (f *failures) save(ctx context.Context, version int64) error {
	for _, u := range f.units {
		u.TableVersion, u.At = uint64(version), time.Now().UTC()
		if err := f.area.Put(ctx, u); err != nil {
			return err
		}
	}
	f.units = nil
	return nil
}

// again deletes the stored failures of a fragment before it is computed again.
func (f *failures) again(ctx context.Context, fragment uint64) error {
	return f.area.Forget(ctx, f.job, fragment)
}

package tables

import (
	"context"

	"tiltyard/shared/catalog/keys"
	"tiltyard/shared/catalog/naming"
	"tiltyard/shared/jobs/usage"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/record"
)

// forgetting is a watch that removes the noted sizes of tables that are dropped or deregistered, so that they no longer
// count as stored. A size that stays, because the process dies before, is forgotten after two days.
type forgetting struct {
	naming.Watch
	roots   *objectstore.Roots
	records record.Store
}

// Left removes the size of a table that has got no new name. If its removal failed, the next visit notes it again.
func (f forgetting) Left(ctx context.Context, l naming.Leaving) {
	f.Watch.Left(ctx, l)
	if l.Kind != keys.Tables || len(l.To) > 0 && !keys.IsDropped(l.To) {
		return
	}
	if at, err := f.roots.Resolve(l.Location); err == nil {
		_ = usage.ForgetStored(ctx, f.records, at.URI)
	}
}

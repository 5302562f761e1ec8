package tables

import (
	"context"
	"time"

	"tiltyard/shared/catalog"
	"tiltyard/shared/catalog/stored"
	"tiltyard/shared/tables/stores"
)

// RefreshKind is the kind of the jobs that refresh materialized views; package refresh runs them.
const RefreshKind = "refresh_materialized_view"

// AutoRefresh decides when a view is refreshed automatically.
type AutoRefresh = stores.AutoRefresh

// followAfter delays the check of followed views and columns, so that many commits cause one check.
const followAfter = 5 * time.Second

// FillKind is the kind of the jobs that compute the values of columns; package backfill runs them.
const FillKind = "refresh_column"

// follow suggests to the workers that they check the views and the columns of a changed table. A lost suggestion does no
// harm, because later changes and the regular check of all tables repeat it.
func (t Tables) follow(ctx context.Context, found *catalog.Lookup) {
	if t.Auto.After == 0 || t.Jobs == nil {
		return
	}
	t.FollowFills(ctx, found.Table)
	for _, d := range found.Dependents() {
		if d.Auto && d.Kind == stored.Materialized {
			t.Follow(ctx, d.ID, d.UID)
		}
	}
}

// Follow suggests to the workers that they check whether a view must be refreshed.
func (t Tables) Follow(ctx context.Context, id []string, uid string) {
	if t.Auto.After == 0 || t.Jobs == nil || !t.followed.IsDue(uid, min(followAfter, t.Auto.After)) {
		return
	}
	_ = t.Jobs.Suggest(ctx, RefreshKind, id, min(followAfter, t.Auto.After))
}

// FollowFills suggests to the workers that they check whether columns of a table must be filled.
func (t Tables) FollowFills(ctx context.Context, found *catalog.Table) {
	if len(found.Fills) == 0 || t.Auto.After == 0 || t.Jobs == nil || !t.followed.IsDue("fill "+found.UID, min(followAfter, t.Auto.After)) {
		return
	}
	_ = t.Jobs.Suggest(ctx, FillKind, found.ID, min(followAfter, t.Auto.After))
}

package catalog

import (
	"context"
	"strings"
	"time"

	"tiltyard/shared/catalog/ledger"
	"tiltyard/shared/catalog/objects"
	"tiltyard/shared/catalog/stored"
	"tiltyard/shared/objectstore"
	"tiltyard/shared/protocol"
	"tiltyard/shared/result"
)

// CallsFolder is where workers put what is too large for the calls of functions, until the calls end.
const CallsFolder = "_functions/calls/"

// Sweep deletes dropped tables whose time is over, and what crashed writers have left behind: objects of
// batches, copies of manifests, records in namespaces that do not exist, artifacts of no function, and what
// calls of functions have referred to. Of the latter it deletes objects older than age, and never younger than
// [objects.MinSweepAge], and returns how many. It also deletes stored results whose time is over. Committed batches are
// carried out first, so that no record needs their decision any more. The copies of manifests are then unused.
//
// A record that cannot be read keeps Sweep from deleting what it may refer to, and from nothing else: the error
// is then an [*objects.Unswept].
func (c *Catalog) Sweep(ctx context.Context, age time.Duration) (deleted int, err error) {
	oldest := c.names.Now().Add(-max(age, objects.MinSweepAge))
	left := new(objects.Unswept)
	for _, step := range []func() (int, error){
		func() (int, error) { return c.sweepBatches(ctx, oldest) },
		func() (int, error) { return c.sweepOrphans(ctx, oldest) },
		func() (int, error) { return c.store.Sweep(ctx, CallsFolder, oldest, c.store.DeleteSwept) },
		func() (int, error) {
			return c.store.Sweep(ctx, result.Folder, c.names.Now().Add(-result.Lifetime), c.store.DeleteSwept)
		},
		func() (int, error) { return c.Functions.Sweep(ctx, oldest) },
		func() (int, error) { return c.Drops.Sweep(ctx) },
	} {
		n, err := step()
		if deleted += n; left.Add(ctx, err) != nil {
			return deleted, err
		}
	}
	return deleted, left.OrNil()
}

// sweepBatches ends batches, and deletes their decisions and the copies of manifests. A batch that cannot be
// ended may need its copies.
func (c *Catalog) sweepBatches(ctx context.Context, oldest time.Time) (deleted int, err error) {
	decisions, err := c.store.Sweep(ctx, stored.BatchesPrefix, oldest, func(ctx context.Context, object objectstore.Info) (bool, error) {
		if err := c.endBatch(ctx, strings.TrimPrefix(object.Key, stored.BatchesPrefix)); err != nil {
			return false, err
		}
		return c.store.DeleteSwept(ctx, object)
	})
	if err != nil {
		return decisions, err
	}
	copies, err := c.store.Sweep(ctx, ledger.CopiesPrefix, oldest, c.store.DeleteSwept)
	return decisions + copies, err
}

// endBatch carries out a committed batch on all of its tables.
func (c *Catalog) endBatch(ctx context.Context, batch string) error {
	d, err := c.names.DecisionOf(ctx, batch)
	if err != nil {
		return err
	}
	for _, id := range d.Tables {
		record, _, err := c.names.Table(ctx, id)
		switch {
		case err == nil && record.Pending != nil && record.Pending.Batch == batch:
			return objects.LostRace("table", id, objectstore.ErrPrecondition)
		case protocol.HasCode(err, protocol.TableNotFound), protocol.HasCode(err, protocol.NamespaceNotFound):
			continue
		case err != nil:
			return err
		}
	}
	return nil
}

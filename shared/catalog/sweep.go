package catalog

import (
	"context"
	"fmt"
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

// MinSweepAge is the least age of the objects that a sweep deletes. No request runs that long.
const MinSweepAge = time.Hour

// Sweep deletes dropped tables whose time is over, and what crashed writers have left behind: objects of
// batches, copies of manifests, records in namespaces that do not exist, artifacts of no function, and what
// calls of functions have referred to. Of the latter it deletes objects older than age, and never younger than [MinSweepAge], and returns how many.
// It also deletes stored results whose time is over. Committed
// batches are carried out first, so that no record needs their decision any more. The copies of manifests are
// then unused.
func (c *Catalog) Sweep(ctx context.Context, age time.Duration) (deleted int, err error) {
	oldest := c.names.Now().Add(-max(age, MinSweepAge))
	decisions, err := c.sweep(ctx, stored.BatchesPrefix, oldest, func(ctx context.Context, object objectstore.Info) (bool, error) {
		if err := c.endBatch(ctx, strings.TrimPrefix(object.Key, stored.BatchesPrefix)); err != nil {
			return false, err
		}
		return c.sweepObject(ctx, object)
	})
	if err != nil {
		return decisions, err
	}
	copies, err := c.sweep(ctx, ledger.CopiesPrefix, oldest, c.sweepObject)
	if err != nil {
		return decisions + copies, err
	}
	orphans, err := c.sweepOrphans(ctx, oldest)
	if err != nil {
		return decisions + copies + orphans, err
	}
	calls, err := c.sweep(ctx, CallsFolder, oldest, c.sweepObject)
	if err != nil {
		return decisions + copies + orphans + calls, err
	}
	results, err := c.sweep(ctx, result.Folder, c.names.Now().Add(-result.Lifetime), c.sweepObject)
	if err != nil {
		return decisions + copies + orphans + calls + results, err
	}
	unnamed, err := c.sweepArtifacts(ctx, oldest)
	if err != nil {
		return decisions + copies + orphans + calls + results + unnamed, err
	}
	dropped, err := c.sweepDropped(ctx)
	return decisions + copies + orphans + calls + results + unnamed + dropped, err
}

// sweep calls one for each object older than a time, and counts those that one deleted.
func (c *Catalog) sweep(ctx context.Context, prefix string, oldest time.Time, one func(ctx context.Context, object objectstore.Info) (deleted bool, err error)) (deleted int, err error) {
	opts := objectstore.ListOptions{Prefix: prefix, Limit: objects.PageSize}
	for object, err := range objectstore.Objects(ctx, c.store, opts) {
		if err != nil {
			return deleted, fmt.Errorf("sweep %s: %w", prefix, err)
		}
		if object.Modified.After(oldest) {
			continue
		}
		done, err := one(ctx, object)
		if err != nil {
			return deleted, fmt.Errorf("sweep %s: %w", object.Key, err)
		}
		if done {
			deleted++
		}
	}
	return deleted, nil
}

// sweepObject deletes an unused object.
func (c *Catalog) sweepObject(ctx context.Context, object objectstore.Info) (deleted bool, err error) {
	err = c.store.Delete(ctx, object.Key, objectstore.Condition{})
	return err == nil, objects.IgnoreMissing(err)
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
			return stored.LostRace("table", id, objectstore.ErrPrecondition)
		case protocol.HasCode(err, protocol.TableNotFound), protocol.HasCode(err, protocol.NamespaceNotFound):
			continue
		case err != nil:
			return err
		}
	}
	return nil
}

package catalog

import (
	"context"
	"fmt"
	"strings"
	"time"

	"tiltyard/shared/objectstore"
	"tiltyard/shared/protocol"
)

// MinSweepAge is the least age of what a sweep takes: no request goes on for so long.
const MinSweepAge = time.Hour

// Sweep removes what writers that died have left of batches, of manifests to be, and under the
// names of namespaces that are gone, of that older than age, or [MinSweepAge] if that is more.
// It returns how many objects it deleted.
// Batches that committed are finished first, so that no table ever asks for the decision of
// one again; then copies of manifests are of nobody who could still be told of success.
func (c *Catalog) Sweep(ctx context.Context, age time.Duration) (deleted int, err error) {
	oldest := c.now().Add(-max(age, MinSweepAge))
	decisions, err := c.sweep(ctx, batchesPrefix, oldest, func(ctx context.Context, object objectstore.Info) (bool, error) {
		if err := c.endBatch(ctx, strings.TrimPrefix(object.Key, batchesPrefix)); err != nil {
			return false, err
		}
		return c.sweepObject(ctx, object)
	})
	if err != nil {
		return decisions, err
	}
	copies, err := c.sweep(ctx, copiesPrefix, oldest, c.sweepObject)
	if err != nil {
		return decisions + copies, err
	}
	orphans, err := c.sweepOrphans(ctx, oldest)
	return decisions + copies + orphans, err
}

// sweep takes away objects older than a time, one by one, and counts them.
func (c *Catalog) sweep(ctx context.Context, prefix string, oldest time.Time, one func(ctx context.Context, object objectstore.Info) (deleted bool, err error)) (deleted int, err error) {
	opts := objectstore.ListOptions{Prefix: prefix, Limit: listPageSize}
	for {
		listed, err := c.store.List(ctx, opts)
		if err != nil {
			return deleted, fmt.Errorf("sweep %s: %w", prefix, err)
		}
		for _, object := range listed.Objects {
			opts.StartAfter = object.Key
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
		if !listed.More || len(listed.Objects) == 0 {
			return deleted, nil
		}
	}
}

// sweepObject deletes an object that nobody needs.
func (c *Catalog) sweepObject(ctx context.Context, object objectstore.Info) (deleted bool, err error) {
	err = c.store.Delete(ctx, object.Key, objectstore.Condition{})
	return err == nil, ignoreGone(err)
}

// endBatch does what is left of a batch that was committed, at all of its tables.
func (c *Catalog) endBatch(ctx context.Context, batch string) error {
	d, err := c.decisionOf(ctx, batch)
	if err != nil {
		return err
	}
	for _, id := range d.Tables {
		record, _, err := c.tableRecord(ctx, id)
		switch {
		case err == nil && record.Pending != nil && record.Pending.Batch == batch:
			return lostRace("table", id, objectstore.ErrPrecondition)
		case hasCode(err, protocol.TableNotFound), hasCode(err, protocol.NamespaceNotFound):
			continue
		case err != nil:
			return err
		}
	}
	return nil
}

package catalog

import (
	"context"
	"errors"
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

// Sweep deletes dropped tables whose time is over, and what crashed writers have left behind: objects of
// batches, copies of manifests, records in namespaces that do not exist, artifacts of no function, and what
// calls of functions have referred to. Of the latter it deletes objects older than age, and never younger than
// [objects.MinSweepAge], and returns how many. It also deletes stored results whose time is over. Committed batches are
// carried out first, so that no record needs their decision any more. The copies of manifests are then unused.
//
// A record that cannot be read keeps Sweep from deleting what it may refer to, and from nothing else: the error
// is then an [*Unswept].
func (c *Catalog) Sweep(ctx context.Context, age time.Duration) (deleted int, err error) {
	oldest := c.names.Now().Add(-max(age, objects.MinSweepAge))
	left := new(Unswept)
	for _, step := range []func() (int, error){
		func() (int, error) { return c.sweepBatches(ctx, oldest) },
		func() (int, error) { return c.sweepOrphans(ctx, oldest) },
		func() (int, error) { return c.sweep(ctx, CallsFolder, oldest, c.sweepObject) },
		func() (int, error) {
			return c.sweep(ctx, result.Folder, c.names.Now().Add(-result.Lifetime), c.sweepObject)
		},
		func() (int, error) { return c.Functions.Sweep(ctx, oldest) },
		func() (int, error) { return c.sweepDropped(ctx) },
	} {
		n, err := step()
		if deleted += n; left.add(ctx, err) != nil {
			return deleted, err
		}
	}
	return deleted, left.orNil()
}

// sweepBatches ends batches, and deletes their decisions and the copies of manifests. A batch that cannot be
// ended may need its copies.
func (c *Catalog) sweepBatches(ctx context.Context, oldest time.Time) (deleted int, err error) {
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
	return decisions + copies, err
}

// Unswept is the error of a sweep that has dealt with everything but some objects: those that the errors
// name, and what these may refer to.
type Unswept struct{ Errors []error }

// Error joins the errors.
func (u *Unswept) Error() string { return errors.Join(u.Errors...).Error() }

// Unwrap returns the errors.
func (u *Unswept) Unwrap() []error { return u.Errors }

// maxUnswept is how many errors end a sweep: so many are no faults of single objects.
const maxUnswept = 100

// add takes an error of one object, or those of a part of the sweep. It returns the error if the sweep must end.
func (u *Unswept) add(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return err
	}
	var more *Unswept
	if errors.As(err, &more) {
		u.Errors = append(u.Errors, more.Errors...)
	} else {
		u.Errors = append(u.Errors, err)
	}
	if len(u.Errors) > maxUnswept {
		return fmt.Errorf("%d objects cannot be swept: %w", len(u.Errors), u)
	}
	return nil
}

// orNil returns the error, nil if there is none.
func (u *Unswept) orNil() error {
	if len(u.Errors) == 0 {
		return nil
	}
	return u
}

// sweep calls one for each object older than a time, and counts those that one deleted. An error of one
// leaves that object, and is among the [*Unswept] at the end.
func (c *Catalog) sweep(ctx context.Context, prefix string, oldest time.Time, one func(ctx context.Context, object objectstore.Info) (deleted bool, err error)) (deleted int, err error) {
	left := new(Unswept)
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
			if err := left.add(ctx, fmt.Errorf("sweep %s: %w", object.Key, err)); err != nil {
				return deleted, err
			}
		}
		if done {
			deleted++
		}
	}
	return deleted, left.orNil()
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
			return objects.LostRace("table", id, objectstore.ErrPrecondition)
		case protocol.HasCode(err, protocol.TableNotFound), protocol.HasCode(err, protocol.NamespaceNotFound):
			continue
		case err != nil:
			return err
		}
	}
	return nil
}

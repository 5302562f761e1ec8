package catalog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"tiltyard/shared/catalog/claim"
	"tiltyard/shared/catalog/keys"
	"tiltyard/shared/catalog/objects"
	"tiltyard/shared/catalog/stored"
	"tiltyard/shared/objectstore"
	"tiltyard/shared/protocol"
)

// DropTable removes the name of a table. If the table has a retention, it can be restored then:
// see setaside.go. Otherwise DropTable deletes its data, too. The table is gone when its name is; data
// that a crash leaves behind is garbage. Data that another table shares stays.
func (c *Catalog) DropTable(ctx context.Context, id []string) (*Table, error) {
	return c.drop(ctx, id, "", notPlain)
}

// dropAny is DropTable for tables and views that are dropped with a namespace.
func (c *Catalog) dropAny(ctx context.Context, id []string, with string) error {
	_, err := c.drop(ctx, id, with, func(*stored.Table) error { return nil })
	return err
}

// drop removes a table or a view, which check may refuse, and returns the table. A plain view has
// none. with is that of [stored.Drop].
func (c *Catalog) drop(ctx context.Context, id []string, with string, check func(record *stored.Table) error) (*Table, error) {
	var aside *stored.Table
	record, err := c.takeAway(ctx, id, check, func(ctx context.Context, record *stored.Table, etag string) error {
		keep, err := c.retention(ctx, id, record.Properties)
		if err != nil {
			return err
		}
		if keep == 0 {
			return c.removeRecord(ctx, record, etag)
		}
		aside, err = c.setAside(ctx, record, etag, c.newDrop(ctx, id, keep, with))
		return err
	})
	if err != nil || notPlain(record) != nil {
		return nil, err
	}
	table, err := c.table(record)
	if err != nil {
		return nil, err
	}
	if aside != nil {
		table.Dropped = c.droppedTable(aside)
		return table, nil
	}
	if err = c.deleteOf(ctx, record, table.Location); err != nil {
		return nil, &protocol.Error{
			Code: protocol.ServiceUnavailable, Message: fmt.Sprintf("table %s is dropped, but not all of its data is deleted", keys.Display(id)),
			Detail: "the name is free; the remaining files belong to no table", Unsettled: true, Err: err,
		}
	}
	return table, nil
}

// deleteOf deletes the data of a dropped table, except what other tables share.
func (c *Catalog) deleteOf(ctx context.Context, record *stored.Table, at objectstore.Location) error {
	ctx, done := context.WithTimeout(ctx, claim.GoingLease-time.Minute)
	defer done()
	if record.Claim == stored.OwnPlace {
		alone, err := c.places.MayDelete(ctx, record.Location)
		if err != nil {
			return err
		}
		if alone {
			if err := DeleteData(ctx, at); err != nil {
				return err
			}
			c.places.DeleteNote(ctx, record.Location)
			return nil
		}
	}
	return c.deleteClaimed(ctx, record, at)
}

// deleteClaimed deletes the data of a dropped table that may share its place. It first marks the
// claim as going. A registration at the place then sees the mark, or deleteClaimed sees the claim
// of the registration.
func (c *Catalog) deleteClaimed(ctx context.Context, record *stored.Table, at objectstore.Location) error {
	if err := c.places.EnsureKnown(ctx); err != nil {
		return err
	}
	going, err := c.places.MarkGoing(ctx, record)
	if err != nil {
		return err
	}
	defer c.places.Release(ctx, going)
	others, err := c.places.About(ctx, record.Location)
	if err != nil {
		return err
	}
	var inside []string
	for _, other := range others {
		if other.UID == going.UID {
			continue
		}
		owner, soon, err := c.places.Owner(ctx, other)
		switch {
		case err != nil:
			return err
		case owner == nil && !soon:
			continue
		case !strings.HasPrefix(other.Place, record.Location+"/"):
			return nil
		}
		inside = append(inside, at.Prefix+strings.TrimPrefix(other.Place, record.Location)+"/")
	}
	if err := deleteData(ctx, at, inside); err != nil {
		return err
	}
	if claim.IsOwn(record.Location) {
		c.places.DeleteNote(ctx, record.Location)
	}
	return nil
}

// DeleteData deletes the files of the table at a location, versions first, so that no reader opens
// a table that is half deleted.
func DeleteData(ctx context.Context, location objectstore.Location) error {
	return deleteData(ctx, location, nil)
}

// ofTables are the names of the files and folders that this service and native Lance put into the
// folder of a table. Other names there belong to other programs.
var ofTables = []string{
	"_versions", "data", "_deletions", "_transactions", "_indices", "_refs", "tree", "_mem_wal", "_uploads", "_udfs", "_latest.manifest",
	".lance-reserved", ".lance-deregistered",
}

// deleteData is DeleteData that leaves out the keys with one of some prefixes.
func deleteData(ctx context.Context, location objectstore.Location, but []string) error {
	for _, prefix := range []string{location.Prefix + "/_versions/", location.Prefix + "/"} {
		err := deleteAll(ctx, location.Store, prefix, func(key string) bool {
			first, _, _ := strings.Cut(strings.TrimPrefix(key, location.Prefix+"/"), "/")
			return slices.Contains(ofTables, first) &&
				!slices.ContainsFunc(but, func(other string) bool { return strings.HasPrefix(key, other) })
		})
		if err != nil {
			return fmt.Errorf("delete data under %s: %w", location.URI, err)
		}
	}
	return nil
}

// deleteAll deletes the objects under a prefix for which doomed returns true.
func deleteAll(ctx context.Context, store objectstore.Store, prefix string, doomed func(key string) bool) error {
	opts := objectstore.ListOptions{Prefix: prefix, Limit: objects.PageSize}
	for page, err := range objectstore.Pages(ctx, store, opts) {
		if err != nil {
			return err
		}
		group, inner := errgroup.WithContext(ctx)
		group.SetLimit(dropFanOut)
		for _, object := range page.Objects {
			if doomed(object.Key) {
				group.Go(func() error { return deleteOne(inner, store, object.Key) })
			}
		}
		if err := group.Wait(); err != nil {
			return err
		}
	}
	return nil
}

// deleteOne deletes an unused object. It tries again when the answer was lost.
func deleteOne(ctx context.Context, store objectstore.Store, key string) error {
	for attempt := 1; ; attempt++ {
		err := store.Delete(ctx, key, objectstore.Condition{})
		if !errors.Is(err, objectstore.ErrUnknownOutcome) || attempt == objects.Tries {
			return err
		}
	}
}

package claim

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"tiltyard/shared/catalog/objects"
	"tiltyard/shared/catalog/stored"
	"tiltyard/shared/storage/objectstore"
)

// DeleteData deletes the data of a dropped table, except files that belong to other tables.
func (c *Places) DeleteData(ctx context.Context, record *stored.Table, at objectstore.Location) error {
	ctx, done := context.WithTimeout(ctx, GoingLease-time.Minute)
	defer done()
	if record.Claim == stored.OwnPlace {
		alone, err := c.MayDelete(ctx, record.Location)
		if err != nil {
			return err
		}
		if alone {
			if err := DeleteFiles(ctx, at); err != nil {
				return err
			}
			c.DeleteNote(ctx, record.Location)
			return nil
		}
	}
	return c.deleteClaimed(ctx, record, at)
}

// deleteClaimed deletes the data of a dropped table with a claim, whose place may have further
// names. It first marks the claim as going. A registration at the place then sees the mark, or
// deleteClaimed sees the claim of the registration.
func (c *Places) deleteClaimed(ctx context.Context, record *stored.Table, at objectstore.Location) error {
	if err := c.EnsureKnown(ctx); err != nil {
		return err
	}
	going, err := c.MarkGoing(ctx, record)
	if err != nil {
		return err
	}
	defer c.Release(ctx, going)
	others, err := c.About(ctx, record.Location)
	if err != nil {
		return err
	}
	var inside []string
	for _, other := range others {
		if other.UID == going.UID {
			continue
		}
		owner, soon, err := c.Owner(ctx, other)
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
	if err := deleteFiles(ctx, at, inside); err != nil {
		return err
	}
	if IsOwn(record.Location) {
		c.DeleteNote(ctx, record.Location)
	}
	return nil
}

// DeleteFiles deletes the files of the table at a location. It deletes manifests first, so that no
// reader opens a half-deleted table.
func DeleteFiles(ctx context.Context, location objectstore.Location) error {
	return deleteFiles(ctx, location, nil)
}

// ofTables are the names of the files and folders that this service and native Lance create in the
// folder of a table. All other names belong to other programs.
var ofTables = []string{
	"_versions", "data", "_deletions", "_transactions", "_indices", "_refs", "tree", "_mem_wal", "_uploads", "_udfs", "_latest.manifest",
	".lance-reserved", ".lance-deregistered",
}

// deleteFiles does the work of DeleteFiles, but leaves keys with one of the prefixes in but.
func deleteFiles(ctx context.Context, location objectstore.Location, but []string) error {
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
		group.SetLimit(deleteFanOut)
		for _, object := range page.Objects {
			if doomed(object.Key) {
				group.Go(func() error { return objects.Discard(inner, store, object.Key) })
			}
		}
		if err := group.Wait(); err != nil {
			return err
		}
	}
	return nil
}

// deleteFanOut bounds how many files of one table are deleted in parallel.
const deleteFanOut = 8

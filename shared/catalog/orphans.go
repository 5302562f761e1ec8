package catalog

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"tiltyard/shared/auth"
	"tiltyard/shared/objectstore"
	"tiltyard/shared/protocol"
)

// An orphan is the record of a table or a namespace whose parent does not exist. There are
// some when the last put of a creator that died, or gave up, is carried out after the parent
// was dropped. Nobody was told that they were made. Until a sweep finds them they can be seen
// by their names, and are in the parent when somebody makes one of that name again.

// sweepOrphans takes away orphans of which there has been nothing new since a time. The data
// of tables stays, and so do namespaces in which somebody has made something. It returns how
// many records it has deleted.
func (c *Catalog) sweepOrphans(ctx context.Context, oldest time.Time) (deleted int, err error) {
	ctx = auth.Unlimited(ctx)
	parents, err := c.missingParents(ctx)
	if err != nil {
		return 0, fmt.Errorf("sweep orphans: %w", err)
	}
	for _, dir := range slices.Sorted(maps.Keys(parents)) {
		// The listing was made one page after the other, so it may have missed the parent.
		if _, _, err := c.namespaceRecord(ctx, parents[dir]); err == nil {
			continue
		} else if !hasCode(err, protocol.NamespaceNotFound) {
			return deleted, fmt.Errorf("sweep orphans: %w", err)
		}
		swept, err := c.sweep(ctx, recordsPrefix+dir+"/", oldest, c.sweepOrphan)
		deleted += swept
		if err != nil {
			return deleted, err
		}
	}
	return deleted, nil
}

// missingParents returns the ids of namespaces that were not listed and in whose folders there
// is something, by folder.
func (c *Catalog) missingParents(ctx context.Context) (map[string][]string, error) {
	there, paths := map[string]bool{folder(nil): true}, map[string][]string{}
	opts := objectstore.ListOptions{Prefix: recordsPrefix, Limit: listPageSize}
	for {
		page, err := c.store.List(ctx, opts)
		if err != nil {
			return nil, err
		}
		for _, object := range page.Objects {
			opts.StartAfter = object.Key
			id, err := c.idOf(ctx, object.Key, paths)
			if err != nil {
				return nil, err
			}
			if strings.Contains(object.Key, namespaceKind) {
				there[folder(id)] = true
			}
		}
		if !page.More || len(page.Objects) == 0 {
			break
		}
	}
	for dir := range there {
		delete(paths, dir)
	}
	return paths, nil
}

// sweepOrphan takes away one orphan, if it is still the record that was listed.
func (c *Catalog) sweepOrphan(ctx context.Context, orphan objectstore.Info) (done bool, err error) {
	if strings.Contains(orphan.Key, namespaceKind) {
		record := new(namespaceRecord)
		etag, err := c.read(ctx, orphan.Key, record)
		if err != nil || etag != orphan.ETag {
			return false, ignoreGone(err)
		}
		_, err = c.dropNamespace(ctx, record, etag, nil)
		return err == nil, ignore(err, protocol.NamespaceNotEmpty, protocol.ConcurrentModification)
	}
	if inDoubt(orphan) { // a rename or a batch has to be ended first; then the next sweep finds it
		record := new(tableRecord)
		if _, err := c.read(ctx, orphan.Key, record); err != nil {
			return false, ignoreGone(err)
		}
		_, _, err := c.settled(ctx, record.ID)
		return false, ignoreGone(ignore(err, protocol.ConcurrentModification))
	}
	err = c.store.Delete(ctx, orphan.Key, objectstore.Condition{IfMatch: orphan.ETag})
	if gone(err) {
		return false, nil
	}
	return err == nil, err
}

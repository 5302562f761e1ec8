package sweep

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"tiltyard/shared/catalog/keys"
	"tiltyard/shared/catalog/lists"
	"tiltyard/shared/catalog/objects"
	"tiltyard/shared/catalog/stored"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/storage/objectstore"
)

// An orphan is the record of an object whose parent does not exist. It arises when the last put of a
// creator that died or gave up reaches the store after the parent was dropped. No
// client was told that the object exists. Until a sweep removes it, requests can see it by its
// name, and it appears in a new namespace with the name of the parent.

// sweepOrphans deletes orphans in folders without a change since the time oldest. The data of
// tables stays, and so do namespaces that hold something. It returns how many records it has
// deleted.
func (s *Sweeper) sweepOrphans(ctx context.Context, oldest time.Time) (deleted int, err error) {
	ctx = auth.Unlimited(ctx)
	left := new(objects.Unswept)
	parents, err := s.missingParents(ctx, left)
	if err != nil {
		return 0, fmt.Errorf("sweep orphans: %w", err)
	}
	for _, dir := range slices.Sorted(maps.Keys(parents)) {
		// The listing consists of several pages, so it may have missed the parent.
		if _, _, err := s.names.Namespace(ctx, parents[dir]); err == nil {
			continue
		} else if !protocol.HasCode(err, protocol.NamespaceNotFound) {
			// It may be there, so what is in it is no orphan.
			if err := left.Add(ctx, fmt.Errorf("sweep orphans: %w", err)); err != nil {
				return deleted, err
			}
			continue
		}
		swept, err := s.names.Store.Sweep(ctx, keys.Records+dir+"/", oldest, s.sweepOrphan)
		deleted += swept
		if err := left.Add(ctx, err); err != nil {
			return deleted, err
		}
	}
	return deleted, left.OrNil()
}

// missingParents returns the ids of namespaces with children but without a record, by folder. It
// skips records that cannot be read, and adds their errors to left.
func (s *Sweeper) missingParents(ctx context.Context, left *objects.Unswept) (map[string][]string, error) {
	there, paths := map[string]bool{keys.Folder(nil): true, keys.Folder([]string{keys.Dropped}): true}, lists.Paths{}
	opts := objectstore.ListOptions{Prefix: keys.Records, Limit: objects.PageSize}
	for object, err := range objectstore.Objects(ctx, s.names.Store, opts) {
		if err != nil {
			return nil, err
		}
		id, err := s.lists.IDOf(ctx, object.Key, paths)
		if err != nil {
			if err := left.Add(ctx, fmt.Errorf("sweep orphans: %s: %w", object.Key, err)); err != nil {
				return nil, err
			}
			continue
		}
		if keys.Namespaces.Has(object.Key) {
			there[keys.Folder(id)] = true
		}
	}
	for dir := range there {
		delete(paths, dir)
	}
	return paths, nil
}

// sweepOrphan deletes one orphan, if the record is unchanged since it was listed.
func (s *Sweeper) sweepOrphan(ctx context.Context, orphan objectstore.Info) (done bool, err error) {
	if keys.Namespaces.Has(orphan.Key) {
		record := new(stored.Namespace)
		etag, err := s.names.Store.Read(ctx, orphan.Key, record)
		if err != nil || etag != orphan.ETag {
			return false, objects.IgnoreMissing(err)
		}
		err = s.namespaces.DropEmpty(ctx, record, etag)
		return err == nil, protocol.Ignore(err, protocol.NamespaceNotEmpty, protocol.ConcurrentModification)
	}
	if stored.InDoubt(orphan) { // a rename or a batch must be settled first; the next sweep finds the record
		record := new(stored.Table)
		if _, err := s.names.Store.Read(ctx, orphan.Key, record); err != nil {
			return false, objects.IgnoreMissing(err)
		}
		_, err := s.names.Settled(ctx, record.ID)
		return false, protocol.Ignore(err, protocol.ConcurrentModification)
	}
	if _, err := s.names.Store.Peek(ctx, orphan.Key, new(struct{})); err != nil { // a record of a newer release may not be an orphan
		return false, objects.IgnoreMissing(err)
	}
	err = s.names.Store.Delete(ctx, orphan.Key, objectstore.Condition{IfMatch: orphan.ETag})
	return err == nil, objects.IgnoreChanged(err)
}

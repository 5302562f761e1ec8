package naming

import (
	"context"
	"errors"
	"fmt"

	"tiltyard/shared/catalog/keys"
	"tiltyard/shared/catalog/objects"
	"tiltyard/shared/catalog/stored"
	"tiltyard/shared/objectstore"
)

// Settled reads the record of a name, and settles a rename or a batch that it finds there.
//
// The answer follows from the records that it read. Its writes only save work for the next caller,
// so a caller without the right to write gets the same answer.
func (r *Registry) Settled(ctx context.Context, id []string) (stored.Found, error) {
	record, etag, err := r.settled(ctx, id)
	switch {
	case err == nil:
		return stored.Found{Record: record, ETag: etag}, nil
	case errors.Is(err, errArriving):
		return stored.Found{Soon: true}, nil
	}
	return stored.Found{}, objects.IgnoreMissing(err)
}

// errArriving means that a rename to the name, or a batch that makes its table, is unfinished.
var errArriving = errors.New("a table of this name is being made")

// settled is Settled with errors: objectstore.ErrNotExist when there is no table, and errArriving
// when there may be one soon.
func (r *Registry) settled(ctx context.Context, id []string) (*stored.Table, string, error) {
	for range objects.Tries {
		record, etag, err := r.settledName(ctx, id)
		if err != nil || record.Pending == nil {
			return record, etag, err
		}
		record, etag, err = r.settleBatch(ctx, record, etag)
		if !errors.Is(err, objectstore.ErrPrecondition) {
			return record, etag, err
		}
	}
	return nil, "", stored.LostRace("table", id, objectstore.ErrPrecondition)
}

// settledName is settled for renames only.
func (r *Registry) settledName(ctx context.Context, id []string) (*stored.Table, string, error) {
	seen := ""
	for range objects.Tries {
		record := new(stored.Table)
		etag, err := r.Store.Read(ctx, keys.Table(id), record)
		switch {
		case err != nil || record.Arriving == nil && record.Moved == nil:
			return record, etag, err
		case record.Moved != nil:
			_ = r.depart(ctx, record, etag)
			return nil, "", errMoved(id)
		}
		there, thereETag, err := r.settleArrival(ctx, record, etag)
		if !objects.Changed(err) {
			return there, thereETag, err
		}
		if errors.Is(err, objectstore.ErrNotExist) || etag == seen {
			return nil, "", errMoved(id)
		}
		seen = etag
	}
	return nil, "", stored.LostRace("table", id, objectstore.ErrPrecondition)
}

// settleArrival settles a rename that was found at its new name, and returns the record of the
// table there. The error is objectstore.ErrNotExist when there is none, and
// objectstore.ErrPrecondition when the caller must read the record again.
func (r *Registry) settleArrival(ctx context.Context, record *stored.Table, etag string) (*stored.Table, string, error) {
	var old stored.Table
	oldETag, found, err := r.Store.Find(ctx, keys.Table(record.RenamedFrom), &old)
	if err != nil {
		return nil, "", err
	}
	origin := found && old.UID == record.Arriving.UID
	switch {
	case origin && old.MovedTo(record):
		plain, err := r.arrive(ctx, record, etag, oldETag)
		if objects.Changed(err) {
			return nil, "", objectstore.ErrPrecondition
		}
		if err == nil {
			etag = plain
		}
		return record.Arrived(), etag, nil
	case origin && old.Moved == nil && r.Now().Before(record.Arriving.Until):
		return nil, "", errArriving
	case origin && old.Moved == nil:
		_ = r.takeBack(ctx, record, etag, &old, oldETag)
		return nil, "", objectstore.ErrNotExist
	}
	// The rename did not commit, or it committed and was completed after we read the record. In the
	// second case the record has changed, and takeBack does not delete it.
	if r.takeBack(ctx, record, etag, &old, oldETag) != nil {
		return nil, "", objectstore.ErrPrecondition
	}
	return nil, "", objectstore.ErrNotExist
}

// errMoved is the error for a record that stands for no table.
func errMoved(id []string) error {
	return fmt.Errorf("table %s has been renamed: %w", keys.Display(id), objectstore.ErrNotExist)
}

// AwaitFree is called when a create finds a record at its name. The error is TableAlreadyExists
// when the record stands for a table, and nil when the caller should try again.
func (r *Registry) AwaitFree(ctx context.Context, id []string, attempt int) error {
	found, err := r.Settled(ctx, id)
	switch {
	case found.Record != nil:
		return r.Taken(ctx, id, TableExists(id))
	case found.Soon:
		return objects.Pause(ctx, attempt)
	}
	return err
}

package naming

import (
	"context"

	"tiltyard/shared/catalog/keys"
	"tiltyard/shared/catalog/objects"
	"tiltyard/shared/catalog/stored"
)

// Settled reads the record of a name, and settles a rename or a batch that it finds there.
//
// The answer follows from the records that it read. Its writes only save work for the next caller,
// so a caller without the right to write gets the same answer.
func (r *Registry) Settled(ctx context.Context, id []string) (found stored.Found, err error) {
	err = objects.Race{What: "table", ID: id}.Run(ctx, func(int) (done bool, err error) {
		found, err = r.settledName(ctx, id)
		if err != nil || found.Record == nil || found.Record.Pending == nil {
			return true, err
		}
		found, done, err = r.settleBatch(ctx, found.Record, found.ETag)
		return done, err
	})
	if err != nil {
		return stored.Found{}, err
	}
	return found, nil
}

// settledName reads a record and settles renames only.
func (r *Registry) settledName(ctx context.Context, id []string) (found stored.Found, err error) {
	seen := ""
	err = objects.Race{What: "table", ID: id}.Run(ctx, func(int) (done bool, err error) {
		record := new(stored.Table)
		etag, there, err := r.Store.Find(ctx, keys.Table(id), record)
		found = stored.Found{}
		switch {
		case err != nil || !there:
			return true, err
		case record.Moved != nil:
			_ = r.depart(ctx, record, etag)
			return true, nil
		case record.Arriving == nil:
			found = stored.Found{Record: record, ETag: etag}
			return true, nil
		}
		if found, done, err = r.settleArrival(ctx, record, etag); done || err != nil {
			return true, err
		}
		again := etag == seen
		seen = etag
		return again, nil
	})
	return found, err
}

// settleArrival settles a rename from the record at the new name, and returns the table of that name. If done is false,
// the caller must read the record again.
func (r *Registry) settleArrival(ctx context.Context, record *stored.Table, etag string) (found stored.Found, done bool, err error) {
	var old stored.Table
	oldETag, there, err := r.Store.Find(ctx, keys.Table(record.RenamedFrom), &old)
	if err != nil {
		return found, false, err
	}
	origin := there && old.UID == record.Arriving.UID
	switch {
	case origin && old.MovedTo(record):
		plain, err := r.arrive(ctx, record, etag, oldETag)
		if objects.Changed(err) {
			return found, false, nil
		}
		if err == nil {
			etag = plain
		}
		return stored.Found{Record: record.Arrived(), ETag: etag}, true, nil
	case origin && old.Moved == nil && r.Now().Before(record.Arriving.Until):
		return stored.Found{Soon: true}, true, nil
	case origin && old.Moved == nil:
		_ = r.takeBack(ctx, record, etag, &old, oldETag)
		return found, true, nil
	}
	// The rename did not commit, or it committed and was completed after we read the record. In the
	// second case the record has changed, and takeBack does not delete it.
	return found, r.takeBack(ctx, record, etag, &old, oldETag) == nil, nil
}

// AwaitFree handles a record at the name of a new table. The error is TableAlreadyExists if the
// record stands for a table, and nil if the caller should try again.
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

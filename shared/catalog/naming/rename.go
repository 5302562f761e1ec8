package naming

import (
	"context"
	"errors"
	"time"

	"tiltyard/shared/catalog/keys"
	"tiltyard/shared/catalog/objects"
	"tiltyard/shared/catalog/stored"
	"tiltyard/shared/storage/objectstore"
)

// A rename moves a record from one key to another, in a store that changes one key at a time. It
// takes four writes. This is what a name stands for after each of them:
//
//	                                                        old name   new name
//	   before                                               table      -
//	1  put the new record, arriving (put-if-absent)         table      taken, no table
//	2  mark the old record as moved (put-if-match)          -          table
//	3  make the new record a plain one (put-if-match)       -          table
//	4  delete the old one (delete-if-match)                 free       table
//
// The second write is the commit point: before it the old name stands for the table, after it the
// new one. A caller that finds a record that is arriving or has moved reads the other record to
// learn which of the two holds, and settles the rename:
//
//   - After the commit point it does writes 3 and 4, in this order, so that an arriving record
//     without its old record always means that the rename did not commit.
//   - Before it, if the old record is gone or belongs to another table, it deletes the
//     arriving record.
//   - Before it, if the lease of the rename has run out, it rewrites the old record with the
//     next turn, so that the second write can no longer succeed. Then it deletes the arriving
//     record.
//
// All writes are conditional on what was read, so any number of callers may settle a rename at the
// same time, together with the process that began it.

// RenameLease is how long a rename may take before other processes undo it.
const RenameLease = 30 * time.Second

// Rename does the four writes. The error is ErrTaken when the new name has a record, and
// objects.Changed(err) is true when the old record has changed.
func (r *Registry) Rename(ctx context.Context, old *stored.Table, etag string, to []string) (*stored.Table, error) {
	return r.Move(ctx, old, etag, to, old.Dropped)
}

// Move does the work of Rename and also sets the field Dropped of the record: a drop moves the
// table to an id that no request can name, and a restoration moves it back to a regular name.
func (r *Registry) Move(ctx context.Context, old *stored.Table, etag string, to []string, dropped *stored.Drop) (moved *stored.Table, err error) {
	err = r.TakeAway(ctx, old, to, func() (err error) {
		moved, err = r.move(ctx, old, etag, to, dropped)
		return err
	})
	return moved, err
}

func (r *Registry) move(ctx context.Context, old *stored.Table, etag string, to []string, dropped *stored.Drop) (*stored.Table, error) {
	arriving := *old
	arriving.Dropped, arriving.Lineage = dropped, old.Line()
	arriving.ID, arriving.UID, arriving.Turn, arriving.RenamedFrom = to, objects.NewUID(), 0, old.ID
	arriving.Arriving = &stored.Arrival{UID: old.UID, Until: r.Now().Add(RenameLease).UTC()}
	arrivingETag, err := r.CreateChild(ctx, to, keys.Table(to), &arriving)
	if objects.Taken(err) {
		return nil, ErrTaken
	}
	if err != nil {
		return nil, err
	}
	moved := *old
	moved.Moved = &stored.Departure{To: to, UID: arriving.UID}
	movedETag, err := r.Store.Write(ctx, keys.Table(old.ID), &moved, objectstore.Condition{IfMatch: etag})
	if err != nil {
		// The write may have happened nonetheless, and another caller may have completed the
		// rename.
		return r.giveUp(context.WithoutCancel(ctx), &arriving, arrivingETag, err)
	}
	// If a write fails from here on, the next caller that finds the records completes the rename.
	_, _ = r.arrive(ctx, &arriving, arrivingETag, movedETag)
	return arriving.Arrived(), nil
}

// ErrTaken means that a new name has a record, which may or may not stand for a table.
var ErrTaken = errors.New("the name is taken")

// giveUp undoes a rename whose commit failed with the given error, unless the rename was done all
// the same. objects.Changed(err) is true if the caller may try again.
func (r *Registry) giveUp(ctx context.Context, arriving *stored.Table, etag string, reason error) (moved *stored.Table, err error) {
	err = objects.Race{Lost: reason}.Run(ctx, func(int) (done bool, err error) {
		var old, there stored.Table
		oldETag, found, err := r.Store.Find(ctx, keys.Table(arriving.RenamedFrom), &old)
		switch {
		case err != nil:
			return true, errors.Join(reason, err)
		case found && old.MovedTo(arriving):
			_, _ = r.arrive(ctx, arriving, etag, oldETag)
			moved = arriving.Arrived()
			return true, nil
		}
		err = r.takeBack(ctx, arriving, etag, &old, oldETag)
		if err == nil {
			return true, objectstore.ErrPrecondition
		}
		if !objects.Changed(err) {
			return true, errors.Join(reason, err)
		}
		// Another caller has undone or completed the rename, or has changed the old record.
		_, found, err = r.Store.Find(ctx, keys.Table(arriving.ID), &there)
		switch {
		case err == nil && (!found || there.UID != arriving.UID):
			return true, objectstore.ErrPrecondition
		case found && there.Arriving == nil:
			moved = arriving.Arrived()
			return true, nil
		}
		return false, nil
	})
	return moved, err
}

// takeBack deletes an arriving record before its commit point. If the commit could still arrive, it
// first changes the old record, so that it cannot. objects.Changed(err) is true when a record is
// not as expected.
func (r *Registry) takeBack(ctx context.Context, arriving *stored.Table, etag string, old *stored.Table, oldETag string) error {
	if old.UID == arriving.Arriving.UID && old.Moved == nil {
		next := *old
		next.Turn++
		if _, err := r.Store.Write(ctx, keys.Table(old.ID), &next, objectstore.Condition{IfMatch: oldETag}); err != nil {
			return err
		}
	}
	return r.Store.Remove(ctx, keys.Table(arriving.ID), arriving.UID, etag)
}

// arrive completes a rename after its commit point. It returns the ETag of the new record in its
// final form.
func (r *Registry) arrive(ctx context.Context, arriving *stored.Table, etag, oldETag string) (string, error) {
	plain, err := r.Store.Write(ctx, keys.Table(arriving.ID), arriving.Arrived(), objectstore.Condition{IfMatch: etag})
	if err != nil {
		return "", err
	}
	_ = r.Store.Remove(ctx, keys.Table(arriving.RenamedFrom), arriving.Arriving.UID, oldETag) // else the next caller does it
	return plain, nil
}

// depart completes a rename from the record at the old name.
func (r *Registry) depart(ctx context.Context, old *stored.Table, oldETag string) error {
	var there stored.Table
	etag, found, err := r.Store.Find(ctx, keys.Table(old.Moved.To), &there)
	if err != nil {
		return err
	}
	if found && old.MovedTo(&there) && there.Arriving != nil {
		_, err := r.arrive(ctx, &there, etag, oldETag)
		return err
	}
	return r.Store.Remove(ctx, keys.Table(old.ID), old.UID, oldETag)
}

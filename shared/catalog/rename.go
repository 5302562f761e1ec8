package catalog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"tiltyard/shared/objectstore"
	"tiltyard/shared/protocol"
)

// Renaming moves a record from one key to another, on a store that changes one key at a
// time. It takes four writes, and what a name stands for after each of them is
//
//	                                                        old name   new name
//	   before                                               table      -
//	1  put the new record, arriving (put-if-absent)         table      taken, no table
//	2  let the old one say that it moved (put-if-match)     -          table
//	3  make the new record a plain one (put-if-match)       -          table
//	4  delete the old one (delete-if-match)                 free       table
//
// The second write is the commit point: before it the old name is the table's and after it
// the new one, whatever else happens. Whoever meets a record that is arriving or has moved
// reads the other one to learn which, and does what is left to do:
//
//   - After the commit point: writes 3 and 4, in this order, so that an arriving record
//     whose origin is gone is always one that never came.
//   - Before it, when the origin is gone or another table: deletes the arriving record.
//   - Before it, when the renamer has not been heard of for its lease: rewrites the origin
//     with another turn, whereupon the second write cannot succeed any more, and then deletes
//     the arriving record.
//
// All writes are conditional on what was read, so any number of callers may do this at once,
// a renamer that was thought dead among them.

// An arrival marks a record that means nothing until the one at its old name has moved here.
type arrival struct {
	UID   string    `json:"uid"` // of the record at its old name
	Until time.Time `json:"until"`
}

// A departure marks a record whose table has another name now.
type departure struct {
	To  []string `json:"to"`
	UID string   `json:"uid"` // of the record there
}

// renameLease is how long a rename may take before others take it back.
const renameLease = 30 * time.Second

// errArriving says that a rename to the name, or a batch that makes it, is on its way.
var errArriving = errors.New("a table of this name is being made")

// plain says whether a record stands for a table by itself, whatever else happens.
func (r *tableRecord) plain() bool {
	return r.Arriving == nil && r.Moved == nil && (r.Pending == nil || !r.Pending.New && !r.Pending.Gone)
}

// movedTo says whether the table of r has become that of the other record.
func (r *tableRecord) movedTo(other *tableRecord) bool {
	return r.Moved != nil && r.Moved.UID == other.UID
}

// arrived returns an arriving record as a plain one.
func (r *tableRecord) arrived() *tableRecord {
	plain := *r
	plain.Arriving = nil
	return &plain
}

// RenameTable gives a table another name, also in another namespace, which must exist. Its
// data stays where it is. A taken name is TableAlreadyExists.
func (c *Catalog) RenameTable(ctx context.Context, id, to []string) (*Table, error) {
	if isRoot(to) {
		return nil, &protocol.Error{Code: protocol.InvalidInput, Message: "a table needs a name"}
	}
	defer c.lookups.Invalidate(tableKey(id))
	defer c.lookups.Invalidate(tableKey(to))
	for attempt := range createAttempts {
		old, etag, err := c.soleRecord(ctx, id)
		if err != nil {
			return nil, err
		}
		if slices.Equal(id, to) {
			return nil, TableExists(to)
		}
		if err := c.nameClaim(ctx, old, to); err != nil {
			return nil, err
		}
		renamed, err := c.rename(ctx, old, etag, to)
		switch {
		case err == nil:
			return c.table(renamed)
		case errors.Is(err, errTaken):
			err = c.awaitFree(ctx, to, attempt)
		case gone(err):
			err = nil // the table changed meanwhile, or is gone: look again
		}
		if err != nil {
			return nil, err
		}
	}
	return nil, lostRace("table", id, objectstore.ErrPrecondition)
}

// rename does the four writes. The error is errTaken when there is a record at the new
// name, and one that is gone when the old record is no longer the one given.
func (c *Catalog) rename(ctx context.Context, old *tableRecord, etag string, to []string) (*tableRecord, error) {
	arriving := *old
	arriving.ID, arriving.UID, arriving.Turn, arriving.RenamedFrom = to, newUID(), 0, old.ID
	arriving.Arriving = &arrival{UID: old.UID, Until: c.now().Add(renameLease).UTC()}
	arrivingETag, err := c.createChild(ctx, to, tableKey(to), &arriving)
	if errors.Is(err, objectstore.ErrPrecondition) {
		return nil, errTaken
	}
	if err != nil {
		return nil, err
	}
	moved := *old
	moved.Moved = &departure{To: to, UID: arriving.UID}
	movedETag, err := c.write(ctx, tableKey(old.ID), &moved, objectstore.Condition{IfMatch: etag})
	if err != nil {
		// It may have come to pass all the same, and somebody may have finished it.
		return c.giveUp(context.WithoutCancel(ctx), &arriving, arrivingETag, err)
	}
	// What fails from here on is finished by whoever meets it.
	_, _ = c.arrive(ctx, &arriving, arrivingETag, movedETag)
	return arriving.arrived(), nil
}

// errTaken says that there is a record at a new name; what it stands for is not known.
var errTaken = errors.New("the name is taken")

// giveUp takes back a rename whose commit failed for the given reason, unless it turns out
// to have been done. The error is one that is gone when it may be tried again.
func (c *Catalog) giveUp(ctx context.Context, arriving *tableRecord, etag string, reason error) (*tableRecord, error) {
	for range settleAttempts {
		var old tableRecord
		oldETag, err := c.read(ctx, tableKey(arriving.RenamedFrom), &old)
		switch {
		case err != nil && !errors.Is(err, objectstore.ErrNotExist):
			return nil, errors.Join(reason, err)
		case err == nil && old.movedTo(arriving):
			_, _ = c.arrive(ctx, arriving, etag, oldETag)
			return arriving.arrived(), nil
		}
		err = c.takeBack(ctx, arriving, etag, &old, oldETag)
		if err == nil {
			return nil, objectstore.ErrPrecondition
		}
		if !gone(err) {
			return nil, errors.Join(reason, err)
		}
		// Somebody else took it back, or finished it, or changed the old record.
		var there tableRecord
		_, err = c.read(ctx, tableKey(arriving.ID), &there)
		switch {
		case errors.Is(err, objectstore.ErrNotExist) || err == nil && there.UID != arriving.UID:
			return nil, objectstore.ErrPrecondition
		case err == nil && there.Arriving == nil:
			return arriving.arrived(), nil
		}
	}
	return nil, reason
}

// takeBack deletes an arriving record before its commit point. Where the commit could still
// come, the old record is changed first, so that it cannot. A record that is gone is not
// what it was expected to be.
func (c *Catalog) takeBack(ctx context.Context, arriving *tableRecord, etag string, old *tableRecord, oldETag string) error {
	if old.UID == arriving.Arriving.UID && old.Moved == nil {
		next := *old
		next.Turn++
		if _, err := c.write(ctx, tableKey(old.ID), &next, objectstore.Condition{IfMatch: oldETag}); err != nil {
			return err
		}
	}
	return c.remove(ctx, tableKey(arriving.ID), arriving.UID, etag)
}

// arrive does what is left of a rename after its commit point, and returns the ETag of the
// new record as a plain one.
func (c *Catalog) arrive(ctx context.Context, arriving *tableRecord, etag, oldETag string) (string, error) {
	plain, err := c.write(ctx, tableKey(arriving.ID), arriving.arrived(), objectstore.Condition{IfMatch: etag})
	if err != nil {
		return "", err
	}
	_ = c.remove(ctx, tableKey(arriving.RenamedFrom), arriving.Arriving.UID, oldETag) // or whoever meets it
	return plain, nil
}

// depart does what is left of a rename, met at its old name.
func (c *Catalog) depart(ctx context.Context, old *tableRecord, oldETag string) error {
	var there tableRecord
	etag, err := c.read(ctx, tableKey(old.Moved.To), &there)
	if err != nil && !errors.Is(err, objectstore.ErrNotExist) {
		return err
	}
	if err == nil && old.movedTo(&there) && there.Arriving != nil {
		_, err := c.arrive(ctx, &there, etag, oldETag)
		return err
	}
	return c.remove(ctx, tableKey(old.ID), old.UID, oldETag)
}

// settled reads what a name stands for, and does what is left of a rename or a batch that it
// meets. The error is objectstore.ErrNotExist when there is no table, and errArriving when
// there may be one soon.
//
// What it answers follows from what it has read; the writes are a service to the next
// caller, and a reader that may not write does without them.
func (c *Catalog) settled(ctx context.Context, id []string) (*tableRecord, string, error) {
	for range settleAttempts {
		record, etag, err := c.settledName(ctx, id)
		if err != nil || record.Pending == nil {
			return record, etag, err
		}
		record, etag, err = c.settleBatch(ctx, record, etag)
		if !errors.Is(err, objectstore.ErrPrecondition) {
			return record, etag, err
		}
	}
	return nil, "", lostRace("table", id, objectstore.ErrPrecondition)
}

// settledName is settled as far as renames go.
func (c *Catalog) settledName(ctx context.Context, id []string) (*tableRecord, string, error) {
	seen := ""
	for range settleAttempts {
		record := new(tableRecord)
		etag, err := c.read(ctx, tableKey(id), record)
		switch {
		case err != nil || record.Arriving == nil && record.Moved == nil:
			return record, etag, err
		case record.Moved != nil:
			_ = c.depart(ctx, record, etag)
			return nil, "", errMoved(id)
		}
		there, thereETag, err := c.settleArrival(ctx, record, etag)
		if !gone(err) {
			return there, thereETag, err
		}
		if errors.Is(err, objectstore.ErrNotExist) || etag == seen {
			return nil, "", errMoved(id)
		}
		seen = etag
	}
	return nil, "", lostRace("table", id, objectstore.ErrPrecondition)
}

// settleArrival does what is left of a rename, met at its new name, and returns the record
// of the table that is there then. The error is objectstore.ErrNotExist when there is none,
// and objectstore.ErrPrecondition when the record has to be read again.
func (c *Catalog) settleArrival(ctx context.Context, record *tableRecord, etag string) (*tableRecord, string, error) {
	var old tableRecord
	oldETag, err := c.read(ctx, tableKey(record.RenamedFrom), &old)
	if err != nil && !errors.Is(err, objectstore.ErrNotExist) {
		return nil, "", err
	}
	origin := err == nil && old.UID == record.Arriving.UID
	switch {
	case origin && old.movedTo(record):
		plain, err := c.arrive(ctx, record, etag, oldETag)
		if gone(err) {
			return nil, "", objectstore.ErrPrecondition
		}
		if err == nil {
			etag = plain
		}
		return record.arrived(), etag, nil
	case origin && old.Moved == nil && c.now().Before(record.Arriving.Until):
		return nil, "", errArriving
	case origin && old.Moved == nil:
		_ = c.takeBack(ctx, record, etag, &old, oldETag)
		return nil, "", objectstore.ErrNotExist
	}
	// It never came; or it came, and was finished after we had read it. Then there is
	// another record now, and it is not deleted.
	if c.takeBack(ctx, record, etag, &old, oldETag) != nil {
		return nil, "", objectstore.ErrPrecondition
	}
	return nil, "", objectstore.ErrNotExist
}

// settleAttempts bounds how often a name that changes while it is read is read again.
const settleAttempts = 5

// errMoved is the error of a record that stands for no table.
func errMoved(id []string) error {
	return fmt.Errorf("table %s has been renamed: %w", display(id), objectstore.ErrNotExist)
}

// awaitFree is asked when a record is there where a new one should be: TableAlreadyExists
// when it stands for a table, nil when it is worth trying again.
func (c *Catalog) awaitFree(ctx context.Context, id []string, attempt int) error {
	_, _, err := c.settled(ctx, id)
	switch {
	case err == nil:
		return c.taken(ctx, id, TableExists(id))
	case errors.Is(err, errArriving):
		return sleep(ctx, dropPause<<attempt)
	case errors.Is(err, objectstore.ErrNotExist):
		return nil
	}
	return err
}

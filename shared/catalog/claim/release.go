package claim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"tiltyard/shared/catalog/objects"
	"tiltyard/shared/catalog/stored"
	"tiltyard/shared/protocol"
	"tiltyard/shared/storage/objectstore"
)

// Release deletes a claim. If the deletion fails, the claim is abandoned, and the next caller that
// finds it deletes it.
func (c *Places) Release(ctx context.Context, one *Claim) {
	_ = c.store.Delete(context.WithoutCancel(ctx), one.key, objectstore.Condition{IfMatch: one.etag})
}

// ReleaseOf deletes the claim of a removed record whose data stays. If the catalog made the place
// for the table, it also puts a note that the place has no owner. If a crash prevents the note, the
// next registration at the place reads all records to find the owner.
func (c *Places) ReleaseOf(ctx context.Context, record *stored.Table) {
	if record == nil {
		return
	}
	if record.Claim == stored.OwnPlace {
		_, _ = c.store.Put(context.WithoutCancel(ctx), OwnerlessKey(record.Location), nil, objectstore.Condition{})
	}
	if !record.HasClaim() {
		return
	}
	if one, err := c.readClaim(context.WithoutCancel(ctx), claimKey(record.Location, record.Claim)); err == nil && one != nil {
		c.Release(ctx, one)
	}
}

// OwnerlessKey is the key of the note that no table without a claim is at a place which the catalog
// made. The note stays true: the catalog makes no place twice, and every later table there has a
// claim.
func OwnerlessKey(place string) string { return placesPrefix + "ownerless/" + place }

// A drop that deletes the files of a place which the catalog made, and a registration at that
// place, race to put this note; the first put wins. Its content is the time until which a drop may
// be deleting, or empty if the files stay.

// ownerless reports whether a note shows that the original table of a place no longer exists. The
// error is ConcurrentModification while the files there are being deleted.
func (c *Places) ownerless(ctx context.Context, place string) (bool, error) {
	note, _, err := c.store.Get(ctx, OwnerlessKey(place))
	if objects.Missing(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for the owner of a location: %w", err)
	}
	return true, c.checkNote(note)
}

// checkNote returns errGoing if a drop may still be deleting the files of the place.
func (c *Places) checkNote(note []byte) error {
	if len(note) == 0 {
		return nil
	}
	until, err := time.Parse(time.RFC3339, string(note))
	if err != nil {
		return fmt.Errorf("the note on the owner of a location: %w", err)
	}
	if c.now().Before(until) {
		return errGoing
	}
	return nil
}

// errGoing is the error if a drop is deleting the files of a place.
var errGoing = &protocol.Error{
	Code: protocol.ConcurrentModification, Message: "the location cannot be used: the files of a dropped table are being deleted there",
	Detail: "choose another folder",
}

// keepOwnerless puts a note that no table without a claim is at a place, and that its files stay.
// If a drop has put its note first, the error is ConcurrentModification while it may be deleting.
func (c *Places) keepOwnerless(ctx context.Context, place string) error {
	note, _, err := objects.PutOnce(ctx, c.store, OwnerlessKey(place), nil)
	if err != nil {
		return fmt.Errorf("note the owner of a location: %w", err)
	}
	return c.checkNote(note)
}

// MayDelete reports whether a drop may delete the files of a place that the catalog made, without
// listing claims; the record must be removed before. If it returns true, registrations at the place
// are refused for the time of [GoingLease], or until the note is deleted. It returns false if a
// registration came first.
func (c *Places) MayDelete(ctx context.Context, place string) (bool, error) {
	until := c.now().Add(GoingLease).UTC().Format(time.RFC3339)
	_, err := c.store.Put(ctx, OwnerlessKey(place), []byte(until), objectstore.Condition{IfAbsent: true})
	if objects.Changed(err) {
		return false, nil
	}
	if errors.Is(err, objectstore.ErrUnknownOutcome) {
		note, _, readErr := c.store.Get(ctx, OwnerlessKey(place))
		if readErr == nil {
			return string(note) == until, nil
		}
	}
	if err != nil {
		return false, fmt.Errorf("note that a location is going: %w", err)
	}
	return true, nil
}

// DeleteNote deletes the note about a place after its files were deleted. If that fails, the note
// is garbage.
func (c *Places) DeleteNote(ctx context.Context, place string) {
	_ = c.store.Delete(context.WithoutCancel(ctx), OwnerlessKey(place), objectstore.Condition{})
}

// AddName adds the new name of a table to its claim before a rename, so that the claim leads to the
// table whether the rename succeeds or not.
func (c *Places) AddName(ctx context.Context, record *stored.Table, to []string) error {
	if !record.HasClaim() {
		return nil
	}
	return objects.Race{What: "table", ID: record.ID}.Run(ctx, func(int) (done bool, err error) {
		one, err := c.readClaim(ctx, claimKey(record.Location, record.Claim))
		if err != nil || one == nil || slices.ContainsFunc(one.Names, func(id []string) bool { return slices.Equal(id, to) }) {
			return true, err
		}
		one.Names = append(one.Names, to)
		_, err = c.store.Write(ctx, one.key, one, objectstore.Condition{IfMatch: one.etag})
		return objects.Written(err)
	})
}

// MarkGoing marks the claim of a table as going, or creates a marked claim if it has none.
func (c *Places) MarkGoing(ctx context.Context, record *stored.Table) (going *Claim, err error) {
	err = objects.Race{What: "table", ID: record.ID}.Run(ctx, func(int) (done bool, err error) {
		uid, cond := record.Claim, objectstore.Condition{IfAbsent: true}
		if !record.HasClaim() {
			uid = objects.NewUID()
		}
		going = &Claim{
			Place: record.Location, UID: uid, Names: [][]string{record.ID}, State: claimGoing,
			Until: c.now().Add(GoingLease).UTC(), key: claimKey(record.Location, uid),
		}
		there, err := c.readClaim(ctx, going.key)
		if err != nil {
			return true, err
		}
		if there != nil {
			cond = objectstore.Condition{IfMatch: there.etag}
		}
		going.etag, err = c.store.Write(ctx, going.key, going, cond)
		return objects.Written(err)
	})
	return going, err
}

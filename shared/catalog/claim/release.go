package claim

import (
	"context"
	"fmt"
	"slices"

	"tiltyard/shared/catalog/objects"
	"tiltyard/shared/catalog/stored"
	"tiltyard/shared/objectstore"
)

// Release deletes a claim. If that fails, the claim is abandoned and the next caller that finds it
// deletes it.
func (c *Places) Release(ctx context.Context, one *Claim) {
	_ = c.store.Delete(context.WithoutCancel(ctx), one.key, objectstore.Condition{IfMatch: one.etag})
}

// ReleaseOf deletes the claim of a record that was removed while its data stays. If the catalog
// made the place for the table, it also writes a note that the place has no owner. When a crash
// prevents the note, the next registration at the place reads all records to find the owner.
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

// OwnerlessKey is the key of the note that the table of a place is gone. The note stays true: the
// catalog makes no place twice, and every later table there has a claim.
func OwnerlessKey(place string) string { return placesPrefix + "ownerless/" + place }

// ownerless reports whether the table that a place was made for is known to be gone.
func (c *Places) ownerless(ctx context.Context, place string) (bool, error) {
	there, err := c.store.Exists(ctx, OwnerlessKey(place))
	if err != nil {
		return false, fmt.Errorf("look for the owner of a location: %w", err)
	}
	return there, nil
}

// AddName adds the new name of a table to its claim before a rename, so that the claim leads to
// the table whether the rename succeeds or not.
func (c *Places) AddName(ctx context.Context, record *stored.Table, to []string) error {
	if !record.HasClaim() {
		return nil
	}
	for range objects.Tries {
		one, err := c.readClaim(ctx, claimKey(record.Location, record.Claim))
		if err != nil || one == nil {
			return err
		}
		if slices.ContainsFunc(one.Names, func(id []string) bool { return slices.Equal(id, to) }) {
			return nil
		}
		one.Names = append(one.Names, to)
		if _, err = c.store.Write(ctx, one.key, one, objectstore.Condition{IfMatch: one.etag}); !objects.Changed(err) {
			return err
		}
	}
	return stored.LostRace("table", record.ID, objectstore.ErrPrecondition)
}

// MarkGoing marks the claim of a table as going, or makes a claim with that mark.
func (c *Places) MarkGoing(ctx context.Context, record *stored.Table) (*Claim, error) {
	for range objects.Tries {
		uid, cond := record.Claim, objectstore.Condition{IfAbsent: true}
		if !record.HasClaim() {
			uid = objects.NewUID()
		}
		going := &Claim{
			Place: record.Location, UID: uid, Names: [][]string{record.ID}, State: claimGoing,
			Until: c.now().Add(GoingLease).UTC(), key: claimKey(record.Location, uid),
		}
		there, err := c.readClaim(ctx, going.key)
		if err != nil {
			return nil, err
		}
		if there != nil {
			cond = objectstore.Condition{IfMatch: there.etag}
		}
		if going.etag, err = c.store.Write(ctx, going.key, going, cond); !objects.Changed(err) {
			return going, err
		}
	}
	return nil, stored.LostRace("table", record.ID, objectstore.ErrPrecondition)
}

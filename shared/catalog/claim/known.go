package claim

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"tiltyard/shared/catalog/keys"
	"tiltyard/shared/catalog/objects"
	"tiltyard/shared/catalog/stored"
	"tiltyard/shared/storage/objectstore"
)

// claimForOwner gives a claim to the table that a place was made for, if that table still exists,
// so that its drop finds the other table at its place. No index maps a place to its owner, so
// claimForOwner reads every table record. Afterwards it puts a note that no table without a claim
// is there, which saves the next caller this work.
func (c *Places) claimForOwner(ctx context.Context, place string) error {
	if gone, err := c.ownerless(ctx, place); gone || err != nil {
		return err
	}
	seen := map[string]string{}
	for range 2 { // the first pass misses a table that is renamed while records are listed
		err := stored.EachTable(ctx, c.store, seen, func(record *stored.Table) error {
			if record.Location != place || record.HasClaim() || record.Moved != nil {
				return nil
			}
			return c.giveClaim(ctx, record.ID, place)
		})
		if err != nil {
			return err
		}
	}
	return c.keepOwnerless(ctx, place)
}

// giveClaim makes a claim for a table at a place, if the table has none and still exists.
func (c *Places) giveClaim(ctx context.Context, id []string, place string) error {
	return objects.Race{What: "table", ID: id}.Run(ctx, func(attempt int) (done bool, err error) {
		found, err := c.names.Settled(ctx, id)
		if found.Soon {
			return false, objects.Pause(ctx, attempt)
		}
		record := found.Record
		if err != nil || record == nil || record.Location != place || record.HasClaim() {
			return true, err
		}
		given := &Claim{Place: place, UID: objects.NewUID(), Names: [][]string{id}, State: claimHeld, Joins: true, Until: c.now().Add(claimLease).UTC()}
		given.key = claimKey(place, given.UID)
		if given.etag, err = c.store.Write(ctx, given.key, given, objectstore.Condition{IfAbsent: true}); err != nil {
			return true, err
		}
		next := *record
		next.Claim = given.UID
		if _, err = c.store.Write(ctx, keys.Table(id), &next, objectstore.Condition{IfMatch: found.ETag}); err == nil {
			c.names.Forget(id)
		} else if objects.Changed(err) {
			c.Release(ctx, given)
		}
		return objects.Written(err)
	})
}

// knownKey is the key of a note that all tables have the claims that they need. Records older than
// claims get theirs once. If such tables overlap, they are left as they are.
const knownKey = placesPrefix + "known"

// EnsureKnown ensures that every table at a location chosen by a client has a claim.
func (c *Places) EnsureKnown(ctx context.Context) error {
	if c.known.Load() {
		return nil
	}
	known, err := c.store.Exists(ctx, knownKey)
	if err == nil && !known {
		err = c.ClaimAll(ctx)
	}
	if err != nil {
		return fmt.Errorf("find the locations of tables: %w", err)
	}
	c.known.Store(true)
	return nil
}

// ClaimAll adds the missing claims of all tables.
func (c *Places) ClaimAll(ctx context.Context) error {
	at := map[string][][]string{}
	err := stored.EachTable(ctx, c.store, map[string]string{}, func(record *stored.Table) error {
		if record.Claim == "" && record.Moved == nil {
			at[record.Location] = append(at[record.Location], record.ID)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, place := range slices.Sorted(maps.Keys(at)) { // a fixed order gives equal catalogs equal requests
		if len(at[place]) == 1 && IsOwn(place) {
			continue
		}
		for _, id := range at[place] {
			if err := c.giveClaim(ctx, id, place); err != nil {
				return err
			}
		}
	}
	_, err = c.store.Put(ctx, knownKey, []byte(c.now().UTC().Format(time.RFC3339)), objectstore.Condition{})
	return err
}

package claim

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"tiltyard/shared/catalog/keys"
	"tiltyard/shared/catalog/objects"
	"tiltyard/shared/catalog/stored"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/storage/objectstore"
)

// Take claims a place for a table. With joins, other tables may be at exactly the same place. With
// replaces, the table takes over from the one of the same id. The error is InvalidInput if the
// place overlaps the place of another table, and ConcurrentModification if that cannot be decided
// now.
func (c *Places) Take(ctx context.Context, id []string, at objectstore.Location, joins, replaces bool) (*Claim, error) {
	place := c.Place(at)
	if InsideOwn(place) {
		return nil, overlap("lies inside the folder of a table", nil)
	}
	if err := c.EnsureKnown(ctx); err != nil {
		return nil, err
	}
	uid := objects.NewUID()
	mine := &Claim{
		Place: place, UID: uid, Names: [][]string{id}, State: claimTrying, Joins: joins, replaces: replaces,
		Until: c.now().Add(claimLease).UTC(), key: claimKey(place, uid),
	}
	var err error
	if mine.etag, err = c.store.Write(ctx, mine.key, mine, objectstore.Condition{IfAbsent: true}); err != nil {
		return nil, err
	}
	if IsOwn(place) {
		err = c.claimForOwner(ctx, place)
	}
	if err == nil {
		err = c.settleRivals(ctx, mine)
	}
	if err == nil {
		mine.State = claimHeld
		mine.etag, err = c.store.Write(ctx, mine.key, mine, objectstore.Condition{IfMatch: mine.etag})
		if objects.Changed(err) {
			return nil, overlap("overlaps the location of a table that is being made", err)
		}
	}
	if err != nil {
		c.Release(ctx, mine)
		return nil, err
	}
	return mine, nil
}

// overlap is the error for a location that overlaps the location of another table.
func overlap(why string, cause error) error {
	return &protocol.Error{
		Code: protocol.InvalidInput, Message: "the location cannot be used: it " + why,
		Detail: "choose a folder that is not inside and not around the folder of another table", Err: cause,
	}
}

// settleRivals compares a claim with the undecided ones that overlap it, and waits until there are
// none.
func (c *Places) settleRivals(ctx context.Context, mine *Claim) error {
	return objects.Race{What: "the location of table", ID: mine.Names[0], Tries: rivalTries, Wait: true}.Run(ctx, func(int) (done bool, err error) {
		others, err := c.About(ctx, mine.Place)
		if err != nil {
			return true, err
		}
		undecided := false
		for _, other := range others {
			if other.UID == mine.UID {
				continue
			}
			wait, err := c.settleRival(ctx, mine, other)
			if err != nil {
				return true, err
			}
			undecided = undecided || wait
		}
		return !undecided, nil
	})
}

// rivalTries bounds the comparisons of a claim with undecided ones.
const rivalTries = 13

// settleRival compares our claim with one that overlaps it. If wait is true, the caller must
// compare again later.
func (c *Places) settleRival(ctx context.Context, mine, other *Claim) (wait bool, err error) {
	if other.State == claimTrying {
		switch {
		case mine.Joins && other.Joins && mine.Place == other.Place:
			return false, nil
		case !c.now().Before(other.Until), mine.key < other.key:
			err := c.store.Delete(ctx, other.key, objectstore.Condition{IfMatch: other.etag})
			if objects.Changed(err) {
				return true, nil
			}
			return false, err
		}
		return true, nil
	}
	if other.State == claimGoing && c.now().Before(other.Until) {
		return true, nil
	}
	record, soon, err := c.Owner(ctx, other)
	switch {
	case err != nil:
		return false, err
	case record == nil && soon:
		return true, nil
	case record == nil:
		c.Release(ctx, other)
		return false, nil
	case mine.Place == other.Place && (mine.Joins && mayShare(ctx, record) || mine.replaces && slices.Equal(record.ID, mine.Names[0])):
		return false, nil
	}
	return false, overlap(describeOverlap(ctx, mine.Place, other.Place, record), nil)
}

// mayShare reports whether the sender of the request may give a table a second name, which gives
// other principals the rights that they have under that name.
func mayShare(ctx context.Context, record *stored.Table) bool {
	if !auth.Limited(ctx) {
		return true
	}
	reads, writes := auth.DataAccess(ctx, record.ID)
	return reads && writes
}

// describeOverlap describes the overlap of a place with the place of a table. It names the table
// only if the sender of the request may see it.
func describeOverlap(ctx context.Context, mine, other string, record *stored.Table) string {
	how := "is"
	switch {
	case strings.HasPrefix(mine, other+"/"):
		how = "lies inside"
	case strings.HasPrefix(other, mine+"/"):
		how = "lies around"
	}
	if d := record.Dropped; d != nil && auth.Sees(ctx, auth.Table(d.ID)) {
		return fmt.Sprintf("%s the folder of table %s, which was dropped and can be restored until %s; a purge of the drop %s frees it",
			how, keys.Display(d.ID), d.Until.UTC().Format(time.RFC3339), record.ID[1])
	}
	if record.Dropped != nil || !auth.Sees(ctx, auth.Table(record.ID)) {
		return how + " the folder of a table"
	}
	return fmt.Sprintf("%s the folder of table %s", how, keys.Display(record.ID))
}

// StillHeld reports whether a claim is unchanged after the put of the record that names it.
func (c *Places) StillHeld(ctx context.Context, mine *Claim) (bool, error) {
	now, err := c.readClaim(ctx, mine.key)
	return now != nil && now.State == claimHeld, err
}

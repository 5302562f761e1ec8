package catalog

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"tiltyard/shared/auth"
	"tiltyard/shared/objectstore"
	"tiltyard/shared/protocol"
)

// claimPlace claims a place for a table of that id. One that joins may share it with other
// tables that lie at exactly that place, and one that replaces the table of that id with that one. The error is InvalidInput when the place overlaps that of
// another table, and ConcurrentModification when it cannot be told now.
func (c *Catalog) claimPlace(ctx context.Context, id []string, at objectstore.Location, joins, replaces bool) (*claim, error) {
	place := c.placeOf(at)
	if insideOwn(place) {
		return nil, overlap("lies inside the folder of a table", nil)
	}
	if err := c.knowPlaces(ctx); err != nil {
		return nil, err
	}
	uid := newUID()
	mine := &claim{
		Place: place, UID: uid, Names: [][]string{id}, State: claimTrying, Joins: joins, replaces: replaces,
		Until: c.now().Add(claimLease).UTC(), key: claimKey(place, uid),
	}
	var err error
	if mine.etag, err = c.write(ctx, mine.key, mine, objectstore.Condition{IfAbsent: true}); err != nil {
		return nil, err
	}
	if isOwn(place) {
		err = c.claimForOwner(ctx, place)
	}
	if err == nil {
		err = c.settleRivals(ctx, mine)
	}
	if err == nil {
		mine.State = claimHeld
		mine.etag, err = c.write(ctx, mine.key, mine, objectstore.Condition{IfMatch: mine.etag})
		if gone(err) {
			return nil, overlap("overlaps the place of a table that is being made", err)
		}
	}
	if err != nil {
		c.release(ctx, mine)
		return nil, err
	}
	return mine, nil
}

// overlap is the answer to who names a place that another table has.
func overlap(why string, cause error) error {
	return &protocol.Error{
		Code: protocol.InvalidInput, Message: "the location cannot be used: it " + why,
		Detail: "tables lie apart: choose a folder that is not inside and not around that of another table", Err: cause,
	}
}

// settleRivals looks for claims that are in the way, until none is that has not been decided.
func (c *Catalog) settleRivals(ctx context.Context, mine *claim) error {
	for attempt := 0; ; attempt++ {
		others, err := c.claimsAbout(ctx, mine.Place)
		if err != nil {
			return err
		}
		undecided := false
		for _, other := range others {
			if other.UID == mine.UID {
				continue
			}
			wait, err := c.settleRival(ctx, mine, other)
			if err != nil {
				return err
			}
			undecided = undecided || wait
		}
		if !undecided {
			return nil
		}
		if attempt == rivalAttempts {
			return lostRace("the place of table", mine.Names[0], objectstore.ErrPrecondition)
		}
		if err := sleep(ctx, dropPause<<min(attempt, 5)); err != nil {
			return err
		}
	}
}

// rivalAttempts bounds how often a claim looks at others that are not decided.
const rivalAttempts = 12

// settleRival looks at one claim that overlaps. It has to be looked at again when it waits.
func (c *Catalog) settleRival(ctx context.Context, mine, other *claim) (wait bool, err error) {
	if other.State == claimTrying {
		switch {
		case mine.Joins && other.Joins && mine.Place == other.Place:
			return false, nil
		case !c.now().Before(other.Until), mine.key < other.key:
			err := c.store.Delete(ctx, other.key, objectstore.Condition{IfMatch: other.etag})
			if gone(err) {
				return true, nil
			}
			return false, err
		}
		return true, nil
	}
	if other.State == claimGoing && c.now().Before(other.Until) {
		return true, nil
	}
	record, soon, err := c.owner(ctx, other)
	switch {
	case err != nil:
		return false, err
	case record == nil && soon:
		return true, nil
	case record == nil:
		c.release(ctx, other)
		return false, nil
	case mine.Place == other.Place && (mine.Joins && mayShare(ctx, record) || mine.replaces && slices.Equal(record.ID, mine.Names[0])):
		return false, nil
	}
	return false, overlap(describeOverlap(ctx, mine.Place, other.Place, record), nil)
}

// mayShare says whether the sender of the request may give a table another name, by which
// others could do with it what they may do by that name.
func mayShare(ctx context.Context, record *tableRecord) bool {
	if !auth.Limited(ctx) {
		return true
	}
	reads, writes := auth.DataAccess(ctx, record.ID)
	return reads && writes
}

// describeOverlap says how a place overlaps that of a table, which is named to who sees it.
func describeOverlap(ctx context.Context, mine, other string, record *tableRecord) string {
	how := "is"
	switch {
	case strings.HasPrefix(mine, other+"/"):
		how = "lies inside"
	case strings.HasPrefix(other, mine+"/"):
		how = "lies around"
	}
	if !auth.Sees(ctx, auth.Table(record.ID)) {
		return how + " the folder of a table"
	}
	return fmt.Sprintf("%s the folder of table %s", how, display(record.ID))
}

// stillClaimed says whether a claim is as it was made, after the record was put that names it.
func (c *Catalog) stillClaimed(ctx context.Context, mine *claim) (bool, error) {
	now, err := c.readClaim(ctx, mine.key)
	return now != nil && now.State == claimHeld, err
}

// claimForOwner gives a claim to the table whose folder a place was made for, if it is still
// there: whoever drops it then knows that it is not alone. No index leads from a place to its
// owner, so that it reads every record, unless a note says that the owner is gone.
func (c *Catalog) claimForOwner(ctx context.Context, place string) error {
	if gone, err := c.ownerless(ctx, place); gone || err != nil {
		return err
	}
	seen := map[string]string{}
	for range 2 { // a table that is renamed while records are listed is not seen the first time
		err := c.eachRecord(ctx, seen, func(record *tableRecord) error {
			if record.Location != place || record.hasClaim() || record.Moved != nil {
				return nil
			}
			return c.giveClaim(ctx, record.ID, place)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// giveClaim makes a claim for a table that is at a place and has none. One that is
// gone needs none.
func (c *Catalog) giveClaim(ctx context.Context, id []string, place string) error {
	for attempt := range createAttempts {
		record, etag, err := c.settled(ctx, id)
		switch {
		case errors.Is(err, objectstore.ErrNotExist):
			return nil
		case errors.Is(err, errArriving):
			if err := sleep(ctx, dropPause<<attempt); err != nil {
				return err
			}
			continue
		case err != nil:
			return err
		case record.Location != place || record.hasClaim():
			return nil
		}
		given := &claim{Place: place, UID: newUID(), Names: [][]string{id}, State: claimHeld, Joins: true, Until: c.now().Add(claimLease).UTC()}
		given.key = claimKey(place, given.UID)
		if given.etag, err = c.write(ctx, given.key, given, objectstore.Condition{IfAbsent: true}); err != nil {
			return err
		}
		next := *record
		next.Claim = given.UID
		if _, err = c.write(ctx, tableKey(id), &next, objectstore.Condition{IfMatch: etag}); err == nil {
			c.lookups.Invalidate(tableKey(id))
			return nil
		}
		if !gone(err) {
			return err
		}
		c.release(ctx, given)
	}
	return lostRace("table", id, objectstore.ErrPrecondition)
}

// eachRecord calls f with the record of each table, whatever its state, that is not in seen as
// it is now, and enters it there.
func (c *Catalog) eachRecord(ctx context.Context, seen map[string]string, f func(*tableRecord) error) error {
	opts := objectstore.ListOptions{Prefix: recordsPrefix, Limit: listPageSize}
	for {
		page, err := c.store.List(ctx, opts)
		if err != nil {
			return fmt.Errorf("list tables: %w", err)
		}
		records, err := c.readRecords(ctx, page.Objects, seen)
		if err != nil {
			return err
		}
		for _, record := range records {
			if err := f(record); err != nil {
				return err
			}
		}
		if !page.More || len(page.Objects) == 0 {
			return nil
		}
		opts.StartAfter = page.Objects[len(page.Objects)-1].Key
	}
}

// readRecords reads those of listed objects that are records of tables, several at a time, and
// returns them in the order of the list.
func (c *Catalog) readRecords(ctx context.Context, listed []objectstore.Info, seen map[string]string) ([]*tableRecord, error) {
	var keys []string
	for _, object := range listed {
		if strings.Contains(object.Key, tableKind) && (seen[object.Key] == "" || seen[object.Key] != object.ETag) {
			keys = append(keys, object.Key)
			seen[object.Key] = object.ETag
		}
	}
	found := make([]*tableRecord, len(keys))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(batchFanOut)
	for i, key := range keys {
		group.Go(func() error {
			record := new(tableRecord)
			if _, err := c.read(ctx, key, record); err != nil {
				return ignoreGone(err)
			}
			found[i] = record
			return nil
		})
	}
	err := group.Wait()
	return slices.DeleteFunc(found, func(r *tableRecord) bool { return r == nil }), err
}

// knownKey says that all tables that should have a claim have one. Records of before there
// were claims get theirs once, also where they overlap: they are left as they are.
const knownKey = placesPrefix + "known"

// knowPlaces makes sure that what lies at places that somebody named can be found by them.
func (c *Catalog) knowPlaces(ctx context.Context) error {
	if c.placesKnown.Load() {
		return nil
	}
	_, _, err := c.store.GetRanges(ctx, knownKey)
	if errors.Is(err, objectstore.ErrNotExist) {
		err = c.claimForAll(ctx)
	}
	if err != nil {
		return fmt.Errorf("find the places of tables: %w", err)
	}
	c.placesKnown.Store(true)
	return nil
}

func (c *Catalog) claimForAll(ctx context.Context) error {
	at := map[string][][]string{}
	err := c.eachRecord(ctx, map[string]string{}, func(record *tableRecord) error {
		if record.Claim == "" && record.Moved == nil {
			at[record.Location] = append(at[record.Location], record.ID)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, place := range slices.Sorted(maps.Keys(at)) { // so that the same catalog is the same requests
		if len(at[place]) == 1 && isOwn(place) {
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

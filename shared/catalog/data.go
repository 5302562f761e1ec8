package catalog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"tiltyard/shared/objectstore"
	"tiltyard/shared/protocol"
)

// DropTable removes the name and then the data. The table is gone when its name is; what
// a crash leaves of the data is garbage that nothing refers to. Data that is another table's
// too stays.
func (c *Catalog) DropTable(ctx context.Context, id []string) (*Table, error) {
	record, table, err := c.takeAway(ctx, id)
	if err != nil {
		return nil, err
	}
	if record.Claim == ownPlace {
		err = DeleteData(ctx, table.Location)
	} else {
		err = c.deleteClaimed(ctx, record, table.Location)
	}
	if err != nil {
		return nil, &protocol.Error{
			Code: protocol.ServiceUnavailable, Message: fmt.Sprintf("table %s is dropped, but not all of its data is deleted", display(id)),
			Detail: "the name is free; what is left of the data belongs to no table", Unsettled: true, Err: err,
		}
	}
	return table, nil
}

// deleteClaimed deletes the data of a table that was dropped and may not be alone at its place.
// The claim says meanwhile that it is going: who comes to the place sees that, or is seen.
func (c *Catalog) deleteClaimed(ctx context.Context, record *tableRecord, at objectstore.Location) error {
	ctx, done := context.WithTimeout(ctx, goingLease-time.Minute)
	defer done()
	if err := c.knowPlaces(ctx); err != nil {
		return err
	}
	going, err := c.markGoing(ctx, record)
	if err != nil {
		return err
	}
	defer c.release(ctx, going)
	others, err := c.claimsAbout(ctx, record.Location)
	if err != nil {
		return err
	}
	var inside []string
	for _, other := range others {
		if other.UID == going.UID {
			continue
		}
		owner, soon, err := c.owner(ctx, other)
		switch {
		case err != nil:
			return err
		case owner == nil && !soon:
			continue
		case !strings.HasPrefix(other.Place, record.Location+"/"):
			return nil
		}
		inside = append(inside, at.Prefix+strings.TrimPrefix(other.Place, record.Location)+"/")
	}
	if err := deleteData(ctx, at, inside); err != nil {
		return err
	}
	if isOwn(record.Location) {
		_ = c.store.Delete(ctx, ownerlessKey(record.Location), objectstore.Condition{}) // else it is garbage
	}
	return nil
}

// markGoing marks the claim of a table as going, or makes one that is.
func (c *Catalog) markGoing(ctx context.Context, record *tableRecord) (*claim, error) {
	for range createAttempts {
		uid, cond := record.Claim, objectstore.Condition{IfAbsent: true}
		if !record.hasClaim() {
			uid = newUID()
		}
		going := &claim{
			Place: record.Location, UID: uid, Names: [][]string{record.ID}, State: claimGoing,
			Until: c.now().Add(goingLease).UTC(), key: claimKey(record.Location, uid),
		}
		there, err := c.readClaim(ctx, going.key)
		if err != nil {
			return nil, err
		}
		if there != nil {
			cond = objectstore.Condition{IfMatch: there.etag}
		}
		if going.etag, err = c.write(ctx, going.key, going, cond); !gone(err) {
			return going, err
		}
	}
	return nil, lostRace("table", record.ID, objectstore.ErrPrecondition)
}

// DeleteData deletes what belongs to a table at a location, versions first, so that nobody
// opens a table that is half gone.
func DeleteData(ctx context.Context, location objectstore.Location) error {
	return deleteData(ctx, location, nil)
}

// ofTables are the names, in the folder of a table, of what this service and native Lance put
// there. Other folders there are somebody else's.
var ofTables = []string{
	"_versions", "data", "_deletions", "_transactions", "_indices", "_refs", "tree", "_mem_wal", "_latest.manifest",
	".lance-reserved", ".lance-deregistered",
}

// deleteData is DeleteData but for what has one of some prefixes.
func deleteData(ctx context.Context, location objectstore.Location, but []string) error {
	for _, prefix := range []string{location.Prefix + "/_versions/", location.Prefix + "/"} {
		err := deleteAll(ctx, location.Store, prefix, func(key string) bool {
			first, _, _ := strings.Cut(strings.TrimPrefix(key, location.Prefix+"/"), "/")
			return slices.Contains(ofTables, first) &&
				!slices.ContainsFunc(but, func(other string) bool { return strings.HasPrefix(key, other) })
		})
		if err != nil {
			return fmt.Errorf("delete data under %s: %w", location.URI, err)
		}
	}
	return nil
}

// deleteAll deletes the objects under a prefix that doomed says it of.
func deleteAll(ctx context.Context, store objectstore.Store, prefix string, doomed func(key string) bool) error {
	opts := objectstore.ListOptions{Prefix: prefix, Limit: listPageSize}
	for {
		listed, err := store.List(ctx, opts)
		if err != nil {
			return err
		}
		group, inner := errgroup.WithContext(ctx)
		group.SetLimit(dropFanOut)
		for _, object := range listed.Objects {
			if doomed(object.Key) {
				group.Go(func() error { return deleteOne(inner, store, object.Key) })
			}
		}
		if err := group.Wait(); err != nil || !listed.More || len(listed.Objects) == 0 {
			return err
		}
		opts.StartAfter = listed.Objects[len(listed.Objects)-1].Key
	}
}

// deleteOne deletes an object that nobody refers to: again, when an answer was lost.
func deleteOne(ctx context.Context, store objectstore.Store, key string) error {
	for attempt := 1; ; attempt++ {
		err := store.Delete(ctx, key, objectstore.Condition{})
		if !errors.Is(err, objectstore.ErrUnknownOutcome) || attempt == createAttempts {
			return err
		}
	}
}

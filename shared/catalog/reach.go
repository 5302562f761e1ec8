package catalog

import (
	"context"
	"fmt"
	"strings"

	"tiltyard/shared/auth"
	"tiltyard/shared/catalog/claim"
	"tiltyard/shared/catalog/stored"
	"tiltyard/shared/objectstore"
	"tiltyard/shared/protocol"
)

// A table may refer to files outside of its own location, and any writer of the table can add such
// references. A principal that may read the table must not read other files through them without a
// right to. A reference to a location is therefore allowed
//
//   - if the record of the table lists the location in Table.Reads: the principal that gave the
//     table its name could read there, and the table lends this right, as clones do;
//   - else if the sender of the request has the right itself: it may read the tables at the
//     location or, if there are none, may choose the location for tables.
//
// Without policies every reader may read all tables, and so all of the roots except for the folders
// of the catalog. Work without a principal, such as a job, has no right of its own.

// MayRead checks that the table may be read at a location that it refers to. The error is
// PermissionDenied.
func (c *Catalog) MayRead(ctx context.Context, t *Table, at objectstore.Location) error {
	if objectstore.Holds(t.Location.URI, at.URI) {
		return nil
	}
	place := c.Places.Place(at)
	if c.Places.IsHome(at) && claim.Reserved(at.Prefix) {
		return errElsewhere
	}
	for _, lent := range t.Reads {
		if objectstore.Holds(lent, place) {
			return nil
		}
	}
	_, err := c.ReadablePlace(ctx, at)
	return err
}

var errElsewhere = &protocol.Error{
	Code: protocol.PermissionDenied, Message: "the table refers to files outside of its folder that it may not read",
	Detail: "the files must lie in the folder of a table that you may read, or at a location that you may use; if you may read them now, register the table again",
}

// Lent returns the given locations that the sender of a request may read, in the form that the
// record of a lending table keeps.
func (c *Catalog) Lent(ctx context.Context, places []objectstore.Location) (lent []string, err error) {
	for _, at := range places {
		_, err := c.ReadablePlace(ctx, at)
		switch {
		case err == nil:
			lent = append(lent, c.Places.Place(at))
		case !protocol.HasCode(err, protocol.PermissionDenied):
			return nil, err
		}
	}
	return lent, nil
}

// ReadablePlace checks that the sender of a request may read the files at a location. It returns
// the table that has the location, which may have no name. The error is PermissionDenied. It may
// read all records, once per folder.
func (c *Catalog) ReadablePlace(ctx context.Context, at objectstore.Location) (*Table, error) {
	nameless := &Table{Location: at}
	if c.Places.IsHome(at) && claim.Reserved(at.Prefix) {
		return nil, errElsewhere
	}
	place := c.Places.Place(at)
	var found *stored.Table
	if c.Places.IsHome(at) && (claim.IsOwn(place) || claim.InsideOwn(place)) && auth.Limited(ctx) {
		folder, _, _ := strings.Cut(place, "/")
		var err error
		if found, err = c.tableIn(ctx, folder); err != nil {
			return nil, err
		}
		if found != nil && !mayReadTable(ctx, found) {
			return nil, errElsewhere
		}
	}
	if found != nil {
		return c.table(found)
	}
	return nameless, c.checkRight(ctx, at, place)
}

// tableIn returns the record of the table that a folder was made for, nil when the table is gone.
// If the table has several names, it prefers one that the sender of the request may read. Only
// records show the folder, so tableIn first tries the names that it found before.
func (c *Catalog) tableIn(ctx context.Context, folder string) (found *stored.Table, err error) {
	is := func(record *stored.Table) bool { return record.Location == folder && record.State() == stored.Standing }
	if id, known := c.folders.GetIfPresent(folder); known {
		now, err := c.names.Settled(ctx, id)
		if err == nil && now.Record != nil && is(now.Record) && mayReadTable(ctx, now.Record) {
			return now.Record, nil
		}
	}
	err = stored.EachTable(ctx, c.store, map[string]string{}, func(record *stored.Table) error {
		if is(record) && (found == nil || mayReadTable(ctx, record)) {
			found = record
		}
		return nil
	})
	if err == nil && found != nil {
		c.folders.Set(folder, found.ID)
	}
	return found, err
}

func mayReadTable(ctx context.Context, record *stored.Table) bool {
	reads, _ := auth.DataAccess(ctx, record.ID)
	return reads
}

// checkRight checks that the sender of the request may read a location, by the claims of tables on
// it and by the policies on locations.
func (c *Catalog) checkRight(ctx context.Context, at objectstore.Location, place string) error {
	if auth.FromContext(ctx) == nil {
		return errElsewhere
	}
	if !auth.Limited(ctx) {
		return nil
	}
	denied := auth.CheckLocation(ctx, at.URI)
	if denied == nil { // else only a known claim can give the right
		if err := c.Places.EnsureKnown(ctx); err != nil {
			return err
		}
	}
	about, err := c.Places.About(ctx, place)
	if err != nil {
		return err
	}
	covered := false
	for _, one := range about {
		record, _, err := c.Places.Owner(ctx, one)
		switch {
		case err != nil:
			return err
		case record == nil:
			continue
		case !mayReadTable(ctx, record):
			return errElsewhere
		}
		covered = covered || objectstore.Holds(one.Place, place)
	}
	if !covered && denied != nil {
		return fmt.Errorf("%w: %w", errElsewhere, denied)
	}
	return nil
}

// Package access checks who may read the files at a location.
//
// A table may refer to files outside of its own location, and any writer of the table can add such
// references. A principal that may read the table must not read other files through them without a
// right to. A reference to a location is therefore allowed
//
//   - if the record of the table lists the location in its reads: the principal that gave the
//     table its name could read there, and the table lends this right, as clones do;
//   - else if the sender of the request has the right itself: it may read the tables at the
//     location or, if there are none, may choose the location for tables.
//
// Without policies every reader may read all tables, and so all of the roots except for the folders
// of the catalog. Work without a principal, such as a job, has no right of its own.
package access

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/maypok86/otter/v2"

	"tiltyard/shared/catalog/claim"
	"tiltyard/shared/catalog/naming"
	"tiltyard/shared/catalog/stored"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/storage/objectstore"
)

// Checker checks whether the sender of a request may read a location. It is safe for concurrent
// use.
type Checker struct {
	names   *naming.Registry
	folders *otter.Cache[string, []string] // by folder: ids of tables recently found there; see tableIn
}

// maxFolders bounds the folders that a checker caches.
const maxFolders = 10_000

// New returns a checker that looks up tables in a registry.
func New(names *naming.Registry) *Checker {
	return &Checker{names, otter.Must(&otter.Options[string, []string]{MaximumSize: maxFolders})}
}

// MayRead checks that a request may follow a reference from one table to files elsewhere. lent is the list Reads of the
// table's record. The error is PermissionDenied.
func (c *Checker) MayRead(ctx context.Context, table objectstore.Location, lent []string, elsewhere objectstore.Location) error {
	if objectstore.Holds(table.URI, elsewhere.URI) {
		return nil
	}
	if c.names.Places.IsHome(elsewhere) && claim.Reserved(elsewhere.Prefix) {
		return errElsewhere
	}
	place := c.names.Places.Place(elsewhere)
	if slices.ContainsFunc(lent, func(one string) bool { return objectstore.Holds(one, place) }) {
		return nil
	}
	_, err := c.Readable(ctx, elsewhere)
	return err
}

var errElsewhere = &protocol.Error{
	Code: protocol.PermissionDenied, Message: "the table refers to files outside of its folder that it may not read",
	Detail: "the files must lie in the folder of a table that you may read, or at a location that you may use; if you may read them now, register the table again",
}

// Lent returns the given locations that the sender of the request may read, as paths or URIs for
// the field Reads of the new table.
func (c *Checker) Lent(ctx context.Context, places []objectstore.Location) (lent []string, err error) {
	for _, at := range places {
		_, err := c.Readable(ctx, at)
		switch {
		case err == nil:
			lent = append(lent, c.names.Places.Place(at))
		case !protocol.HasCode(err, protocol.PermissionDenied):
			return nil, err
		}
	}
	return lent, nil
}

// Readable checks that the sender of a request may read the files at a location. It returns the
// record of the table there, or nil if the table is unknown. The error is PermissionDenied. For a
// folder that it has not cached, it reads every table record of the catalog.
func (c *Checker) Readable(ctx context.Context, at objectstore.Location) (*stored.Table, error) {
	if c.names.Places.IsHome(at) && claim.Reserved(at.Prefix) {
		return nil, errElsewhere
	}
	place := c.names.Places.Place(at)
	if c.names.Places.IsHome(at) && (claim.IsOwn(place) || claim.InsideOwn(place)) && auth.Limited(ctx) {
		folder, _, _ := strings.Cut(place, "/")
		found, err := c.tableIn(ctx, folder)
		if err != nil {
			return nil, err
		}
		if found != nil && !mayReadTable(ctx, found) {
			return nil, errElsewhere
		}
		if found != nil {
			return found, nil
		}
	}
	return nil, c.checkRight(ctx, at, place)
}

// tableIn returns the record of the table that owns a folder of the catalog, or nil if that table
// no longer exists. If the table has several names, it prefers one that the sender of the request
// may read. No index maps folders to tables, so tableIn tries the cached ids first.
func (c *Checker) tableIn(ctx context.Context, folder string) (found *stored.Table, err error) {
	is := func(record *stored.Table) bool { return record.Location == folder && record.State() == stored.Standing }
	if id, known := c.folders.GetIfPresent(folder); known {
		now, err := c.names.Settled(ctx, id)
		if err == nil && now.Record != nil && is(now.Record) && mayReadTable(ctx, now.Record) {
			return now.Record, nil
		}
	}
	err = stored.EachTable(ctx, c.names.Store, map[string]string{}, func(record *stored.Table) error {
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

// checkRight checks the right of the sender to read a location, first by the tables that claim it
// and then by the policies on locations.
func (c *Checker) checkRight(ctx context.Context, at objectstore.Location, place string) error {
	if auth.FromContext(ctx) == nil {
		return errElsewhere
	}
	if !auth.Limited(ctx) {
		return nil
	}
	denied := auth.CheckLocation(ctx, at.URI)
	if denied == nil { // else only a known claim can grant the right
		if err := c.names.Places.EnsureKnown(ctx); err != nil {
			return err
		}
	}
	about, err := c.names.Places.About(ctx, place)
	if err != nil {
		return err
	}
	covered := false
	for _, one := range about {
		record, _, err := c.names.Places.Owner(ctx, one)
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

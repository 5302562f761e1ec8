package catalog

import (
	"context"
	"fmt"
	"strings"

	"tiltyard/shared/auth"
	"tiltyard/shared/objectstore"
	"tiltyard/shared/protocol"
)

// What a table refers to outside of its own place is read for whoever reads the table, and was
// named by whoever may write to it: at a place that they share, say. So that nobody reads by a
// table what they may not read otherwise, a place counts
//
//   - when the record of the table says that whoever gave the table its name had the right to
//     read there (Table.Reads): then the table was made to lend that right, as clones are;
//   - else when the sender of the request has the right himself: he may read the tables there,
//     or, where there are none, may name the place for tables.
//
// Without policies whoever may read may read all tables, and so all of the roots but for the folders of
// the catalog. What works for nobody, such as jobs, has no right of its own.

// MayRead says whether the table may be read where it refers to a place. The error is
// PermissionDenied.
func (c *Catalog) MayRead(ctx context.Context, t *Table, at objectstore.Location) error {
	if at.URI == t.Location.URI || strings.HasPrefix(at.URI, t.Location.URI+"/") {
		return nil
	}
	place := c.placeOf(at)
	if c.isHome(at) && reserved(at.Prefix) {
		return errElsewhere
	}
	for _, lent := range t.Reads {
		if place == lent || strings.HasPrefix(place, lent+"/") {
			return nil
		}
	}
	_, err := c.ReadablePlace(ctx, at)
	return err
}

var errElsewhere = &protocol.Error{
	Code: protocol.PermissionDenied, Message: "the table refers to files outside of its folder that may not be read by it",
	Detail: "they must be in the folder of a table that you may read, or at a location that you may use; register the table again if you may read them now",
}

// Lent returns those of some places that the sender of a request may read, as they are kept
// in the record of a table that is to lend that right.
func (c *Catalog) Lent(ctx context.Context, places []objectstore.Location) (lent []string, err error) {
	for _, at := range places {
		_, err := c.ReadablePlace(ctx, at)
		switch {
		case err == nil:
			lent = append(lent, c.placeOf(at))
		case !hasCode(err, protocol.PermissionDenied):
			return nil, err
		}
	}
	return lent, nil
}

// ReadablePlace says whether the sender of a request may read what lies at a place, and returns
// the table whose place it is, which may be without a name. The error is PermissionDenied. It
// may read all records, once for a folder.
func (c *Catalog) ReadablePlace(ctx context.Context, at objectstore.Location) (*Table, error) {
	nameless := &Table{Location: at}
	if c.isHome(at) && reserved(at.Prefix) {
		return nil, errElsewhere
	}
	place := c.placeOf(at)
	var found *tableRecord
	if c.isHome(at) && (isOwn(place) || insideOwn(place)) && auth.Limited(ctx) {
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

// tableIn returns the record of the table that a folder was made for, nil when there is none any
// more. Of several names it is one that the sender of the request may read, if there is one.
// Only records tell, and a name that told before is asked first.
func (c *Catalog) tableIn(ctx context.Context, folder string) (found *tableRecord, err error) {
	is := func(record *tableRecord) bool { return record.Location == folder && record.plain() }
	if id, known := c.folders.GetIfPresent(folder); known {
		record, _, err := c.settled(ctx, id)
		if err == nil && is(record) && mayReadTable(ctx, record) {
			return record, nil
		}
	}
	err = c.eachRecord(ctx, map[string]string{}, func(record *tableRecord) error {
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

func mayReadTable(ctx context.Context, record *tableRecord) bool {
	reads, _ := auth.DataAccess(ctx, record.ID)
	return reads
}

// checkRight says whether the sender of the request may read a place, by the claims of tables
// about it, and the policies about locations.
func (c *Catalog) checkRight(ctx context.Context, at objectstore.Location, place string) error {
	if auth.FromContext(ctx) == nil {
		return errElsewhere
	}
	if !auth.Limited(ctx) {
		return nil
	}
	denied := auth.CheckLocation(ctx, at.URI)
	if denied == nil { // else only a claim that is known can give the right
		if err := c.knowPlaces(ctx); err != nil {
			return err
		}
	}
	about, err := c.claimsAbout(ctx, place)
	if err != nil {
		return err
	}
	covered := false
	for _, one := range about {
		record, _, err := c.owner(ctx, one)
		switch {
		case err != nil:
			return err
		case record == nil:
			continue
		case !mayReadTable(ctx, record):
			return errElsewhere
		}
		covered = covered || place == one.Place || strings.HasPrefix(place, one.Place+"/")
	}
	if !covered && denied != nil {
		return fmt.Errorf("%w: %w", errElsewhere, denied)
	}
	return nil
}

package catalog

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"tiltyard/shared/catalog/claim"
	"tiltyard/shared/catalog/dependents"
	"tiltyard/shared/catalog/drops"
	"tiltyard/shared/catalog/keys"
	"tiltyard/shared/catalog/naming"
	"tiltyard/shared/catalog/objects"
	"tiltyard/shared/catalog/stored"
	"tiltyard/shared/catalog/upkeep"
	"tiltyard/shared/catalog/views"
	"tiltyard/shared/protocol"
	"tiltyard/shared/storage/objectstore"
)

// A Table is a name and the location of its data. There may be no data yet: a table that is only
// declared has a location without a version.
type Table struct {
	ID         []string
	Location   objectstore.Location
	Properties map[string]string // never nil
	Created    time.Time
	// Hint is a version that the table had, 0 when none is known. The search for the newest version
	// starts there.
	Hint uint64
	// Managed means that versions are made through [Catalog.Publish], not by putting manifests.
	Managed bool
	// Annotated means that manifests may hold metadata of their versions: see [Catalog.Annotate].
	Annotated bool
	// Fills lists the columns and indices that jobs may compute without a request: see
	// [Catalog.AllowFill].
	Fills []string
	// Uses lists the uses of functions by columns of the table: see [Catalog.AllowUse].
	Uses []stored.Use

	// Reads are locations outside of the table's own that every reader of the table may read
	// through it: see [access.Checker.MayRead].
	Reads []string

	// UID distinguishes the table from earlier and later ones of the name.
	UID string
	// Lineage stays the same when the table is renamed, or restored after a drop.
	Lineage string
	// View is nil for a table that is no view.
	View *stored.View
	// Dependents are the views that read the table. Some of them may have been dropped.
	Dependents []stored.Dependent
	// Dropped describes how to restore the table. It is nil if the table was not dropped or cannot be
	// restored.
	Dropped *drops.Drop
}

// ownSuffix is the length of the end of the keys that [claim.Places.New] makes: -, 24 hexadecimal digits and .lance.
const ownSuffix = 1 + 24 + len(".lance")

// IsExclusive reports whether the catalog made the location for this table, so that no other table had it
// before or gets it later. At any other location another program may drop the table and create a
// new one.
func (t *Table) IsExclusive() bool {
	prefix := t.Location.Prefix
	if len(prefix) < ownSuffix || !strings.HasSuffix(prefix, ".lance") || prefix[len(prefix)-ownSuffix] != '-' {
		return false
	}
	digits := prefix[len(prefix)-ownSuffix+1:]
	return strings.Trim(digits[:24], "0123456789abcdef") == ""
}

// table returns the table of a record. A plain view is InvalidInput.
func (c *Catalog) table(record *stored.Table) (*Table, error) {
	if err := views.NotPlain(record); err != nil {
		return nil, err
	}
	location, err := c.names.Locate(record)
	if err != nil {
		return nil, err
	}
	properties := record.Properties
	if properties == nil {
		properties = map[string]string{}
	}
	return &Table{
		ID: record.ID, Location: location, Properties: properties, Created: record.Created, Hint: record.Hint,
		Managed: record.Managed(), Annotated: record.Annotated, Fills: record.Fills, Uses: record.Uses, Reads: record.Reads, UID: record.UID, Lineage: record.Line(), View: record.View,
		Dependents: record.Dependents,
	}, nil
}

// Table returns a table. The error is TableNotFound, or NamespaceNotFound when the namespace does
// not exist either.
func (c *Catalog) Table(ctx context.Context, id []string) (*Table, error) {
	record, _, err := c.names.Table(ctx, id)
	if err != nil {
		return nil, err
	}
	return c.table(record)
}

// TableAt returns the table at a location whose files the sender of the request may read: see [access.Checker.Readable].
// The table has no name if the catalog does not know it.
func (c *Catalog) TableAt(ctx context.Context, at objectstore.Location) (*Table, error) {
	record, err := c.Access.Readable(ctx, at)
	if err != nil || record == nil {
		return &Table{Location: at}, err
	}
	return c.table(record)
}

// TableOrFree returns a table, or nil if the name is free, for a caller that is about to create
// one.
func (c *Catalog) TableOrFree(ctx context.Context, id []string) (*Table, error) {
	if keys.IsRoot(id) {
		return nil, errNameless
	}
	record, err := c.names.TableOrFree(ctx, id)
	if err != nil || record == nil {
		return nil, err
	}
	return c.table(record)
}

// CreateTable assigns a name to a location that [claim.Places.New] has made. If the data exists
// already, hint is its version; otherwise hint is 0. A taken name is TableAlreadyExists.
func (c *Catalog) CreateTable(ctx context.Context, id []string, location objectstore.Location, hint uint64, properties map[string]string) (*Table, error) {
	if keys.IsRoot(id) {
		return nil, errNameless
	}
	return c.createReading(ctx, id, location, hint, properties, nil)
}

// CreateClone creates a table that refers to files elsewhere, which the sender of the request may read: see
// [access.Checker.Lent].
func (c *Catalog) CreateClone(ctx context.Context, id []string, location objectstore.Location, hint uint64, elsewhere []objectstore.Location) (*Table, error) {
	var reads []string
	for _, at := range elsewhere {
		reads = append(reads, c.Places.Place(at))
	}
	return c.createReading(ctx, id, location, hint, nil, reads)
}

func (c *Catalog) createReading(ctx context.Context, id []string, location objectstore.Location, hint uint64, properties map[string]string, reads []string) (*Table, error) {
	if err := upkeep.Check(properties); err != nil {
		return nil, err
	}
	record := c.names.NewTable(id, location, hint, properties)
	record.Reads = reads
	if _, err := c.names.Put(ctx, record, false); err != nil {
		return nil, err
	}
	return c.table(record)
}

var errNameless = &protocol.Error{Code: protocol.InvalidInput, Message: "a table needs a name"}

// A Registration is a table at a location that a client chose.
type Registration struct {
	Location objectstore.Location
	Hint     uint64 // as for CreateTable
	// Look, if not nil, is called once the table at the location cannot be dropped any more. It
	// returns the version hint and the other locations that the table refers to, or an error when
	// there is no data.
	Look       func(ctx context.Context) (hint uint64, elsewhere []objectstore.Location, err error)
	Properties map[string]string
	// Joins allows other tables with data at exactly this location.
	Joins bool
	// Replace allows the name to be taken: the name then stands for this table, and the data of the
	// former one stays.
	Replace bool
}

// RegisterTable gives a name to a location that a client chose. A location that overlaps that of
// another table is InvalidInput, and a taken name TableAlreadyExists.
func (c *Catalog) RegisterTable(ctx context.Context, id []string, r Registration) (*Table, error) {
	if keys.IsRoot(id) {
		return nil, errNameless
	}
	if err := upkeep.Check(r.Properties); err != nil {
		return nil, err
	}
	claimed, err := c.Places.Take(ctx, id, r.Location, r.Joins, r.Replace)
	if err != nil {
		// The table that has the location may be the one of that name.
		if there, _ := c.names.Settled(ctx, id); there.Record != nil && !r.Replace && protocol.HasCode(err, protocol.InvalidInput) {
			err = c.names.Taken(ctx, id, naming.TableExists(id))
		}
		return nil, err
	}
	var reads []string
	if r.Look != nil {
		var elsewhere []objectstore.Location
		if r.Hint, elsewhere, err = r.Look(ctx); err == nil {
			reads, err = c.Access.Lent(ctx, elsewhere)
		}
		if err != nil {
			c.Places.Release(ctx, claimed)
			return nil, err
		}
	}
	record := c.names.NewTable(id, r.Location, r.Hint, r.Properties)
	record.Reads = reads
	record.Claim = claimed.UID
	etag, err := c.names.Put(ctx, record, r.Replace)
	if err != nil {
		if !errors.Is(err, objectstore.ErrUnknownOutcome) { // else the record may exist
			c.Places.Release(ctx, claimed)
		}
		return nil, err
	}
	if err := c.confirmClaim(ctx, claimed, record, etag); err != nil {
		return nil, err
	}
	return c.table(record)
}

// confirmClaim deletes a record if another process deleted its claim as abandoned before the record
// existed.
func (c *Catalog) confirmClaim(ctx context.Context, claimed *claim.Claim, record *stored.Table, etag string) error {
	still, err := c.Places.StillHeld(ctx, claimed)
	if err != nil || still {
		return err
	}
	if err := objects.IgnoreChanged(c.store.Remove(context.WithoutCancel(ctx), keys.Table(record.ID), record.UID, etag)); err != nil {
		return err
	}
	return objects.LostRace("the location of table", record.ID, objectstore.ErrPrecondition)
}

// DeregisterTable removes the name of a table. Its data stays: see [drops.Drops.Deregister].
func (c *Catalog) DeregisterTable(ctx context.Context, id []string) (*Table, error) {
	record, err := c.Drops.Deregister(ctx, id, views.NotPlain)
	if err != nil {
		return nil, err
	}
	return c.table(record)
}

// DropTable removes the name of a table. A table with a retention can be restored; the data of any
// other is deleted: see [drops.Drops.Drop].
func (c *Catalog) DropTable(ctx context.Context, id []string) (*Table, error) {
	record, drop, err := c.Drops.Drop(ctx, id, "", views.NotPlain)
	if err != nil {
		return nil, err
	}
	table, err := c.table(record)
	if err != nil {
		return nil, err
	}
	table.Dropped = drop
	return table, nil
}

// RenameTable gives a table another name in the same or another namespace, which must exist. Its
// data stays where it is. A taken name is TableAlreadyExists.
func (c *Catalog) RenameTable(ctx context.Context, id, to []string) (*Table, error) {
	if keys.IsRoot(to) {
		return nil, errNameless
	}
	defer c.names.Forget(id)
	defer c.names.Forget(to)
	var renamed *stored.Table
	err := objects.Race{What: "table", ID: id}.Run(ctx, func(attempt int) (done bool, err error) {
		old, etag, err := c.names.TableToRemove(ctx, id)
		if err == nil {
			err = views.NotPlain(old)
		}
		if err == nil && slices.Equal(id, to) {
			err = naming.TableExists(to)
		}
		if err == nil {
			err = c.Places.AddName(ctx, old, to)
		}
		if err != nil {
			return true, err
		}
		if renamed, err = c.names.Rename(ctx, old, etag, to); errors.Is(err, naming.ErrTaken) {
			return false, c.names.AwaitFree(ctx, to, attempt)
		}
		return objects.Written(err)
	})
	if err != nil {
		return nil, err
	}
	if renamed.View != nil {
		dependents.Rename(ctx, c.names, renamed)
	}
	return c.table(renamed)
}

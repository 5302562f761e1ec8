package catalog

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tiltyard/shared/catalog/claim"
	"tiltyard/shared/catalog/keys"
	"tiltyard/shared/catalog/naming"
	"tiltyard/shared/catalog/objects"
	"tiltyard/shared/catalog/stored"
	"tiltyard/shared/objectstore"
	"tiltyard/shared/protocol"
)

// A Table is a name and the location of its data. The catalog does not know whether there is data
// yet: a table that is only declared has a location without a version.
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
	// Fills is what jobs may compute of the table without a request: see [Catalog.AllowFill].
	Fills []string
	// Uses are those of functions by columns of the table: see [Catalog.AllowUse].
	Uses []stored.Use

	// Reads are locations outside of the table's own that every reader of the table may read
	// through it: see [Catalog.MayRead].
	Reads []string

	// UID distinguishes the table from earlier and later ones of the name.
	UID string
	// Lineage stays the same when the table is renamed, or restored after a drop.
	Lineage string
	// View is nil for a table that is no view.
	View *stored.View
	// Dependents are the views that read the table. Those that are gone may be among them.
	Dependents []stored.Dependent
	// Dropped is how a table that was dropped can be restored, nil when it cannot or was not dropped.
	Dropped *Dropped
}

// table returns the table of a record. A plain view is InvalidInput.
func (c *Catalog) table(record *stored.Table) (*Table, error) {
	if err := notPlain(record); err != nil {
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

// TableOrFree is [Catalog.Table] for a caller that is about to create a table: the table is nil when the
// name is free.
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

// CreateTable gives a name to a location that [Catalog.NewLocation] has made. The data may be there
// already, with the version hint, or come later (hint 0). A taken name is TableAlreadyExists.
func (c *Catalog) CreateTable(ctx context.Context, id []string, location objectstore.Location, hint uint64, properties map[string]string) (*Table, error) {
	if keys.IsRoot(id) {
		return nil, errNameless
	}
	return c.createReading(ctx, id, location, hint, properties, nil)
}

// CreateClone is CreateTable for a table that refers to files at other locations, which the sender
// of the request may read: see [Catalog.Lent].
func (c *Catalog) CreateClone(ctx context.Context, id []string, location objectstore.Location, hint uint64, reads []string) (*Table, error) {
	return c.createReading(ctx, id, location, hint, nil, reads)
}

func (c *Catalog) createReading(ctx context.Context, id []string, location objectstore.Location, hint uint64, properties map[string]string, reads []string) (*Table, error) {
	if err := checkProperties(properties); err != nil {
		return nil, err
	}
	record := c.names.NewTable(id, location, hint, properties)
	record.Reads = reads
	if _, err := c.putRecord(ctx, record, false); err != nil {
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
	if err := checkProperties(r.Properties); err != nil {
		return nil, err
	}
	claimed, err := c.places.Take(ctx, id, r.Location, r.Joins, r.Replace)
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
			reads, err = c.Lent(ctx, elsewhere)
		}
		if err != nil {
			c.places.Release(ctx, claimed)
			return nil, err
		}
	}
	record := c.names.NewTable(id, r.Location, r.Hint, r.Properties)
	record.Reads = reads
	record.Claim = claimed.UID
	etag, err := c.putRecord(ctx, record, r.Replace)
	if err != nil {
		if !errors.Is(err, objectstore.ErrUnknownOutcome) { // else the record may exist
			c.places.Release(ctx, claimed)
		}
		return nil, err
	}
	if err := c.confirmClaim(ctx, claimed, record, etag); err != nil {
		return nil, err
	}
	return c.table(record)
}

// confirmClaim deletes a record if another process took its claim for abandoned before the record
// existed.
func (c *Catalog) confirmClaim(ctx context.Context, claimed *claim.Claim, record *stored.Table, etag string) error {
	still, err := c.places.StillHeld(ctx, claimed)
	if err != nil || still {
		return err
	}
	if err := c.store.Remove(context.WithoutCancel(ctx), keys.Table(record.ID), record.UID, etag); err != nil && !objects.Changed(err) {
		return err
	}
	return objects.LostRace("the location of table", record.ID, objectstore.ErrPrecondition)
}

// putRecord puts the record of a new table and returns its ETag. Only with replace may it replace
// another record.
func (c *Catalog) putRecord(ctx context.Context, record *stored.Table, replace bool) (etag string, err error) {
	id := record.ID
	defer c.lookups.Invalidate(keys.Table(id))
	for attempt := range objects.Tries {
		etag, err := c.names.CreateChild(ctx, id, keys.Table(id), record)
		if errors.Is(err, objectstore.ErrPrecondition) {
			if err = c.names.AwaitFree(ctx, id, attempt); err == nil {
				continue
			}
			if replace && protocol.HasCode(err, protocol.TableAlreadyExists) {
				etag, err = c.replaceTable(ctx, record)
			}
		}
		if err == nil {
			c.arrived(ctx, record)
		}
		if err == nil || !objects.Changed(err) {
			return etag, err
		}
	}
	return "", objects.LostRace("table", id, objectstore.ErrPrecondition)
}

// arrived has the watch learn of a new table.
func (c *Catalog) arrived(ctx context.Context, record *stored.Table) {
	if l, ok := naming.LeavingTable(record, nil); ok {
		c.names.Watch.Changed(context.WithoutCancel(ctx), l.Kind, l.ID)
	}
}

// replaceTable replaces the existing record of a table. objects.Changed(err) is true when that
// record has changed.
func (c *Catalog) replaceTable(ctx context.Context, record *stored.Table) (etag string, err error) {
	old, etag, err := c.names.SoleTable(ctx, record.ID)
	if protocol.HasCode(err, protocol.TableNotFound) {
		return "", objectstore.ErrPrecondition // the record is gone, or a rename to the name is unfinished
	}
	if err != nil {
		return "", err
	}
	err = c.names.TakeAway(ctx, old, nil, func() (err error) {
		etag, err = c.store.Write(ctx, keys.Table(record.ID), record, objectstore.Condition{IfMatch: etag})
		return err
	})
	if err == nil {
		c.places.ReleaseOf(ctx, old)
	}
	return etag, err
}

// DeregisterTable removes the name of a table. Its data stays. When the answer of the storage is
// lost and the record is gone, the outcome is unknown: another process may have renamed the table,
// which then lives on under another name.
func (c *Catalog) DeregisterTable(ctx context.Context, id []string) (*Table, error) {
	record, err := c.takeAway(ctx, id, notPlain, c.removeRecord)
	if err != nil {
		return nil, err
	}
	table, err := c.table(record)
	if err != nil {
		return nil, err
	}
	c.places.ReleaseOf(ctx, record)
	return table, nil
}

// takeAway removes a name by remove and returns its record. check may refuse that for a record.
func (c *Catalog) takeAway(ctx context.Context, id []string, check func(record *stored.Table) error, remove func(ctx context.Context, record *stored.Table, etag string) error) (*stored.Table, error) {
	defer c.lookups.Invalidate(keys.Table(id))
	uid := ""
	for range objects.Tries {
		record, etag, err := c.names.SoleTable(ctx, id)
		if err == nil {
			err = check(record)
		}
		if err == nil && record.Location != "" {
			_, err = c.names.Locate(record) // a name is not taken away from data that cannot be found
		}
		if err != nil {
			return nil, err
		}
		if uid != "" && record.UID != uid {
			break // other processes dropped it and created another
		}
		uid = record.UID
		err = remove(ctx, record, etag)
		if err == nil {
			if record.View != nil {
				c.dropDependent(ctx, record.View)
			}
			return record, nil
		}
		if !objects.Changed(err) {
			return nil, fmt.Errorf("deregister table %s: %w", keys.Display(id), err)
		}
		// Most likely a writer has updated the version hint: see Hint.
	}
	return nil, objects.LostRace("table", id, objectstore.ErrPrecondition)
}

// removeRecord deletes the record of a table.
func (c *Catalog) removeRecord(ctx context.Context, record *stored.Table, etag string) error {
	return c.names.TakeAway(ctx, record, nil, func() error {
		_, err := c.store.TryRemove(ctx, keys.Table(record.ID), record.UID, etag)
		return err
	})
}

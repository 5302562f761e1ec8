package catalog

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"tiltyard/shared/auth"
	"tiltyard/shared/objectstore"
	"tiltyard/shared/protocol"
)

// A Table is a name and where its data lies. Whether there is data yet is for the
// storage to say: a table that is only declared has a location without a version.
type Table struct {
	ID         []string
	Location   objectstore.Location
	Properties map[string]string // never nil
	Created    time.Time
	// Hint is a version that the table had, 0 when none is known: where to look for the
	// newest one beside listing them.
	Hint uint64
	// Managed says that versions are made through [Catalog.Publish], and not by putting
	// manifests.
	Managed bool
	// Annotated says that manifests of versions may have notes: see [Catalog.Annotate].
	Annotated bool

	uid string
}

// tableRecord is what is stored of a table.
type tableRecord struct {
	ID  []string `json:"id"`
	UID string   `json:"uid"` // of this incarnation of the name
	// Location is a path relative to the home root, so that a root can be moved as a
	// whole, or the URI of a place outside it.
	Location   string            `json:"location"`
	Properties map[string]string `json:"properties,omitempty"`
	Created    time.Time         `json:"created_at"`
	Hint       uint64            `json:"version_hint,omitempty"`
	// Turn counts renames that were taken back and batches that have ended, after which the
	// record is the same as before but for that.
	Turn int `json:"turn,omitempty"`
	// What follows is about renames: see rename.go.
	RenamedFrom []string   `json:"renamed_from,omitempty"`
	Arriving    *arrival   `json:"arriving,omitempty"`
	Moved       *departure `json:"moved,omitempty"`

	Ledger  *ledger  `json:"ledger,omitempty"`  // of what the catalog makes versions of: see ledger.go
	Pending *pending `json:"pending,omitempty"` // what a batch is about to do: see pending.go
	// MadeBy is the request of the batch that made the record, to know a repetition by.
	MadeBy    string `json:"made_by,omitempty"`
	Annotated bool   `json:"annotated,omitempty"`
	// Unanswered is until when writers may come again who had no answer: see unanswered.go.
	Unanswered time.Time `json:"unanswered_until,omitzero"`
}

// managed says whether versions are made through the ledger, or will be if a batch commits.
func (r *tableRecord) managed() bool {
	return r.Ledger != nil || r.Pending != nil && len(r.Pending.Next) > 0
}

func (c *Catalog) table(record *tableRecord) (*Table, error) {
	location, err := c.roots.Resolve(record.Location)
	if err != nil {
		return nil, fmt.Errorf("location of table %s: %w", display(record.ID), err)
	}
	properties := record.Properties
	if properties == nil {
		properties = map[string]string{}
	}
	return &Table{
		ID: record.ID, Location: location, Properties: properties, Created: record.Created, Hint: record.Hint,
		Managed: record.managed(), Annotated: record.Annotated, uid: record.UID,
	}, nil
}

// Table returns a table, or TableNotFound, or NamespaceNotFound when its namespace is
// missing too.
func (c *Catalog) Table(ctx context.Context, id []string) (*Table, error) {
	record, _, err := c.tableRecord(ctx, id)
	if err != nil {
		return nil, err
	}
	return c.table(record)
}

func (c *Catalog) tableRecord(ctx context.Context, id []string) (*tableRecord, string, error) {
	if isRoot(id) {
		return nil, "", &protocol.Error{Code: protocol.InvalidInput, Message: "the root namespace is not a table"}
	}
	record, etag, err := c.settled(ctx, id)
	if errors.Is(err, objectstore.ErrNotExist) || errors.Is(err, errArriving) || !auth.Sees(ctx, auth.Table(id)) {
		return nil, "", c.tableNotFound(ctx, id)
	}
	return record, etag, err
}

// soleRecord is tableRecord for who takes the record away: a batch that has not been decided
// about the table is ended.
func (c *Catalog) soleRecord(ctx context.Context, id []string) (*tableRecord, string, error) {
	for range settleAttempts {
		record, etag, err := c.tableRecord(ctx, id)
		if err != nil || record.Pending == nil {
			return record, etag, err
		}
		if _, err := c.decide(ctx, record.Pending.Batch, decision{Outcome: aborted}); err != nil {
			return nil, "", err
		}
	}
	return nil, "", lostRace("table", id, objectstore.ErrPrecondition)
}

func (c *Catalog) tableNotFound(ctx context.Context, id []string) error {
	if _, err := c.Namespace(ctx, parentOf(id)); err != nil {
		return err
	}
	return tableMissing(id)
}

func tableMissing(id []string) error {
	return &protocol.Error{Code: protocol.TableNotFound, Message: fmt.Sprintf("table %s does not exist", display(id))}
}

// TableExists is the error of creating a table under a name that is taken.
func TableExists(id []string) error {
	return &protocol.Error{
		Code:    protocol.TableAlreadyExists,
		Message: fmt.Sprintf("table %s already exists", display(id)),
		Detail:  "choose another name, or drop or deregister the existing table first",
	}
}

// NewLocation returns a place under the home root that no table has had, for the data
// of a new table. The name is there for the eye only.
func (c *Catalog) NewLocation(id []string) objectstore.Location {
	name := strings.Map(func(r rune) rune {
		if r < 0x80 && (markOf(byte(r)) == 0 || r == '-' || r == '.') {
			return r
		}
		return '_'
	}, id[len(id)-1])
	name = strings.TrimLeft(name, ".")
	return c.roots.Join(name[:min(len(name), 80)] + "-" + newUID() + ".lance")
}

// PlannedLocation returns where a new table of that id may keep its data: at the place
// asked for, or at a new one of our own when none is. A place that the configuration does
// not allow is InvalidInput, one that policies do not PermissionDenied.
func (c *Catalog) PlannedLocation(ctx context.Context, id []string, asked string) (objectstore.Location, error) {
	if asked == "" {
		return c.NewLocation(id), nil
	}
	location, err := c.roots.Resolve(asked)
	if err != nil {
		return objectstore.Location{}, &protocol.Error{
			Code: protocol.InvalidInput, Message: fmt.Sprintf("location %q cannot be used", asked), Detail: err.Error(), Err: err,
		}
	}
	if c.isHome(location) && reserved(location.Prefix) {
		return objectstore.Location{}, &protocol.Error{
			Code: protocol.InvalidInput, Message: fmt.Sprintf("location %q cannot be used", asked),
			Detail: "it is where the catalog keeps its own records",
		}
	}
	return location, auth.CheckLocation(ctx, location.URI)
}

// reserved says whether a prefix lies in the catalog's own folders.
func reserved(prefix string) bool {
	first, _, _ := strings.Cut(prefix, "/")
	return strings.HasPrefix(first, "_")
}

// isHome says whether a location lies under the home root.
func (c *Catalog) isHome(location objectstore.Location) bool {
	return location.URI == c.roots.Join(location.Prefix).URI
}

// CreateTable gives a location a name. The data may be there already, with the version
// hint, or come later (hint 0). With replace an existing registration of that name is
// replaced; its data stays. Otherwise a taken name is TableAlreadyExists.
func (c *Catalog) CreateTable(ctx context.Context, id []string, location objectstore.Location, hint uint64, properties map[string]string, replace bool) (*Table, error) {
	if isRoot(id) {
		return nil, &protocol.Error{Code: protocol.InvalidInput, Message: "a table needs a name"}
	}
	record := c.newRecord(id, location, hint, properties)
	defer c.lookups.Invalidate(tableKey(id))
	for attempt := range createAttempts {
		_, err := c.createChild(ctx, id, tableKey(id), record)
		if errors.Is(err, objectstore.ErrPrecondition) {
			if err = c.awaitFree(ctx, id, attempt); err == nil {
				continue
			}
			if replace && hasCode(err, protocol.TableAlreadyExists) {
				err = c.replaceTable(ctx, record)
			}
		}
		if err == nil {
			return c.table(record)
		}
		if !gone(err) {
			return nil, err
		}
	}
	return nil, lostRace("table", id, objectstore.ErrPrecondition)
}

// newRecord is the record of a new table.
func (c *Catalog) newRecord(id []string, at objectstore.Location, hint uint64, properties map[string]string) *tableRecord {
	record := &tableRecord{
		ID: id, UID: newUID(), Location: at.URI, Properties: maps.Clone(properties), Created: c.now().UTC(), Hint: hint,
	}
	if c.isHome(at) {
		record.Location = at.Prefix
	}
	if wantsLedger(properties) {
		record.Ledger = &ledger{}
	}
	return record
}

// replaceTable puts a record in the place of one that is there. The error is one that is
// gone when that has changed meanwhile.
func (c *Catalog) replaceTable(ctx context.Context, record *tableRecord) error {
	_, etag, err := c.soleRecord(ctx, record.ID)
	if hasCode(err, protocol.TableNotFound) {
		return objectstore.ErrPrecondition // it is gone, or another is arriving
	}
	if err != nil {
		return err
	}
	_, err = c.write(ctx, tableKey(record.ID), record, objectstore.Condition{IfMatch: etag})
	return err
}

// DeregisterTable removes the name. The data stays. When the answer of the storage was lost
// and the record is not there any more, nobody knows who took it away: it may have been a
// rename, and then the table lives on under another name, with its data.
func (c *Catalog) DeregisterTable(ctx context.Context, id []string) (*Table, error) {
	defer c.lookups.Invalidate(tableKey(id))
	uid := ""
	for range createAttempts {
		record, etag, err := c.soleRecord(ctx, id)
		if err != nil {
			return nil, err
		}
		if uid != "" && record.UID != uid {
			break // dropped and created by others
		}
		uid = record.UID
		table, err := c.table(record)
		if err != nil {
			return nil, err
		}
		_, err = c.tryRemove(ctx, tableKey(id), record.UID, etag)
		if err == nil {
			return table, nil
		}
		if !gone(err) {
			return nil, fmt.Errorf("deregister table %s: %w", display(id), err)
		}
		// Most likely a writer has told the version that it made: see Hint.
	}
	return nil, lostRace("table", id, objectstore.ErrPrecondition)
}

// DropTable removes the name and then the data. The table is gone when its name is; what
// a crash leaves of the data is garbage that nothing refers to.
func (c *Catalog) DropTable(ctx context.Context, id []string) (*Table, error) {
	table, err := c.DeregisterTable(ctx, id)
	if err != nil {
		return nil, err
	}
	if err := DeleteData(ctx, table.Location); err != nil {
		return nil, &protocol.Error{
			Code: protocol.ServiceUnavailable, Message: fmt.Sprintf("table %s is dropped, but not all of its data is deleted", display(id)),
			Detail: "the name is free; what is left of the data belongs to no table", Unsettled: true, Err: err,
		}
	}
	return table, nil
}

// DeleteData deletes all objects under a location, versions first, so that nobody
// opens a table that is half gone.
func DeleteData(ctx context.Context, location objectstore.Location) error {
	for _, prefix := range []string{location.Prefix + "/_versions/", location.Prefix + "/"} {
		if err := deleteAll(ctx, location.Store, prefix); err != nil {
			return fmt.Errorf("delete data under %s: %w", location.URI, err)
		}
	}
	return nil
}

func deleteAll(ctx context.Context, store objectstore.Store, prefix string) error {
	opts := objectstore.ListOptions{Prefix: prefix, Limit: listPageSize}
	for {
		listed, err := store.List(ctx, opts)
		if err != nil {
			return err
		}
		group, inner := errgroup.WithContext(ctx)
		group.SetLimit(dropFanOut)
		for _, object := range listed.Objects {
			group.Go(func() error { return deleteOne(inner, store, object.Key) })
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

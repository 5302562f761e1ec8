package catalog

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"strings"
	"time"

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

	// Reads are places outside of the table's own that it may be read from, whoever reads it:
	// see [Catalog.MayRead].
	Reads []string

	uid string
}

// tableRecord is what is stored of a table.
type tableRecord struct {
	ID  []string `json:"id"`
	UID string   `json:"uid"` // of this incarnation of the name
	// Location is a path relative to the home root, so that a root can be moved as a
	// whole, or the URI of a place outside it.
	Location string `json:"location"`
	// Claim is the claim of the location, or ownPlace; "" in records of before there were
	// claims. See claim.go.
	Claim      string            `json:"claim,omitempty"`
	Reads      []string          `json:"reads,omitempty"` // as of Table
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
		Managed: record.managed(), Annotated: record.Annotated, Reads: record.Reads, uid: record.UID,
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

// ownLocation is how the keys of places end that NewLocation made.
var ownLocation = regexp.MustCompile(`-[0-9a-f]{24}\.lance$`)

// Sole says whether the table's place is one of our own, which no table had before and none
// will have after it. At other places anybody may drop the table and create another.
func (t *Table) Sole() bool { return ownLocation.MatchString(t.Location.Prefix) }

// PlannedLocation returns where a new table of that id may keep its data: at the place
// asked for, or at a new one of our own when none is. A place that the configuration does
// not allow is InvalidInput, one that policies do not PermissionDenied.
func (c *Catalog) PlannedLocation(ctx context.Context, id []string, asked string) (objectstore.Location, error) {
	if asked == "" {
		return c.NewLocation(id), nil
	}
	location, err := c.NamedLocation(asked)
	if err != nil {
		return objectstore.Location{}, err
	}
	return location, auth.CheckLocation(ctx, location.URI)
}

// NamedLocation returns the place that a client names. One that the configuration does not
// allow is InvalidInput.
func (c *Catalog) NamedLocation(asked string) (objectstore.Location, error) {
	location, err := c.roots.Resolve(asked)
	if err != nil {
		return objectstore.Location{}, &protocol.Error{
			Code: protocol.InvalidInput, Message: "the location cannot be used", Detail: err.Error(), Err: err,
		}
	}
	if c.isHome(location) && reserved(location.Prefix) {
		return objectstore.Location{}, &protocol.Error{
			Code: protocol.InvalidInput, Message: "the location cannot be used",
			Detail: "it is where the catalog keeps its own records",
		}
	}
	return location, nil
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

// CreateTable gives a location that [Catalog.NewLocation] has made a name. The data may be
// there already, with the version hint, or come later (hint 0). A taken name is
// TableAlreadyExists.
func (c *Catalog) CreateTable(ctx context.Context, id []string, location objectstore.Location, hint uint64, properties map[string]string) (*Table, error) {
	if isRoot(id) {
		return nil, errNameless
	}
	return c.createReading(ctx, id, location, hint, properties, nil)
}

// CreateClone is CreateTable for a table that refers to files at other places, where the
// sender of the request may read: see [Catalog.Lent].
func (c *Catalog) CreateClone(ctx context.Context, id []string, location objectstore.Location, hint uint64, reads []string) (*Table, error) {
	return c.createReading(ctx, id, location, hint, nil, reads)
}

func (c *Catalog) createReading(ctx context.Context, id []string, location objectstore.Location, hint uint64, properties map[string]string, reads []string) (*Table, error) {
	record := c.newRecord(id, location, hint, properties)
	record.Reads = reads
	if _, err := c.putRecord(ctx, record, false); err != nil {
		return nil, err
	}
	return c.table(record)
}

var errNameless = &protocol.Error{Code: protocol.InvalidInput, Message: "a table needs a name"}

// A Registration is a table at a place that somebody has named.
type Registration struct {
	Location objectstore.Location
	Hint     uint64 // as for CreateTable
	// Look, if there is one, is asked for the hint and for the places that the table refers to,
	// or for an error when there is no data, once the place cannot be dropped any more.
	Look       func(ctx context.Context) (hint uint64, elsewhere []objectstore.Location, err error)
	Properties map[string]string
	// Joins says that the data of other tables may be at this very place.
	Joins bool
	// Replace lets the name be taken: what it stood for is replaced, and its data stays.
	Replace bool
}

// RegisterTable gives a place that somebody has named a name. One that overlaps the place of
// another table is InvalidInput, and a taken name TableAlreadyExists.
func (c *Catalog) RegisterTable(ctx context.Context, id []string, r Registration) (*Table, error) {
	if isRoot(id) {
		return nil, errNameless
	}
	claimed, err := c.claimPlace(ctx, id, r.Location, r.Joins, r.Replace)
	if err != nil {
		// The table that has the place may be the one of that name.
		if _, _, there := c.settled(ctx, id); there == nil && !r.Replace && hasCode(err, protocol.InvalidInput) {
			err = c.taken(ctx, id, TableExists(id))
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
			c.release(ctx, claimed)
			return nil, err
		}
	}
	record := c.newRecord(id, r.Location, r.Hint, r.Properties)
	record.Reads = reads
	record.Claim = claimed.UID
	etag, err := c.putRecord(ctx, record, r.Replace)
	if err != nil {
		if !errors.Is(err, objectstore.ErrUnknownOutcome) { // else it may be there
			c.release(ctx, claimed)
		}
		return nil, err
	}
	if err := c.confirmClaim(ctx, claimed, record, etag); err != nil {
		return nil, err
	}
	return c.table(record)
}

// confirmClaim takes a record back when its claim was thought left behind before the record was
// there.
func (c *Catalog) confirmClaim(ctx context.Context, claimed *claim, record *tableRecord, etag string) error {
	still, err := c.stillClaimed(ctx, claimed)
	if err != nil || still {
		return err
	}
	if err := c.remove(context.WithoutCancel(ctx), tableKey(record.ID), record.UID, etag); err != nil && !gone(err) {
		return err
	}
	return lostRace("the place of table", record.ID, objectstore.ErrPrecondition)
}

// putRecord puts the record of a new table, in the place of another one only with replace, and
// returns its ETag.
func (c *Catalog) putRecord(ctx context.Context, record *tableRecord, replace bool) (etag string, err error) {
	id := record.ID
	defer c.lookups.Invalidate(tableKey(id))
	for attempt := range createAttempts {
		etag, err := c.createChild(ctx, id, tableKey(id), record)
		if errors.Is(err, objectstore.ErrPrecondition) {
			if err = c.awaitFree(ctx, id, attempt); err == nil {
				continue
			}
			if replace && hasCode(err, protocol.TableAlreadyExists) {
				etag, err = c.replaceTable(ctx, record)
			}
		}
		if err == nil || !gone(err) {
			return etag, err
		}
	}
	return "", lostRace("table", id, objectstore.ErrPrecondition)
}

// newRecord is the record of a new table at a place that was made for it.
func (c *Catalog) newRecord(id []string, at objectstore.Location, hint uint64, properties map[string]string) *tableRecord {
	record := &tableRecord{
		ID: id, UID: newUID(), Location: c.placeOf(at), Claim: ownPlace, Properties: maps.Clone(properties), Created: c.now().UTC(), Hint: hint,
	}
	if wantsLedger(properties) {
		record.Ledger = &ledger{}
	}
	return record
}

// replaceTable puts a record in the place of one that is there. The error is one that is
// gone when that has changed meanwhile.
func (c *Catalog) replaceTable(ctx context.Context, record *tableRecord) (etag string, err error) {
	old, etag, err := c.soleRecord(ctx, record.ID)
	if hasCode(err, protocol.TableNotFound) {
		return "", objectstore.ErrPrecondition // it is gone, or another is arriving
	}
	if err != nil {
		return "", err
	}
	etag, err = c.write(ctx, tableKey(record.ID), record, objectstore.Condition{IfMatch: etag})
	if err == nil {
		c.releaseOf(ctx, old)
	}
	return etag, err
}

// DeregisterTable removes the name. The data stays. When the answer of the storage was lost
// and the record is not there any more, nobody knows who took it away: it may have been a
// rename, and then the table lives on under another name, with its data.
func (c *Catalog) DeregisterTable(ctx context.Context, id []string) (*Table, error) {
	record, table, err := c.takeAway(ctx, id)
	if err != nil {
		return nil, err
	}
	c.releaseOf(ctx, record)
	return table, nil
}

// takeAway removes a name and returns what it stood for.
func (c *Catalog) takeAway(ctx context.Context, id []string) (*tableRecord, *Table, error) {
	defer c.lookups.Invalidate(tableKey(id))
	uid := ""
	for range createAttempts {
		record, etag, err := c.soleRecord(ctx, id)
		if err != nil {
			return nil, nil, err
		}
		if uid != "" && record.UID != uid {
			break // dropped and created by others
		}
		uid = record.UID
		table, err := c.table(record)
		if err != nil {
			return nil, nil, err
		}
		_, err = c.tryRemove(ctx, tableKey(id), record.UID, etag)
		if err == nil {
			return record, table, nil
		}
		if !gone(err) {
			return nil, nil, fmt.Errorf("deregister table %s: %w", display(id), err)
		}
		// Most likely a writer has told the version that it made: see Hint.
	}
	return nil, nil, lostRace("table", id, objectstore.ErrPrecondition)
}

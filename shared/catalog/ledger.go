package catalog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tiltyard/shared/lance/manifest"
	"tiltyard/shared/objectstore"
	"tiltyard/shared/protocol"
)

// The versions of most tables are what their storage says: whoever puts the next manifest
// at its name, if it is absent, has made the next version, and nobody is asked. Other tables
// have a ledger in their record, which says what may become the next version. Then all
// writers go through the catalog, and versions of several tables can be made together
// (batch.go). A table has a ledger from the start when it, or the namespace that it is made
// in, has the property [ManagedProperty], or else from the first batch on that names it.
//
// To make a version of a table with a ledger takes three writes:
//
//	1  put a copy of the manifest at a name that nobody knows
//	2  enter the version and its copy in the ledger (put-if-match of the table's record)
//	3  put the manifest at its usual name (put-if-absent)
//
// The third is the commit point, as it is for other tables. But at that name nothing is
// ever put that is not in the ledger, and the second write tells who comes next. Whoever
// makes the version after one that was entered and is not there yet does the third write for
// it first, so that an entry whose writer died is made, or nobody can ever have seen it.
// Readers look at the usual names only.
//
// Writers that put manifests themselves, past the catalog, lose nothing to entries of single
// versions: what they put is there, and the entry is void.
type ledger struct {
	Next    []entry `json:"next,omitempty"`    // ascending; may have been made since
	Made    []entry `json:"made,omitempty"`    // before those; the last few, for repetitions
	Batches int     `json:"batches,omitempty"` // that made versions
}

// An entry is a version that was, or is to be, made.
type entry struct {
	Version uint64 `json:"version"`
	Name    string `json:"name"`           // below _versions
	Source  string `json:"source"`         // of its Manifest
	Copy    string `json:"copy,omitempty"` // key in the home root; deleted once it is made
}

// ManagedProperty is the property of tables and namespaces that asks for ledgers.
const ManagedProperty = "managed_versioning"

const (
	copiesPrefix  = "_manifests/"
	maxRemembered = 16 // entries that a ledger keeps of versions made
	claimAttempts = 250
)

func wantsLedger(properties map[string]string) bool {
	return strings.EqualFold(properties[ManagedProperty], "true")
}

// A Manifest is what is to be the next version of a table.
type Manifest struct {
	Version uint64
	Scheme  manifest.Scheme
	Data    []byte // the file; nil when its source is gone, as after a try that succeeded
	ETag    string // of the source, if known: some stores give equal objects equal ones
	// Source is different for each attempt to make a version, but not when an attempt is
	// repeated because its answer was lost.
	Source string
	Noted  bool // Data has a note: see [Catalog.Annotate]
}

func (m Manifest) name() string { return manifest.Name(m.Version, m.Scheme) }

// errVersion says that a version is not the one that comes next.
var errVersion = fmt.Errorf("not the next version: %w", objectstore.ErrPrecondition)

// errNoSource says that there is nothing to make a version of.
func (m Manifest) errNoSource() error {
	return &protocol.Error{
		Code: protocol.InvalidInput, Message: fmt.Sprintf("there is no manifest for version %d at manifest_path %q", m.Version, objectstore.URI(m.Source)),
		Detail: "manifest_path is the key of the staged manifest in the bucket, without scheme and leading slash",
	}
}

// Publish makes a version of a table, whose manifest is then at its usual name. When there is
// such a version, or it would not be the next one, the error is ConcurrentModification and
// objectstore.ErrPrecondition. It is ErrMoved when the name stands for another table now.
func (c *Catalog) Publish(ctx context.Context, t *Table, m Manifest) (objectstore.Info, error) {
	if m.Source == "" {
		m.Source = newUID()
	}
	copied := ""
	for attempt := range claimAttempts {
		record, etag, err := c.tableRecord(ctx, t.ID)
		if err != nil {
			return objectstore.Info{}, err
		}
		if record.UID != t.uid {
			return objectstore.Info{}, ErrMoved
		}
		l := record.Ledger
		switch {
		case record.Pending != nil: // it will be decided soon
			if err := c.awaitBatch(ctx, record.Pending, attempt); err != nil {
				return objectstore.Info{}, err
			}
			continue
		case l == nil:
			return putNext(ctx, t.ID, t.Location, 1, m)
		case l.has(m):
			return c.madeBefore(ctx, t.Location, record, m)
		}
		newest, err := c.catchUp(ctx, t.Location, l)
		if err != nil {
			return objectstore.Info{}, err
		}
		if newest+1 != m.Version {
			c.deleteCopies(ctx, []entry{{Copy: copied}})
			return objectstore.Info{}, notNext(t.ID, m.Version, newest)
		}
		if m.Data == nil {
			return objectstore.Info{}, m.errNoSource()
		}
		if copied == "" {
			if copied, err = c.putCopy(ctx, m); err != nil {
				return objectstore.Info{}, err
			}
		}
		claimed := *record
		claimed.Ledger = l.with(entry{Version: m.Version, Name: m.name(), Source: m.Source, Copy: copied})
		_, err = c.write(ctx, tableKey(t.ID), &claimed, objectstore.Condition{IfMatch: etag})
		if err == nil {
			return c.placeEntered(ctx, t, claimed.Ledger.Next[0], m)
		}
		if !gone(err) {
			return objectstore.Info{}, err
		}
	}
	return objectstore.Info{}, lostRace("table", t.ID, objectstore.ErrPrecondition)
}

// placeEntered makes the version that we have just entered. From here on others may make it
// for us, at any time.
func (c *Catalog) placeEntered(ctx context.Context, t *Table, e entry, m Manifest) (objectstore.Info, error) {
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), finishTime)
	defer done()
	info, err := c.place(ctx, t.Location, e, m.Data)
	switch {
	case err == nil:
		return info, nil
	case errors.Is(err, objectstore.ErrPrecondition):
		return objectstore.Info{}, notNext(t.ID, m.Version, m.Version)
	}
	return objectstore.Info{}, unsettled(errors.Join(objectstore.ErrUnknownOutcome, err))
}

// notNext is the answer to who wants to make a version that is there, or too early.
func notNext(id []string, version, newest uint64) error {
	message := fmt.Sprintf("version %d of table %s exists already", version, display(id))
	if version > newest {
		message = fmt.Sprintf("version %d of table %s is not the next one", version, display(id))
	}
	return &protocol.Error{
		Code: protocol.ConcurrentModification, Message: message,
		Detail: fmt.Sprintf("its newest version is %d; make the next one from that", newest), Err: errVersion,
	}
}

// has says whether the ledger knows that manifest, with that source.
func (l *ledger) has(m Manifest) bool {
	same := func(e entry) bool { return e.Version == m.Version && e.Source == m.Source }
	return slices.ContainsFunc(l.Made, same) || slices.ContainsFunc(l.Next, same)
}

// with returns the ledger of a table whose next versions are those; what was next is made.
func (l *ledger) with(next ...entry) *ledger {
	made := slices.Concat(l.Made, l.Next)
	for i := range made {
		made[i].Copy = ""
	}
	return &ledger{Next: next, Made: made[max(0, len(made)-maxRemembered):], Batches: l.Batches}
}

// madeBefore answers a manifest that the ledger knows: it was made, unless it came to nothing.
func (c *Catalog) madeBefore(ctx context.Context, at objectstore.Location, record *tableRecord, m Manifest) (objectstore.Info, error) {
	newest, err := c.catchUp(ctx, at, record.Ledger)
	if err != nil {
		return objectstore.Info{}, err
	}
	there, info, err := at.Store.Get(ctx, finalKey(at, m.name()))
	if err == nil && bytes.Equal(there, m.Data) || err == nil && m.Data == nil {
		return info, nil
	}
	if err == nil || errors.Is(err, objectstore.ErrNotExist) {
		err = notNext(record.ID, m.Version, newest)
	}
	return objectstore.Info{}, err
}

// catchUp makes the versions that are in the ledger and not there yet, and returns the newest
// version, 0 when there is none.
func (c *Catalog) catchUp(ctx context.Context, at objectstore.Location, l *ledger) (uint64, error) {
	newest, err := newestVersion(ctx, at)
	if err != nil {
		return 0, err
	}
	for _, e := range l.Next {
		if e.Version <= newest {
			continue
		}
		switch _, err := c.place(ctx, at, e, nil); {
		case err == nil:
			newest = e.Version
		case !gone(err): // else somebody went past the ledger, or it was made and deleted
			return 0, err
		}
	}
	return newest, nil
}

package catalog

import (
	"context"
	"errors"
	"time"

	"tiltyard/shared/auth"
	"tiltyard/shared/objectstore"
)

// A Lookup is a table as it was when last seen, while its record is read again. Work that
// changes nothing may begin at once; what it found counts when Confirm returns nil.
type Lookup struct {
	Table      *Table
	catalog    *Catalog
	unanswered time.Time     // see Unanswered
	checked    chan struct{} // closed when answer is there
	answer     error
}

// ErrMoved says that a name stands for another table, or place, than when last seen.
var ErrMoved = errors.New("the table was dropped, replaced or moved meanwhile")

// Confirm waits until the record has been read and returns nil when it is unchanged,
// ErrMoved when the name stands for another table now, or why the table is gone.
func (l *Lookup) Confirm() error {
	<-l.checked
	return l.answer
}

// Confirmed says whether Confirm would return nil now, without waiting.
func (l *Lookup) Confirmed() bool {
	select {
	case <-l.checked:
		return l.answer == nil
	default:
		return false
	}
}

// lookedUp is a record as last seen.
type lookedUp struct {
	table  *Table
	record *tableRecord
	etag   string
}

var closed = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// maxLookups is how many records are remembered.
const maxLookups = 10_000

// Lookup finds a table. One that was seen before is returned at once and checked in the
// background, so that the check and the first work on the table take one round trip
// together, where a round trip is worth that.
func (c *Catalog) Lookup(ctx context.Context, id []string) (*Lookup, error) {
	if isRoot(id) || !auth.Sees(ctx, auth.Table(id)) { // what others have seen counts for nothing
		_, _, err := c.tableRecord(ctx, id)
		return nil, err
	}
	key := tableKey(id)
	last, seen := c.lookups.GetIfPresent(key)
	if !seen || objectstore.Near(c.store) {
		now, err := c.look(ctx, id, key)
		if err != nil {
			return nil, err
		}
		return &Lookup{Table: now.table, catalog: c, unanswered: now.record.Unanswered, checked: closed}, nil
	}
	found := &Lookup{Table: last.table, catalog: c, unanswered: last.record.Unanswered, checked: make(chan struct{})}
	go func() {
		defer close(found.checked)
		now, err := c.look(ctx, id, key)
		if err == nil && (!now.record.continues(last.record) || c.unanswered(now.record.Unanswered) && !found.Unanswered()) {
			err = ErrMoved
		}
		found.answer = err
	}()
	return found, nil
}

// continues says whether what began on a table when its record was before may go on now: it
// is the same table, its versions are still made and told in the same way, and no batch has
// made any in between.
func (r *tableRecord) continues(before *tableRecord) bool {
	batches := func(r *tableRecord) int {
		if r.Ledger == nil {
			return 0
		}
		return r.Ledger.Batches
	}
	return r.UID == before.UID && r.managed() == before.managed() && batches(r) == batches(before) && r.Annotated == before.Annotated
}

// look reads a record and remembers it.
func (c *Catalog) look(ctx context.Context, id []string, key string) (lookedUp, error) {
	record, etag, err := c.tableRecord(ctx, id)
	if err != nil {
		c.lookups.Invalidate(key)
		return lookedUp{}, err
	}
	table, err := c.table(record)
	if err != nil {
		return lookedUp{}, err
	}
	now := lookedUp{table: table, record: record, etag: etag}
	c.lookups.Set(key, now)
	return now, nil
}

// hintLag is how many versions the hint of a record may be behind. Each refresh is one
// write, and saves whoever opens the table anew one round trip.
const hintLag = 16

// Hint tells that the table has a version now. The record is only written when what it
// says is far behind, and nothing depends on whether it could be.
func (l *Lookup) Hint(ctx context.Context, version uint64) {
	key := tableKey(l.Table.ID)
	last, seen := l.catalog.lookups.GetIfPresent(key)
	if !seen || last.record.Hint+hintLag > version {
		return
	}
	record := *last.record
	record.Hint = version
	etag, err := l.catalog.write(ctx, key, &record, objectstore.Condition{IfMatch: last.etag})
	if err != nil {
		return
	}
	table := *last.table
	table.Hint = version
	l.catalog.lookups.Set(key, lookedUp{table: &table, record: &record, etag: etag})
}

// Read does work that changes nothing on the table that a name stands for. The work
// begins on what was last seen while that is checked; when the name stands for another
// table now, its result is discarded and the work done again. The context that work gets
// outlives it, for results that go on reading, unless the result is discarded.
func Read[T any](ctx context.Context, c *Catalog, id []string, work func(context.Context, *Table) (T, error)) (T, error) {
	var none T
	for range createAttempts {
		found, err := c.Lookup(ctx, id)
		if err != nil {
			return none, err
		}
		attempt, discard := context.WithCancel(ctx)
		result, err := work(attempt, found.Table)
		switch confirmed := found.Confirm(); {
		case confirmed == nil:
			context.AfterFunc(ctx, discard)
			return result, err
		case !errors.Is(confirmed, ErrMoved):
			discard()
			return none, confirmed
		}
		discard()
	}
	return none, lostRace("table", id, objectstore.ErrPrecondition)
}

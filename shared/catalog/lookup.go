package catalog

import (
	"context"
	"errors"

	"tiltyard/shared/objectstore"
)

// A Lookup is a table as it was when last seen, while its record is read again. Work that
// changes nothing may begin at once; what it found counts when Confirm returns nil.
type Lookup struct {
	Table   *Table
	confirm func() error
}

// ErrMoved says that a name stands for another table, or place, than when last seen.
var ErrMoved = errors.New("the table was dropped, replaced or moved meanwhile")

// Confirm waits until the record has been read and returns nil when it is unchanged,
// ErrMoved when the name stands for another table now, or why the table is gone.
func (l *Lookup) Confirm() error { return l.confirm() }

// lookedUp is a record as last seen.
type lookedUp struct {
	table *Table
	etag  string
}

// maxLookups is how many records are remembered.
const maxLookups = 10_000

// Lookup finds a table. One that was seen before is returned at once and checked in the
// background, so that the check and the first work on the table take one round trip
// together.
func (c *Catalog) Lookup(ctx context.Context, id []string) (*Lookup, error) {
	if isRoot(id) {
		_, _, err := c.tableRecord(ctx, id)
		return nil, err
	}
	key := tableKey(id)
	last, seen := c.lookups.GetIfPresent(key)
	if !seen {
		now, err := c.look(ctx, id, key)
		if err != nil {
			return nil, err
		}
		return &Lookup{Table: now.table, confirm: func() error { return nil }}, nil
	}
	checked := make(chan error, 1)
	go func() {
		now, err := c.look(ctx, id, key)
		if err == nil && now.etag != last.etag {
			err = ErrMoved
		}
		checked <- err
	}()
	answered := false
	var answer error
	return &Lookup{Table: last.table, confirm: func() error {
		if !answered {
			answer, answered = <-checked, true
		}
		return answer
	}}, nil
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
	now := lookedUp{table: table, etag: etag}
	c.lookups.Set(key, now)
	return now, nil
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

package catalog

import (
	"context"
	"math"
	"slices"
	"time"

	"tiltyard/shared/catalog/keys"
	"tiltyard/shared/catalog/lists"
	"tiltyard/shared/catalog/stored"
	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/storage/objectstore"
)

// A Lookup is a table as the catalog last saw it, while its record is read again. Work that changes
// nothing may begin at once; its result counts only if Confirm returns nil.
type Lookup struct {
	Table      *Table
	catalog    *Catalog
	unanswered time.Time     // see Unanswered
	checked    chan struct{} // closed when the answer is there
	answer     error
}

// Confirm waits until the record has been read. It returns nil if the record is unchanged,
// stored.ErrMoved if the name now stands for another table, and TableNotFound if the table was
// dropped.
func (l *Lookup) Confirm() error {
	<-l.checked
	return l.answer
}

// Confirmed reports whether Confirm would return nil now, without waiting.
func (l *Lookup) Confirmed() bool {
	select {
	case <-l.checked:
		return l.answer == nil
	default:
		return false
	}
}

// lookedUp is a cached record.
type lookedUp struct {
	table  *Table
	record *stored.Table
	etag   string
}

var closed = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

const (
	// maxLookupBytes bounds the memory of the cached records. Most are small, but users may set a megabyte of properties.
	maxLookupBytes = 32 << 20
)

// bytes estimates the memory of a cached record.
func (l lookedUp) bytes(key string) uint32 {
	const fixed, perEntry = 2 << 10, 64
	total := fixed + len(key)
	add := func(texts ...string) {
		for _, text := range texts {
			total += perEntry + len(text)
		}
	}
	r := l.record
	add(r.Location)
	add(r.Reads...)
	add(r.Fills...)
	for _, use := range r.Uses {
		add(use.What)
		addPrincipal(add, use.By)
	}
	if r.View != nil {
		addPrincipal(add, r.View.By)
	}
	for name, value := range r.Properties {
		add(name, value)
	}
	for _, d := range r.Dependents {
		add(d.UID)
		add(d.ID...)
	}
	if r.Ledger != nil {
		for _, e := range slices.Concat(r.Ledger.Next, r.Ledger.Made) {
			add(e.Name, e.Source, e.Copy)
		}
	}
	if r.Pending != nil && r.Pending.Then != nil {
		total += int(lookedUp{record: r.Pending.Then}.bytes(""))
	}
	return uint32(min(total, math.MaxUint32))
}

func addPrincipal(add func(...string), p *auth.Principal) {
	if p != nil {
		add(p.Subject, p.Issuer)
		add(p.Scopes...)
		add(p.Groups...)
		add(p.Roles...)
	}
}

// Lookup finds a table. If its record is cached, Lookup returns at once and reads the record again
// in the background, so that the check and the first work on the table take one round trip
// together. In a store without latency that saves nothing, so there the check comes first.
func (c *Catalog) Lookup(ctx context.Context, id []string) (*Lookup, error) {
	if keys.IsRoot(id) || !auth.Sees(ctx, auth.Table(id)) { // others may have read the record
		_, _, err := c.names.Table(ctx, id)
		return nil, err
	}
	key := keys.Table(id)
	last, seen := c.lookups.GetIfPresent(key)
	if !seen || objectstore.Near(c.store.Store) {
		now := last
		if !seen || !c.stands(ctx, key, last) {
			var err error
			if now, err = c.look(ctx, id, key); err != nil {
				return nil, err
			}
		}
		return &Lookup{Table: now.table, catalog: c, unanswered: now.record.Unanswered, checked: closed}, nil
	}
	found := &Lookup{Table: last.table, catalog: c, unanswered: last.record.Unanswered, checked: make(chan struct{})}
	go func() {
		defer close(found.checked)
		now, err := c.look(ctx, id, key)
		if err == nil && (!now.record.Continues(last.record) || c.unanswered(now.record.Unanswered) && !found.Unanswered()) {
			err = stored.ErrMoved
		}
		found.answer = err
	}()
	return found, nil
}

// stands reports whether a cached record is still the stored one, by its ETag, without reading it.
// It is false for a record in an unfinished batch or rename, because the meaning of such a record
// can change without a change of its bytes.
func (c *Catalog) stands(ctx context.Context, key string, last lookedUp) bool {
	if r := last.record; r.Pending != nil || r.Arriving != nil || r.Moved != nil {
		return false
	}
	_, info, err := c.store.GetRanges(ctx, key)
	return err == nil && info.ETag == last.etag
}

// look reads a record and caches it.
func (c *Catalog) look(ctx context.Context, id []string, key string) (lookedUp, error) {
	record, etag, err := c.names.Table(ctx, id)
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

// Walked returns the table at which a walk has arrived. It reads the record unless the cached one
// has the listed ETag.
func (c *Catalog) Walked(ctx context.Context, one lists.Walked) (*Table, error) {
	key := keys.Table(one.ID)
	if last, seen := c.lookups.GetIfPresent(key); seen && last.etag == one.ETag && last.record.State() == stored.Standing {
		return last.table, nil
	}
	now, err := c.look(ctx, one.ID, key)
	return now.table, err
}

// Dependents returns the views that read the table, as the catalog last saw them.
func (l *Lookup) Dependents() []stored.Dependent {
	last, seen := l.catalog.lookups.GetIfPresent(keys.Table(l.Table.ID))
	if !seen || last.record.UID != l.Table.UID {
		return nil
	}
	return last.record.Dependents
}

// hintLag bounds how far the version hint of a record may be behind. A refresh costs one write, and
// saves one round trip whenever a process opens the table anew.
const hintLag = 16

// Hint stores the current version of the table in its record, if the stored hint is far behind. It
// ignores failures, because the hint only saves time.
func (l *Lookup) Hint(ctx context.Context, version uint64) { l.hint(ctx, version, hintLag) }

// Committed notifies the watch that a table has a new version, or a branch of it. The branch "" is the table itself.
func (c *Catalog) Committed(ctx context.Context, id []string, branch string) {
	if ctx = context.WithoutCancel(ctx); branch != "" {
		c.names.Watch.Committed(ctx, id, branch)
		return
	}
	c.names.Watch.Changed(ctx, keys.Tables, id)
}

// HintNow stores the hint even if the stored one is only one version behind. It is worth the write
// after slow work such as an index, because that version usually stays the newest for some time.
func (l *Lookup) HintNow(ctx context.Context, version uint64) { l.hint(ctx, version, 1) }

func (l *Lookup) hint(ctx context.Context, version, lag uint64) {
	l.catalog.Committed(ctx, l.Table.ID, "")
	key := keys.Table(l.Table.ID)
	last, seen := l.catalog.lookups.GetIfPresent(key)
	if !seen || last.record.Hint+lag > version {
		return
	}
	record := *last.record
	record.Hint = version
	etag, err := l.catalog.store.Write(ctx, key, &record, objectstore.Condition{IfMatch: last.etag})
	if err != nil {
		return
	}
	table := *last.table
	table.Hint = version
	l.catalog.lookups.Set(key, lookedUp{table: &table, record: &record, etag: etag})
}

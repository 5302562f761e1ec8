package catalog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"tiltyard/shared/auth"
	"tiltyard/shared/catalog/keys"
	"tiltyard/shared/catalog/objects"
	"tiltyard/shared/catalog/stored"
	"tiltyard/shared/memory"
	"tiltyard/shared/objectstore"
	"tiltyard/shared/protocol"
)

// All is the limit of a list without a limit.
const All = -1

// ListNamespaces returns the names of the namespaces directly inside a namespace, in bytewise
// order: at most limit (All: no bound), after the given name. next is where the following page
// starts, empty at the end.
func (c *Catalog) ListNamespaces(ctx context.Context, parent []string, after string, limit int) (names []string, next string, err error) {
	return c.list(ctx, parent, kindOfNamespaces, after, limit)
}

// ListTables returns the names of the tables directly inside a namespace, in bytewise
// order: at most limit (All: no bound), after the given name. next is where the following
// page starts, empty at the end. Materialized views are tables too, plain views are not.
func (c *Catalog) ListTables(ctx context.Context, parent []string, after string, limit int) (names []string, next string, err error) {
	return c.list(ctx, parent, kindOfTables, after, limit)
}

// ListViews is ListTables for the views of one kind.
func (c *Catalog) ListViews(ctx context.Context, parent []string, kind stored.ViewKind, after string, limit int) (names []string, next string, err error) {
	return c.list(ctx, parent, childKind{keys.Tables, true, func(v *stored.View) bool { return v != nil && v.Kind == kind }}, after, limit)
}

// A childKind is a kind of children of a namespace. Some of them share the keys of their records with
// other kinds.
type childKind struct {
	keys.Kind
	sparse bool                      // most of the records may be of another kind
	has    func(v *stored.View) bool // reports whether a record belongs to the kind; nil: all do
}

// These are kinds of children.
var (
	kindOfNamespaces = childKind{Kind: keys.Namespaces}
	kindOfNamed      = childKind{Kind: keys.Tables} // tables and views
	kindOfSecrets    = childKind{Kind: keys.Secrets}
	kindOfFunctions  = childKind{Kind: keys.Functions}
	kindOfTables     = childKind{keys.Tables, false, func(v *stored.View) bool { return v == nil || v.Kind == stored.Materialized }}
)

// list is children for a parent that must exist. It checks the parent only when it finds no child,
// because a parent with a child exists.
func (c *Catalog) list(ctx context.Context, parent []string, kind childKind, after string, limit int) ([]string, string, error) {
	ask := c.children
	if auth.Limited(ctx) {
		ask = c.seenChildren
	}
	found, err := ask(ctx, parent, kind, after, limit)
	if err == nil && len(found.names) == 0 {
		_, err = c.Namespace(ctx, parent)
	}
	return found.names, found.next, err
}

// A page is a part of the sorted names of the children of one kind.
type page struct {
	names []string
	next  string // the last name, if more names follow
}

// children returns names in bytewise order: at most limit of them (All: no bound), after the given
// one. It reads the store page by page.
func (c *Catalog) children(ctx context.Context, parent []string, kind childKind, after string, limit int) (page, error) {
	names := []string{}
	if limit == 0 {
		return page{names: names}, nil
	}
	prefix := kind.Children(parent)
	opts := objectstore.ListOptions{Prefix: prefix, Limit: objects.PageSize, KeysOnly: kind.Kind != keys.Tables}
	if after != "" {
		opts.StartAfter = prefix + keys.Escape(after)
	}
	for {
		if limit >= 0 && !kind.sparse {
			opts.Limit = min(objects.PageSize, limit-len(names))
		}
		records, more, err := c.listRecords(ctx, &opts)
		if err != nil {
			return page{}, fmt.Errorf("list children of %s: %w", keys.Display(parent), err)
		}
		if err := takeListed(ctx, records); err != nil {
			return page{}, err
		}
		for _, object := range records {
			name, err := keys.Unescape(strings.TrimPrefix(object.Key, prefix))
			if err != nil || kind.has != nil && !kind.has(object.view) {
				continue // not a record, or one of another kind
			}
			if limit >= 0 && len(names) == limit {
				return page{names: names, next: names[limit-1]}, nil
			}
			names = append(names, name)
		}
		if !more {
			return page{names: names}, nil
		}
		if limit >= 0 && len(names) >= limit {
			return page{names: names, next: names[len(names)-1]}, nil
		}
	}
}

// takeListed takes memory for the names or ids that an answer makes of listed records. The request
// holds it until it ends.
func takeListed(ctx context.Context, records []child) error {
	const each = 96
	bytes := int64(0)
	for _, object := range records {
		bytes += each + 2*int64(len(object.Key))
	}
	return memory.FromContext(ctx).Take(ctx, bytes)
}

// A child is a record that was listed.
type child struct {
	objectstore.Info
	view *stored.View // nil when the record is not that of a view
}

// listRecords lists one page of records and moves opts behind it. It leaves out records that stood
// for no table when the page was made. A record that changed since then no longer shows what it
// was, so the page is listed again.
func (c *Catalog) listRecords(ctx context.Context, opts *objectstore.ListOptions) (records []child, more bool, err error) {
	for attempt := 1; ; attempt++ {
		page, err := c.store.List(ctx, *opts)
		if err != nil {
			return nil, false, err
		}
		records, err := c.standing(ctx, page.Objects)
		if errors.Is(err, errStale) && attempt < maxListings {
			continue
		}
		if err != nil {
			return nil, false, err
		}
		if len(page.Objects) == 0 {
			return nil, false, nil
		}
		opts.StartAfter = page.Objects[len(page.Objects)-1].Key
		return records, page.More, nil
	}
}

// maxListings is how often a page is listed while tables are renamed all the time.
const maxListings = 20

// errStale is the error for a record that has changed since it was listed.
var errStale = &protocol.Error{
	Code: protocol.ConcurrentModification, Message: "tables are renamed faster than they can be listed; retry", Detail: "retry",
}

// standing returns the records of one page without those of tables and views that did not stand.
func (c *Catalog) standing(ctx context.Context, listed []objectstore.Info) ([]child, error) {
	page, err := c.doubtful(ctx, listed)
	if err != nil {
		return nil, err
	}
	kept := make([]child, 0, len(listed))
	ended := map[string]stored.Outcome{} // outcomes of batches, the same for the whole page
	for _, object := range listed {
		record, stood := page[object.Key], true
		if record != nil && record.State() != stored.Standing {
			if record, stood, err = c.stood(ctx, object, page, ended); err != nil {
				return nil, err
			}
		}
		switch {
		case !stood:
		case record == nil:
			kept = append(kept, child{Info: object})
		default:
			kept = append(kept, child{object, record.View})
		}
	}
	return kept, nil
}

// doubtful reads the records of one page that a LIST does not show well enough. The result has them
// by key, and nil for the other keys of the page. It is nil when there are none.
func (c *Catalog) doubtful(ctx context.Context, listed []objectstore.Info) (map[string]*stored.Table, error) {
	if !slices.ContainsFunc(listed, stored.InDoubt) {
		return nil, nil
	}
	page := make(map[string]*stored.Table, len(listed))
	var guard sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(readFanOut)
	for _, object := range listed {
		if !stored.InDoubt(object) {
			guard.Lock()
			page[object.Key] = nil
			guard.Unlock()
			continue
		}
		group.Go(func() error {
			record, err := c.asListed(ctx, object)
			guard.Lock()
			defer guard.Unlock()
			page[object.Key] = record
			return err
		})
	}
	return page, group.Wait()
}

// readFanOut bounds how many records of one page are read in parallel.
const readFanOut = 16

// stood reports whether an unsettled record stood for a table when its page was made, and returns the
// record that stands there now. It settles the record.
func (c *Catalog) stood(ctx context.Context, object objectstore.Info, page map[string]*stored.Table, ended map[string]stored.Outcome) (*stored.Table, bool, error) {
	record := page[object.Key]
	if record.Pending != nil {
		return c.stoodPending(ctx, object, record, ended)
	}
	there := false
	origin, here := page[keys.Table(record.RenamedFrom)]
	if record.Arriving != nil && origin != nil {
		there = origin.MovedTo(record)
	}
	now, err := c.names.Settled(ctx, record.ID)
	if record.Arriving != nil && !here {
		there = now.Record != nil // the record at its old name is not on this page, so the present state counts
	}
	return record, there, err
}

// stoodPending is stood for a table that a batch makes or removes.
func (c *Catalog) stoodPending(ctx context.Context, object objectstore.Info, record *stored.Table, ended map[string]stored.Outcome) (*stored.Table, bool, error) {
	p := record.Pending
	now, known := ended[p.Batch]
	if !known {
		d, err := c.names.DecisionOf(ctx, p.Batch)
		if err != nil {
			return nil, false, err
		}
		now = d.Outcome
		ended[p.Batch] = now
	}
	if now == stored.Undecided { // if the batch is still in the record: see settleBatch
		if _, err := c.asListed(ctx, object); err != nil {
			return nil, false, err
		}
	}
	if now == stored.Committed && p.Gone {
		return p.Then, p.Then != nil, nil
	}
	return record, now == stored.Committed || !p.New, nil
}

// asListed reads a record that was listed. It returns errStale if the record has changed.
func (c *Catalog) asListed(ctx context.Context, object objectstore.Info) (*stored.Table, error) {
	var record stored.Table
	etag, found, err := c.store.Find(ctx, object.Key, &record)
	if err == nil && (!found || etag != object.ETag) {
		return nil, errStale
	}
	return &record, err
}

// AllTables returns the ids of all tables that the caller may see, in all namespaces, in no
// particular order.
func (c *Catalog) AllTables(ctx context.Context) ([][]string, error) {
	var ids [][]string
	paths := map[string][]string{}
	for after := ""; ; {
		page, next, err := c.pageOf(ctx, after, kindOfTables, paths)
		if err != nil {
			return nil, err
		}
		ids = append(ids, page...)
		if after = next; next == "" {
			return ids, nil
		}
	}
}

// TablesAfter is AllTables for one page of the catalog, which may have none. The page begins behind another one:
// after is what that one returned as next, "" for the first. next is "" at the end. The size of a page is that
// of the store's lists.
func (c *Catalog) TablesAfter(ctx context.Context, after string) (ids [][]string, next string, err error) {
	return c.pageOf(ctx, after, kindOfTables, map[string][]string{})
}

// ViewsAfter is TablesAfter for materialized views.
func (c *Catalog) ViewsAfter(ctx context.Context, after string) (ids [][]string, next string, err error) {
	return c.pageOf(ctx, after, childKind{Kind: keys.Tables, has: isMaterialized}, map[string][]string{})
}

// NamespacesAfter is TablesAfter for namespaces.
func (c *Catalog) NamespacesAfter(ctx context.Context, after string) (ids [][]string, next string, err error) {
	return c.pageOf(ctx, after, kindOfNamespaces, map[string][]string{})
}

func isMaterialized(v *stored.View) bool { return v != nil && v.Kind == stored.Materialized }

// pageOf returns the ids of the objects of a kind on the page of records after a key, and the last key of that
// page, "" at the end. paths are those of folders that are known.
func (c *Catalog) pageOf(ctx context.Context, after string, kind childKind, paths map[string][]string) (ids [][]string, last string, err error) {
	opts := objectstore.ListOptions{Prefix: keys.Records, Limit: objects.PageSize, StartAfter: after}
	records, more, err := c.listRecords(ctx, &opts)
	if err != nil {
		return nil, "", fmt.Errorf("list all tables: %w", err)
	}
	if err := takeListed(ctx, records); err != nil {
		return nil, "", err
	}
	for _, object := range records {
		if !kind.Has(object.Key) || kind.has != nil && !kind.has(object.view) {
			continue
		}
		id, err := c.idOf(ctx, object.Key, paths)
		if err != nil {
			return nil, "", err
		}
		if id != nil && !keys.IsDropped(id) && auth.Sees(ctx, objectOf(kind.Kind, id)) {
			ids = append(ids, id)
		}
	}
	if !more {
		return ids, "", nil
	}
	return ids, opts.StartAfter, nil
}

// idOf returns the id that belongs to the key of a record, nil for other keys. The path of a hashed
// folder is found in one of its records.
func (c *Catalog) idOf(ctx context.Context, key string, paths map[string][]string) ([]string, error) {
	dir, rest, _ := strings.Cut(strings.TrimPrefix(key, keys.Records), "/")
	_, escaped, ok := strings.Cut(rest, "/")
	name, err := keys.Unescape(escaped)
	if !ok || err != nil {
		return nil, nil //nolint:nilerr // a key that is no record's
	}
	path, known := paths[dir]
	if !known {
		if path, known = keys.Path(dir); !known {
			var record struct {
				ID []string `json:"id"`
			}
			if _, err := c.store.Peek(ctx, key, &record); err != nil {
				return nil, objects.IgnoreMissing(err)
			}
			path = slices.Clone(keys.Parent(record.ID))
		}
		paths[dir] = path
	}
	return keys.Child(path, name), nil
}

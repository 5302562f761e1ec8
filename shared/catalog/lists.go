package catalog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tiltyard/shared/auth"
	"tiltyard/shared/memory"
	"tiltyard/shared/objectstore"
	"tiltyard/shared/protocol"
)

// All as a limit asks for everything that there is.
const All = -1

// listPageSize is how many keys one request to the store asks for.
const listPageSize = 1000

// ListNamespaces returns the names of the namespaces directly inside one, in bytewise
// order: at most limit (All: no bound), after the given name. next is where the following
// page starts, empty at the end.
func (c *Catalog) ListNamespaces(ctx context.Context, parent []string, after string, limit int) (names []string, next string, err error) {
	return c.list(ctx, parent, namespaceKind, after, limit)
}

// ListTables returns the names of the tables directly inside a namespace, in bytewise
// order: at most limit (All: no bound), after the given name. next is where the following
// page starts, empty at the end.
func (c *Catalog) ListTables(ctx context.Context, parent []string, after string, limit int) (names []string, next string, err error) {
	return c.list(ctx, parent, tableKind, after, limit)
}

// list is children for a parent that must exist, which is only asked when nothing was
// found: what holds children exists.
func (c *Catalog) list(ctx context.Context, parent []string, kind, after string, limit int) ([]string, string, error) {
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

// page lists the names of the children of one kind, after and up to which is asked.
type page struct {
	names []string
	next  string // the last name, when more follow
}

// children returns names in bytewise order: at most limit of them (All: no bound), after the
// given one. It asks the store page by page.
func (c *Catalog) children(ctx context.Context, parent []string, kind, after string, limit int) (page, error) {
	names := []string{}
	if limit == 0 {
		return page{names: names}, nil
	}
	prefix := childrenPrefix(parent, kind)
	opts := objectstore.ListOptions{Prefix: prefix, Limit: listPageSize, KeysOnly: kind == namespaceKind}
	if after != "" {
		opts.StartAfter = prefix + escape(after)
	}
	for {
		if limit >= 0 {
			opts.Limit = min(listPageSize, limit-len(names))
		}
		records, more, err := c.listRecords(ctx, &opts)
		if err != nil {
			return page{}, fmt.Errorf("list children of %s: %w", display(parent), err)
		}
		if err := takeListed(ctx, records); err != nil {
			return page{}, err
		}
		for _, object := range records {
			name, err := unescape(strings.TrimPrefix(object.Key, prefix))
			if err != nil {
				continue // not a record of ours
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

// takeListed takes memory for what becomes of listed records in an answer: names or ids, and lists
// of them that grow. It is held until the request ends.
func takeListed(ctx context.Context, records []objectstore.Info) error {
	const each = 96
	bytes := int64(0)
	for _, object := range records {
		bytes += each + 2*int64(len(object.Key))
	}
	return memory.FromContext(ctx).Take(ctx, bytes)
}

// listRecords asks for one page of records and moves opts behind it. It leaves out those
// that stood for no table when the page was made. That they have changed since cannot be
// told from the page, so it is asked for again then.
func (c *Catalog) listRecords(ctx context.Context, opts *objectstore.ListOptions) (records []objectstore.Info, more bool, err error) {
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

// maxListings is how often a page is asked for when tables are renamed all the time.
const maxListings = 20

// errStale says that a record has changed since it was listed.
var errStale = &protocol.Error{
	Code: protocol.ConcurrentModification, Message: "tables are renamed faster than they can be listed", Detail: "retry",
}

// standing returns the records of one page that stood for a table, or are of namespaces.
func (c *Catalog) standing(ctx context.Context, listed []objectstore.Info) ([]objectstore.Info, error) {
	if !slices.ContainsFunc(listed, inDoubt) {
		return listed, nil
	}
	page := make(map[string]objectstore.Info, len(listed))
	for _, object := range listed {
		page[object.Key] = object
	}
	kept := make([]objectstore.Info, 0, len(listed))
	ended := map[string]outcome{} // of batches, the same for the whole page
	for _, object := range listed {
		stood := true
		if inDoubt(object) {
			var err error
			if stood, err = c.stood(ctx, object, page, ended); err != nil {
				return nil, err
			}
		}
		if stood {
			kept = append(kept, object)
		}
	}
	return kept, nil
}

// stood says whether a record in doubt stood for a table when its page was made. It does
// what is left of the rename.
func (c *Catalog) stood(ctx context.Context, object objectstore.Info, page map[string]objectstore.Info, ended map[string]outcome) (bool, error) {
	record, err := c.asListed(ctx, object)
	if err != nil || record.plain() {
		return err == nil, err
	}
	if record.Pending != nil {
		return c.stoodPending(ctx, object, record, ended)
	}
	there := false
	origin, here := page[tableKey(record.RenamedFrom)]
	if record.Arriving != nil && here && inDoubt(origin) {
		old, err := c.asListed(ctx, origin)
		if err != nil {
			return false, err
		}
		there = old.movedTo(record)
	}
	_, _, err = c.settled(ctx, record.ID)
	if errors.Is(err, errArriving) {
		err = objectstore.ErrNotExist
	}
	if record.Arriving != nil && !here {
		there = err == nil // its old name is not on this page, so it counts as it is now
	}
	return there, ignoreGone(err)
}

// stoodPending is stood for a table that a batch makes or removes.
func (c *Catalog) stoodPending(ctx context.Context, object objectstore.Info, record *tableRecord, ended map[string]outcome) (bool, error) {
	p := record.Pending
	now, known := ended[p.Batch]
	if !known {
		d, err := c.decisionOf(ctx, p.Batch)
		if err != nil {
			return false, err
		}
		now = d.Outcome
		ended[p.Batch] = now
	}
	if now == undecided { // if it is still in the record: see settleBatch
		if _, err := c.asListed(ctx, object); err != nil {
			return false, err
		}
	}
	if now == committed {
		return p.Then != nil || !p.Gone, nil
	}
	return !p.New, nil
}

// asListed reads a record that was listed, or returns errStale.
func (c *Catalog) asListed(ctx context.Context, object objectstore.Info) (*tableRecord, error) {
	var record tableRecord
	etag, err := c.read(ctx, object.Key, &record)
	if errors.Is(err, objectstore.ErrNotExist) || err == nil && etag != object.ETag {
		return nil, errStale
	}
	return &record, err
}

// AllTables returns the ids of all tables of all namespaces that the caller sees, in no
// particular order.
func (c *Catalog) AllTables(ctx context.Context) ([][]string, error) {
	var ids [][]string
	paths := map[string][]string{} // by folder
	opts := objectstore.ListOptions{Prefix: recordsPrefix, Limit: listPageSize}
	for {
		records, more, err := c.listRecords(ctx, &opts)
		if err != nil {
			return nil, fmt.Errorf("list all tables: %w", err)
		}
		if err := takeListed(ctx, records); err != nil {
			return nil, err
		}
		for _, object := range records {
			if !strings.Contains(object.Key, tableKind) {
				continue
			}
			id, err := c.idOf(ctx, object.Key, paths)
			if err != nil {
				return nil, err
			}
			if id != nil && auth.Sees(ctx, auth.Table(id)) {
				ids = append(ids, id)
			}
		}
		if !more {
			return ids, nil
		}
	}
}

// idOf returns the id behind the key of a record, nil for other keys. A hashed folder does not
// tell its path; one of its records does.
func (c *Catalog) idOf(ctx context.Context, key string, paths map[string][]string) ([]string, error) {
	dir, rest, _ := strings.Cut(strings.TrimPrefix(key, recordsPrefix), "/")
	_, escaped, ok := strings.Cut(rest, "/")
	name, err := unescape(escaped)
	if !ok || err != nil {
		return nil, nil //nolint:nilerr // a key that is no record's
	}
	path, known := paths[dir]
	if !known {
		if path, known = folderPath(dir); !known {
			var record struct {
				ID []string `json:"id"`
			}
			if _, err := c.read(ctx, key, &record); err != nil {
				return nil, ignoreGone(err)
			}
			path = slices.Clone(parentOf(record.ID))
		}
		paths[dir] = path
	}
	return child(path, name), nil
}

func ignoreGone(err error) error {
	if errors.Is(err, objectstore.ErrNotExist) {
		return nil
	}
	return err
}

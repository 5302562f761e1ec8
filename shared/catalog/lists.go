package catalog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tiltyard/shared/objectstore"
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
	found, err := c.children(ctx, parent, kind, after, limit)
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
	opts := objectstore.ListOptions{Prefix: prefix, Limit: listPageSize}
	if after != "" {
		opts.StartAfter = prefix + escape(after)
	}
	for {
		if limit >= 0 {
			opts.Limit = min(listPageSize, limit-len(names))
		}
		listed, err := c.store.List(ctx, opts)
		if err != nil {
			return page{}, fmt.Errorf("list children of %s: %w", display(parent), err)
		}
		found, err := c.namesOf(ctx, parent, prefix, listed.Objects)
		if err != nil {
			return page{}, fmt.Errorf("list children of %s: %w", display(parent), err)
		}
		names = append(names, found...)
		if !listed.More || len(listed.Objects) == 0 {
			return page{names: names}, nil
		}
		if limit >= 0 && len(names) >= limit {
			return page{names: names, next: names[len(names)-1]}, nil
		}
		opts.StartAfter = listed.Objects[len(listed.Objects)-1].Key
	}
}

// namesOf returns the names behind the keys of one listing, without those that stood for
// no table when it was made.
func (c *Catalog) namesOf(ctx context.Context, parent []string, prefix string, objects []objectstore.Info) ([]string, error) {
	names := make([]string, 0, len(objects))
	doubtful := false
	for _, object := range objects {
		name, err := unescape(strings.TrimPrefix(object.Key, prefix))
		if err != nil {
			continue // not a record of ours
		}
		names = append(names, name)
		doubtful = doubtful || inDoubt(object)
	}
	if !doubtful {
		return names, nil
	}
	plain := map[string]bool{} // those that the listing showed as such
	for _, object := range objects {
		plain[object.Key] = !inDoubt(object)
	}
	kept := names[:0]
	for _, name := range names {
		id := child(parent, name)
		if !plain[tableKey(id)] {
			there, err := c.stoodFor(ctx, id, plain)
			if err != nil {
				return nil, err
			}
			if !there {
				continue
			}
		}
		kept = append(kept, name)
	}
	return kept, nil
}

// stoodFor says whether a name that was listed in doubt is one of a table. One that came
// there from a name that was listed without doubt had not done so yet.
func (c *Catalog) stoodFor(ctx context.Context, id []string, plain map[string]bool) (bool, error) {
	record, _, err := c.settled(ctx, id)
	if errors.Is(err, errArriving) {
		return false, nil
	}
	if err != nil {
		return false, ignoreGone(err)
	}
	return len(record.RenamedFrom) == 0 || !plain[tableKey(record.RenamedFrom)], nil
}

// AllTables returns the ids of all tables of all namespaces, in no particular order.
func (c *Catalog) AllTables(ctx context.Context) ([][]string, error) {
	var ids [][]string
	paths := map[string][]string{} // by folder
	opts := objectstore.ListOptions{Prefix: recordsPrefix, Limit: listPageSize}
	for {
		listed, err := c.store.List(ctx, opts)
		if err != nil {
			return nil, fmt.Errorf("list all tables: %w", err)
		}
		found, err := c.tablesOf(ctx, listed.Objects, paths)
		if err != nil {
			return nil, fmt.Errorf("list all tables: %w", err)
		}
		ids = append(ids, found...)
		if !listed.More || len(listed.Objects) == 0 {
			return ids, nil
		}
		opts.StartAfter = listed.Objects[len(listed.Objects)-1].Key
	}
}

// tablesOf returns the ids of the tables whose records a listing shows.
func (c *Catalog) tablesOf(ctx context.Context, objects []objectstore.Info, paths map[string][]string) ([][]string, error) {
	var ids [][]string
	plain := map[string]bool{}
	for _, object := range objects {
		plain[object.Key] = !inDoubt(object)
	}
	for _, object := range objects {
		id, err := c.idOfTableKey(ctx, object.Key, paths)
		if err != nil {
			return nil, err
		}
		if id == nil {
			continue
		}
		if !plain[object.Key] {
			there, err := c.stoodFor(ctx, id, plain)
			if err != nil {
				return nil, err
			}
			if !there {
				continue
			}
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// idOfTableKey returns the id behind the key of a table's record, nil for other keys.
// A hashed folder does not tell its path; one of its records does.
func (c *Catalog) idOfTableKey(ctx context.Context, key string, paths map[string][]string) ([]string, error) {
	dir, escaped, ok := strings.Cut(strings.TrimPrefix(key, recordsPrefix), tableKind)
	name, err := unescape(escaped)
	if !ok || err != nil {
		return nil, nil //nolint:nilerr // a key that is no table's
	}
	path, known := paths[dir]
	if !known {
		if path, known = folderPath(dir); !known {
			var record tableRecord
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

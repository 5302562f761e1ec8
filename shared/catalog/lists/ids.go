package lists

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"tiltyard/shared/auth"
	"tiltyard/shared/catalog/keys"
	"tiltyard/shared/catalog/objects"
	"tiltyard/shared/objectstore"
)

// All returns the ids of all tables that the caller may see, in all namespaces, in no particular order.
func (l *Lists) All(ctx context.Context) ([][]string, error) {
	var ids [][]string
	paths := Paths{}
	for after := ""; ; {
		page, next, err := l.page(ctx, Tables, after, paths)
		if err != nil {
			return nil, err
		}
		ids = append(ids, page...)
		if after = next; next == "" {
			return ids, nil
		}
	}
}

// After is [Lists.All] for one page of the objects of a kind, which may have none. The page begins behind another one:
// after is what that one returned as next, "" for the first. next is "" at the end. The size of a page is that
// of the store's lists.
func (l *Lists) After(ctx context.Context, kind Kind, after string) (ids [][]string, next string, err error) {
	return l.page(ctx, kind, after, Paths{})
}

// page returns the ids of the objects of a kind on the page of records after a key, and the last key of that
// page, "" at the end.
func (l *Lists) page(ctx context.Context, kind Kind, after string, paths Paths) (ids [][]string, last string, err error) {
	opts := objectstore.ListOptions{Prefix: keys.Records, Limit: objects.PageSize, StartAfter: after}
	records, more, err := l.records(ctx, &opts)
	if err != nil {
		return nil, "", fmt.Errorf("list all tables: %w", err)
	}
	if err := takeListed(ctx, records); err != nil {
		return nil, "", err
	}
	for _, object := range records {
		if !kind.key.Has(object.Key) || kind.has != nil && !kind.has(object.view) {
			continue
		}
		id, err := l.IDOf(ctx, object.Key, paths)
		if err != nil {
			return nil, "", err
		}
		if id != nil && !keys.IsDropped(id) && auth.Sees(ctx, kind.Object(id)) {
			ids = append(ids, id)
		}
	}
	if !more {
		return ids, "", nil
	}
	return ids, opts.StartAfter, nil
}

// Paths are the ids of namespaces by the folders of their children, as far as they are known.
type Paths map[string][]string

// IDOf returns the id that belongs to the key of a record, nil for other keys. The path of a hashed
// folder is found in one of its records, and added to paths.
func (l *Lists) IDOf(ctx context.Context, key string, paths Paths) ([]string, error) {
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
			if _, err := l.names.Store.Peek(ctx, key, &record); err != nil {
				return nil, objects.IgnoreMissing(err)
			}
			path = slices.Clone(keys.Parent(record.ID))
		}
		paths[dir] = path
	}
	return keys.Child(path, name), nil
}

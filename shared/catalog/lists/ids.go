package lists

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"tiltyard/shared/catalog/keys"
	"tiltyard/shared/catalog/objects"
	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/storage/objectstore"
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

// After returns one page of the ids of all objects of a kind that the caller may see, in all namespaces. A page may be
// empty. after is the token next of the page before, or "" for the first; next is "" at the end. A page covers one LIST of
// the store.
func (l *Lists) After(ctx context.Context, kind Kind, after string) (ids [][]string, next string, err error) {
	return l.page(ctx, kind, after, Paths{})
}

// page returns the ids of a kind's objects among the records listed after a key. last is the last key of that list, or ""
// at the end.
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

// Paths caches the ids of namespaces by the folders of their children.
type Paths map[string][]string

// IDOf returns the id of a record's key, or nil for other keys. To find the path of a hashed
// folder, it reads one of the records there and adds the path to paths.
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

package lists

import (
	"context"
	"fmt"
	"strings"

	"tiltyard/shared/catalog/keys"
	"tiltyard/shared/catalog/objects"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/storage/objectstore"
)

// A Walk visits the tables inside a namespace, at any depth, that the caller may see. It reads one page of records at a
// time, in the order of their keys, and can continue later from any position. A table that is not renamed meanwhile is
// visited exactly once. A Walk is not safe for concurrent use.
type Walk struct {
	lists     *Lists
	namespace []string
	prefixes  []string // of the keys of the records that may be inside, in ascending order
	paths     Paths
	position  string
	done      bool
}

// A Walked is a table that a walk has visited.
type Walked struct {
	ID       []string
	Position string // of the walk behind the table
	ETag     string // of its record, as it was listed
}

// Walk begins a walk at a position, or at the first table if that is empty. A position may be the
// key of a record that the caller may not see, so callers must not show it to clients. The error is
// NamespaceNotFound, or InvalidInput if the position is not inside the namespace.
func (l *Lists) Walk(ctx context.Context, namespace []string, position string) (*Walk, error) {
	if !keys.IsRoot(namespace) {
		if _, _, err := l.names.Namespace(ctx, namespace); err != nil {
			return nil, err
		}
	}
	w := &Walk{lists: l, namespace: namespace, prefixes: recordsInside(namespace), paths: Paths{}, position: position}
	if position == "" {
		w.position = w.prefixes[0]
	} else if w.prefix() == "" {
		return nil, protocol.Errorf(protocol.InvalidInput, "page_token is not one of this namespace")
	}
	return w, nil
}

// recordsInside returns the key prefixes under which tables inside a namespace may be. The folder of a deep namespace is a
// hash that does not show its path, so every hashed folder is included.
func recordsInside(namespace []string) []string {
	const hashed = keys.Records + "$$"
	folder := keys.Records + keys.Folder(namespace)
	switch {
	case len(namespace) == 0:
		return []string{keys.Records}
	case strings.HasPrefix(folder, hashed):
		return []string{hashed}
	}
	return []string{hashed, folder + "$", keys.Tables.Children(namespace)}
}

// prefix returns the current prefix of the walk, or "" at the end.
func (w *Walk) prefix() string {
	for _, prefix := range w.prefixes {
		if strings.HasPrefix(w.position, prefix) {
			return prefix
		}
	}
	return ""
}

// Position returns where the next page begins.
func (w *Walk) Position() string { return w.position }

// Done reports whether there is no further page.
func (w *Walk) Done() bool { return w.done }

// Next returns the tables of the next page, which may be empty. It costs one LIST, and one GET for
// each record that belongs to an unfinished rename or batch.
func (w *Walk) Next(ctx context.Context) ([]Walked, error) {
	prefix := w.prefix()
	opts := objectstore.ListOptions{Prefix: prefix, Limit: objects.PageSize, StartAfter: w.position}
	records, more, err := w.lists.records(ctx, &opts)
	if err != nil {
		return nil, fmt.Errorf("find tables in %s: %w", keys.Display(w.namespace), err)
	}
	if err := takeListed(ctx, records); err != nil {
		return nil, err
	}
	var found []Walked
	for _, object := range records {
		if !keys.Tables.Has(object.Key) || !Tables.has(object.view) {
			continue
		}
		id, err := w.lists.IDOf(ctx, object.Key, w.paths)
		if err != nil {
			return nil, err
		}
		if id != nil && keys.Inside(id, w.namespace) && !keys.IsDropped(id) && auth.Sees(ctx, auth.Table(id)) {
			found = append(found, Walked{ID: id, Position: object.Key, ETag: object.ETag})
		}
	}
	if more {
		w.position = opts.StartAfter
		return found, nil
	}
	w.done = true
	for i, p := range w.prefixes[:len(w.prefixes)-1] {
		if p == prefix {
			w.position, w.done = w.prefixes[i+1], false
		}
	}
	return found, nil
}

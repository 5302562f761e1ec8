// Package lists lists the tables, views, namespaces, secrets and functions of a catalog: the names in one namespace
// (lists.go), the ids in all of them (ids.go), and the tables inside a namespace at any depth (walk.go). A LIST of the
// store shows names and nothing else, so the records of unfinished renames and batches, and those of views, are read
// (records.go).
package lists

import (
	"context"
	"fmt"
	"strings"

	"tiltyard/shared/catalog/keys"
	"tiltyard/shared/catalog/naming"
	"tiltyard/shared/catalog/objects"
	"tiltyard/shared/catalog/stored"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/storage/objectstore"
)

// Lists lists the named objects of a catalog. It is safe for concurrent use.
type Lists struct{ names *naming.Registry }

// New returns the lists of a registry.
func New(names *naming.Registry) *Lists { return &Lists{names} }

// NoLimit is the limit of a list without a limit.
const NoLimit = -1

// A Kind is a kind of objects that namespaces hold. Some of them share the keys of their records with
// other kinds.
type Kind struct {
	key    keys.Kind
	sparse bool                      // most records under the key may be of another kind
	has    func(v *stored.View) bool // reports whether a record belongs to the kind; nil: all do
}

// These are kinds of objects.
var (
	Namespaces = Kind{key: keys.Namespaces}
	Secrets    = Kind{key: keys.Secrets}
	Functions  = Kind{key: keys.Functions}
	Named      = Kind{key: keys.Tables} // tables and views
	// Tables has the materialized views too, and no plain views.
	Tables = Kind{keys.Tables, false, func(v *stored.View) bool { return v == nil || v.Kind == stored.Materialized }}
	Views  = viewsOf(stored.Materialized)
	Plain  = viewsOf(stored.Plain)
)

func viewsOf(kind stored.ViewKind) Kind {
	return Kind{keys.Tables, true, func(v *stored.View) bool { return v != nil && v.Kind == kind }}
}

// Object returns an object of the kind as policies name it.
func (k Kind) Object(id []string) auth.Object {
	switch k.key {
	case keys.Namespaces:
		return auth.Namespace(id)
	case keys.Secrets:
		return auth.Secret(id)
	case keys.Functions:
		return auth.Function(id)
	}
	return auth.Table(id)
}

// Names returns the names of the objects of a kind directly inside a namespace, in bytewise order: at most limit (NoLimit:
// no bound), after the given name. next is the start of the following page, empty at the end. Objects that policies hide
// are left out. The error is NamespaceNotFound if the namespace does not exist; it is checked only if the list is empty,
// because a namespace with a child exists.
func (l *Lists) Names(ctx context.Context, kind Kind, parent []string, after string, limit int) (names []string, next string, err error) {
	ask := l.Children
	if auth.Limited(ctx) {
		ask = l.seen
	}
	names, next, err = ask(ctx, kind, parent, after, limit)
	if err == nil && len(names) == 0 && !keys.IsRoot(parent) {
		_, _, err = l.names.Namespace(ctx, parent)
	}
	return names, next, err
}

// Children lists names as [Lists.Names] does, but includes hidden objects and does not check that the namespace exists. It
// reads the store page by page.
func (l *Lists) Children(ctx context.Context, kind Kind, parent []string, after string, limit int) (names []string, next string, err error) {
	names = []string{}
	if limit == 0 {
		return names, "", nil
	}
	prefix := kind.key.Children(parent)
	opts := objectstore.ListOptions{Prefix: prefix, Limit: objects.PageSize, KeysOnly: kind.key != keys.Tables}
	if after != "" {
		opts.StartAfter = prefix + keys.Escape(after)
	}
	for {
		if limit >= 0 && !kind.sparse {
			opts.Limit = min(objects.PageSize, limit-len(names))
		}
		records, more, err := l.records(ctx, &opts)
		if err != nil {
			return nil, "", fmt.Errorf("list children of %s: %w", keys.Display(parent), err)
		}
		if err := takeListed(ctx, records); err != nil {
			return nil, "", err
		}
		for _, object := range records {
			name, err := keys.Unescape(strings.TrimPrefix(object.Key, prefix))
			if err != nil || kind.has != nil && !kind.has(object.view) {
				continue // not a record, or one of another kind
			}
			if limit >= 0 && len(names) == limit {
				return names, names[limit-1], nil
			}
			names = append(names, name)
		}
		if !more {
			return names, "", nil
		}
		if limit >= 0 && len(names) >= limit {
			return names, names[len(names)-1], nil
		}
	}
}

// takeListed reserves memory for the names or ids that an answer makes of listed records, until the
// request ends.
func takeListed(ctx context.Context, records []child) error {
	const each = 96
	bytes := int64(0)
	for _, object := range records {
		bytes += each + 2*int64(len(object.Key))
	}
	return memory.FromContext(ctx).Take(ctx, bytes)
}

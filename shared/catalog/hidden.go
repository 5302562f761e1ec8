package catalog

import (
	"context"

	"tiltyard/shared/auth"
)

// What policies hide from the sender of a request (auth.Sees) is not there for it: records
// are read and then not found (tableRecord, namespaceRecord, Lookup, enter), lists leave them
// out (seenChildren, AllTables). So a hidden object is answered like a missing one by the
// same code, after the same requests to the store.

// seenChildren is children for who does not see all of them. Pages are full all the same,
// and there is only a next one when it would hold something.
func (c *Catalog) seenChildren(ctx context.Context, parent []string, kind, after string, limit int) (page, error) {
	if !auth.Sees(ctx, auth.Namespace(parent)) {
		_, err := c.children(ctx, parent, kind, after, 1) // as for one that is not there
		return page{names: []string{}}, err
	}
	seen := page{names: []string{}}
	for limit != 0 {
		found, err := c.children(ctx, parent, kind, after, listPageSize)
		if err != nil {
			return page{}, err
		}
		for _, name := range found.names {
			if !auth.Sees(ctx, objectOf(kind, child(parent, name))) {
				continue
			}
			if limit >= 0 && len(seen.names) == limit {
				seen.next = seen.names[limit-1]
				return seen, nil
			}
			seen.names = append(seen.names, name)
		}
		if after = found.next; after == "" {
			break
		}
	}
	return seen, nil
}

func objectOf(kind string, id []string) auth.Object {
	if kind == namespaceKind {
		return auth.Namespace(id)
	}
	return auth.Table(id)
}

// CheckCascade says whether policies let the caller drop a namespace with all that it holds.
// If there is something that it may not drop, the namespace is NamespaceNotEmpty for it.
func (c *Catalog) CheckCascade(ctx context.Context, id []string) error {
	if !auth.Limited(ctx) || isRoot(id) {
		return nil
	}
	if _, _, err := c.namespaceRecord(ctx, id); err != nil {
		return err
	}
	for todo := [][]string{id}; len(todo) > 0; todo = todo[1:] {
		inside := todo[0]
		if !auth.Permits(ctx, "DropNamespace", auth.Namespace(inside)) {
			return namespaceNotEmpty(id)
		}
		tables, err := c.children(ctx, inside, tableKind, "", All)
		if err != nil {
			return err
		}
		for _, name := range tables.names {
			if !auth.Permits(ctx, "DropTable", auth.Table(child(inside, name))) {
				return namespaceNotEmpty(id)
			}
		}
		namespaces, err := c.children(ctx, inside, namespaceKind, "", All)
		if err != nil {
			return err
		}
		for _, name := range namespaces.names {
			todo = append(todo, child(inside, name))
		}
	}
	return nil
}

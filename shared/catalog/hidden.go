package catalog

import (
	"context"

	"tiltyard/shared/auth"
	"tiltyard/shared/catalog/keys"
	"tiltyard/shared/catalog/objects"
)

// Policies may hide an object from the sender of a request (auth.Sees). The catalog then reads the
// record and answers that the object does not exist (naming.Registry.Table and Namespace, Lookup, and
// batches); lists leave it out (seenChildren, AllTables). The same code answers for hidden and for
// missing objects, after the same requests to the store, so that a client cannot distinguish them.

// seenChildren is children without the objects that the sender of the request may not see. Pages
// are full nonetheless, and there is a next page only if it holds something.
func (c *Catalog) seenChildren(ctx context.Context, parent []string, kind childKind, after string, limit int) (page, error) {
	if !auth.Sees(ctx, auth.Namespace(parent)) {
		_, err := c.children(ctx, parent, kind, after, 1) // same error as for a namespace that does not exist
		return page{names: []string{}}, err
	}
	seen := page{names: []string{}}
	for limit != 0 {
		found, err := c.children(ctx, parent, kind, after, objects.PageSize)
		if err != nil {
			return page{}, err
		}
		for _, name := range found.names {
			if !auth.Sees(ctx, objectOf(kind.Kind, keys.Child(parent, name))) {
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

func objectOf(kind keys.Kind, id []string) auth.Object {
	switch kind {
	case keys.Namespaces:
		return auth.Namespace(id)
	case keys.Secrets:
		return auth.Secret(id)
	case keys.Functions:
		return auth.Function(id)
	}
	return auth.Table(id)
}

// CheckCascade checks that policies let the caller drop a namespace with all that it holds. The
// error is NamespaceNotEmpty if the namespace holds something that the caller may not drop.
func (c *Catalog) CheckCascade(ctx context.Context, id []string) error {
	if !auth.Limited(ctx) || keys.IsRoot(id) {
		return nil
	}
	if _, _, err := c.names.Namespace(ctx, id); err != nil {
		return err
	}
	for todo := [][]string{id}; len(todo) > 0; todo = todo[1:] {
		inside := todo[0]
		if !auth.Permits(ctx, "DropNamespace", auth.Namespace(inside)) {
			return namespaceNotEmpty(id)
		}
		for _, leaf := range leaves {
			found, err := c.children(ctx, inside, leaf.childKind, "", All)
			if err != nil {
				return err
			}
			for _, name := range found.names {
				if !auth.Permits(ctx, leaf.operation, objectOf(leaf.Kind, keys.Child(inside, name))) {
					return namespaceNotEmpty(id)
				}
			}
		}
		namespaces, err := c.children(ctx, inside, kindOfNamespaces, "", All)
		if err != nil {
			return err
		}
		for _, name := range namespaces.names {
			todo = append(todo, keys.Child(inside, name))
		}
	}
	return nil
}

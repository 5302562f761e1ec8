package lists

import (
	"context"

	"tiltyard/shared/catalog/keys"
	"tiltyard/shared/catalog/objects"
	"tiltyard/shared/protocol/auth"
)

// Policies may hide an object from the sender of a request (auth.Sees). The catalog then reads the
// record and answers that the object does not exist (naming.Registry.Table and Namespace, Lookup, and
// batches); lists leave it out. The same code answers for hidden and for
// missing objects, after the same requests to the store, so that a client cannot distinguish them.

// seen returns [Lists.Children] without the objects that policies hide from the sender of the
// request. Pages are full nonetheless, and next is empty if no visible object follows.
func (l *Lists) seen(ctx context.Context, kind Kind, parent []string, after string, limit int) (names []string, next string, err error) {
	names = []string{}
	if !auth.Sees(ctx, auth.Namespace(parent)) {
		_, _, err := l.Children(ctx, kind, parent, after, 1) // same error as for a namespace that does not exist
		return names, "", err
	}
	for limit != 0 {
		found, more, err := l.Children(ctx, kind, parent, after, objects.PageSize)
		if err != nil {
			return nil, "", err
		}
		for _, name := range found {
			if !auth.Sees(ctx, kind.Object(keys.Child(parent, name))) {
				continue
			}
			if limit >= 0 && len(names) == limit {
				return names, names[limit-1], nil
			}
			names = append(names, name)
		}
		if after = more; after == "" {
			break
		}
	}
	return names, "", nil
}

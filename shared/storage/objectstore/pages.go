package objectstore

import (
	"context"
	"iter"
)

// Pages yields the pages of a listing, each of at most opts.Limit entries. It requests each page only when
// the caller needs it, and none after the last. An error ends the listing and is yielded with an empty
// page.
func Pages(ctx context.Context, store Store, opts ListOptions) iter.Seq2[ListPage, error] {
	return func(yield func(ListPage, error) bool) {
		for {
			page, err := store.List(ctx, opts)
			if err != nil {
				yield(ListPage{}, err)
				return
			}
			if !yield(page, nil) || !page.More {
				return
			}
			opts.StartAfter = page.Last()
		}
	}
}

// Objects yields the objects of a listing in bytewise order of their keys. It reads pages of opts.Limit,
// like [Pages]. An error ends the listing and is yielded with an empty Info.
func Objects(ctx context.Context, store Store, opts ListOptions) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		for page, err := range Pages(ctx, store, opts) {
			if err != nil {
				yield(Info{}, err)
				return
			}
			for _, object := range page.Objects {
				if !yield(object, nil) {
					return
				}
			}
		}
	}
}

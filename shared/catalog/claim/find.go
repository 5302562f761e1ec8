package claim

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"tiltyard/shared/catalog/objects"
	"tiltyard/shared/catalog/stored"
	"tiltyard/shared/storage/objectstore"
)

// Place returns a location as text for a record: a path relative to the home root if it is inside
// that root, else a URI.
func (c *Places) Place(at objectstore.Location) string {
	if c.IsHome(at) {
		return at.Prefix
	}
	return at.URI
}

// readClaim reads a claim. It returns nil if there is none.
func (c *Places) readClaim(ctx context.Context, key string) (*Claim, error) {
	found := new(Claim)
	etag, there, err := c.store.Find(ctx, key, found)
	if !there {
		return nil, err
	}
	found.key, found.etag = key, etag
	return found, nil
}

// About returns the claims on a place, inside it and around it.
func (c *Places) About(ctx context.Context, place string) ([]*Claim, error) {
	folder, around := claimFolder(place)
	prefixes := []string{folder}
	for _, outer := range around {
		prefixes = append(prefixes, outer+"=")
	}
	var mu sync.Mutex
	var found []*Claim
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(claimFanOut)
	for _, prefix := range prefixes {
		group.Go(func() error {
			held, err := c.claimKeys(ctx, prefix)
			for _, key := range held {
				one, err := c.readClaim(ctx, key)
				if err != nil {
					return err
				}
				if one != nil {
					mu.Lock()
					found = append(found, one)
					mu.Unlock()
				}
			}
			return err
		})
	}
	err := group.Wait()
	slices.SortFunc(found, func(a, b *Claim) int { return strings.Compare(a.key, b.key) })
	return found, err
}

func (c *Places) claimKeys(ctx context.Context, prefix string) (held []string, err error) {
	opts := objectstore.ListOptions{Prefix: prefix, Limit: objects.PageSize}
	for object, err := range objectstore.Objects(ctx, c.store, opts) {
		if err != nil {
			return nil, fmt.Errorf("list claims of locations: %w", err)
		}
		held = append(held, object.Key)
	}
	return held, nil
}

// Owner returns the record of the table that has the claim, or nil if there is none. If wait is
// true, the record may be put soon.
func (c *Places) Owner(ctx context.Context, one *Claim) (record *stored.Table, wait bool, err error) {
	for _, id := range one.Names {
		found, err := c.names.Settled(ctx, id)
		switch {
		case err != nil:
			return nil, false, err
		case found.Record != nil && found.Record.Claim == one.UID:
			return found.Record, false, nil
		}
		wait = wait || found.Soon
	}
	return nil, wait || c.now().Before(one.Until), nil
}

// IsHome reports whether a location is in the home root.
func (c *Places) IsHome(location objectstore.Location) bool {
	return location.URI == c.roots.Join(location.Prefix).URI
}

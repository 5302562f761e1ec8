package manifest

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"tiltyard/shared/lance"
	"tiltyard/shared/storage/objectstore"
)

// A Location is the place and identity of a version's manifest.
type Location struct {
	Key     string
	Size    int64
	ETag    string
	Version uint64
	Scheme  Scheme
}

// Identity returns a string that no earlier or later manifest under the same key shares.
func (l Location) Identity() string { return "|" + l.Key + "|" + l.ETag }

const (
	firstPage  = 8    // enough for V2 names, which list newest first
	otherPages = 1000 // the maximum page of S3
	maxProbes  = 8    // versions that Probe reads before it lists instead
)

// locate parses the version and scheme from a listed name.
func locate(info objectstore.Info) (Location, error) {
	version, scheme, ok := ParseName(path.Base(info.Key))
	if !ok {
		return Location{}, fmt.Errorf("%w: %s is no name of a manifest", lance.ErrCorrupt, info.Key)
	}
	return Location{Key: info.Key, Size: info.Size, ETag: info.ETag, Version: version, Scheme: scheme}, nil
}

// Latest finds the newest version of the table under the prefix table by listing: one small
// request for V2 names, a listing of all versions for V1 names. A prefix without versions
// is not a table and returns [objectstore.ErrNotExist].
func Latest(ctx context.Context, store objectstore.Store, table string) (Location, error) {
	opts := objectstore.ListOptions{Prefix: within(table, VersionsDir+"/"), Limit: firstPage}
	var newest Location
	found := false
	for {
		page, err := store.List(ctx, opts)
		if err != nil {
			return Location{}, fmt.Errorf("list versions of %s: %w", table, err)
		}
		for _, info := range page.Objects {
			opts.StartAfter = info.Key
			if strings.Contains(info.Key[len(opts.Prefix):], "/") {
				continue
			}
			at, err := locate(info)
			if err != nil || at.Scheme == Detached {
				continue
			}
			if at.Scheme == V2 && !found {
				return at, nil
			}
			if !found || at.Version > newest.Version {
				newest, found = at, true
			}
		}
		if !page.More || len(page.Objects) == 0 {
			break
		}
		opts.Limit = otherPages
	}
	if !found {
		return Location{}, fmt.Errorf("versions of %s: %w", table, objectstore.ErrNotExist)
	}
	return newest, nil
}

// Probe looks for versions after a known one and returns the newest manifest, or nil if the
// known one is the newest. It makes one request in that case, and one more for each newer
// version. It relies on version numbers without gaps above the known one, which holds
// because only old versions are cleaned up.
func Probe(ctx context.Context, store objectstore.Store, table string, known Location) (*Manifest, error) {
	var newest *Manifest
	for n := known.Version + 1; n-known.Version <= maxProbes; n++ {
		m, err := Read(ctx, store, Key(table, n, known.Scheme), 0)
		if errors.Is(err, objectstore.ErrNotExist) {
			return newest, nil
		}
		if err != nil {
			return nil, err
		}
		newest = m
	}
	at, err := Latest(ctx, store, table)
	if err != nil || at.Version <= newest.Version {
		return newest, err
	}
	return Read(ctx, store, at.Key, at.Size)
}

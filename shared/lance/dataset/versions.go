package dataset

import (
	"context"
	"fmt"
	"path"
	"slices"

	"tiltyard/shared/lance/manifest"
	"tiltyard/shared/objectstore"
)

// listPage is how many names one request of a listing asks for.
const listPage = 1000

// Versions lists the manifests of the table, newest first, without reading them: at
// most limit (negative: all) of those older than before (nil: any). It returns none where there is
// no table. Newest first is how they lie on storage, so a short list is a short listing.
func (t *Table) Versions(ctx context.Context, before *uint64, limit int) ([]objectstore.Info, error) {
	opts := objectstore.ListOptions{Prefix: t.prefix + "/" + manifest.VersionsDir + "/", Limit: listPage}
	if before != nil {
		opts.StartAfter = manifest.Key(t.prefix, *before, manifest.V2)
	}
	var found []objectstore.Info
	old := false // names of the first scheme were seen, which do not list in order
	for {
		if limit >= 0 && !old {
			opts.Limit = min(listPage, limit-len(found)+1)
		}
		page, err := t.store.List(ctx, opts)
		if err != nil {
			return nil, fmt.Errorf("list versions of %s: %w", t.uri, err)
		}
		for _, info := range page.Objects {
			opts.StartAfter = info.Key
			if version, scheme, ok := manifest.ParseName(path.Base(info.Key)); ok && scheme != manifest.Detached {
				old = old || scheme == manifest.V1
				if before == nil || version < *before {
					found = append(found, info)
				}
			}
		}
		if !page.More || len(page.Objects) == 0 || (limit >= 0 && !old && len(found) >= limit) {
			break
		}
	}
	if old {
		slices.SortFunc(found, func(a, b objectstore.Info) int {
			if VersionOf(a) > VersionOf(b) {
				return -1
			}
			return 1
		})
	}
	if limit >= 0 && len(found) > limit {
		found = found[:limit]
	}
	return found, nil
}

// VersionOf returns the version of a manifest by its name.
func VersionOf(info objectstore.Info) uint64 {
	version, _, _ := manifest.ParseName(path.Base(info.Key))
	return version
}

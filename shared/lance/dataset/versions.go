package dataset

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"tiltyard/shared/lance/manifest"
	"tiltyard/shared/objectstore"
)

// listPage is how many names one request of a listing asks for.
const listPage = 1000

// Versions lists the manifests of the table, newest first, without reading them: at most
// limit (negative: all) of those older than before (nil: any). It returns none where there
// is no table. Newest first is how they lie on storage, so a short list is a short listing;
// only tables that keep the names of the first scheme are listed whole.
func (t *Table) Versions(ctx context.Context, before *uint64, limit int) ([]objectstore.Info, error) {
	found, old, err := t.listVersions(ctx, before, before != nil, limit)
	if err == nil && before != nil && (old || len(found) == 0) {
		// Names of the first scheme may come before that of the version asked for.
		if first, anyOld, err := t.listVersions(ctx, nil, false, 1); err != nil || !anyOld || len(first) == 0 {
			return found, err
		}
		found, _, err = t.listVersions(ctx, before, false, limit)
	}
	return found, err
}

// listVersions does one listing for Versions, from the name that before has in the second
// scheme if skip is set. It tells whether it saw names of the first one.
func (t *Table) listVersions(ctx context.Context, before *uint64, skip bool, limit int) (found []objectstore.Info, old bool, err error) {
	opts := objectstore.ListOptions{Prefix: t.at.Prefix + "/" + manifest.VersionsDir + "/", Limit: listPage}
	if skip {
		opts.StartAfter = manifest.Key(t.at.Prefix, *before, manifest.V2)
	}
	for {
		if limit >= 0 && !old {
			opts.Limit = min(listPage, limit-len(found)+1)
		}
		page, err := t.at.Store.List(ctx, opts)
		if err != nil {
			return nil, old, fmt.Errorf("list versions of %s: %w", t.at.URI, err)
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
		slices.SortFunc(found, func(a, b objectstore.Info) int { return cmp.Compare(VersionOf(b), VersionOf(a)) })
	}
	if limit >= 0 && len(found) > limit {
		found = found[:limit]
	}
	return found, old, nil
}

// VersionOf returns the version of a manifest by its name.
func VersionOf(info objectstore.Info) uint64 {
	version, _, _ := manifest.ParseName(path.Base(info.Key))
	return version
}

// InOrder says whether a listed manifest has a name of the scheme that lists newest first.
func InOrder(info objectstore.Info) bool {
	_, scheme, _ := manifest.ParseName(path.Base(info.Key))
	return scheme == manifest.V2
}

// Remove deletes an object, unless there is another one of its name now.
func (t *Table) Remove(ctx context.Context, file objectstore.Info) error {
	err := t.at.Store.Delete(ctx, file.Key, objectstore.Condition{IfMatch: file.ETag})
	if errors.Is(err, objectstore.ErrUnknownOutcome) {
		err = t.at.Store.Delete(ctx, file.Key, objectstore.Condition{IfMatch: file.ETag})
	}
	if err != nil && !errors.Is(err, objectstore.ErrPrecondition) {
		return fmt.Errorf("delete %s of %s: %w", strings.TrimPrefix(file.Key, t.at.Prefix+"/"), t.at.URI, err)
	}
	return nil
}

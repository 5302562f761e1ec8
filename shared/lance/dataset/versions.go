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
	"tiltyard/shared/storage/objectstore"
)

// listPage is the number of names per listing request.
const listPage = 1000

// Versions lists the manifests of the table, newest first, without reading them. It returns at most
// limit (negative: all) versions below before (nil: any), and none if the table does not exist.
// Names of scheme V2 sort newest first, so a short list is a short listing; a table with names of
// scheme V1 is listed whole.
func (t *Table) Versions(ctx context.Context, before *uint64, limit int) ([]objectstore.Info, error) {
	found, old, err := t.listVersions(ctx, before, before != nil, limit)
	if err == nil && before != nil && (old || len(found) == 0) {
		// V1 names may sort before the V2 name of the version asked for.
		if first, anyOld, err := t.listVersions(ctx, nil, false, 1); err != nil || !anyOld || len(first) == 0 {
			return found, err
		}
		found, _, err = t.listVersions(ctx, before, false, limit)
	}
	return found, err
}

// listVersions does one listing for Versions. If skip is set, it starts at the V2 name of before.
// old reports whether it saw V1 names.
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
	// V1 names are not listed in the order of their versions.
	if old {
		slices.SortFunc(found, func(a, b objectstore.Info) int { return cmp.Compare(VersionOf(b), VersionOf(a)) })
	}
	if limit >= 0 && len(found) > limit {
		found = found[:limit]
	}
	return found, old, nil
}

// VersionOf parses the version from a manifest's name.
func VersionOf(info objectstore.Info) uint64 {
	version, _, _ := manifest.ParseName(path.Base(info.Key))
	return version
}

// InOrder reports whether a listed manifest has a V2 name, which sorts newest first.
func InOrder(info objectstore.Info) bool {
	_, scheme, _ := manifest.ParseName(path.Base(info.Key))
	return scheme == manifest.V2
}

// Remove deletes an object, unless another one has replaced it. It repeats a delete whose outcome
// is unknown.
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

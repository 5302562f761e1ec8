package engine

import (
	"context"
	"slices"
	"strconv"

	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/objectstore"
)

// A VersionList says which versions to list, and in which order.
type VersionList struct {
	Descending bool
	After      *uint64 // the last version of the page before, in that order
	Limit      int     // negative: all
}

// A VersionPage is some of a table's versions, and where the next page begins: "" at the end.
type VersionPage struct {
	Versions []Version
	Next     string
}

// A Version is one version as a listing tells it.
type Version struct {
	Number uint64
	objectstore.Info
}

// Versions lists versions. A table that is only declared has none. Newest first costs as
// much as is returned; oldest first lists all.
func (t *Table) Versions(ctx context.Context, opts VersionList) (VersionPage, error) {
	before, limit := opts.After, opts.Limit
	if limit >= 0 {
		limit++ // one more tells whether there is another page
	}
	if !opts.Descending {
		before, limit = nil, -1
	}
	infos, err := t.data.Versions(ctx, before, limit)
	if err != nil {
		return VersionPage{}, t.translate(err)
	}
	var page VersionPage
	for _, info := range infos {
		page.Versions = append(page.Versions, Version{Number: dataset.VersionOf(info), Info: info})
	}
	if !opts.Descending {
		slices.Reverse(page.Versions)
		page.Versions = slices.DeleteFunc(page.Versions, func(v Version) bool {
			return opts.After != nil && v.Number <= *opts.After
		})
	}
	if opts.Limit >= 0 && len(page.Versions) > opts.Limit {
		page.Versions = page.Versions[:opts.Limit]
		if opts.Limit > 0 {
			page.Next = strconv.FormatUint(page.Versions[opts.Limit-1].Number, 10)
		}
	}
	return page, nil
}

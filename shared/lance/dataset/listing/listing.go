// Package listing lists the versions of a table page by page and describes single versions. Storage
// lists manifests newest first (see package manifest), so a page in descending order is one
// request. For a page in ascending order the package guesses version numbers. For example, if
// versions 1 to 3 and 900 to 1000 exist, it looks for the version after 3 by listings below 5, 7,
// 11, 19 and so on. Begin with [Versions].
package listing

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/storage/objectstore"
)

// A Request selects the versions to list, and their order.
type Request struct {
	Descending bool
	After      *uint64 // the last version of the previous page, in listing order
	Limit      int     // negative: all
}

// A Page is one page of a listing. Next continues it; "" marks the end.
type Page struct {
	Versions []Version
	Next     string
}

// A Version describes one version in a listing.
type Version struct {
	Number uint64
	objectstore.Info
}

// One returns one version, or the newest if number is nil.
func One(ctx context.Context, t *dataset.Table, number *int64) (Version, error) {
	if number != nil {
		info, err := t.Info(ctx, uint64(*number))
		return Version{Number: uint64(*number), Info: info}, err
	}
	newest, err := t.Versions(ctx, nil, 1)
	if err == nil && len(newest) == 0 {
		err = dataset.ErrNoVersion
	}
	if err != nil {
		return Version{}, err
	}
	return versionOf(newest[0]), nil
}

// Details describe a version and, if recorded, its transaction.
type Details struct {
	Number                              uint64
	Operation                           string   // the format's name, such as "Append"; "" without a transaction
	Transaction                         string   // its UUID
	Authors                             []string // users who requested the commit; see [dataset.Authors]
	Rows, DeletedRows, Fragments, Bytes int64
}

// Describe reads a version.
func Describe(ctx context.Context, t *dataset.Table, number uint64) (Details, error) {
	ctx, room, err := memory.Within(ctx)
	if err != nil {
		return Details{}, err
	}
	defer room.Close()
	d, err := t.Version(ctx, number)
	if err != nil {
		return Details{}, err
	}
	stats := d.Stats()
	found := Details{
		Number: number, Rows: stats.Rows, DeletedRows: stats.DeletedRows, Fragments: int64(len(stats.Lengths)), Bytes: stats.Bytes,
	}
	txn, err := d.Transaction(ctx)
	switch {
	case errors.Is(err, dataset.ErrNoTransaction), errors.Is(err, objectstore.ErrNotExist):
		return found, nil // other writers may write no transaction, or delete its file before the version
	case err != nil:
		return Details{}, err
	}
	found.Operation, found.Transaction, found.Authors = txn.OperationName(), txn.UUID, dataset.Authors(txn)
	return found, nil
}

func versionOf(info objectstore.Info) Version {
	return Version{Number: dataset.VersionOf(info), Info: info}
}

// Versions lists versions. A declared table has none. The cost of a short page does not depend on
// the length of the history.
func Versions(ctx context.Context, t *dataset.Table, opts Request) (Page, error) {
	limit := opts.Limit
	if limit >= 0 {
		limit++ // one more version, to learn whether another page follows
	}
	var infos []objectstore.Info
	var err error
	if opts.Descending {
		infos, err = t.Versions(ctx, opts.After, limit)
	} else {
		infos, err = oldest(ctx, t, opts.After, limit)
	}
	if err != nil {
		return Page{}, err
	}
	page := Page{Versions: make([]Version, len(infos))}
	for i, info := range infos {
		page.Versions[i] = versionOf(info)
	}
	if opts.Limit >= 0 && len(page.Versions) > opts.Limit {
		page.Versions = page.Versions[:opts.Limit]
		if opts.Limit > 0 {
			page.Next = strconv.FormatUint(page.Versions[opts.Limit-1].Number, 10)
		}
	}
	return page, nil
}

// oldest lists at most limit versions (negative: all) after a given one (nil: from the first),
// oldest first. Storage lists the newest first, so it guesses version numbers and lists the
// versions below them. A history with many gaps is listed completely.
func oldest(ctx context.Context, t *dataset.Table, after *uint64, limit int) ([]objectstore.Info, error) {
	first := uint64(1) // the lowest wanted version
	if after != nil {
		first = *after + 1
	}
	if limit >= 0 {
		s := search{table: t, questions: maxQuestions}
		if found, err := s.oldest(ctx, first, limit); err != nil || s.questions > 0 {
			return found, err
		}
	}
	all, err := t.Versions(ctx, nil, -1)
	slices.Reverse(all)
	return from(all, first, limit), err
}

// from drops versions older than first and those beyond limit.
func from(ascending []objectstore.Info, first uint64, limit int) []objectstore.Info {
	if first > 1 {
		ascending = slices.DeleteFunc(ascending, func(info objectstore.Info) bool { return dataset.VersionOf(info) < first })
	}
	if limit >= 0 && len(ascending) > limit {
		ascending = ascending[:limit]
	}
	return ascending
}

// onePage bounds a listing to one storage request: one version more is requested.
const onePage = 999

// maxQuestions bounds the listings of one search.
const maxQuestions = 64

// A search finds the oldest versions of a table. After maxQuestions listings its result is
// discarded.
type search struct {
	table     *dataset.Table
	questions int
}

// below lists up to limit versions in [first, end), newest first.
func (s *search) below(ctx context.Context, first, end uint64, limit int) ([]objectstore.Info, error) {
	if s.questions--; s.questions <= 0 {
		return nil, nil
	}
	found, err := s.table.Versions(ctx, &end, limit)
	return from(found, first, -1), err
}

// oldest lists up to limit versions from first on, oldest first.
func (s *search) oldest(ctx context.Context, first uint64, limit int) ([]objectstore.Info, error) {
	newest, err := s.table.Versions(ctx, nil, onePage)
	if err != nil {
		return nil, err
	}
	if len(newest) < onePage { // the listing is complete
		slices.Reverse(newest)
		return from(newest, first, limit), nil
	}
	if !dataset.InOrder(newest[0]) {
		s.questions = 0
		return nil, nil
	}
	var found []objectstore.Info
	last := dataset.VersionOf(newest[0])
	for len(found) < limit && first <= last && s.questions > 0 {
		wanted := uint64(limit - len(found))
		run, err := s.below(ctx, first, first+wanted, int(wanted))
		if err != nil {
			return nil, err
		}
		slices.Reverse(run)
		found = append(found, run...)
		first += wanted
		if len(run) == 0 {
			if first, err = s.next(ctx, first, last); err != nil {
				return nil, err
			}
		}
	}
	return found, nil
}

// next returns the lowest existing version in [first, last]; last exists.
func (s *search) next(ctx context.Context, first, last uint64) (uint64, error) {
	if first > last {
		return first, nil
	}
	high := last // high always exists
	for step := uint64(1); first+step < high; step *= 2 {
		found, err := s.below(ctx, first, first+step, 1)
		if err != nil || s.questions <= 0 {
			return high, err
		}
		if len(found) > 0 {
			high = dataset.VersionOf(found[0])
			break
		}
		first += step
	}
	for first < high {
		middle := first + (high-first)/2
		found, err := s.below(ctx, first, middle+1, 1)
		if err != nil || s.questions <= 0 {
			return high, err
		}
		if len(found) == 0 {
			first = middle + 1
		} else {
			high = dataset.VersionOf(found[0])
		}
	}
	return high, nil
}

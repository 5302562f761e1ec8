// Package commitlog searches the newest versions of a table for a commit id. A writer whose request
// got no answer can thus learn whether it was committed. For example, a client sends a commit with
// id x at 12:00 and loses the connection. [Find] reads the transactions of the newest version, of
// the one before it and so on, until one contains x or its version was made before 11:55, allowing
// for clock skew.
package commitlog

import (
	"context"
	"errors"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/internal/cache"
	"tiltyard/shared/lance/manifest"
	"tiltyard/shared/lance/pb"
)

const (
	// maxSearched bounds the versions in one search.
	maxSearched = 1000
	// searchedAtOnce is the number of versions read in parallel.
	searchedAtOnce = 16
)

// Find returns the version with the commit of an id that began at since or later, and its
// transaction. The error is dataset.ErrNoTransaction if none of the newest thousand versions
// contains it. Find reads versions back to that time, one caller at a time, and caches the ids that
// it has read, because clients without an answer repeat their requests at once.
func Find(ctx context.Context, t *dataset.Table, id string, since time.Time) (*dataset.Dataset, *pb.Transaction, error) {
	release, err := t.Turn(ctx, searchedPart)
	if err != nil {
		return nil, nil, err
	}
	defer release()
	newest, err := t.Latest(ctx)
	if errors.Is(err, dataset.ErrNoTable) {
		return nil, nil, dataset.ErrNoTransaction
	}
	if err != nil {
		return nil, nil, err
	}
	s := search{table: t, id: id, oldest: since.Add(-dataset.MaxClockSkew)}
	s.known, _ = cache.Get[*commitLog](t.Place().Cache, t.Place().Cached, searchedPart)
	version, err := s.from(ctx, newest)
	if err != nil {
		return nil, nil, err
	}
	d, err := t.Version(ctx, version)
	if err != nil {
		return nil, nil, err
	}
	txn, err := d.Transaction(ctx)
	return d, txn, err
}

// searchedPart is the cache key of a table's commitLog.
const searchedPart = "commits"

// A commitLog is the part of a table's history that searches have read. It is immutable.
type commitLog struct {
	newest  manifest.Location // location of the newest version in commits; its ETag identifies the history
	commits []logged          // newest first, without gaps
}

// logged lists the commit ids of one version.
type logged struct {
	version uint64
	at      time.Time
	ids     []string // several if appends were joined; none if the version records no transaction
}

// loggedBytes estimates the memory of an id or a version.
const loggedBytes = 128

// A search goes backward from the newest version of a table to a time.
type search struct {
	table  *dataset.Table
	id     string
	oldest time.Time

	known *commitLog // result of earlier searches; may be nil
	read  []logged   // newest first
}

// from returns the version with the commit, or dataset.ErrNoTransaction, and caches the versions
// that it has read.
func (s *search) from(ctx context.Context, newest *dataset.Dataset) (uint64, error) {
	t := s.table
	found, err := s.back(ctx, newest.Version())
	if len(s.read) > 0 && (s.known == nil || len(s.read) >= len(s.known.commits)) {
		size := int64(0)
		for _, l := range s.read {
			size += loggedBytes + int64(len(l.ids))*loggedBytes
		}
		cache.Put(t.Place().Cache, t.Place().Cached, searchedPart, &commitLog{newest.Manifest().Location, s.read}, size)
	}
	switch {
	case err != nil:
		return 0, err
	case found == 0:
		return 0, dataset.ErrNoTransaction
	}
	return found, nil
}

// back searches version and older ones. It returns 0 if none contains the commit.
func (s *search) back(ctx context.Context, version uint64) (uint64, error) {
	for version > 0 && len(s.read) < maxSearched {
		first := version - min(searchedAtOnce, version) + 1
		if k := s.known; k != nil && k.newest.Version <= version {
			first = max(first, k.newest.Version)
		}
		part, joins, err := s.readVersions(ctx, first, version)
		if err != nil {
			return 0, err
		}
		switch {
		case joins:
			part = append(part, s.known.commits[1:]...)
		case s.known != nil && first <= s.known.newest.Version:
			s.known = nil // another table has replaced the one searched before
		}
		s.read = append(s.read, part[:min(len(part), maxSearched-len(s.read))]...)
		for _, l := range part {
			switch {
			case l.at.Before(s.oldest):
				return 0, nil
			case slices.Contains(l.ids, s.id):
				return l.version, nil
			}
		}
		if !joins && uint64(len(part)) < version-first+1 {
			return 0, nil // older versions were cleaned up
		}
		version = part[len(part)-1].version - 1
	}
	return 0, nil
}

// readVersions reads versions from last down to first, or until one does not exist. joins reports
// that first is the newest version of the known history, unchanged.
func (s *search) readVersions(ctx context.Context, first, last uint64) (read []logged, joins bool, err error) {
	versions := make([]*dataset.Dataset, last-first+1)
	read = make([]logged, len(versions))
	group, ctx := errgroup.WithContext(ctx)
	for i := range versions {
		group.Go(func() error {
			d, err := s.table.Version(ctx, last-uint64(i))
			if errors.Is(err, dataset.ErrNoVersion) {
				return nil
			}
			if err == nil {
				versions[i] = d
				read[i], err = logOf(ctx, d)
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, false, err
	}
	for i, d := range versions {
		if d == nil {
			return read[:i], false, nil
		}
	}
	return read, s.known != nil && versions[len(versions)-1].Manifest().Location == s.known.newest, nil
}

// logOf reads the ids of the commits in a version.
func logOf(ctx context.Context, d *dataset.Dataset) (logged, error) {
	l := logged{version: d.Version(), at: d.Manifest().Time()}
	txn, err := d.Transaction(ctx)
	switch {
	case errors.Is(err, dataset.ErrNoTransaction):
		return l, nil
	case err != nil:
		return l, err
	}
	l.ids = dataset.CommitIDs(txn)
	return l, nil
}

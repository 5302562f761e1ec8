package dataset

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"tiltyard/shared/lance/dataset/cache"
	"tiltyard/shared/lance/manifest"
	"tiltyard/shared/lance/pb"
)

const (
	// maxSearched bounds how many versions are searched for a commit.
	maxSearched = 1000
	// searchedAtOnce is how many versions are read side by side.
	searchedAtOnce = 16
	// maxClockSkew is how far the clocks of writers may be apart.
	maxClockSkew = 5 * time.Minute
)

// FindCommit returns the version that holds the commit of an id which was begun at some time
// or later, and its transaction, or ErrNoTransaction when there is none among the newest
// thousand. It reads all of them back to that time, except for those that a search before has
// read: clients that get no answer send their rows again all at once, and each repetition
// searches.
func (t *Table) FindCommit(ctx context.Context, id string, since time.Time) (*Dataset, *pb.Transaction, error) {
	release, err := t.session.turnOf(ctx, t.at.Cached+searchedPart)
	if err != nil {
		return nil, nil, err
	}
	defer release()
	newest, err := t.Latest(ctx)
	if errors.Is(err, ErrNoTable) {
		return nil, nil, ErrNoTransaction
	}
	if err != nil {
		return nil, nil, err
	}
	s := search{table: t, id: id, oldest: since.Add(-maxClockSkew)}
	s.known, _ = cache.Get[*commitLog](t.session.Cache, t.at.Cached, searchedPart)
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

// searchedPart names the commitLog of a table in the cache.
const searchedPart = "commits"

// A commitLog is what searches have read of the history of a table. It does not change.
type commitLog struct {
	newest  manifest.Location // of the first commit; its ETag identifies the history
	commits []logged          // newest first, without a gap
}

// logged are the commits of one version.
type logged struct {
	version uint64
	at      time.Time
	ids     []string // more than one when appends were joined; none when the version does not tell
}

// loggedBytes is about what one takes in memory.
const loggedBytes = 128

// A search goes from the newest version of a table back to a time.
type search struct {
	table  *Table
	id     string
	oldest time.Time

	known *commitLog // from searches before; nil when there is none
	read  []logged   // newest first
}

// from returns the version that holds the commit, or ErrNoTransaction. It keeps what it has read.
func (s *search) from(ctx context.Context, newest *Dataset) (uint64, error) {
	t := s.table
	found, err := s.back(ctx, newest.Version())
	if len(s.read) > 0 && (s.known == nil || len(s.read) >= len(s.known.commits)) {
		size := int64(0)
		for _, l := range s.read {
			size += loggedBytes + int64(len(l.ids))*loggedBytes
		}
		cache.Put(t.session.Cache, t.at.Cached, searchedPart, &commitLog{newest.Manifest().Location, s.read}, size)
	}
	switch {
	case err != nil:
		return 0, err
	case found == 0:
		return 0, ErrNoTransaction
	}
	return found, nil
}

// back searches a version and those before it. It returns 0 when none holds the commit.
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
			s.known = nil // another table is at this place now
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

// readVersions reads versions from last down to first, or down to one that is there no more. joins
// means that first is the newest one of the known history, of which it is the same version still.
func (s *search) readVersions(ctx context.Context, first, last uint64) (read []logged, joins bool, err error) {
	versions := make([]*Dataset, last-first+1)
	read = make([]logged, len(versions))
	group, ctx := errgroup.WithContext(ctx)
	for i := range versions {
		group.Go(func() error {
			d, err := s.table.Version(ctx, last-uint64(i))
			if errors.Is(err, ErrNoVersion) {
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

// logOf reads which commits a version holds.
func logOf(ctx context.Context, d *Dataset) (logged, error) {
	l := logged{version: d.Version(), at: d.Manifest().Time()}
	txn, err := d.Transaction(ctx)
	switch {
	case errors.Is(err, ErrNoTransaction):
		return l, nil
	case err != nil:
		return l, err
	}
	l.ids = append(strings.Fields(txn.Properties[joinedProperty]), txn.UUID)
	return l, nil
}

// madeBefore says that a commit is found among those since it was begun: another try of it
// was first.
type madeBefore struct{ version uint64 }

// Error says so.
func (e *madeBefore) Error() string { return fmt.Sprintf("committed before, as version %d", e.version) }

// found returns the version that err says a commit has made before, or the error.
func (t *Table) found(ctx context.Context, err error) (*Dataset, error) {
	var before *madeBefore
	if !errors.As(err, &before) {
		return nil, err
	}
	return t.Version(ctx, before.version)
}

// holds says whether a transaction is the commit of an id, or has it among those that
// were joined in it.
func holds(txn *pb.Transaction, id string) bool {
	return txn.UUID == id || slices.Contains(strings.Fields(txn.Properties[joinedProperty]), id)
}

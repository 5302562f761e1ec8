package dataset

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tiltyard/shared/lance/pb"
)

const (
	// maxSearched bounds how many versions are searched for a commit.
	maxSearched = 1000
	// maxClockSkew is how far the clocks of writers may be apart.
	maxClockSkew = 5 * time.Minute
)

// FindCommit returns the version that holds the commit of an id which was begun at some time
// or later, and its transaction, or ErrNoTransaction when there is none among the newest
// thousand. It reads all of them back to that time.
func (t *Table) FindCommit(ctx context.Context, id string, since time.Time) (*Dataset, *pb.Transaction, error) {
	d, err := t.Latest(ctx)
	for range maxSearched {
		if errors.Is(err, ErrNoTable) || errors.Is(err, ErrNoVersion) || err == nil && d.manifest.Time().Before(since.Add(-maxClockSkew)) {
			break
		}
		if err != nil {
			return nil, nil, err
		}
		txn, told := d.Transaction(ctx)
		switch {
		case told == nil && holds(txn, id):
			return d, txn, nil
		case told != nil && !errors.Is(told, ErrNoTransaction):
			return nil, nil, told
		case d.Version() == 1:
			return nil, nil, ErrNoTransaction
		}
		d, err = t.Version(ctx, d.Version()-1)
	}
	return nil, nil, ErrNoTransaction
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

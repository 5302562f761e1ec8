package dataset

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"tiltyard/shared/lance/pb"
)

// CommitIDs returns the ids of the commits in a transaction: its own, and those of the appends joined in it.
func CommitIDs(txn *pb.Transaction) []string {
	return append(strings.Fields(txn.Properties[joinedProperty]), txn.UUID)
}

// madeBefore is the error of a commit that an earlier attempt has made since the commit was begun.
type madeBefore struct{ version uint64 }

// Error names the version.
func (e *madeBefore) Error() string { return fmt.Sprintf("committed before, as version %d", e.version) }

// found returns the version of a commit that err reports as made before, or err.
func (t *Table) found(ctx context.Context, err error) (*Dataset, error) {
	var before *madeBefore
	if !errors.As(err, &before) {
		return nil, err
	}
	return t.Version(ctx, before.version)
}

package dataset

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"tiltyard/shared/lance/pb"
)

// CommitIDs returns the ids of the commits in a transaction: its own UUID and those of joined
// appends.
func CommitIDs(txn *pb.Transaction) []string {
	return append(strings.Fields(txn.Properties[joinedProperty]), txn.UUID)
}

// A madeBefore error reports that an earlier attempt has already made the commit.
type madeBefore struct{ version uint64 }

// Error names the version made.
func (e *madeBefore) Error() string { return fmt.Sprintf("committed before, as version %d", e.version) }

// found opens the version if err is a madeBefore error. Otherwise it returns err.
func (t *Table) found(ctx context.Context, err error) (*Dataset, error) {
	var before *madeBefore
	if !errors.As(err, &before) {
		return nil, err
	}
	return t.Version(ctx, before.version)
}

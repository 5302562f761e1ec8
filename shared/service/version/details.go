package version

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"

	"tiltyard/shared/engine"
	"tiltyard/shared/jobs/transaction"
	"tiltyard/shared/lance/dataset/listing"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/versionapi"
)

// detailFanOut bounds the versions of a page that are read in parallel, because a manifest may be
// large.
const detailFanOut = 8

// addDetails reads the versions of a table and adds their details to the entries. A version deleted
// meanwhile gets no details, and an unreadable one gets the error.
func addDetails(ctx context.Context, id []string, table *engine.Table, branch string, entries []versionapi.Version) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(detailFanOut)
	for i := range entries {
		group.Go(func() error {
			found, err := listing.Describe(ctx, table.Data(), uint64(entries[i].Version))
			err = table.Translate(err)
			var known *protocol.Error
			switch {
			case err == nil:
				entries[i].Details = details(id, branch, found)
			case protocol.HasCode(err, protocol.TableVersionNotFound):
			case protocol.HasCode(err, protocol.InvalidTableState, protocol.Unsupported) && errors.As(err, &known):
				entries[i].Details = &versionapi.Details{Unreadable: known.Message}
			default:
				return err
			}
			return nil
		})
	}
	return group.Wait()
}

func details(id []string, branch string, found listing.Details) *versionapi.Details {
	d := &versionapi.Details{
		Operation: found.Operation, Authors: found.Authors, NumRows: found.Rows, NumDeletedRows: found.DeletedRows,
		NumFragments: found.Fragments, NumBytes: found.Bytes,
	}
	// If the id needed a record, leave it out: a list writes nothing.
	d.TransactionID, _ = transaction.CommitID(id, transaction.Commit{Branch: branch, Version: found.Number, UUID: found.Transaction})
	return d
}

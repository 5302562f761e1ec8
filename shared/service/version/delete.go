package version

import (
	"context"
	"slices"

	"tiltyard/shared/jobs/transaction"
	"tiltyard/shared/lance/dataset/cleanup"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/versionapi"
	"tiltyard/shared/tables"
)

// Delete deletes the versions in the given ranges. Versions that a tag or a branch needs stay. The
// newest version also stays, unless a range covers all versions.
func (s *Service) Delete(ctx context.Context, req *versionapi.BatchDeleteRequest) (*versionapi.BatchDeleteResponse, error) {
	doomed := anyOf(req.Ranges)
	all := slices.ContainsFunc(req.Ranges, versionapi.Range.All)
	return tables.Try(ctx, s.tables.Open(req.ID, req.Branch), func(ctx context.Context, t tables.Table) (*versionapi.BatchDeleteResponse, error) {
		if err := t.Found.Confirm(); err != nil {
			return nil, err
		}
		deleted, err := cleanup.DeleteVersions(ctx, t.Data(), doomed, all)
		if err != nil {
			return nil, err
		}
		return &versionapi.BatchDeleteResponse{
			DeletedCount: int64(deleted),
			TransactionID: s.tables.Transactions.IDOfChange(ctx, transaction.Change{
				Operation: "delete-versions", Object: req.ID, Properties: onBranch(req.Branch),
			}),
		}, nil
	})
}

// onBranch returns the transaction property for the branch of a change, or nil for the main line.
func onBranch(branch string) map[string]string {
	if branch = protocol.BranchName(branch); branch == "" {
		return nil
	}
	return map[string]string{"branch": branch}
}

// anyOf returns a predicate for versions in one of the ranges.
func anyOf(ranges []versionapi.Range) func(version uint64) bool {
	return func(version uint64) bool {
		return slices.ContainsFunc(ranges, func(r versionapi.Range) bool { return r.Holds(version) })
	}
}

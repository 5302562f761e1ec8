package version

import (
	"context"
	"errors"

	"tiltyard/shared/catalog"
	"tiltyard/shared/catalog/ledger"
	"tiltyard/shared/catalog/stored"
	"tiltyard/shared/jobs/transaction"
	"tiltyard/shared/lance/dataset/listing"
	"tiltyard/shared/lance/dataset/refs"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/versionapi"
	"tiltyard/shared/storage/objectstore"
)

// Create turns a manifest that a client has staged into the next version of a table. A repeated
// request gets the answer of the first one.
func (s *Service) Create(ctx context.Context, req *versionapi.CreateRequest) (*versionapi.CreateResponse, error) {
	t, err := s.tables.Names.Table(ctx, req.ID)
	if err != nil {
		return nil, err
	}
	at, err := branchPlace(t, req.Branch)
	if err != nil {
		return nil, err
	}
	m, err := read(ctx, t, at, &req.Staged, newBudget(maxManifestBytes))
	if err == nil {
		err = s.annotate(ctx, t, m)
	}
	if err != nil {
		return nil, err
	}
	info, err := s.publish(ctx, t, at, req, m)
	if err != nil {
		return nil, err
	}
	m.discard(ctx, at)
	s.tables.Names.Committed(ctx, req.ID, protocol.BranchName(req.Branch))
	made := entry(t, listing.Version{Number: m.Version, Info: info})
	made.Metadata = m.metadata
	return &versionapi.CreateResponse{
		Version: made,
		TransactionID: s.tables.Transactions.IDOfCommit(ctx, req.ID, transaction.Commit{
			UUID: m.transaction, Branch: protocol.BranchName(req.Branch), Version: m.Version,
		}),
	}, nil
}

// publish makes the staged manifest a version of the table or of a branch.
func (s *Service) publish(ctx context.Context, t *catalog.Table, at objectstore.Location, req *versionapi.CreateRequest, m *staged) (objectstore.Info, error) {
	if at == t.Location {
		info, err := s.tables.Names.Publish(ctx, t, m.Manifest)
		if errors.Is(err, stored.ErrMoved) {
			err = protocol.Errorf(protocol.ConcurrentModification, "%w", err)
		}
		return info, err
	}
	// A client that creates a branch puts its first version before its name, so the branch may not
	// exist yet.
	table := s.tables.At(t)
	branch, _, err := table.Data().Refs().Branch(ctx, req.Branch)
	if err != nil && !errors.Is(err, refs.ErrNoBranch) {
		return objectstore.Info{}, table.Translate(err)
	}
	return ledger.PublishBranch(ctx, t.ID, at, branch.ParentVersion, m.Manifest)
}

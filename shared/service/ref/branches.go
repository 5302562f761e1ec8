package ref

import (
	"context"

	"tiltyard/shared/engine"
	"tiltyard/shared/jobs/transaction"
	"tiltyard/shared/lance/dataset/branches"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/refapi"
)

// ListBranches returns the branches of a table, ordered by name.
func (s *Service) ListBranches(ctx context.Context, req *refapi.ListBranchesRequest) (*refapi.ListBranchesResponse, error) {
	answer := &refapi.ListBranchesResponse{Branches: map[string]refapi.BranchContents{}}
	err := s.list(ctx, req.ID, req.Page, func(ctx context.Context, t *engine.Table, limit int) (string, error) {
		branches, next, err := t.Data().Refs().Branches(ctx, req.PageToken, limit)
		for name, b := range branches {
			c := refapi.BranchContents{
				ParentVersion: int64(b.ParentVersion), CreateAt: b.Created, ManifestSize: b.ManifestBytes, Metadata: b.Metadata,
			}
			if b.Parent != nil {
				c.ParentBranch = *b.Parent
			}
			answer.Branches[name] = c
		}
		return next, err
	}, &answer.PageToken)
	return answer, err
}

// CreateBranch creates a branch that starts at a version of a table or of another branch.
func (s *Service) CreateBranch(ctx context.Context, req *refapi.CreateBranchRequest) (*refapi.CreateBranchResponse, error) {
	answer := &refapi.CreateBranchResponse{}
	return answer, s.onTable(ctx, req.ID, func(t *engine.Table) error {
		from := uint64(0) // 0 means the newest
		if req.FromVersion != nil {
			from = uint64(*req.FromVersion)
		}
		made, err := branches.Create(ctx, t.Data(), req.Name, protocol.BranchName(req.FromBranch), from)
		if err != nil {
			return err
		}
		s.tables.Names.Committed(ctx, req.ID, req.Name)
		first := transaction.Commit{Branch: req.Name, Version: made.Version(), UUID: made.TransactionUUID()}
		answer.TransactionID = s.tables.Transactions.IDOfCommit(ctx, req.ID, first)
		return nil
	})
}

// DeleteBranch deletes a branch of a table and its versions.
func (s *Service) DeleteBranch(ctx context.Context, req *refapi.DeleteBranchRequest) (*refapi.DeleteBranchResponse, error) {
	if err := s.tables.Announcer.BeforeDeleted(ctx, req.ID, req.Name); err != nil {
		return nil, err
	}
	err := s.onTable(ctx, req.ID, func(t *engine.Table) error { return branches.Delete(ctx, t.Data(), req.Name) })
	if err != nil {
		return nil, err
	}
	id := s.changed(ctx, "delete-branch", req.ID, map[string]string{"branch": req.Name})
	return &refapi.DeleteBranchResponse{TransactionID: id}, nil
}

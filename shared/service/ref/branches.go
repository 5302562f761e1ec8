package ref

import (
	"context"

	"tiltyard/shared/engine"
	"tiltyard/shared/protocol"
)

// ListBranches tells the branches of a table, in the order of their names.
func (s *Service) ListBranches(ctx context.Context, req *protocol.ListTableBranchesRequest) (*protocol.ListTableBranchesResponse, error) {
	answer := &protocol.ListTableBranchesResponse{Branches: map[string]protocol.BranchContents{}}
	err := s.list(ctx, req.ID, req.Page, func(ctx context.Context, t *engine.Table, limit int) (string, error) {
		branches, more, err := t.Branches(ctx, req.PageToken, limit)
		for name, b := range branches {
			c := protocol.BranchContents{
				ParentVersion: int64(b.ParentVersion), CreateAt: b.Created, ManifestSize: b.ManifestBytes, Metadata: b.Metadata,
			}
			if b.Parent != nil {
				c.ParentBranch = *b.Parent
			}
			answer.Branches[name] = c
		}
		return lastName(branches, more), err
	}, &answer.PageToken)
	return answer, err
}

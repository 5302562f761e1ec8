package ref

import (
	"context"
	"errors"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/engine"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/cherrypick"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/protocol"
	"tiltyard/shared/tables"
)

// DiffBranch compares a branch with its table.
func (s *Service) DiffBranch(ctx context.Context, req *protocol.DiffTableBranchesRequest) (*protocol.BranchDiff, error) {
	diff, err := s.diff(ctx, req.ID, req.FromBranch)
	if err != nil {
		return nil, err
	}
	answer := branchDiff(req.FromBranch, diff)
	return &answer, nil
}

func (s *Service) diff(ctx context.Context, id []string, branch string) (*cherrypick.Diff, error) {
	return tables.Look(ctx, s.tables.Open(id, ""), func(ctx context.Context, t tables.Table) (*cherrypick.Diff, error) {
		return cherrypick.DiffOf(ctx, t.Data(), branch)
	})
}

// CherryPick adds the columns that a branch has added to its table. In a dry run it only reports
// whether that is possible. A branch that cannot be cherry-picked is a regular answer and not an
// error.
func (s *Service) CherryPick(ctx context.Context, req *protocol.CherryPickTableBranchRequest) (*protocol.CherryPickTableBranchResponse, error) {
	if req.DryRun {
		diff, err := s.diff(ctx, req.ID, req.FromBranch)
		if err != nil {
			return nil, err
		}
		return outcome(req.FromBranch, diff, protocol.CherryPickReady), nil
	}
	var diff *cherrypick.Diff
	done, err := s.tables.Open(req.ID, "").Commit(ctx, func(t tables.Table) (engine.Written, error) {
		var made *dataset.Dataset
		var err error
		if made, diff, err = cherrypick.Apply(ctx, t.Data(), req.FromBranch); err != nil {
			return engine.Written{}, err
		}
		return engine.Made(made), nil
	})
	switch {
	case errors.Is(err, cherrypick.ErrNotPicked):
		return outcome(req.FromBranch, diff, protocol.CherryPickFailed), nil
	case err != nil:
		return nil, err
	}
	answer := outcome(req.FromBranch, diff, protocol.CherryPickDone)
	answer.MainVersionAfter, answer.TransactionID = &done.Version, done.TransactionID
	return answer, nil
}

// outcome returns the answer for a difference. It is a failure when the difference has problems.
func outcome(branch string, diff *cherrypick.Diff, status protocol.CherryPickStatus) *protocol.CherryPickTableBranchResponse {
	answer := &protocol.CherryPickTableBranchResponse{Status: status, Diff: branchDiff(branch, diff)}
	if len(diff.Problems) > 0 {
		answer.Status = protocol.CherryPickFailed
		return answer
	}
	for _, f := range diff.Added {
		answer.Preview.PromotedColumns = append(answer.Preview.PromotedColumns, f.Name)
	}
	return answer
}

func branchDiff(branch string, d *cherrypick.Diff) protocol.BranchDiff {
	answer := protocol.BranchDiff{
		FromBranch: branch, BaseMoved: d.IsBaseMoved(),
		ParentVersion: int64(d.Fork.Version()), MainVersion: int64(d.Main.Version()), BranchVersion: int64(d.Branch.Version()),
		RowCountMain: d.Main.CountRows(), RowCountBranch: d.Branch.CountRows(),
		RowSummary: protocol.RowCountSummary{
			Unchanged: d.Rows.Unchanged, NewOnBase: d.Rows.NewOnMain, NewOnBranch: d.Rows.NewOnBranch,
			StaleRecompute: d.Rows.Stale, InputsChanged: d.Rows.Changed, DeltaAvailable: d.Rows.Known,
		},
		AddedIndexes: indices(d.AddedIndices), RemovedIndexes: indices(d.RemovedIndices),
	}
	for _, f := range d.Added {
		answer.AddedColumns = append(answer.AddedColumns, column(f.Arrow()))
	}
	for _, f := range d.Removed {
		answer.RemovedColumns = append(answer.RemovedColumns, column(f.Arrow()))
	}
	for _, c := range d.Changed {
		change := protocol.ColumnChange{Name: c.Main.Name, Main: column(c.Main.Arrow()), Branch: column(c.Branch.Arrow())}
		answer.ChangedColumns = append(answer.ChangedColumns, change)
	}
	for _, p := range d.Problems {
		answer.Errors = append(answer.Errors, protocol.CherryPickError{Code: string(p.Code), Message: p.Message})
	}
	return answer
}

func column(f arrow.Field) protocol.ColumnSummary {
	return protocol.ColumnSummary{Name: f.Name, DataType: protocol.TypeText(f.Type), Nullable: f.Nullable}
}

func indices(found []snapshot.Index) (summaries []protocol.IndexSummary) {
	for _, x := range found {
		summaries = append(summaries, protocol.IndexSummary{IndexName: x.Name, Columns: x.Columns, IndexType: x.Kind.Type, Status: protocol.IndexReady})
	}
	return summaries
}

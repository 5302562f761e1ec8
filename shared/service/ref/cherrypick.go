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
	"tiltyard/shared/protocol/indexapi"
	"tiltyard/shared/protocol/refapi"
	"tiltyard/shared/tables"
)

// DiffBranch compares a branch with its table.
func (s *Service) DiffBranch(ctx context.Context, req *refapi.DiffBranchesRequest) (*refapi.BranchDiff, error) {
	diff, err := s.diff(ctx, req.ID, req.FromBranch)
	if err != nil {
		return nil, err
	}
	answer := branchDiff(req.FromBranch, diff)
	return &answer, nil
}

// diff compares a branch with its table.
func (s *Service) diff(ctx context.Context, id []string, branch string) (*cherrypick.Diff, error) {
	return tables.Inspect(ctx, s.tables.Open(id, ""), func(ctx context.Context, t tables.Table) (*cherrypick.Diff, error) {
		return cherrypick.DiffOf(ctx, t.Data(), branch)
	})
}

// CherryPick adds the columns that a branch has added to its table. In a dry run it only reports
// whether that is possible. If the branch cannot be cherry-picked, the answer describes the
// problems; that is not an error.
func (s *Service) CherryPick(ctx context.Context, req *refapi.CherryPickRequest) (*refapi.CherryPickResponse, error) {
	if req.DryRun {
		diff, err := s.diff(ctx, req.ID, req.FromBranch)
		if err != nil {
			return nil, err
		}
		return outcome(req.FromBranch, diff, refapi.CherryPickReady), nil
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
	// The problems are the answer.
	case errors.Is(err, cherrypick.ErrNotPicked):
		return outcome(req.FromBranch, diff, refapi.CherryPickFailed), nil
	case err != nil:
		return nil, err
	}
	answer := outcome(req.FromBranch, diff, refapi.CherryPickDone)
	answer.MainVersionAfter, answer.TransactionID = &done.Version, done.TransactionID
	return answer, nil
}

// outcome returns the answer for a difference. Its status is CherryPickFailed if the difference has
// problems.
func outcome(branch string, diff *cherrypick.Diff, status refapi.CherryPickStatus) *refapi.CherryPickResponse {
	answer := &refapi.CherryPickResponse{Status: status, Diff: branchDiff(branch, diff)}
	if len(diff.Problems) > 0 {
		answer.Status = refapi.CherryPickFailed
		return answer
	}
	for _, f := range diff.Added {
		answer.Preview.PromotedColumns = append(answer.Preview.PromotedColumns, f.Name)
	}
	return answer
}

// branchDiff converts a difference to the form of the protocol.
func branchDiff(branch string, d *cherrypick.Diff) refapi.BranchDiff {
	answer := refapi.BranchDiff{
		FromBranch: branch, BaseMoved: d.IsBaseMoved(),
		ParentVersion: int64(d.Fork.Version()), MainVersion: int64(d.Main.Version()), BranchVersion: int64(d.Branch.Version()),
		RowCountMain: d.Main.CountRows(), RowCountBranch: d.Branch.CountRows(),
		RowSummary: refapi.RowCountSummary{
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
		change := refapi.ColumnChange{Name: c.Main.Name, Main: column(c.Main.Arrow()), Branch: column(c.Branch.Arrow())}
		answer.ChangedColumns = append(answer.ChangedColumns, change)
	}
	for _, p := range d.Problems {
		answer.Errors = append(answer.Errors, refapi.CherryPickError{Code: string(p.Code), Message: p.Message})
	}
	return answer
}

func column(f arrow.Field) refapi.ColumnSummary {
	return refapi.ColumnSummary{Name: f.Name, DataType: protocol.TypeText(f.Type), Nullable: f.Nullable}
}

func indices(found []snapshot.Index) (summaries []refapi.IndexSummary) {
	for _, x := range found {
		summaries = append(summaries, refapi.IndexSummary{IndexName: x.Name, Columns: x.Columns, IndexType: x.Kind.Type, Status: indexapi.Ready})
	}
	return summaries
}

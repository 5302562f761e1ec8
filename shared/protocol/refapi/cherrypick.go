package refapi

import (
	"net/http"

	"tiltyard/shared/protocol"
)

// DiffBranchesRequest asks what a branch and its table have changed since the branch was made.
type DiffBranchesRequest struct {
	protocol.Common
	FromBranch string `json:"from_branch"`
}

// Validate requires a branch.
func (r *DiffBranchesRequest) Validate() error { return requireBranch(r.FromBranch) }

// requireBranch requires a branch other than main.
func requireBranch(name string) error {
	if err := protocol.RequireText("from_branch", name); err != nil {
		return err
	}
	if protocol.BranchName(name) == "" {
		return protocol.Errorf(protocol.InvalidInput, "from_branch %s is the table itself; name one of its branches", protocol.QuoteShort(name))
	}
	return nil
}

// CherryPickRequest asks for the columns that a branch has added; with DryRun, whether
// they can be had.
type CherryPickRequest struct {
	protocol.Common
	FromBranch string `json:"from_branch"`
	DryRun     bool   `json:"dry_run"`
}

// Validate requires a branch.
func (r *CherryPickRequest) Validate() error { return requireBranch(r.FromBranch) }

// A BranchDiff is what a branch and its table have changed since the branch was made. LanceDB's
// clients require all fields. Source: crate lancedb, src/table/cherry_pick.rs.
type BranchDiff struct {
	FromBranch     string                         `json:"fromBranch"`
	ParentVersion  int64                          `json:"parentVersion"` // that the branch was made of
	MainVersion    int64                          `json:"mainVersion"`
	BranchVersion  int64                          `json:"branchVersion"`
	BaseMoved      bool                           `json:"baseMoved"` // the table has later versions
	RowCountMain   int64                          `json:"rowCountMain"`
	RowCountBranch int64                          `json:"rowCountBranch"`
	RowSummary     RowCountSummary                `json:"rowSummary"`
	AddedColumns   protocol.List[ColumnSummary]   `json:"addedColumns"`
	RemovedColumns protocol.List[ColumnSummary]   `json:"removedColumns"`
	ChangedColumns protocol.List[ColumnChange]    `json:"changedColumns"`
	AddedIndexes   protocol.List[IndexSummary]    `json:"addedIndexes"`
	RemovedIndexes protocol.List[IndexSummary]    `json:"removedIndexes"`
	Errors         protocol.List[CherryPickError] `json:"errors"`
}

// A RowCountSummary is numbers of rows by what happened to them since the branch was made.
type RowCountSummary struct {
	Unchanged      int64 `json:"unchanged"`      // on neither side changed or deleted
	NewOnBase      int64 `json:"newOnBase"`      // of the table
	NewOnBranch    int64 `json:"newOnBranch"`    // of the branch
	StaleRecompute int64 `json:"staleRecompute"` // on the branch, with values that the table has changed
	InputsChanged  int64 `json:"inputsChanged"`  // with values that the table has changed
	DeltaAvailable bool  `json:"deltaAvailable"` // the numbers are known
}

// A ColumnSummary is a column of a BranchDiff.
type ColumnSummary struct {
	Name     string `json:"name"`
	DataType string `json:"dataType"`
	Nullable bool   `json:"nullable"`
}

// A ColumnChange is a column that the branch has changed.
type ColumnChange struct {
	Name   string        `json:"name"`
	Main   ColumnSummary `json:"main"`
	Branch ColumnSummary `json:"branch"`
}

// An IndexSummary is an index of a BranchDiff.
type IndexSummary struct {
	IndexName string                `json:"indexName"`
	Columns   protocol.List[string] `json:"columns"`
	IndexType string                `json:"indexType,omitempty"`
	Status    string                `json:"status"`
}

// A CherryPickError is a reason why a branch cannot be cherry-picked.
type CherryPickError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// CherryPickResponse is the outcome of a cherry-pick.
type CherryPickResponse struct {
	Status           CherryPickStatus  `json:"status"`
	Diff             BranchDiff        `json:"diff"`
	Preview          CherryPickPreview `json:"preview"`
	MainVersionAfter *int64            `json:"mainVersionAfter,omitempty"` // when the columns have been added
	TransactionID    string            `json:"transaction_id,omitempty"`
}

// HTTPStatus returns the status of the answer: 409 if the branch cannot be cherry-picked.
func (r *CherryPickResponse) HTTPStatus() int {
	if r.Status == CherryPickFailed {
		return http.StatusConflict
	}
	return http.StatusOK
}

// A CherryPickStatus is the outcome of a cherry-pick.
type CherryPickStatus string

// The outcomes of a cherry-pick.
const (
	CherryPickReady  CherryPickStatus = "ready" // of a dry run
	CherryPickFailed CherryPickStatus = "failed"
	CherryPickDone   CherryPickStatus = "cherryPicked"
)

// A CherryPickPreview is the columns that a cherry-pick adds.
type CherryPickPreview struct {
	PromotedColumns protocol.List[string] `json:"promotedColumns"`
}

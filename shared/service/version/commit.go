package version

import (
	"context"
	"slices"

	"tiltyard/shared/lance/dataset/cleanup"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/tableapi"
	"tiltyard/shared/protocol/versionapi"
	"tiltyard/shared/storage/objectstore"
)

// maxBatchDeletes bounds the versions that a batch deletes from one table, because the record of
// the table contains their names until the batch has ended.
const maxBatchDeletes = 1000

// BatchCommit declares and deregisters tables, and creates and deletes versions of them. It applies
// all operations or none. A repeated request gets the answer of the first one.
func (s *Service) BatchCommit(ctx context.Context, req *versionapi.BatchCommitRequest) (*versionapi.BatchCommitResponse, error) {
	done, err := s.commit(ctx, req.Operations)
	if err != nil {
		return nil, err
	}
	answer := &versionapi.BatchCommitResponse{
		TransactionID: s.tables.Transactions.IDOfChange(ctx, batchChange("batch-commit", done)),
	}
	for i, p := range done {
		answer.Results = append(answer.Results, p.answer(&req.Operations[i], answer.TransactionID))
	}
	return answer, nil
}

// answer returns the result of an operation in the form of the protocol.
func (p *prepared) answer(op *versionapi.CommitOperation, transactionID string) versionapi.CommitResult {
	made := p.result.Table
	switch {
	case op.Declare != nil:
		return versionapi.CommitResult{Declare: &tableapi.DeclareResponse{
			TransactionID: transactionID, Location: made.Location.URI, Properties: made.Properties, ManagedVersioning: made.Managed,
		}}
	case op.Create != nil:
		return versionapi.CommitResult{Create: &versionapi.CreateResponse{TransactionID: transactionID, Version: p.entry()}}
	case op.Delete != nil:
		return versionapi.CommitResult{Delete: &versionapi.BatchDeleteResponse{
			TransactionID: transactionID, DeletedCount: int64(len(p.Delete)),
		}}
	}
	return versionapi.CommitResult{Deregister: &tableapi.DeregisterResponse{
		TransactionID: transactionID, ID: made.ID, Location: made.Location.URI, Properties: made.Properties,
	}}
}

// prepareDelete chooses the versions that an operation deletes. A table that the batch itself
// declares has no versions.
func (s *Service) prepareDelete(ctx context.Context, p *prepared, req *versionapi.BatchDeleteRequest) error {
	if protocol.BranchName(req.Branch) != "" {
		return errBranchInBatch
	}
	p.Delete = []objectstore.Info{}
	if p.UID == "" {
		return nil
	}
	all := slices.ContainsFunc(req.Ranges, versionapi.Range.All)
	table := s.tables.At(p.table)
	chosen, err := cleanup.Choose(ctx, table.Data(), anyOf(req.Ranges), all)
	if err != nil {
		return table.Translate(err)
	}
	if len(chosen) > maxBatchDeletes {
		return protocol.Errorf(protocol.InvalidInput, "%d versions are in the ranges; a batch deletes up to %d versions of a table", len(chosen), maxBatchDeletes)
	}
	p.Delete = append(p.Delete, chosen...)
	return nil
}

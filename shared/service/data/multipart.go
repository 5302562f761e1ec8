package data

import (
	"context"
	"errors"
	"fmt"

	"tiltyard/shared/catalog"
	"tiltyard/shared/engine"
	"tiltyard/shared/jobs/multipart"
	"tiltyard/shared/jobs/transaction"
	lanceparts "tiltyard/shared/lance/dataset/multipart"
	"tiltyard/shared/lance/dataset/part"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/protocol/dataapi"
	"tiltyard/shared/tables"
)

// CreateMultipart begins a multipart write.
func (s *Service) CreateMultipart(ctx context.Context, req *dataapi.CreateMultipartWriteRequest) (*dataapi.CreateMultipartWriteResponse, error) {
	found, err := s.tables.Names.Table(ctx, req.ID)
	if err != nil {
		return nil, err
	}
	table, err := s.tables.On(ctx, found, req.Branch)
	if err != nil {
		return nil, err
	}
	if _, err := table.Newest(ctx); err != nil {
		return nil, err
	}
	made, err := s.tables.Uploads.Begin(ctx, target(ctx, found, req.Branch))
	if err != nil {
		return nil, err
	}
	return &dataapi.CreateMultipartWriteResponse{UploadID: made.ID}, nil
}

// target returns the table, branch and principal of a request.
func target(ctx context.Context, table *catalog.Table, branch string) multipart.Target {
	t := multipart.Target{Table: table.UID, Branch: protocol.BranchName(branch)}
	if principal := auth.FromContext(ctx); principal != nil {
		t.Principal = principal.String()
	}
	return t
}

// insertPart writes the rows of one part of a multipart write. A repeated part with the same rows
// is not written again.
func (s *Service) insertPart(ctx context.Context, req *dataapi.InsertRequest) (*dataapi.InsertResponse, error) {
	id, err := multipart.ParsePartID(req.UploadPartID)
	if err != nil {
		return nil, err
	}
	found, err := s.tables.Names.Table(ctx, req.ID)
	if err != nil {
		return nil, err
	}
	// The branch of a part must be the one in its request.
	to := target(ctx, found, req.Branch)
	upload, err := s.tables.Uploads.Find(ctx, req.UploadID, to)
	if err != nil {
		return nil, err
	}
	if upload.Target != to {
		return nil, protocol.Errorf(protocol.InvalidInput, "upload %s is for the branch %q", upload.ID, upload.Branch)
	}
	if err := upload.TakesParts(); err != nil {
		return nil, err
	}
	table, err := s.tables.On(ctx, found, upload.Branch)
	if err != nil {
		return nil, err
	}
	made, err := s.writePart(ctx, table, upload.ID, id, req)
	if err != nil {
		return nil, repeatable(err)
	}
	// Complete reads the receipts after it has closed the upload. So if the upload is still open, a
	// later complete sees this receipt.
	if upload, err = s.tables.Uploads.Find(ctx, upload.ID, to); err == nil {
		err = upload.TakesParts()
	}
	if err != nil {
		return nil, err
	}
	return &dataapi.InsertResponse{NumInsertedRows: made.Rows()}, nil // no version contains the rows yet
}

// writePart writes the files and the receipt of a part, unless it has a receipt.
func (s *Service) writePart(ctx context.Context, table *engine.Table, upload, id string, req *dataapi.InsertRequest) (*part.Part, error) {
	kept, err := lanceparts.Parts(table.Data()).Find(ctx, upload, id)
	if err != nil {
		return nil, err
	}
	rows, err := s.open(ctx, req.Body)
	if err != nil {
		return nil, err
	}
	rows.SumBatches()
	overwrite := req.Mode == dataapi.InsertModeOverwrite
	if kept != nil {
		err = rows.skip()
	} else {
		kept, err = keepPart(ctx, table, upload, id, rows, overwrite)
	}
	if err != nil {
		return nil, err
	}
	if kept.Sum != rows.Sum() || kept.Overwrites() != overwrite {
		return nil, protocol.Errorf(protocol.InvalidInput, "part %s of upload %s was sent before with other rows or another mode; choose a new id for each part", id, upload)
	}
	return kept, nil
}

// keepPart writes the files of a part and then its receipt. If a concurrent request has written the
// receipt, it returns that part.
func keepPart(ctx context.Context, table *engine.Table, upload, id string, rows *stream, overwrite bool) (*part.Part, error) {
	made, err := table.WritePart(ctx, rows.rows(), overwrite)
	if err != nil {
		return nil, err
	}
	if !rows.Ended() {
		return nil, protocol.Errorf(protocol.InvalidInput, "the Arrow stream ends without its end marker, so rows of the part may be missing")
	}
	made.Sum = rows.Sum()
	return lanceparts.Parts(table.Data()).Keep(ctx, upload, id, made)
}

// skip reads and verifies all rows without storing them.
func (s *stream) skip() error {
	for _, err := range s.batches {
		if err != nil {
			return err
		}
	}
	return nil
}

// CompleteMultipart commits the rows of all parts as one version. Clients may repeat it, also after
// an error: the rows are committed once.
func (s *Service) CompleteMultipart(ctx context.Context, req *dataapi.EndMultipartWriteRequest) (*dataapi.CompleteMultipartWriteResponse, error) {
	upload, err := s.upload(ctx, req)
	if err != nil {
		return nil, err
	}
	if upload.State == multipart.Committed {
		return s.completed(ctx, req.ID, upload), nil
	}
	done, err := s.tables.Open(req.ID, upload.Branch).Commit(ctx, func(t tables.Table) (engine.Written, error) {
		if err := t.Found.Confirm(); err != nil {
			return engine.Written{}, err
		}
		if t.Found.Table.UID != upload.Table {
			return engine.Written{}, protocol.Errorf(protocol.InvalidInput, "upload %s belongs to a table that was dropped", upload.ID)
		}
		return s.commitParts(ctx, t.Table, upload)
	})
	if err != nil {
		return nil, repeatable(err)
	}
	return &dataapi.CompleteMultipartWriteResponse{TransactionID: done.TransactionID, Version: done.Version}, nil
}

// upload returns the upload that a request completes or aborts.
func (s *Service) upload(ctx context.Context, req *dataapi.EndMultipartWriteRequest) (*multipart.Upload, error) {
	found, err := s.tables.Names.Table(ctx, req.ID)
	if err != nil {
		return nil, err
	}
	return s.tables.Uploads.Find(ctx, req.UploadID, target(ctx, found, req.Branch))
}

// completed returns the answer for an upload that is committed.
func (s *Service) completed(ctx context.Context, id []string, upload *multipart.Upload) *dataapi.CompleteMultipartWriteResponse {
	made := transaction.Commit{Branch: upload.Branch, Version: upload.Version, UUID: upload.Commit.ID}
	return &dataapi.CompleteMultipartWriteResponse{
		TransactionID: s.tables.Transactions.IDOfCommit(ctx, id, made), Version: int64(upload.Version),
	}
}

// commitParts brings an upload from any state to committed.
func (s *Service) commitParts(ctx context.Context, table *engine.Table, upload *multipart.Upload) (engine.Written, error) {
	newest, err := table.Newest(ctx) // read before the commit can begin
	if err != nil {
		return engine.Written{}, err
	}
	if upload, err = s.tables.Uploads.Close(ctx, upload); err != nil {
		return engine.Written{}, err
	}
	parts, err := lanceparts.Parts(table.Data()).All(ctx, upload.ID)
	if errors.Is(err, part.ErrTooMany) {
		return engine.Written{}, &protocol.Error{
			Code: protocol.InvalidInput, Message: fmt.Sprintf("an upload has at most %d parts", part.MaxParts), Detail: "send larger parts", Err: err,
		}
	}
	if err != nil {
		return engine.Written{}, err
	}
	if upload, err = s.tables.Uploads.Fix(ctx, upload, multipart.ContentsOf(parts), newest); err != nil {
		return engine.Written{}, err
	}
	done, err := table.CommitParts(ctx, upload.Commit.ID, upload.Commit.Since, parts)
	if err != nil {
		return engine.Written{}, err
	}
	// If this write fails, the next complete finds the commit by its id.
	_ = s.tables.Uploads.Done(ctx, upload, uint64(done.Version))
	return done, nil
}

// repeatable clears the mark for an unknown outcome in an error of work that may be repeated.
func repeatable(err error) error {
	var known *protocol.Error
	if !errors.As(err, &known) || !known.Unsettled {
		return err
	}
	again := *known
	again.Unsettled, again.Detail = false, "send the request again: the rows will be there once"
	return &again
}

// AbortMultipart aborts a multipart write. Maintenance deletes its files later. If a commit may
// have begun, it is too late, and the error is ConcurrentModification; see package multipart.
func (s *Service) AbortMultipart(ctx context.Context, req *dataapi.EndMultipartWriteRequest) (*dataapi.AbortMultipartWriteResponse, error) {
	upload, err := s.upload(ctx, req)
	if err != nil {
		return nil, err
	}
	if upload, err = s.tables.Uploads.Abort(ctx, upload); err != nil {
		return nil, err
	}
	switch upload.State {
	case multipart.Committed:
		return nil, protocol.Errorf(protocol.ConcurrentModification, "upload %s is committed as version %d and cannot be aborted", upload.ID, upload.Version)
	case multipart.Committing:
		return nil, protocol.Errorf(protocol.ConcurrentModification, "upload %s is being committed and cannot be aborted; complete it to see the version", upload.ID)
	}
	return &dataapi.AbortMultipartWriteResponse{}, nil
}

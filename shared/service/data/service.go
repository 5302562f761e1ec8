// Package data implements the operations that write rows.
package data

import (
	"context"
	"errors"
	"io"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/arrow/arrowipc"
	"tiltyard/shared/http/httpapi"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/dataapi"
	"tiltyard/shared/tables"
)

// A Service implements the operations that write rows.
type Service struct {
	tables tables.Tables
	limits arrowipc.Limits
}

// New returns the service over tables. The limits apply to uploads.
func New(tables tables.Tables, limits arrowipc.Limits) *Service {
	return &Service{tables: tables, limits: limits}
}

// Routes returns the routes of the service.
func (s *Service) Routes() []httpapi.Route {
	return append(s.refused(), []httpapi.Route{
		httpapi.Upload("CreateTable", s.Create),
		httpapi.Upload("InsertIntoTable", s.Insert),
		httpapi.Upload("MergeInsertIntoTable", s.Merge),
		httpapi.JSON("UpdateTable", s.Update),
		httpapi.JSON("DeleteFromTable", s.Delete),
		httpapi.JSON("CreateMultipartWrite", s.CreateMultipart),
		httpapi.JSON("CompleteMultipartWrite", s.CompleteMultipart),
		httpapi.JSON("AbortMultipartWrite", s.AbortMultipart),
		httpapi.JSON("GetLsmWriteSpec", s.LSMSpec),
		httpapi.JSON("FlushLsm", withoutLSM[dataapi.LSMResponse](s)),
		httpapi.JSON("CompactLsm", withoutLSM[dataapi.LSMResponse](s)),
		httpapi.JSON("GetLsmStats", withoutLSM[dataapi.GetLSMStatsResponse](s)),
		httpapi.JSON("GetRteSpec", s.RTESpec),
		httpapi.JSON("FlushRte", withoutLSM[dataapi.LSMResponse](s)),
		httpapi.JSON("CompactRte", withoutLSM[dataapi.LSMResponse](s)),
		httpapi.JSON("GetRteStats", withoutLSM[dataapi.GetRTEStatsResponse](s)),
	}...)
}

// A stream is an upload of rows in Arrow format. It verifies each batch as it arrives.
type stream struct {
	*arrowipc.Reader
	body io.Reader
}

// open reads the schema of an upload.
func (s *Service) open(ctx context.Context, body io.Reader) (*stream, error) {
	reader, err := arrowipc.NewReader(ctx, body, s.limits)
	if err != nil {
		return nil, uploadError(err)
	}
	return &stream{reader, body}, nil
}

// rows returns the rows that have not been read yet.
func (s *stream) rows() dataset.Rows { return dataset.Rows{Schema: s.Schema(), Batches: s.batches} }

// batches yields the batches that have not been read yet.
func (s *stream) batches(yield func(arrow.RecordBatch, error) bool) {
	for {
		batch, err, ok := s.take()
		if !ok || !yield(batch, err) || err != nil {
			return
		}
	}
}

// take returns the next batch; ok is false after the last one. It then reads the body to its end,
// beyond the end of the Arrow stream, because the end of the body may return an error: the request
// repeats one that was already answered.
func (s *stream) take() (batch arrow.RecordBatch, err error, ok bool) { //nolint:revive // as iter.Pull2 has it
	batch, err = s.Next()
	if errors.Is(err, io.EOF) {
		if _, err = io.Copy(io.Discard, s.body); err == nil {
			return nil, nil, false
		}
	}
	return batch, uploadError(err), true
}

// uploadError turns an error in an uploaded stream into the error for the client. An error of the
// connection stays unchanged, because the stream does not cause it.
func uploadError(err error) error {
	var bad *arrowipc.Error
	if !errors.As(err, &bad) {
		return err
	}
	if errors.Is(err, arrowipc.ErrTooLarge) {
		return &protocol.Error{
			Code: protocol.InvalidInput, TooLarge: true, Message: bad.Error(),
			Detail: "send the rows in smaller record batches, or in several requests", Err: err,
		}
	}
	return &protocol.Error{
		Code: protocol.InvalidInput, Message: bad.Error(),
		Detail: "the body must be an Arrow IPC stream (application/vnd.apache.arrow.stream)", Err: err,
	}
}

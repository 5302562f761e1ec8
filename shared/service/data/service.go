// Package data answers the operations that write rows.
package data

import (
	"errors"
	"io"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/arrowipc"
	"tiltyard/shared/catalog"
	"tiltyard/shared/engine"
	"tiltyard/shared/httpapi"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/protocol"
)

// A Service answers the operations that write rows.
type Service struct {
	names  *catalog.Catalog
	rows   *engine.Engine
	limits arrowipc.Limits
}

// New returns the service over a catalog and an engine. The limits are those of uploads.
func New(names *catalog.Catalog, rows *engine.Engine, limits arrowipc.Limits) *Service {
	return &Service{names: names, rows: rows, limits: limits}
}

// Routes returns the operations that the service answers.
func (s *Service) Routes() []httpapi.Route {
	return []httpapi.Route{
		httpapi.Upload("CreateTable", s.Create),
		httpapi.Upload("InsertIntoTable", s.Insert),
		httpapi.Upload("MergeInsertIntoTable", s.Merge),
	}
}

// open begins to read an uploaded stream. Its batches are verified as they come.
func (s *Service) open(body io.Reader) (dataset.Rows, error) {
	reader, err := arrowipc.NewReader(body, s.limits)
	if err != nil {
		return dataset.Rows{}, uploadError(err)
	}
	return dataset.Rows{Schema: reader.Schema(), Batches: func(yield func(arrow.RecordBatch, error) bool) {
		for {
			batch, err := reader.Next()
			if errors.Is(err, io.EOF) {
				return
			}
			if !yield(batch, uploadError(err)) || err != nil {
				return
			}
		}
	}}, nil
}

// uploadError words what is wrong with an uploaded stream. What the connection did is
// not the stream's fault.
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

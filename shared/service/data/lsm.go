package data

import (
	"cmp"
	"context"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/indices"
	"tiltyard/shared/engine/wal"
	"tiltyard/shared/http/httpapi"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/dataapi"
	"tiltyard/shared/protocol/operations"
)

// The service has no write-ahead log: every table behaves as if its log were off and empty, and flushing and compacting
// have nothing to do. A table with the log of a native writer cannot be written. It is read without the log, and only if
// the request permits that.

// withoutLSM returns an operation that does nothing on a table without a log.
func withoutLSM[Response any](s *Service) func(context.Context, *dataapi.LSMRequest) (*Response, error) {
	return func(ctx context.Context, req *dataapi.LSMRequest) (*Response, error) {
		if err := s.checkNoLog(ctx, req); err != nil {
			return nil, err
		}
		return new(Response), nil
	}
}

// LSMSpec returns the configuration with which native writers collect rows in a log, or nil for a
// table without one.
func (s *Service) LSMSpec(ctx context.Context, req *dataapi.LSMRequest) (*dataapi.GetLSMWriteSpecResponse, error) {
	spec, err := s.logSpec(ctx, req)
	if err == nil && spec != nil && spec.MaintainedIndexes == nil {
		spec.MaintainedIndexes, err = s.allIndices(ctx, req) // clients of the older operation cannot parse null
	}
	return &dataapi.GetLSMWriteSpecResponse{Spec: spec}, err
}

// RTESpec serves LSMSpec under its newer name.
func (s *Service) RTESpec(ctx context.Context, req *dataapi.LSMRequest) (*dataapi.GetRTESpecResponse, error) {
	spec, err := s.logSpec(ctx, req)
	return &dataapi.GetRTESpecResponse{Spec: spec}, err
}

// allIndices returns the names of the indices of a table.
func (s *Service) allIndices(ctx context.Context, req *dataapi.LSMRequest) (*protocol.List[string], error) {
	table, err := s.tableOf(ctx, req)
	if err != nil {
		return nil, err
	}
	indices, err := indices.List(ctx, table, nil)
	names := protocol.List[string]{}
	for _, x := range indices {
		names = append(names, x.Name)
	}
	return &names, err
}

// logSpec returns the log configuration of a table, or nil.
func (s *Service) logSpec(ctx context.Context, req *dataapi.LSMRequest) (*dataapi.LSMWriteSpec, error) {
	table, err := s.tableOf(ctx, req)
	if err != nil {
		return nil, err
	}
	return engine.Read(ctx, table, nil, func(_ context.Context, d *dataset.Dataset) (*dataapi.LSMWriteSpec, error) { return wal.Spec(d) })
}

// refused returns the routes of the operations that no table supports.
func (s *Service) refused() (routes []httpapi.Route) {
	for _, op := range operations.All {
		if op.Refused != nil {
			routes = append(routes, httpapi.JSON(op.Name, func(ctx context.Context, req *dataapi.LSMRequest) (*dataapi.LSMResponse, error) {
				return nil, s.Refuse(ctx, op, req)
			}))
		}
	}
	return routes
}

// Refuse returns the error of an unsupported operation, or TableNotFound if the table does not exist.
func (s *Service) Refuse(ctx context.Context, op protocol.Operation, req *dataapi.LSMRequest) error {
	return cmp.Or(s.checkNoLog(ctx, req), error(op.Refused))
}

// checkLog refuses a write that requires a log (wanted is true): the table has none, or this service cannot write it.
func checkLog(ctx context.Context, t *engine.Table, wanted *bool) error {
	if wanted == nil || !*wanted {
		return nil
	}
	return engine.Do(ctx, t, nil, func(_ context.Context, d *dataset.Dataset) error { return wal.Check(d, wanted) })
}

// checkNoLog returns an error for a table whose writers must support a feature that this service
// lacks, such as the log of a native writer.
func (s *Service) checkNoLog(ctx context.Context, req *dataapi.LSMRequest) error {
	table, err := s.tableOf(ctx, req)
	if err != nil {
		return err
	}
	return table.CheckWritable(ctx)
}

func (s *Service) tableOf(ctx context.Context, req *dataapi.LSMRequest) (*engine.Table, error) {
	found, err := s.tables.Names.Table(ctx, req.ID)
	if err != nil {
		return nil, err
	}
	return s.tables.On(ctx, found, req.Branch)
}

package data

import (
	"context"

	"tiltyard/shared/engine"
	"tiltyard/shared/protocol"
)

// LanceDB servers may collect the writes to a table in a log beside it (LSM, in newer clients RTE),
// from which they are merged into the table later. This service merges rows into the table before
// it answers. So every table is as if its log were off and empty, and flushing and compacting have
// nothing to do. A table with the log of a native writer is not written, and is read without the log
// only if a request asks for that.

// withoutLSM returns the operation that answers for a table without a log.
func withoutLSM[Response any](s *Service) func(context.Context, *protocol.LSMRequest) (*Response, error) {
	return func(ctx context.Context, req *protocol.LSMRequest) (*Response, error) {
		if err := s.checkNoLog(ctx, req); err != nil {
			return nil, err
		}
		return new(Response), nil
	}
}

// LSMSpec returns how native writers collect rows in a log, nil for a table without one.
func (s *Service) LSMSpec(ctx context.Context, req *protocol.LSMRequest) (*protocol.GetLSMWriteSpecResponse, error) {
	spec, err := s.logSpec(ctx, req)
	if err == nil && spec != nil && spec.MaintainedIndexes == nil {
		spec.MaintainedIndexes, err = s.allIndices(ctx, req) // clients of this name take no null
	}
	return &protocol.GetLSMWriteSpecResponse{Spec: spec}, err
}

// RTESpec is LSMSpec under the name that newer clients use.
func (s *Service) RTESpec(ctx context.Context, req *protocol.LSMRequest) (*protocol.GetRTESpecResponse, error) {
	spec, err := s.logSpec(ctx, req)
	return &protocol.GetRTESpecResponse{Spec: spec}, err
}

// allIndices returns the names of the indices of a table.
func (s *Service) allIndices(ctx context.Context, req *protocol.LSMRequest) (*protocol.List[string], error) {
	table, err := s.tableOf(ctx, req)
	if err != nil {
		return nil, err
	}
	indices, err := table.Indices(ctx, nil)
	names := protocol.List[string]{}
	for _, x := range indices {
		names = append(names, x.Name)
	}
	return &names, err
}

func (s *Service) logSpec(ctx context.Context, req *protocol.LSMRequest) (*protocol.LSMWriteSpec, error) {
	table, err := s.tableOf(ctx, req)
	if err != nil {
		return nil, err
	}
	return table.LogSpec(ctx)
}

// SetLSM refuses to begin a log.
func (s *Service) SetLSM(ctx context.Context, req *protocol.LSMRequest) (*protocol.LSMResponse, error) {
	if err := s.checkNoLog(ctx, req); err != nil {
		return nil, err
	}
	return nil, &protocol.Error{
		Code: protocol.Unsupported, Message: "tables here have no write-ahead log (LSM, RTE)",
		Detail: "merges and inserts are in the table when they are answered; leave the specification out",
	}
}

// UnsetLSM refuses to end a log, because there is none.
func (s *Service) UnsetLSM(ctx context.Context, req *protocol.LSMRequest) (*protocol.LSMResponse, error) {
	if err := s.checkNoLog(ctx, req); err != nil {
		return nil, err
	}
	return nil, protocol.Errorf(protocol.InvalidInput, "no write specification (LSM, RTE) is set on the table, so there is none to remove")
}

// checkNoLog returns an error for a table that needs what this service does not have to be written:
// the log of a native writer is such a thing.
func (s *Service) checkNoLog(ctx context.Context, req *protocol.LSMRequest) error {
	table, err := s.tableOf(ctx, req)
	if err != nil {
		return err
	}
	return table.CheckWritable(ctx)
}

func (s *Service) tableOf(ctx context.Context, req *protocol.LSMRequest) (*engine.Table, error) {
	found, err := s.tables.Names.Table(ctx, req.ID)
	if err != nil {
		return nil, err
	}
	return s.tables.On(ctx, found, req.Branch)
}

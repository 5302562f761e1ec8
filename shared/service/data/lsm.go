package data

import (
	"context"

	"tiltyard/shared/protocol"
)

// LanceDB servers may collect the writes to a table in a log beside it (LSM, in newer clients RTE),
// from which they are merged into the table later. This service merges rows into the table before
// it answers. So every table is as if its log were off and empty, and flushing and compacting have
// nothing to do. A table with the log of a native writer is refused.

// withoutLSM returns the operation that answers for a table without a log.
func withoutLSM[Response any](s *Service) func(context.Context, *protocol.LSMRequest) (*Response, error) {
	return func(ctx context.Context, req *protocol.LSMRequest) (*Response, error) {
		if err := s.checkNoLog(ctx, req); err != nil {
			return nil, err
		}
		return new(Response), nil
	}
}

// SetLSM refuses to begin a log.
func (s *Service) SetLSM(ctx context.Context, req *protocol.LSMRequest) (*protocol.LSMResponse, error) {
	if err := s.checkNoLog(ctx, req); err != nil {
		return nil, err
	}
	return nil, &protocol.Error{
		Code: protocol.Unsupported, Message: "tables here have no write-ahead log (LSM)",
		Detail: "merges and inserts are in the table when they are answered; leave the specification out",
	}
}

// UnsetLSM refuses to end a log, because there is none.
func (s *Service) UnsetLSM(ctx context.Context, req *protocol.LSMRequest) (*protocol.LSMResponse, error) {
	if err := s.checkNoLog(ctx, req); err != nil {
		return nil, err
	}
	return nil, protocol.Errorf(protocol.InvalidInput, "the table has no LSM write specification to unset")
}

// checkNoLog returns an error for a table that needs what this service does not have to be written:
// the log of a native writer is such a thing.
func (s *Service) checkNoLog(ctx context.Context, req *protocol.LSMRequest) error {
	found, err := s.tables.Names.Table(ctx, req.ID)
	if err != nil {
		return err
	}
	table, err := s.tables.On(ctx, found, req.Branch)
	if err != nil {
		return err
	}
	return table.CheckWritable(ctx)
}

package sql

import (
	"context"

	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/dataapi"
	"tiltyard/shared/sql/syntax"
)

// delete deletes the rows for which a condition is true.
func (s *Service) delete(ctx context.Context, in *statement, c *syntax.Delete) (*protocol.Rows, error) {
	req := &dataapi.DeleteRequest{Common: in.of(in.id(c.Table)), Branch: c.Branch, Predicate: c.Where.String()}
	made, err := do(ctx, "DeleteFromTable", req, s.data.Delete)
	if err != nil {
		return nil, err
	}
	return counted(made.NumDeletedRows, made.Version), nil
}

// update sets columns to expressions in the rows for which a condition is true.
func (s *Service) update(ctx context.Context, in *statement, c *syntax.Update) (*protocol.Rows, error) {
	req := &dataapi.UpdateRequest{Common: in.of(in.id(c.Table)), Branch: c.Branch}
	for _, a := range c.Set {
		req.Updates = append(req.Updates, []string{a.Column, a.Value.String()})
	}
	if c.Where != nil {
		req.Predicate = c.Where.String()
	}
	made, err := do(ctx, "UpdateTable", req, s.data.Update)
	if err != nil {
		return nil, err
	}
	return counted(made.UpdatedRows, made.Version), nil
}

package schema

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/arrowipc"
	"tiltyard/shared/engine"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/protocol"
)

// Add adds columns: computed once by SQL expressions, or null in every row.
func (s *Service) Add(ctx context.Context, req *protocol.AlterTableAddColumnsRequest) (*protocol.AlterTableAddColumnsResponse, error) {
	add, err := s.adding(ctx, req)
	if err != nil {
		return nil, err
	}
	done, err := s.tables.Change(ctx, req.ID, req.Branch, add)
	if err != nil {
		return nil, err
	}
	return &protocol.AlterTableAddColumnsResponse{TransactionID: done.TransactionID, Version: done.Version}, nil
}

// adding returns what adds the columns of a request.
func (s *Service) adding(ctx context.Context, req *protocol.AlterTableAddColumnsRequest) (func(*engine.Table, func() error) (engine.Written, error), error) {
	if req.Body != nil {
		reader, err := arrowipc.NewReader(req.Body, s.limits)
		if err != nil {
			return nil, protocol.Errorf(protocol.InvalidInput, "the body is no Arrow stream of a schema: %w", err)
		}
		return addNulls(ctx, reader.Schema())
	}
	columns := make([]engine.Assignment, len(req.NewColumns))
	for i, c := range req.NewColumns {
		if c.Expression == "" {
			return nil, protocol.Errorf(protocol.Unsupported,
				"new_columns[%d], %q: columns that a function computes are not supported yet; give an expression", i, c.Name)
		}
		columns[i] = engine.Assignment{Column: c.Name, SQL: c.Expression}
	}
	return func(t *engine.Table, confirm func() error) (engine.Written, error) {
		return t.AddColumns(ctx, columns, confirm)
	}, nil
}

func addNulls(ctx context.Context, columns *arrow.Schema) (func(*engine.Table, func() error) (engine.Written, error), error) {
	if columns.NumFields() == 0 {
		return nil, protocol.Errorf(protocol.InvalidInput, "the schema has no columns to add")
	}
	return func(t *engine.Table, confirm func() error) (engine.Written, error) {
		return t.AddNullColumns(ctx, columns, confirm)
	}, nil
}

// Alter renames columns, changes their types, and whether they may be null.
func (s *Service) Alter(ctx context.Context, req *protocol.AlterTableAlterColumnsRequest) (*protocol.AlterTableAlterColumnsResponse, error) {
	alterations := make([]dataset.Alteration, len(req.Alterations))
	for i, a := range req.Alterations {
		alterations[i] = dataset.Alteration{Path: a.Path, Rename: a.Rename, Nullable: a.Nullable, Type: a.DataType.Type}
	}
	done, err := s.tables.Change(ctx, req.ID, req.Branch, func(t *engine.Table, confirm func() error) (engine.Written, error) {
		return t.AlterColumns(ctx, alterations, confirm)
	})
	if err != nil {
		return nil, err
	}
	return &protocol.AlterTableAlterColumnsResponse{TransactionID: done.TransactionID, Version: done.Version}, nil
}

// Drop removes columns.
func (s *Service) Drop(ctx context.Context, req *protocol.AlterTableDropColumnsRequest) (*protocol.AlterTableDropColumnsResponse, error) {
	done, err := s.tables.Change(ctx, req.ID, req.Branch, func(t *engine.Table, confirm func() error) (engine.Written, error) {
		return t.DropColumns(ctx, req.Columns, confirm)
	})
	if err != nil {
		return nil, err
	}
	return &protocol.AlterTableDropColumnsResponse{TransactionID: done.TransactionID, Version: done.Version}, nil
}

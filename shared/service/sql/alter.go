package sql

import (
	"context"

	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/schemaapi"
	"tiltyard/shared/protocol/tableapi"
	"tiltyard/shared/sql"
	"tiltyard/shared/sql/syntax"
)

// alterTable changes columns, or the name of a table.
func (s *Service) alterTable(ctx context.Context, in *statement, c *syntax.AlterTable) (*protocol.Rows, error) {
	id := in.id(c.Table)
	common, altered := in.of(id), "altered table "+syntax.TableName(id)
	switch {
	case c.Rename != nil:
		if c.Branch != "" {
			return nil, sql.Errorf(sql.ErrSyntax, sql.NoPos, "RENAME TO names the whole table, not a branch")
		}
		return s.rename(ctx, common, c.Rename)
	case c.Drop != nil:
		made, err := do(ctx, "AlterTableDropColumns", &schemaapi.DropColumnsRequest{Common: common, Branch: c.Branch, Columns: c.Drop}, s.columns.Drop)
		if err != nil {
			return nil, err
		}
		return done(altered, made.Version), nil
	case c.Change != nil:
		req, err := alteration(common, c)
		if err != nil {
			return nil, err
		}
		made, err := do(ctx, "AlterTableAlterColumns", req, s.columns.Alter)
		if err != nil {
			return nil, err
		}
		return done(altered, made.Version), nil
	}
	req, err := addition(common, c)
	if err != nil {
		return nil, err
	}
	made, err := do(ctx, "AlterTableAddColumns", req, s.columns.Add)
	if err != nil {
		return nil, err
	}
	return done(altered, made.Version), nil
}

// alteration returns the request that changes one column.
func alteration(common protocol.Common, c *syntax.AlterTable) (*schemaapi.AlterColumnsRequest, error) {
	change := schemaapi.Alteration{Path: c.Change.Column, Rename: c.Change.Rename, Nullable: c.Change.Nullable}
	if c.Change.Type != nil {
		typ, err := typeOf(*c.Change.Type)
		if err != nil {
			return nil, err
		}
		change.DataType = protocol.TypeName{Type: typ}
	}
	return &schemaapi.AlterColumnsRequest{Common: common, Branch: c.Branch, Alterations: []schemaapi.Alteration{change}}, nil
}

// addition returns the request for new columns.
func addition(common protocol.Common, c *syntax.AlterTable) (*schemaapi.AddColumnsRequest, error) {
	req := &schemaapi.AddColumnsRequest{Common: common, Branch: c.Branch}
	if c.Computed != nil {
		req.NewColumns = []schemaapi.NewColumn{{Name: c.Computed.Column, Computed: c.Computed.Value.String()}}
		return req, nil
	}
	columns, err := schemaOf(c.Add)
	if err != nil {
		return nil, err
	}
	req.Body, err = schemaBody(columns)
	return req, err
}

// rename gives a table another name. A single name stays in the namespace of the table.
func (s *Service) rename(ctx context.Context, common protocol.Common, name []string) (*protocol.Rows, error) {
	last := len(name) - 1
	req := &tableapi.RenameRequest{Common: common, NewTableName: name[last]}
	if last > 0 {
		req.NewNamespaceID = name[:last]
	}
	if _, err := do(ctx, "RenameTable", req, s.names.Rename); err != nil {
		return nil, err
	}
	return done("renamed table "+syntax.TableName(common.ID)+" to "+syntax.TableName(req.NewID()), 0), nil
}

// optimize begins a job that compacts a table, brings its indices up to date and deletes old versions.
func (s *Service) optimize(ctx context.Context, in *statement, c *syntax.Optimize) (*protocol.Rows, error) {
	began, err := do(ctx, "MaintainTable", &tableapi.MaintainRequest{Common: in.of(in.id(c.Table))}, s.maintenance.Maintain)
	if err != nil {
		return nil, err
	}
	return begun(began.JobID), nil
}

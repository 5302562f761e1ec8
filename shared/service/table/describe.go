package table

import (
	"context"

	"tiltyard/shared/catalog"
	"tiltyard/shared/catalog/stored"
	"tiltyard/shared/catalog/views"
	"tiltyard/shared/engine"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/tableapi"
	"tiltyard/shared/tables"
)

// Describe returns the location of a table and, if the request demands details, the schema and the
// size of a version. If the deployment vends credentials, the answer has them for the location.
func (s *Service) Describe(ctx context.Context, req *tableapi.DescribeRequest) (*tableapi.DescribeResponse, error) {
	answer, err := s.describe(ctx, req)
	if view := views.Plain(err); view != nil {
		return s.describeView(ctx, view, req)
	}
	if err != nil {
		return nil, err
	}
	answer.StorageOptions, err = s.credentials(ctx, req.Common, req.VendCredentials, answer.Location)
	return answer, err
}

// describe describes a table. It reads the table's storage only if the request needs it.
func (s *Service) describe(ctx context.Context, req *tableapi.DescribeRequest) (*tableapi.DescribeResponse, error) {
	branch := protocol.BranchName(req.Branch)
	if !req.Detailed() && req.Version == nil && req.Tag == "" && branch == "" && !req.CheckDeclared {
		t, err := s.tables.Names.Table(ctx, req.ID)
		if err != nil {
			return nil, err
		}
		return describe(t, req), nil
	}
	return tables.Inspect(ctx, s.tables.Open(req.ID, ""), func(ctx context.Context, t tables.Table) (*tableapi.DescribeResponse, error) {
		return s.describeData(ctx, t.Found.Table, req)
	})
}

// describeView describes a plain view: its columns over the newest version of its source. It has no
// location.
func (s *Service) describeView(ctx context.Context, view *stored.View, req *tableapi.DescribeRequest) (*tableapi.DescribeResponse, error) {
	if req.Version != nil || req.Tag != "" || protocol.BranchName(req.Branch) != "" {
		return nil, protocol.Errorf(protocol.InvalidInput, "a view has no versions, tags and branches")
	}
	return tables.RowsOfSource(ctx, s.tables, view, func(ctx context.Context, rows *engine.Table) (*tableapi.DescribeResponse, error) {
		columns, version, err := rows.Columns(ctx)
		if err != nil {
			return nil, err
		}
		schema, err := protocol.EncodeSchema(req.Dialect, columns)
		return &tableapi.DescribeResponse{
			Table: req.ID[len(req.ID)-1], Namespace: req.ID[:len(req.ID)-1], Version: &version, Schema: schema, Properties: map[string]string{},
			Stats: &tableapi.BasicStats{},
		}, err
	})
}

// describe returns the answer from the catalog's record.
func describe(t *catalog.Table, req *tableapi.DescribeRequest) *tableapi.DescribeResponse {
	answer := &tableapi.DescribeResponse{
		Table:      t.ID[len(t.ID)-1],
		Namespace:  t.ID[:len(t.ID)-1],
		Location:   t.Location.URI,
		Properties: t.Properties,

		ManagedVersioning: t.Managed,
	}
	if req.WithTableURI {
		answer.TableURI = t.Location.URI
	}
	return answer
}

// describeData returns the answer from the catalog's record and the table's storage.
func (s *Service) describeData(ctx context.Context, t *catalog.Table, req *tableapi.DescribeRequest) (*tableapi.DescribeResponse, error) {
	rows, version, err := s.versionAt(ctx, t, req)
	if err != nil {
		return nil, err
	}
	answer := describe(t, req)
	declared := false
	err = engine.Do(ctx, rows, version, func(_ context.Context, d *dataset.Dataset) error {
		if !req.Detailed() && version == nil {
			return nil
		}
		return addData(answer, d, req.Dialect)
	})
	// LanceDB clients regard a table without a schema as missing.
	if engine.IsDeclared(err) && version == nil && req.Dialect != protocol.DialectLanceDB {
		declared, err = true, nil
	}
	if err != nil {
		return nil, err
	}
	if req.CheckDeclared || req.Detailed() {
		answer.IsOnlyDeclared = &declared
	}
	return answer, nil
}

// versionAt returns the branch and the version of a request, which may name them by a tag. A nil
// version means the newest.
func (s *Service) versionAt(ctx context.Context, t *catalog.Table, req *tableapi.DescribeRequest) (rows *engine.Table, version *int64, err error) {
	branch, version := req.Branch, req.Version
	if req.Tag != "" {
		tag, _, err := s.tables.At(t).Data().Refs().Tag(ctx, req.Tag)
		if err != nil {
			return nil, nil, err
		}
		number := int64(tag.Version)
		branch, version = tag.BranchName(), &number
	}
	rows, err = s.tables.At(t).On(ctx, branch)
	return rows, version, err
}

// addData adds the contents of a version's manifest to the answer.
func addData(answer *tableapi.DescribeResponse, d *dataset.Dataset, dialect protocol.Dialect) error {
	schema, err := protocol.EncodeSchema(dialect, d.TextSchema())
	if err != nil {
		return err
	}
	version, stats := int64(d.Version()), d.Stats()
	answer.Version = &version
	answer.Schema = schema
	answer.Stats = &tableapi.BasicStats{NumDeletedRows: stats.DeletedRows, NumFragments: int64(len(stats.Lengths))}
	answer.Metadata = d.Manifest().TableMetadata
	return nil
}

package table

import (
	"context"

	"tiltyard/shared/catalog"
	"tiltyard/shared/engine"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/protocol"
)

// Describe tells where a table is and, when asked for details, what its schema is and
// how large it is, at the newest version or a given one.
func (s *Service) Describe(ctx context.Context, req *protocol.DescribeTableRequest) (*protocol.DescribeTableResponse, error) {
	if err := protocol.OnMain(req.Branch); err != nil {
		return nil, err
	}
	if req.Tag != "" {
		return nil, protocol.Errorf(protocol.Unsupported, "describing a table at a tag is not supported yet")
	}
	if !req.Detailed() && req.Version == nil && !req.CheckDeclared {
		t, err := s.names.Table(ctx, req.ID)
		if err != nil {
			return nil, err
		}
		return describe(t, req), nil
	}
	return catalog.Read(ctx, s.names, req.ID, func(ctx context.Context, t *catalog.Table) (*protocol.DescribeTableResponse, error) {
		return s.describeData(ctx, t, req)
	})
}

// describe tells what the catalog knows.
func describe(t *catalog.Table, req *protocol.DescribeTableRequest) *protocol.DescribeTableResponse {
	answer := &protocol.DescribeTableResponse{
		Table:      t.ID[len(t.ID)-1],
		Namespace:  t.ID[:len(t.ID)-1],
		Location:   t.Location.URI,
		Properties: t.Properties,
	}
	if req.WithTableURI {
		answer.TableURI = t.Location.URI
	}
	return answer
}

// describeData tells also what the storage knows.
func (s *Service) describeData(ctx context.Context, t *catalog.Table, req *protocol.DescribeTableRequest) (*protocol.DescribeTableResponse, error) {
	answer := describe(t, req)
	declared := false
	err := engine.Do(ctx, s.of(t), req.Version, func(_ context.Context, d *dataset.Dataset) error {
		return addData(answer, d, req)
	})
	// To clients of the LanceDB dialect a table without a schema is not there yet.
	if engine.IsDeclared(err) && req.Version == nil && req.Dialect != protocol.DialectLanceDB {
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

func addData(answer *protocol.DescribeTableResponse, d *dataset.Dataset, req *protocol.DescribeTableRequest) error {
	if !req.Detailed() && req.Version == nil {
		return nil
	}
	schema, err := protocol.EncodeSchema(req.Dialect, d.ArrowSchema())
	if err != nil {
		return err
	}
	version, stats := int64(d.Version()), d.Stats()
	answer.Version = &version
	answer.Schema = schema
	answer.Stats = &protocol.TableBasicStats{NumDeletedRows: stats.DeletedRows, NumFragments: int64(len(stats.Lengths))}
	answer.Metadata = d.Manifest().TableMetadata
	return nil
}

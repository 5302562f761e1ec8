package sql

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/indexapi"
	"tiltyard/shared/protocol/namespaceapi"
	"tiltyard/shared/protocol/refapi"
	"tiltyard/shared/protocol/tableapi"
	"tiltyard/shared/protocol/versionapi"
	"tiltyard/shared/protocol/viewapi"
	"tiltyard/shared/sql/syntax"
)

// show lists what is in a namespace, by the column name, or what belongs to a table.
//
// Source for the column name: lancedb 0.41, remote/sql/materialized_view.rs.
func (s *Service) show(ctx context.Context, in *statement, c *syntax.Show) (*protocol.Rows, error) {
	page := protocol.Page{PageToken: c.After, Limit: c.Limit}
	var names []string
	switch c.Kind {
	case syntax.ShowTables:
		found, err := do(ctx, "ListTables", &tableapi.ListRequest{Common: in.of(in.namespace(c.In)), Page: page}, s.names.List)
		if err != nil {
			return nil, err
		}
		names = found.Tables
	case syntax.ShowNamespaces:
		found, err := do(ctx, "ListNamespaces", &namespaceapi.ListRequest{Common: in.of(in.namespace(c.In)), Page: page}, s.namespaces.List)
		if err != nil {
			return nil, err
		}
		names = found.Namespaces
	case syntax.ShowViews:
		found, err := do(ctx, "ListViews", &viewapi.ListRequest{Common: in.of(in.namespace(c.In)), Page: page}, s.views.ListPlain)
		if err != nil {
			return nil, err
		}
		names = found.Views
	case syntax.ShowMaterializedViews:
		found, err := do(ctx, "ListMaterializedViews", &viewapi.ListMaterializedRequest{Common: in.of(in.namespace(c.In)), Page: page}, s.views.ListMaterialized)
		if err != nil {
			return nil, err
		}
		names = found.Views
	default:
		return s.showOfTable(ctx, in, c)
	}
	return answer(0, column{"name", names}), nil
}

// showOfTable lists what belongs to a table.
func (s *Service) showOfTable(ctx context.Context, in *statement, c *syntax.Show) (*protocol.Rows, error) {
	common, page := in.of(in.id(c.In)), protocol.Page{Limit: c.Limit}
	switch c.Kind {
	case syntax.ShowIndexes:
		found, err := do(ctx, "ListTableIndices", &indexapi.ListRequest{Common: common, Page: page, Branch: c.Branch}, s.indices.List)
		if err != nil {
			return nil, err
		}
		return indexRows(found), nil
	case syntax.ShowTags:
		found, err := do(ctx, "ListTableTags", &refapi.ListTagsRequest{Common: common, Page: page}, s.refs.ListTags)
		if err != nil {
			return nil, err
		}
		return tagRows(found), nil
	case syntax.ShowBranches:
		found, err := do(ctx, "ListTableBranches", &refapi.ListBranchesRequest{Common: common, Page: page}, s.refs.ListBranches)
		if err != nil {
			return nil, err
		}
		return branchRows(found), nil
	case syntax.ShowVersions:
		found, err := do(ctx, "ListTableVersions", &versionapi.ListRequest{Common: common, Page: page, Branch: c.Branch}, s.versions.List)
		if err != nil {
			return nil, err
		}
		return versionRows(found), nil
	}
	return s.describeColumns(ctx, common, c.Branch)
}

func indexRows(found *indexapi.ListResponse) *protocol.Rows {
	var names, columns, kinds []string
	var indexed, unindexed []int64
	for _, x := range found.Indexes {
		names, columns, kinds = append(names, x.Name), append(columns, strings.Join(x.Columns, ", ")), append(kinds, x.Type)
		indexed, unindexed = append(indexed, x.NumIndexedRows), append(unindexed, x.NumUnindexedRows)
	}
	return answer(0, column{"name", names}, column{"columns", columns}, column{"type", kinds}, column{"num_indexed_rows", indexed}, column{"num_unindexed_rows", unindexed})
}

func tagRows(found *refapi.ListTagsResponse) *protocol.Rows {
	var branches []string
	var versions []int64
	names := slices.Sorted(maps.Keys(found.Tags))
	for _, name := range names {
		branches, versions = append(branches, found.Tags[name].Branch), append(versions, found.Tags[name].Version)
	}
	return answer(0, column{"name", names}, column{"version", versions}, column{"branch", branches})
}

func branchRows(found *refapi.ListBranchesResponse) *protocol.Rows {
	var parents []string
	var versions []int64
	names := slices.Sorted(maps.Keys(found.Branches))
	for _, name := range names {
		parents, versions = append(parents, found.Branches[name].ParentBranch), append(versions, found.Branches[name].ParentVersion)
	}
	return answer(0, column{"name", names}, column{"parent_branch", parents}, column{"parent_version", versions})
}

func versionRows(found *versionapi.ListResponse) *protocol.Rows {
	var versions []int64
	var times []time.Time
	for _, v := range found.Versions {
		versions, times = append(versions, v.Version), append(times, time.UnixMilli(v.TimestampMillis))
	}
	return answer(0, column{"version", versions}, column{"timestamp", times})
}

// describe returns the definition of a materialized view, or the columns of a table or a view, as in DataFusion.
func (s *Service) describe(ctx context.Context, in *statement, c *syntax.Describe) (*protocol.Rows, error) {
	if c.Materialized {
		return s.describeView(ctx, in, c)
	}
	return s.describeColumns(ctx, in.of(in.id(c.Name)), "")
}

func (s *Service) describeColumns(ctx context.Context, common protocol.Common, branch string) (*protocol.Rows, error) {
	if err := protocol.RequireName(common.ID); err != nil {
		return nil, err
	}
	req := &tableapi.DescribeRequest{Common: common, Branch: branch, LoadDetailedMetadata: true, VendCredentials: new(false)}
	found, err := do(ctx, "DescribeTable", req, s.names.Describe)
	if err != nil {
		return nil, err
	}
	var names, types, nullable []string
	if found.Schema != nil {
		for _, f := range found.Schema.Fields {
			names, types, nullable = append(names, f.Name), append(types, f.Type.String()), append(nullable, yesNo(f.Nullable))
		}
	}
	version := int64(0)
	if found.Version != nil {
		version = *found.Version
	}
	return answer(version, column{"column_name", names}, column{"data_type", types}, column{"is_nullable", nullable}), nil
}

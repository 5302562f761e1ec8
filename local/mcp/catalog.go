package mcp

import (
	"context"
	"fmt"
	"strings"
	"time"

	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/indexapi"
	"tiltyard/shared/protocol/namespaceapi"
	"tiltyard/shared/protocol/queryapi"
	"tiltyard/shared/protocol/refapi"
	"tiltyard/shared/protocol/tableapi"
	"tiltyard/shared/protocol/versionapi"
)

// Pages of lists.
const (
	usualNames    = 100
	maxNames      = 1000
	usualColumns  = 200
	maxColumns    = 1000
	usualVersions = 20
	maxVersions   = 100 // the most that the server reads for a page with details
)

// addCatalog adds the tools that describe tables.
func (s *server) addCatalog() {
	add(s, "list_namespaces", reads("List namespaces"),
		"List the namespaces inside a namespace, in the order of their names. If next_page_token is in the answer, there are more.", listNamespaces)
	add(s, "list_tables", reads("List tables"),
		"List the tables of all namespaces, or those directly in one namespace, by the names that the other tools take. If next_page_token is in the answer, there are more.", listTables)
	add(s, "describe_table", reads("Describe a table"),
		"Describe a table: its newest version, number of rows, columns with their types, indices, and what search_vector (vector_columns, with the length of their vectors and the metric of an index) and search_text (text_columns) can search. Call it before a query. If columns_left_out is in the answer, there are more columns: repeat the call with offset.", describeTable)
	add(s, "table_stats", reads("Measure a table"),
		"Measure the newest version of a table: rows, bytes on storage, indices, and fragments, which are its pieces.", tableStats)
	add(s, "list_versions", reads("List versions"),
		"List the versions of a table, the newest first: when (UTC) and by which operation each was made, for whom, and its number of rows; and all tags, which are names of versions. If next_page_token is in the answer, there are more.", listVersions)
}

type listArguments struct {
	Namespace string `json:"namespace,omitempty" jsonschema:"the namespace, with those around it in front; the root when not given"`
	Limit     int64  `json:"limit,omitempty" jsonschema:"the greatest number of names, from 1 to 1000; 100 when not given"`
	PageToken string `json:"page_token,omitempty" jsonschema:"next_page_token of the page before"`
}

// page returns the part of the list that the arguments ask for.
func (a *listArguments) page() (protocol.Page, error) {
	limit, err := bounded(a.Limit, usualNames, maxNames)
	return protocol.Page{Limit: &limit, PageToken: a.PageToken}, err
}

// namespace parses the name of a namespace. No name is the root.
func (c *call) namespace(name string) (id []string, err error) {
	if name == "" {
		return nil, nil
	}
	return protocol.SplitID(name, c.options.Delimiter)
}

// within returns the names of objects in a namespace.
func (c *call) within(namespace, children []string) []string {
	names := make([]string, len(children))
	for i, child := range children {
		names[i] = c.name(append(namespace[:len(namespace):len(namespace)], child))
	}
	return names
}

type namespaces struct {
	Namespaces    []string `json:"namespaces"`
	NextPageToken string   `json:"next_page_token,omitempty"`
}

func listNamespaces(ctx context.Context, c *call, in listArguments) (any, error) {
	page, err := in.page()
	if err != nil {
		return nil, err
	}
	id, err := c.namespace(in.Namespace)
	if err != nil {
		return nil, err
	}
	found, err := c.client.ListNamespaces(ctx, &namespaceapi.ListRequest{Common: protocol.Common{ID: id}, Page: page})
	if err != nil {
		return nil, err
	}
	return &namespaces{c.within(id, found.Namespaces), found.PageToken}, nil
}

type listTablesArguments struct {
	Namespace *string `json:"namespace,omitempty" jsonschema:"the namespace, with those around it in front, or an empty text for the root; all namespaces when not given"`
	Limit     int64   `json:"limit,omitempty" jsonschema:"the greatest number of tables, from 1 to 1000; 100 when not given"`
	PageToken string  `json:"page_token,omitempty" jsonschema:"next_page_token of the page before"`
}

type tables struct {
	Tables        []string `json:"tables"`
	NextPageToken string   `json:"next_page_token,omitempty"`
}

func listTables(ctx context.Context, c *call, in listTablesArguments) (any, error) {
	page, err := (&listArguments{Limit: in.Limit, PageToken: in.PageToken}).page()
	if err != nil {
		return nil, err
	}
	if in.Namespace != nil {
		id, err := c.namespace(*in.Namespace)
		if err != nil {
			return nil, err
		}
		found, err := c.client.ListTables(ctx, &tableapi.ListRequest{Common: protocol.Common{ID: id}, Page: page})
		if err != nil {
			return nil, err
		}
		return &tables{c.within(id, found.Tables), found.PageToken}, nil
	}
	found, err := c.client.ListAllTables(ctx, &tableapi.ListAllRequest{Page: page})
	if err != nil {
		return nil, err
	}
	all := &tables{make([]string, len(found.Tables)), found.PageToken}
	for i, joined := range found.Tables {
		all.Tables[i] = c.name(strings.Split(joined, protocol.DefaultDelimiter))
	}
	return all, nil
}

type tableArguments struct {
	Table string `json:"table" jsonschema:"the table, with its namespaces in front, as list_tables names it"`
}

// A column is a column of a table, as a model sees it.
type column struct {
	Name     string            `json:"name"`
	Type     string            `json:"type"`
	Nullable bool              `json:"nullable"`
	Metadata map[string]string `json:"metadata,omitempty"`
}

// A vectorColumn is a column that search_vector can search.
type vectorColumn struct {
	Name    string `json:"name"`
	Length  int64  `json:"length"` // of its vectors
	Element string `json:"element"`
	Indexed bool   `json:"indexed"`          // without an index, a search compares all rows
	Metric  string `json:"metric,omitempty"` // of the index
}

type description struct {
	Table          string              `json:"table"`
	Version        int64               `json:"version"`
	Rows           int64               `json:"rows"`
	Columns        []column            `json:"columns"`
	ColumnsLeftOut int64               `json:"columns_left_out,omitempty"`
	VectorColumns  []vectorColumn      `json:"vector_columns"`
	TextColumns    []string            `json:"text_columns"` // with an index for search_text
	Indices        []describedIndex    `json:"indices"`
	Properties     protocol.Properties `json:"properties"`
	Metadata       map[string]string   `json:"metadata,omitempty"`
}

type describedIndex struct {
	Name          string   `json:"name"`
	Type          string   `json:"type"`
	Columns       []string `json:"columns"`
	Status        string   `json:"status"`
	IndexedRows   int64    `json:"indexed_rows"`
	UnindexedRows int64    `json:"unindexed_rows"` // which searches read in addition
}

type describeArguments struct {
	tableArguments
	Limit  int64 `json:"limit,omitempty" jsonschema:"the greatest number of columns, from 1 to 1000; 200 when not given"`
	Offset int64 `json:"offset,omitempty" jsonschema:"how many columns to leave out first"`
}

func describeTable(ctx context.Context, c *call, in describeArguments) (any, error) {
	id, err := c.object(in.Table)
	if err != nil {
		return nil, err
	}
	limit, err := bounded(in.Limit, usualColumns, maxColumns)
	if err != nil {
		return nil, err
	}
	d, err := c.describe(ctx, id)
	if err != nil {
		return nil, err
	}
	d.cut(in.Offset, limit)
	return d, nil
}

// cut keeps limit columns from offset on.
func (d *description) cut(offset, limit int64) {
	all := int64(len(d.Columns))
	from := min(max(offset, 0), all)
	d.Columns = d.Columns[from:min(from+limit, all)]
	d.ColumnsLeftOut = all - int64(len(d.Columns))
}

// schema returns the newest version of a table, or the given one, with its columns.
func (c *call) schema(ctx context.Context, id protocol.Common, version *int64) (*tableapi.DescribeResponse, error) {
	found, err := c.client.DescribeTable(ctx, &tableapi.DescribeRequest{
		Common: id, Version: version, LoadDetailedMetadata: true, VendCredentials: new(false),
	})
	if err != nil {
		return nil, err
	}
	if found.Version == nil || found.Schema == nil {
		return nil, fmt.Errorf("%s has no columns yet: it was declared, and nothing was written", c.name(id.ID))
	}
	return found, nil
}

// describe returns what a model needs to query a table.
func (c *call) describe(ctx context.Context, id protocol.Common) (*description, error) {
	found, err := c.schema(ctx, id, nil)
	if err != nil {
		return nil, err
	}
	rows, err := c.client.CountTableRows(ctx, &queryapi.CountRowsRequest{Common: id, Version: found.Version})
	if err != nil {
		return nil, err
	}
	d := &description{
		Table: c.name(id.ID), Version: *found.Version, Rows: rows.Count, Properties: found.Properties, Metadata: found.Metadata,
		Columns: []column{}, VectorColumns: []vectorColumn{}, TextColumns: []string{}, Indices: []describedIndex{},
	}
	metrics := map[string]string{} // of the columns with an index of vectors
	for index, err := range c.client.Indices(ctx, &indexapi.ListRequest{Common: id, Version: found.Version}) {
		if err != nil {
			return nil, err
		}
		d.Indices = append(d.Indices, describedIndex{index.Name, index.Type, index.Columns, index.Status, index.NumIndexedRows, index.NumUnindexedRows})
		switch {
		case index.Type == "FTS":
			d.TextColumns = append(d.TextColumns, index.Columns...)
		case strings.HasPrefix(index.Type, "IVF") && len(index.Columns) == 1:
			stats, err := c.client.DescribeTableIndexStats(ctx, &indexapi.DescribeStatsRequest{Common: id, IndexName: index.Name, Version: found.Version})
			if err != nil {
				return nil, err
			}
			metrics[index.Columns[0]] = stats.DistanceType
		}
	}
	for _, field := range found.Schema.Fields {
		d.Columns = append(d.Columns, column{field.Name, field.Type.String(), field.Nullable, field.Metadata})
		if length, element := vectorOf(field.Type); length > 0 {
			metric, indexed := metrics[field.Name]
			d.VectorColumns = append(d.VectorColumns, vectorColumn{field.Name, length, element, indexed, metric})
		}
	}
	return d, nil
}

// vectorOf returns the length and the type of the elements of the vectors in a column, also of one
// with several vectors in a row. The length is 0 if it has none.
func vectorOf(t protocol.JSONType) (length int64, element string) {
	switch {
	case t.Type == "fixed_size_list" && t.Length != nil && len(t.Fields) == 1:
		switch element := t.Fields[0].Type.Type; element {
		case "float16", "float32", "float64", "uint8", "int8":
			return *t.Length, element
		}
	case (t.Type == "list" || t.Type == "large_list") && len(t.Fields) == 1:
		return vectorOf(t.Fields[0].Type)
	}
	return 0, ""
}

func tableStats(ctx context.Context, c *call, in tableArguments) (any, error) {
	id, err := c.object(in.Table)
	if err != nil {
		return nil, err
	}
	return c.client.GetTableStats(ctx, &tableapi.GetStatsRequest{Common: id})
}

type listVersionsArguments struct {
	tableArguments
	Limit     int64  `json:"limit,omitempty" jsonschema:"the greatest number of versions, from 1 to 100; 20 when not given"`
	PageToken string `json:"page_token,omitempty" jsonschema:"next_page_token of the page before"`
}

type tableVersion struct {
	Version   int64     `json:"version"`
	Made      time.Time `json:"made"`
	Operation string    `json:"operation,omitempty"`
	Authors   []string  `json:"authors,omitempty"`
	Rows      *int64    `json:"rows,omitempty"`
}

type versions struct {
	Versions      []tableVersion   `json:"versions"`
	Tags          map[string]int64 `json:"tags"`
	NextPageToken string           `json:"next_page_token,omitempty"`
}

func listVersions(ctx context.Context, c *call, in listVersionsArguments) (any, error) {
	id, err := c.object(in.Table)
	if err != nil {
		return nil, err
	}
	limit, err := bounded(in.Limit, usualVersions, maxVersions)
	if err != nil {
		return nil, err
	}
	found, err := c.client.ListTableVersions(ctx, &versionapi.ListRequest{
		Common: id, Page: protocol.Page{Limit: &limit, PageToken: in.PageToken}, Descending: true, Details: true,
	})
	if err != nil {
		return nil, err
	}
	out := &versions{Versions: []tableVersion{}, Tags: map[string]int64{}, NextPageToken: found.PageToken}
	for _, v := range found.Versions {
		one := tableVersion{Version: v.Version, Made: v.Timestamp}
		if d := v.Details; d != nil && d.Unreadable == "" {
			one.Operation, one.Authors, one.Rows = d.Operation, d.Authors, &d.NumRows
		}
		out.Versions = append(out.Versions, one)
	}
	for tag, err := range c.client.Tags(ctx, &refapi.ListTagsRequest{Common: id}) {
		if err != nil {
			return nil, err
		}
		if tag.Branch == "" {
			out.Tags[tag.Name] = tag.Version
		}
	}
	return out, nil
}

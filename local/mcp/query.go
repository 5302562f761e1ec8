package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tiltyard/shared/arrow/rowjson"
	"tiltyard/shared/client"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/queryapi"
)

// Rows of an answer.
const (
	usualRows = 20
	maxRows   = 500
)

// addQueries adds the tools that read rows.
func (s *server) addQueries() {
	const form = " Rows are JSON objects; bytes are base64. Columns of vectors and bytes are left out unless columns names them: omitted_columns lists them. An answer has at most 48 KiB of rows: if next_offset is in it, there are more."
	add(s, "query_rows", reads("Query rows"),
		"Read rows of a table: all, or those where a filter is true. Without order_by their order is that of the table."+form, queryRows)
	add(s, "search_text", reads("Search texts"),
		"Find the rows whose texts match words best, with a full-text index; _score is higher for better matches, which come first. describe_table lists the text_columns."+form, searchText)
	add(s, "search_vector", reads("Search vectors"),
		"Find the rows whose vectors are nearest to a vector, or to that of another row: give either vector or like. _distance is smaller for nearer rows, which come first. This tool does not embed texts: a vector must come from the model that made those of the column. With words, the search is hybrid: rows that match the words best come up, too, and _relevance_score joins the two ranks. describe_table lists the vector_columns."+form, searchVector)
	add(s, "count_rows", reads("Count rows"),
		"Count the rows of a table, or those where a filter is true.", countRows)
	add(s, "explain_query", reads("Explain a query"),
		"Show how a query would be run: which indices it would use and what it would read. With analyze it is run, and the plan has times and counts.", explainQuery)
}

// A question holds the arguments that the queries have in common.
type question struct {
	tableArguments
	Filter  string   `json:"filter,omitempty" jsonschema:"an SQL condition over the columns, such as price > 10 AND name LIKE 'a%'; all rows when not given"`
	Columns []string `json:"columns,omitempty" jsonschema:"the columns to return: names, or NAME=EXPRESSION in SQL, such as short=left(body, 200); all but vectors and bytes when not given"`
	Limit   int64    `json:"limit,omitempty" jsonschema:"the greatest number of rows, from 1 to 500; 20 when not given"`
	Offset  int64    `json:"offset,omitempty" jsonschema:"how many rows to leave out first: next_offset of the page before"`
	Version *int64   `json:"version,omitempty" jsonschema:"the version of the table to read; the newest when not given"`
}

type queryArguments struct {
	question
	OrderBy []string `json:"order_by,omitempty" jsonschema:"columns to sort by, the most important first; - in front of one is descending"`
}

type textArguments struct {
	question
	Words       string   `json:"words" jsonschema:"the words to find, or a phrase in double quotes"`
	TextColumns []string `json:"text_columns,omitempty" jsonschema:"the columns to search; all with a full-text index when not given"`
}

type vectorArguments struct {
	question
	Vector       []float64 `json:"vector,omitempty" jsonschema:"the numbers to search for, as many as the vectors of the column have"`
	Like         string    `json:"like,omitempty" jsonschema:"instead of vector: a filter that selects one row, such as id = 7, whose vector is searched for; that row is found, too"`
	VectorColumn string    `json:"vector_column,omitempty" jsonschema:"the column to search; vector or the only one when not given"`
	Metric       string    `json:"metric,omitempty" jsonschema:"l2, cosine, dot or hamming; that of the index, or else l2, when not given"`
	Words        string    `json:"words,omitempty" jsonschema:"words to find as well, as in search_text"`
	TextColumns  []string  `json:"text_columns,omitempty" jsonschema:"the columns in which to find the words, as in search_text"`
}

func queryRows(ctx context.Context, c *call, in queryArguments) (any, error) {
	id, req, err := c.request(in.question)
	if err != nil {
		return nil, err
	}
	req.OrderBy = orders(in.OrderBy)
	return c.rows(ctx, id, req)
}

func searchText(ctx context.Context, c *call, in textArguments) (any, error) {
	id, req, err := c.request(in.question)
	if err != nil {
		return nil, err
	}
	req.FullTextQuery = &queryapi.FullTextQuery{Text: in.Words, Columns: in.TextColumns}
	return c.rows(ctx, id, req, "_score")
}

func searchVector(ctx context.Context, c *call, in vectorArguments) (any, error) {
	id, req, err := c.request(in.question)
	if err != nil {
		return nil, err
	}
	if err := c.near(ctx, req, in); err != nil {
		return nil, err
	}
	if in.Words == "" {
		return c.rows(ctx, id, req, "_distance")
	}
	req.FullTextQuery = &queryapi.FullTextQuery{Text: in.Words, Columns: in.TextColumns}
	return c.rows(ctx, id, req, "_distance", "_score", "_relevance_score")
}

// request returns the query of the common arguments.
func (c *call) request(q question) (protocol.Common, *queryapi.Request, error) {
	id, err := c.object(q.Table)
	if err != nil {
		return id, nil, err
	}
	limit, err := bounded(q.Limit, usualRows, maxRows)
	if err != nil {
		return id, nil, err
	}
	req := &queryapi.Request{Common: id, Version: q.Version, Filter: q.Filter, Prefilter: true, K: &limit, Offset: q.Offset}
	for _, text := range q.Columns {
		req.Columns = append(req.Columns, projected(text))
	}
	return id, req, nil
}

// projected returns the column for a name, or for NAME=EXPRESSION. A name in backquotes appears without them.
func projected(text string) queryapi.ProjectedColumn {
	name, expression, _ := strings.Cut(text, "=")
	name, expression = strings.TrimSpace(name), strings.TrimSpace(expression)
	if plain := strings.Trim(name, "`"); expression == "" && plain != name {
		name, expression = plain, name
	}
	return queryapi.ProjectedColumn{Name: name, Expression: expression}
}

// orders returns the keys of a sort.
func orders(columns []string) (keys []queryapi.OrderBy) {
	for _, text := range columns {
		name, descending := strings.CutPrefix(text, "-")
		keys = append(keys, queryapi.OrderBy{ColumnName: name, Ascending: new(!descending)})
	}
	return keys
}

// rows answers a query. found are the columns that a search adds to those of the table.
func (c *call) rows(ctx context.Context, id protocol.Common, req *queryapi.Request, found ...string) (*answer, error) {
	out := &answer{Table: c.name(id.ID)}
	if len(req.Columns) == 0 {
		table, err := c.schema(ctx, id, req.Version)
		if err != nil {
			return nil, err
		}
		if req.Columns, out.OmittedColumns, err = small(table.Schema.Fields); err != nil {
			return nil, err
		}
	}
	for _, name := range found {
		named := func(column queryapi.ProjectedColumn) bool { return column.Name == name }
		if len(req.Columns) > 0 && !slices.ContainsFunc(req.Columns, named) {
			req.Columns = append(req.Columns, queryapi.ProjectedColumn{Name: name})
		}
	}
	limit := *req.K
	req.K = new(limit + 1) // to see whether there are more
	rows, err := c.client.QueryTable(ctx, req)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	return out, out.take(rows, req.Offset, limit)
}

// small returns the columns without vectors and bytes, or no columns if these are all, and the others
// with their types.
func small(fields []protocol.JSONField) (columns queryapi.Projection, omitted []string, err error) {
	for _, field := range fields {
		if isBulky(field) {
			omitted = append(omitted, field.Name+": "+field.Type.String())
		} else {
			columns = append(columns, projected(quoted(field.Name)))
		}
	}
	if len(columns) == 0 {
		return nil, nil, fmt.Errorf("all columns hold vectors or bytes; name those to return in columns: %s", strings.Join(omitted, ", "))
	}
	if len(omitted) == 0 {
		columns = nil
	}
	return columns, omitted, nil
}

// isBulky reports whether the values of a column are vectors or bytes, which a model cannot read.
func isBulky(field protocol.JSONField) bool {
	switch field.Type.Type {
	case "binary", "large_binary", "binary_view", "fixed_size_binary":
		return true
	case "list", "large_list":
		return slices.ContainsFunc(field.Type.Fields, isBulky)
	}
	length, _ := vectorOf(field.Type)
	return length > 0
}

// quoted returns a name as a filter and a list of columns write it.
func quoted(name string) string {
	if strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == "" {
		return name
	}
	return "`" + strings.ReplaceAll(name, "`", "``") + "`"
}

// near lets a query search for the vector of the arguments.
func (c *call) near(ctx context.Context, req *queryapi.Request, in vectorArguments) error {
	if err := req.DistanceType.UnmarshalText([]byte(in.Metric)); err != nil {
		return fmt.Errorf("metric: %w", err)
	}
	if (len(in.Vector) > 0) == (in.Like != "") {
		return errors.New("give either vector or like, and not both")
	}
	if req.VectorColumn = in.VectorColumn; in.Like == "" {
		req.Vector = queryapi.Vector{Vectors: [][]float64{in.Vector}}
		return nil
	}
	if req.VectorColumn == "" {
		table, err := c.schema(ctx, req.Common, req.Version)
		if err != nil {
			return err
		}
		if req.VectorColumn, err = onlyVectors(table.Schema.Fields); err != nil {
			return err
		}
	}
	var err error
	req.Vector, err = c.vectorLike(ctx, req, in.Like)
	return err
}

// onlyVectors returns the name of the column to search: vector, or the only one with vectors.
func onlyVectors(fields []protocol.JSONField) (string, error) {
	var names []string
	for _, field := range fields {
		if length, _ := vectorOf(field.Type); length == 0 {
			continue
		}
		if field.Name == "vector" {
			return field.Name, nil
		}
		names = append(names, quoted(field.Name))
	}
	switch len(names) {
	case 0:
		return "", errors.New("the table has no column of vectors")
	case 1:
		return names[0], nil
	}
	return "", fmt.Errorf("several columns hold vectors; name one of them in vector_column: %s", strings.Join(names, ", "))
}

// vectorLike returns the vector of the row that a filter selects, in the column that a query searches.
func (c *call) vectorLike(ctx context.Context, req *queryapi.Request, filter string) (v queryapi.Vector, err error) {
	rows, err := c.client.QueryTable(ctx, &queryapi.Request{
		Common: req.Common, Version: req.Version, Filter: filter, K: new(int64(2)),
		Columns: queryapi.Projection{{Name: req.VectorColumn}},
	})
	if err != nil {
		return v, fmt.Errorf("like: %w", err)
	}
	defer rows.Close()
	text, err := oneRow(rows)
	if err != nil {
		return v, fmt.Errorf("like: %q selects %w; it must select one", filter, err)
	}
	var row map[string]*queryapi.Vector // of one column
	if err := json.Unmarshal(text, &row); err != nil {
		return v, fmt.Errorf("like: the vector in %s: %w", req.VectorColumn, err)
	}
	for _, vector := range row {
		if vector != nil && !vector.Empty() {
			return *vector, nil
		}
	}
	return v, fmt.Errorf("like: the row has no vector in %s", req.VectorColumn)
}

// oneRow returns the only row of an answer as JSON. The error says how many there are.
func oneRow(rows *client.Rows) ([]byte, error) {
	var text bytes.Buffer
	for batch, err := range rows.Batches() {
		if err == nil {
			err = rowjson.Write(&text, batch)
		}
		if err != nil {
			return nil, err
		}
	}
	switch bytes.Count(text.Bytes(), []byte("\n")) {
	case 0:
		return nil, errors.New("no row")
	case 1:
		return text.Bytes(), nil
	}
	return nil, errors.New("several rows")
}

type countArguments struct {
	tableArguments
	Filter  string `json:"filter,omitempty" jsonschema:"an SQL condition over the columns; all rows when not given"`
	Version *int64 `json:"version,omitempty" jsonschema:"the version of the table to read; the newest when not given"`
}

type counted struct {
	Table string `json:"table"`
	Rows  int64  `json:"rows"`
}

func countRows(ctx context.Context, c *call, in countArguments) (any, error) {
	id, err := c.object(in.Table)
	if err != nil {
		return nil, err
	}
	found, err := c.client.CountTableRows(ctx, &queryapi.CountRowsRequest{Common: id, Version: in.Version, Predicate: in.Filter})
	if err != nil {
		return nil, err
	}
	return &counted{c.name(id.ID), found.Count}, nil
}

type explainArguments struct {
	vectorArguments
	OrderBy []string `json:"order_by,omitempty" jsonschema:"as in query_rows"`
	Analyze bool     `json:"analyze,omitempty" jsonschema:"run the query, and measure it"`
}

type plan struct {
	Plan string `json:"plan"`
}

func explainQuery(ctx context.Context, c *call, in explainArguments) (any, error) {
	id, req, err := c.request(in.question)
	if err != nil {
		return nil, err
	}
	req.OrderBy = orders(in.OrderBy)
	if in.Words != "" {
		req.FullTextQuery = &queryapi.FullTextQuery{Text: in.Words, Columns: in.TextColumns}
	}
	if len(in.Vector) > 0 || in.Like != "" {
		if err := c.near(ctx, req, in.vectorArguments); err != nil {
			return nil, err
		}
	}
	var found *queryapi.Plan
	if in.Analyze {
		found, err = c.client.AnalyzeTableQueryPlan(ctx, &queryapi.AnalyzePlanRequest{Request: *req})
	} else {
		found, err = c.client.ExplainTableQueryPlan(ctx, &queryapi.ExplainPlanRequest{Common: id, Query: req})
	}
	if err != nil {
		return nil, err
	}
	return &plan{string(*found)}, nil
}

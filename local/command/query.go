package command

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"tiltyard/local/rowfile"
	"tiltyard/shared/client"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/queryapi"
)

// tableRows is the limit of rows in a table on the terminal without --limit.
const tableRows = 100

// question contains the flags of a query.
type question struct {
	at                            place
	where, vector, column, metric string
	text, like                    string
	weights                       []float64
	rankConstant                  int64
	textColumns, columns, order   []string
	limit, offset, nprobes        int64
	effort                        float64
	rowID, explain, analyze       bool
	stored, link                  bool
}

// newQueryCommand runs a query, or shows its plan, or stores its result.
func newQueryCommand(s *session) *cobra.Command {
	q := new(question)
	cmd := s.on("query TABLE", "Find rows", exactly(1), func(r *run, id protocol.Common) error {
		req, err := q.request(r.cmd, id)
		if err == nil {
			err = q.vectorLike(r, req)
		}
		if err != nil {
			return err
		}
		switch {
		case q.explain:
			return s.plan(r.cmd)(r.client.ExplainTableQueryPlan(r.ctx, &queryapi.ExplainPlanRequest{Common: id, Query: req}))
		case q.analyze:
			return s.plan(r.cmd)(r.client.AnalyzeTableQueryPlan(r.ctx, &queryapi.AnalyzePlanRequest{Request: *req}))
		case q.link:
			return s.link(r, req)
		}
		// A table on a terminal is limited. Request one row more, to see whether rows are missing.
		shortened := s.form != formJSON && s.form != formArrow && req.K == nil && req.Vector.Empty()
		if shortened {
			req.K = new(int64(tableRows + 1))
		}
		rows, err := patiently(r, func() (*client.Rows, error) { return q.rows(r, req) })
		if err != nil {
			return err
		}
		return s.showRows(r.cmd, rows, shortened, "--limit")
	})
	cmd.Long = `Find rows: all, those where a filter is true, those nearest to a vector, those that match words,
or with both --vector and --text the best of both. Rows come as a table, with --output json as JSON
with one row in a line, or with --output arrow as an Arrow stream. A table shows 100 rows unless
--limit is given.`
	cmd.Example = `  tiltyard query sales/orders --where 'price > 10' --columns id,price --order-by -price --limit 5
  tiltyard query points --vector '[0.1, 0.2]' --limit 3
  tiltyard query points --vector @query.npy --limit 3
  tiltyard query points --like 'id = 7' --limit 3
  tiltyard query docs --text 'a word' --text-columns body -o json
  tiltyard query docs --text 'a word' --vector @question.json --weights 1,2
  tiltyard query docs -o arrow > docs.arrow`
	q.flags(cmd)
	cmd.Flags().BoolVar(&q.stored, "stored", false, "let the server write the rows to storage, and read them there; for answers beyond 4 MB from functions")
	cmd.Flags().BoolVar(&q.link, "link", false, "let the server write the rows to storage, and show where they are for a day")
	cmd.Flags().BoolVar(&q.explain, "explain", false, "show how the query would be run instead")
	cmd.Flags().BoolVar(&q.analyze, "analyze", false, "run the query, and show how that went instead")
	cmd.MarkFlagsMutuallyExclusive("stored", "link", "explain", "analyze")
	return cmd
}

// showRows writes rows in the form of output, and closes them. shortened says that a table has only the first rows; bound
// names what shows others.
func (s *session) showRows(cmd *cobra.Command, rows *client.Rows, shortened bool, bound string) error {
	defer rows.Close()
	switch s.form {
	case formJSON:
		return writeAll(cmd.OutOrStdout(), rowfile.JSON, sourceOf(rows), func(int64) {})
	case formArrow:
		return writeAll(cmd.OutOrStdout(), rowfile.Arrow, sourceOf(rows), func(int64) {})
	}
	more, err := writeTable(cmd.OutOrStdout(), rows, tableRows, shortened)
	if more {
		say(cmd, "these are the first %d rows; %s or another form of output shows more", tableRows, bound)
	}
	return err
}

// fewer is the advice if an answer is too large to be stored.
const fewer = "ask for less by --limit or --columns; what was stored is deleted after a day"

// rows runs a query and returns its rows.
func (q *question) rows(r *run, req *queryapi.Request) (*client.Rows, error) {
	if !q.stored {
		return r.client.QueryTable(r.ctx, req)
	}
	made, err := r.client.StoreQuery(r.ctx, req)
	if err != nil {
		return nil, advisedTooLarge(err, fewer)
	}
	return r.client.ReadTableResult(r.ctx, &queryapi.ReadResultRequest{Common: req.Common, ResultID: made.ID})
}

// link stores the rows of a query, and shows their location.
func (s *session) link(r *run, req *queryapi.Request) error {
	made, err := r.client.StoreQuery(r.ctx, req)
	if err != nil {
		return advisedTooLarge(err, fewer)
	}
	return s.show(r.cmd, made, "result", made.ID, "location", made.Location, "url", made.URL, "url works until (UTC)", at(made.URLExpiresAtMillis),
		"deleted (UTC)", at(made.ExpiresAtMillis), "rows", made.Rows, "bytes", made.Bytes, "version", made.Version)
}

// flags adds the flags of a query.
func (q *question) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&q.where, "where", "", "a filter in SQL")
	f.StringSliceVar(&q.columns, "columns", nil, "columns to return, or NAME=EXPRESSION; all when not given")
	f.StringSliceVar(&q.order, "order-by", nil, "columns to sort by; - in front of one is descending")
	f.Int64Var(&q.limit, "limit", 0, "the greatest number of rows")
	f.Int64Var(&q.offset, "offset", 0, "how many rows to leave out first")
	f.StringVar(&q.vector, "vector", "", "a JSON array of numbers, to find the rows nearest to it; @FILE or - for standard input, with JSON or .npy")
	f.StringVar(&q.like, "like", "", "a filter in SQL that selects one row, to find the rows nearest to its vector")
	f.StringVar(&q.column, "vector-column", "", "the column of vectors; the only one when not given")
	f.StringVar(&q.metric, "metric", "", "l2, cosine, dot or hamming")
	f.Int64Var(&q.nprobes, "nprobes", 0, "how many partitions of a vector index to search")
	f.Float64Var(&q.effort, "search-effort", 0, "how many partitions to search first, from 0, the fewest, to 1, all; instead of --nprobes")
	f.StringVar(&q.text, "text", "", "words, to find the rows that match them")
	f.StringSliceVar(&q.textColumns, "text-columns", nil, "where to find the words; all columns with a text index when not given")
	f.Float64SliceVar(&q.weights, "weights", nil, "with --vector and --text: the weights of the two rankings, as VECTOR,TEXT; 1,1 when not given")
	f.Int64Var(&q.rankConstant, "rank-constant", 0, "with --vector and --text: added to the ranks before their reciprocals are; 60 when not given")
	f.BoolVar(&q.rowID, "with-row-id", false, "return the ids of the rows")
	q.at.flags(cmd)
}

// request returns the query of the flags.
func (q *question) request(cmd *cobra.Command, id protocol.Common) (*queryapi.Request, error) {
	req := &queryapi.Request{
		Common: id, Version: q.at.at(cmd), Branch: q.at.branch, Filter: q.where, Prefilter: true, Offset: q.offset,
		VectorColumn: q.column, WithRowID: q.rowID,
	}
	if cmd.Flags().Changed("limit") {
		if q.limit < 1 {
			return nil, usagef("--limit is %d; it must be 1 or more", q.limit)
		}
		req.K = &q.limit
	}
	if cmd.Flags().Changed("nprobes") {
		req.NProbes = &q.nprobes
	}
	if cmd.Flags().Changed("search-effort") {
		req.SearchEffort = &q.effort
	}
	if err := req.DistanceType.UnmarshalText([]byte(q.metric)); err != nil {
		return nil, usagef("--metric: %w", err)
	}
	for _, text := range q.columns {
		name, expression, _ := strings.Cut(text, "=")
		req.Columns = append(req.Columns, queryapi.ProjectedColumn{Name: strings.TrimSpace(name), Expression: strings.TrimSpace(expression)})
	}
	for _, text := range q.order {
		name, descending := strings.CutPrefix(text, "-")
		req.OrderBy = append(req.OrderBy, queryapi.OrderBy{ColumnName: name, Ascending: new(!descending)})
	}
	if q.vector != "" {
		var err error
		if req.Vector, err = parseVector(cmd, "--vector", q.vector); err != nil {
			return nil, err
		}
	}
	if q.text != "" {
		req.FullTextQuery = &queryapi.FullTextQuery{Text: q.text, Columns: q.textColumns}
	}
	var err error
	req.Rerank, err = q.rerank(cmd)
	return req, err
}

// rerank returns how the rows for a vector and words are joined.
func (q *question) rerank(cmd *cobra.Command) (how queryapi.Rerank, err error) {
	weighted, constant := cmd.Flags().Changed("weights"), cmd.Flags().Changed("rank-constant")
	switch {
	case (weighted || constant) && (q.vector+q.like == "" || q.text == ""):
		return how, usagef("--weights and --rank-constant need both --vector or --like and --text")
	case weighted && len(q.weights) != 2:
		return how, usagef("--weights has %d numbers; it must have two, VECTOR,TEXT", len(q.weights))
	}
	if weighted {
		how.Weights = queryapi.RerankWeights{Vector: &q.weights[0], Text: &q.weights[1]}
	}
	if constant {
		how.K = &q.rankConstant
	}
	return how, nil
}

// plan returns a function that writes a plan.
func (s *session) plan(cmd *cobra.Command) func(*queryapi.Plan, error) error {
	return func(plan *queryapi.Plan, err error) error {
		if err != nil {
			return err
		}
		if s.form == formJSON {
			return s.show(cmd, map[string]any{"plan": *plan})
		}
		_, err = fmt.Fprintln(cmd.OutOrStdout(), printable(string(*plan), true))
		return err
	}
}

// assignment splits NAME=EXPRESSION.
func assignment(text string) (name, expression string, err error) {
	name, expression, ok := strings.Cut(text, "=")
	name, expression = strings.TrimSpace(name), strings.TrimSpace(expression)
	if !ok || name == "" || expression == "" {
		return "", "", usagef("%q is not COLUMN=EXPRESSION", text)
	}
	return name, expression, nil
}

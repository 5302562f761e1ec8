package query

import (
	"context"
	"fmt"
	"log/slog"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/engine/internal/annsearch"
	"tiltyard/shared/engine/internal/condition"
	"tiltyard/shared/engine/internal/explain"
	"tiltyard/shared/index/ivf"
	"tiltyard/shared/index/vector"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/indexmeta"
	"tiltyard/shared/lance/rowset"
	"tiltyard/shared/process/memory"
)

// An indexedSearch finds the rows nearest to vectors by an index. The distances from an index may
// be approximate. They are replaced by exact ones if the query requests it, and always if the
// search also measures rows that the index does not cover, because the two kinds of distances
// cannot be compared.
type indexedSearch struct {
	*vectorSearch
	warn    func(ctx context.Context, message string, about ...slog.Attr)
	vectors [][]float64
	params  ivf.Params
	limit   int  // rows to find in the index for each query
	refined bool // the query requests exact distances

	part      *Probes // what a part searches; nil: all
	elsewhere bool    // parts have searched the index

	index, filter, exact *explain.Step // plan steps; filter and exact may be nil
}

// newIndexedSearch plans the use of the index for a search. It returns nil if the search uses none.
func newIndexedSearch(warn func(context.Context, string, ...slog.Attr), s *vectorSearch, q *Query) *indexedSearch {
	if s.target.index == nil {
		return nil
	}
	x := &indexedSearch{vectorSearch: s, warn: warn, vectors: q.Nearest.Vectors, refined: q.Nearest.Refine != nil}
	x.limit = s.k
	if x.refined {
		x.limit = int(min(int64(s.k)**q.Nearest.Refine, s.dataset.CountRows()))
	}
	x.params.K, x.params.Candidates, x.params.Bounds = s.k, x.limit, s.bounds
	if s.target.lists {
		x.params.Candidates, x.params.Bounds = overFetch*s.k, vector.Bounds{}
	}
	x.params.Minimum, x.params.Maximum = max(1, q.Nearest.MinProbes), q.Nearest.MaxProbes
	x.params.Effort, x.params.EF = q.Nearest.Effort, q.Nearest.EF
	return x
}

// describe makes the plan steps below the search.
func (x *indexedSearch) describe() []*explain.Step {
	if x.among.Filter.Where != nil || x.among.Only != nil {
		x.filter = x.among.Step(x.dataset, []string{snapshot.RowAddr}).With("for_index=true")
	}
	index := x.target.index
	x.index = explain.New(x.dataset.Now, explain.SearchIndex, x.filter).With("index=%s", index.Name).With("type=%s", index.Kind.Type).With("segments=%d", index.Segments).
		With("minimum_nprobes=%d", x.params.Minimum)
	if x.params.Maximum > 0 {
		x.index.With("maximum_nprobes=%d", x.params.Maximum)
	}
	if x.params.Effort != nil {
		x.index.With("search_effort=%g", *x.params.Effort)
	}
	x.index.With("candidates=%d", x.params.Candidates).WithMore("indexed_rows=%d", index.Indexed).WithMore("unindexed_rows=%d", index.Unindexed)
	x.describeRecall()
	below := []*explain.Step{x.index}
	if x.refined || x.hasUncovered() {
		x.exact = explain.New(x.dataset.Now, explain.Take, x.index).With("columns=[%s]", x.target.column)
		below[0] = x.exact
	}
	if x.hasUncovered() {
		below = append(below, x.read.With("not_indexed_by=%s", index.Name))
	}
	return below
}

// describeRecall adds the recall to expect, and the effort that would raise it.
func (x *indexedSearch) describeRecall() {
	refine := 0
	if x.refined {
		refine = x.limit / max(x.k, 1)
	}
	known := x.target.index.Kind.Recall
	expected := known.Of(x.params.Maximum, refine, x.params.EF)
	if expected == nil {
		return
	}
	x.index.With("expected_recall=%.2f", expected.Recall)
	if better := known.Better(expected.Recall); better != nil {
		x.index.With("better=%q", effort{better})
	}
}

// An effort describes a measured search in the words of requests.
type effort struct{ *indexmeta.MeasuredSearch }

func (e effort) String() string {
	text := fmt.Sprintf("nprobes %d", e.Nprobes)
	if e.RefineFactor > 0 {
		text += fmt.Sprintf(" refine_factor %d", e.RefineFactor)
	}
	if e.EF > 0 {
		text += fmt.Sprintf(" ef %d", e.EF)
	}
	return fmt.Sprintf("%s gives %.2f", text, e.Recall)
}

// hasUncovered reports whether the search must measure rows that the index does not cover.
func (x *indexedSearch) hasUncovered() bool {
	return x.target.only == nil && x.target.index.Unindexed > 0
}

// giveUp logs that the index is unreadable. The search then measures all rows.
func (x *indexedSearch) giveUp(ctx context.Context, err error) {
	x.warn(ctx, "an index is not used", slog.String("index", x.target.index.Name), slog.Any("error", err))
	x.index.WithMore("index_not_used=%q", err)
	if !x.hasUncovered() {
		x.nearest.From(x.read)
	}
}

// search returns the k nearest rows of each query, nearest first, query by query.
func (x *indexedSearch) search(ctx context.Context, ahead []string) ([]found, error) {
	opened := x.dataset.OpenAhead(ctx, ahead)
	answer, err := x.probe(ctx)
	// The columns of the answer were opened while the index was searched.
	opened()
	if err != nil {
		return nil, err
	}
	if x.target.lists {
		rows, err := x.interacted(ctx, answer.Hits)
		if err != nil {
			return nil, err
		}
		answer.Hits = [][]vector.Hit{rows}
	}
	if !x.refined && answer.Rest == nil && !x.hasUncovered() {
		return flattened(answer.Hits), nil
	}
	hits, err := x.remeasured(ctx, answer)
	if err != nil || !x.hasUncovered() {
		return hits, err
	}
	// Rows outside of the index are measured, and compete with the rows that it found.
	others, err := x.measureAll(ctx, x.uncovered())
	if err != nil {
		return nil, err
	}
	return x.merged(hits, others), nil
}

// probe searches the index.
func (x *indexedSearch) probe(ctx context.Context) (*annsearch.Answer, error) {
	began := x.dataset.Now()
	defer x.index.Took(began)
	column, err := x.dataset.Column(x.target.column)
	if err != nil {
		return nil, err
	}
	vectors, _ := vectorType(column.Type)
	q := annsearch.Question{
		Index: x.target.index.Name, Vectors: x.vectors, Lists: x.target.lists, Element: vectors.Elem(), Metric: x.target.metric, Params: x.params,
	}
	if x.filter != nil {
		q.Among = x.passing
	}
	if x.part != nil {
		q.Only, q.Among = x.part.Segments, x.part.among(q.Among)
	} else if x.planner.Spread != nil {
		q.Elsewhere = x.probeElsewhere
	}
	answer, err := annsearch.Nearest(x.index.Reading(ctx), x.dataset, q)
	if err != nil {
		return nil, err
	}
	if !x.elsewhere {
		x.index.WithMore("partitions=%d", answer.Partitions).WithMore("rows_measured=%d", answer.Rows)
	}
	for _, hits := range answer.Hits {
		x.index.Found(len(hits))
	}
	return answer, nil
}

// passing returns the indexed rows that pass the filter.
func (x *indexedSearch) passing(ctx context.Context) (*rowset.Set, error) {
	opts := x.among.Options([]string{snapshot.RowAddr})
	opts.Only = condition.InBoth(x.target.index.Covers, x.among.Only)
	_, batches, err := x.dataset.Scan(x.filter.Reading(ctx), opts)
	if err != nil {
		return nil, err
	}
	rows, held := rowset.At(), memory.Hold{}
	for batch, err := range x.filter.Counted(batches) {
		if err != nil {
			return nil, err
		}
		rows.Add(batch.Column(0).(*array.Uint64).Uint64Values())
		if err := held.Resize(ctx, rows.Bytes()); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// remeasured returns the k nearest of the rows found in the index, by their exact distances.
func (x *indexedSearch) remeasured(ctx context.Context, answer *annsearch.Answer) ([]found, error) {
	began := x.dataset.Now()
	if x.exact == nil { // the index left rows to measure that the plan did not expect
		x.exact = explain.New(x.dataset.Now, explain.Take).With("columns=[%s]", x.target.column)
		x.nearest.From(x.exact)
	}
	defer x.exact.Took(began)
	candidates, all := x.candidates(answer)
	held, err := memory.Take(ctx, (hitBytes+8)*int64(len(candidates))*int64(x.limit))
	if err != nil {
		return nil, err
	}
	defer held.Release()
	tops := x.target.newTopKs(x.k, x.bounds)
	columns := []string{x.target.column, snapshot.RowAddr}
	for batch, err := range x.dataset.TakeEach(x.exact.Reading(ctx), columns, all, fetchRows) {
		if err != nil {
			return nil, err
		}
		x.exact.Made(batch)
		if err := x.show(ctx, batch, candidates, tops); err != nil {
			return nil, err
		}
	}
	best := make([][]vector.Hit, len(tops))
	for i, top := range tops {
		best[i] = top.Hits()
	}
	return flattened(best), nil
}

// candidates returns the addresses of the rows to measure, for each query and for all together,
// ascending.
func (x *indexedSearch) candidates(answer *annsearch.Answer) (byQuery [][]uint64, all []uint64) {
	for _, hits := range answer.Hits {
		rows := make([]uint64, 0, len(hits))
		for _, h := range hits {
			rows = append(rows, h.RowID)
		}
		if answer.Rest != nil {
			rows = slices.Collect(answer.Rest.All())
		}
		slices.Sort(rows)
		byQuery, all = append(byQuery, rows), append(all, rows...)
	}
	slices.Sort(all)
	return byQuery, slices.Compact(all)
}

// show measures the rows of a batch and adds each one to the results of the queries that have it as
// a candidate. Candidates and rows ascend by address.
func (x *indexedSearch) show(ctx context.Context, batch arrow.RecordBatch, candidates [][]uint64, tops []*vector.TopK) error {
	return x.target.eachDistance(ctx, batch, func(query int, distances []float32, at []uint64) {
		for i, address := range at {
			if rest := candidates[query]; len(rest) > 0 && rest[0] == address {
				tops[query].Add(distances[i], address)
				candidates[query] = rest[1:]
			}
		}
	})
}

// merged returns the k best of two lists of found rows. Each list is grouped by query.
func (x *indexedSearch) merged(a, b []found) []found {
	tops := x.target.newTopKs(x.k, x.bounds)
	for _, h := range slices.Concat(a, b) {
		tops[h.query].Add(h.Distance, h.RowID)
	}
	best := make([][]vector.Hit, len(tops))
	for i, top := range tops {
		best[i] = top.Hits()
	}
	return flattened(best)
}

// flattened returns the hits of all queries in one list, query by query.
func flattened(hits [][]vector.Hit) []found {
	var all []found
	for q, best := range hits {
		for _, h := range best {
			all = append(all, found{Hit: h, query: int32(q)})
		}
	}
	return all
}

package query

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/engine/internal/condition"
	"tiltyard/shared/engine/internal/explain"
	"tiltyard/shared/engine/internal/prefilter"
	"tiltyard/shared/index/vector"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/protocol"
)

// A vectorSearch finds the rows nearest to one or several vectors: by an index, or by measuring
// every row.
type vectorSearch struct {
	dataset *dataset.Dataset
	target  *target
	among   condition.Rows // the rows to search
	k       int            // rows per query, including skipped ones
	bounds  vector.Bounds

	indexed *indexedSearch // nil: all rows are measured

	planner  *Planner
	relation condition.Relation
	query    *Query

	read, nearest *explain.Step
}

// newSearch plans a search for vectors.
func (p *Planner) newSearch(ctx context.Context, r condition.Relation, q *Query) (finder, error) {
	s, err := p.newVectorSearch(ctx, r, q)
	if err != nil {
		return nil, err
	}
	return filtered(ctx, r, q, s)
}

// newVectorSearch plans the search without a filter of the found rows.
func (p *Planner) newVectorSearch(ctx context.Context, r condition.Relation, q *Query) (*vectorSearch, error) {
	d := r.Dataset
	s := &vectorSearch{dataset: d, bounds: bounds(q.Nearest), planner: p, relation: r, query: q}
	var err error
	if s.target, err = newTarget(d, q); err != nil {
		return nil, err
	}
	if s.among, err = p.before(ctx, q, r); err != nil {
		return nil, err
	}
	if s.k, err = p.searchK(d, q, s.target.queries()); err != nil {
		return nil, err
	}
	s.indexed = newIndexedSearch(p.Policy.Warn, s, q)
	s.describe(q)
	return s, nil
}

// before returns the rows that a search considers: the rows that match the filter if the query is
// prefiltered, or else all rows of the relation.
func (p *Planner) before(ctx context.Context, q *Query, r condition.Relation) (condition.Rows, error) {
	if !q.Prefilter {
		return condition.NewRows(ctx, r, "", false, p.Policy)
	}
	return condition.NewRows(ctx, r, q.Filter, q.FastSearch, p.Policy)
}

// describe makes the plan steps of the search.
func (s *vectorSearch) describe(q *Query) {
	s.read = s.among.Step(s.dataset, []string{s.target.column})
	s.planner.Spread.describe(s.read, s.dataset, func() snapshot.ScanOptions { return s.measured(s.uncovered()) })
	below, measures := []*explain.Step{s.read}, true
	if s.indexed != nil {
		below = s.indexed.describe()
		measures = s.indexed.exact != nil
	}
	s.nearest = explain.New(s.dataset.Now, explain.Nearest, below...).With("column=%s", s.target.column).With("metric=%s", s.target.metric).
		With("k=%d", s.k).With("queries=%d", s.target.queries()).With("%s", s.target.use)
	if measures {
		s.nearest.Like("KNNVectorDistance")
	}
	if lower := q.Nearest.Lower; lower != nil {
		s.nearest.With("from=%v", *lower)
	}
	if upper := q.Nearest.Upper; upper != nil {
		s.nearest.With("below=%v", *upper)
	}
}

func (s *vectorSearch) step() *explain.Step { return s.nearest }

func (s *vectorSearch) rated() rating {
	return rating{columns: []ratedColumn{{scoreField(distanceColumn), scores}}, numbered: s.target.batch}
}

// find returns the k nearest rows of each query, nearest first, query by query.
func (s *vectorSearch) find(ctx context.Context, ahead []string) ([]found, error) {
	began := s.dataset.Now()
	hits, err := s.search(ctx, ahead)
	s.nearest.Took(began)
	s.nearest.Found(len(hits))
	return hits, err
}

// search uses the index if there is a readable one, and otherwise measures all rows.
func (s *vectorSearch) search(ctx context.Context, ahead []string) ([]found, error) {
	if s.indexed != nil {
		hits, err := s.indexed.search(ctx, ahead)
		if !prefilter.IsUnusable(err) {
			return hits, err
		}
		s.indexed.giveUp(ctx, err)
	}
	return s.measureAll(ctx, s.among)
}

// measureAll measures rows without an index.
func (s *vectorSearch) measureAll(ctx context.Context, among condition.Rows) ([]found, error) {
	began := s.dataset.Now()
	defer s.read.Took(began)
	ctx = s.read.Reading(ctx)
	opts := s.measured(among)
	if !s.target.lists {
		hits, done, err := s.measureElsewhere(ctx, &opts)
		if done {
			return hits, err
		}
	}
	return s.target.nearest(ctx, s.dataset, opts, s.read, s.k, s.bounds)
}

// uncovered returns the rows that the search measures, whether or not it uses an index.
func (s *vectorSearch) uncovered() condition.Rows {
	among := s.among
	if s.indexed != nil {
		among.Only = condition.InBoth(among.Only, func(fragment uint64) bool { return !s.target.index.Covers(fragment) })
	}
	return among
}

// measured returns the options of the scan that measures rows.
func (s *vectorSearch) measured(among condition.Rows) snapshot.ScanOptions {
	opts := among.Options([]string{s.target.column, snapshot.RowAddr})
	opts.Only = condition.InBoth(s.target.only, among.Only)
	return opts
}

// measureElsewhere measures the rows of a large scan in parts. done is false if they are to be measured here.
func (s *vectorSearch) measureElsewhere(ctx context.Context, opts *snapshot.ScanOptions) (hits []found, done bool, err error) {
	divided, err := s.planner.divide(ctx, s.relation, opts, s.part())
	if err != nil || divided == nil {
		return nil, err != nil, err
	}
	held, err := memory.Take(ctx, 2*hitBytes*int64(s.target.queries())*min(int64(s.k), s.dataset.CountRows()))
	if err != nil {
		return nil, true, err
	}
	defer held.Release()
	best := s.target.newTopKs(s.k, s.bounds)
	here, err := divided.each(ctx, toStep(s.read), func(batch arrow.RecordBatch) error {
		return hitsOf(batch, len(best), func(h found) { best[h.query].Add(h.Distance, h.RowID) })
	})
	if here || err != nil {
		return nil, !here, err
	}
	return hitsOfAll(best), true, nil
}

// part returns what a part of the search does.
func (s *vectorSearch) part() Part {
	q := &Query{Limit: new(int64(s.k))}
	if s.query.Prefilter {
		q.Filter, q.Prefilter = s.query.Filter, true
	}
	n := s.query.Nearest
	q.Nearest = &Nearest{Vectors: n.Vectors, Numbered: n.Numbered, Column: s.target.column, Metric: &s.target.metric, Lower: n.Lower, Upper: n.Upper, BypassIndex: true}
	return Part{Kind: nearest, Query: q}
}

// topKsPerRequest bounds the rows that all queries of one request find together, as a multiple of
// TopK.
const topKsPerRequest = 4

// searchK returns the number of rows to find, including those that the offset skips. It is at most
// the number of rows in the table. The error is InvalidInput if a request would need too much
// memory.
func (p *Planner) searchK(d *dataset.Dataset, q *Query, queries int) (int, error) {
	if q.Limit != nil && *q.Limit == 0 {
		return 0, protocol.Errorf(protocol.InvalidInput, "k must be positive in a vector search")
	}
	k := min(q.most(), d.CountRows())
	if k > int64(p.TopK) {
		return 0, protocol.Errorf(protocol.InvalidInput,
			"k and offset add up to more than %d rows, the limit of a vector search in a table that has more rows than that", p.TopK)
	}
	if all := k * int64(queries); all > topKsPerRequest*int64(p.TopK) {
		return 0, protocol.Errorf(protocol.InvalidInput,
			"%d query vectors with %d results each are too many for one request; send them in several requests", queries, k)
	}
	return int(k), nil
}

// bounds converts the bounds of the distance to float32.
func bounds(n *Nearest) vector.Bounds {
	narrow := func(f *float64) *float32 {
		if f == nil {
			return nil
		}
		v := float32(*f)
		return &v
	}
	return vector.Bounds{Lower: narrow(n.Lower), Upper: narrow(n.Upper)}
}

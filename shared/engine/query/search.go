package query

import (
	"context"

	"tiltyard/shared/engine/internal/condition"
	"tiltyard/shared/engine/internal/explain"
	"tiltyard/shared/engine/internal/prefilter"
	"tiltyard/shared/index/vector"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/protocol"
)

// A vectorSearch finds the rows nearest to one or several vectors: by an index, or by measuring
// every row.
type vectorSearch struct {
	dataset *dataset.Dataset
	target  *target
	among   asked // the rows to search
	k       int   // rows per query, including skipped ones
	bounds  vector.Bounds

	indexed *indexedSearch // nil: all rows are measured

	read, nearest *explain.Step
}

// newSearch plans a search for vectors.
func (p *Planner) newSearch(ctx context.Context, r condition.Relation, q *Query) (finder, error) {
	d := r.Dataset
	s := &vectorSearch{dataset: d, bounds: bounds(q.Nearest)}
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
	return filtered(ctx, r, q, s)
}

// before returns the rows that a search considers: the rows that match the filter if the query is
// prefiltered, or else all rows of the relation.
func (p *Planner) before(ctx context.Context, q *Query, r condition.Relation) (asked, error) {
	if !q.Prefilter {
		return p.newAsked(ctx, r, "", false)
	}
	return p.newAsked(ctx, r, q.Filter, q.FastSearch)
}

// describe makes the plan steps of the search.
func (s *vectorSearch) describe(q *Query) {
	s.read = s.among.step(s.dataset, []string{s.target.column})
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
func (s *vectorSearch) measureAll(ctx context.Context, among asked) ([]found, error) {
	began := s.dataset.Now()
	defer s.read.Took(began)
	return s.target.nearest(s.read.Reading(ctx), s.dataset, among, s.read, s.k, s.bounds)
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

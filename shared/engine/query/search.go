package query

import (
	"context"

	"tiltyard/shared/engine/condition"
	"tiltyard/shared/engine/explain"
	"tiltyard/shared/engine/narrow"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/protocol"
	"tiltyard/shared/vector"
)

// defaultK is how many rows a search returns when the request does not set k.
const defaultK = 10

// A vectorSearch answers a query for the rows nearest to one or several vectors: by an index, or by
// measuring every row.
type vectorSearch struct {
	*foundRows
	target *target
	among  asked // the rows among which it searches
	k      int   // rows per query, including those that are skipped
	bounds vector.Bounds

	indexed *indexedSearch // nil: all rows are measured

	read, nearest *explain.Step
}

// newSearch resolves a query for the nearest rows.
func (p *Planner) newSearch(ctx context.Context, r condition.Relation, req *protocol.QueryTableRequest) (Answer, error) {
	d := r.Dataset
	s := &vectorSearch{bounds: bounds(req)}
	var err error
	if s.foundRows, err = newFoundRows(ctx, r, req, rating{scored: distanceColumn}); err != nil {
		return nil, err
	}
	if s.target, err = newTarget(d, req); err != nil {
		return nil, err
	}
	s.queries, s.index = s.target.queries(), s.target.batch
	if s.among, err = p.before(ctx, req, r); err != nil {
		return nil, err
	}
	if s.k, err = p.searchK(d, req, s.queries); err != nil {
		return nil, err
	}
	s.indexed = newIndexedSearch(p.Policy.Warn, s, req)
	s.describe(req)
	return s, nil
}

// before returns the rows that a search reads: those that pass the filter if the filter comes
// first, else all rows of the relation.
func (p *Planner) before(ctx context.Context, req *protocol.QueryTableRequest, r condition.Relation) (asked, error) {
	if !req.Prefilter {
		return p.newAsked(ctx, r, "", false)
	}
	return p.newAsked(ctx, r, req.Filter, req.FastSearch)
}

// describe makes the plan steps of the search.
func (s *vectorSearch) describe(req *protocol.QueryTableRequest) {
	s.read = s.among.step(s.dataset, []string{s.target.column})
	below, measures := []*explain.Step{s.read}, true
	if s.indexed != nil {
		below = s.indexed.describe()
		measures = s.indexed.exact != nil
	}
	s.nearest = explain.New(s.dataset.Now, explain.Nearest, below...).With("column=%s", s.target.column).With("metric=%s", s.target.metric).
		With("k=%d", s.k).With("queries=%d", s.queries).With("%s", s.target.use)
	if measures {
		s.nearest.Like("KNNVectorDistance")
	}
	if req.LowerBound != nil {
		s.nearest.With("from=%v", *req.LowerBound)
	}
	if req.UpperBound != nil {
		s.nearest.With("below=%v", *req.UpperBound)
	}
	s.follow(req, s.nearest)
}

func (s *vectorSearch) Rows(ctx context.Context) (*protocol.Rows, error) {
	hits, err := s.find(ctx)
	if err != nil {
		return nil, err
	}
	return s.of(ctx, hits)
}

// find returns the k nearest rows of each query, nearest first, query by query.
func (s *vectorSearch) find(ctx context.Context) ([]found, error) {
	began := s.dataset.Now()
	hits, err := s.search(ctx)
	s.nearest.Took(began)
	s.nearest.Found(len(hits))
	return hits, err
}

// search searches by the index or, without one that can be read, measures all rows.
func (s *vectorSearch) search(ctx context.Context) ([]found, error) {
	if s.indexed != nil {
		hits, err := s.indexed.search(ctx)
		if !narrow.IsUnusable(err) {
			return hits, err
		}
		s.indexed.giveUp(ctx, err)
	}
	return s.measureAll(ctx, s.among)
}

// measureAll measures rows one by one.
func (s *vectorSearch) measureAll(ctx context.Context, among asked) ([]found, error) {
	began := s.dataset.Now()
	defer s.read.Took(began)
	return s.target.nearest(s.read.Reading(ctx), s.dataset, among, s.read, s.k, s.bounds)
}

// topKsPerRequest is how many searches of the largest size one request may hold together.
const topKsPerRequest = 4

// searchK returns how many rows to look for: the returned ones and those that are skipped before
// them. For a small table it may be all rows.
func (p *Planner) searchK(d *dataset.Dataset, req *protocol.QueryTableRequest, queries int) (int, error) {
	k := int64(defaultK)
	switch {
	case req.K != nil && *req.K > 0:
		k = *req.K
	case req.K != nil && req.Dialect == protocol.DialectLanceDB: // in this dialect zero does not mean the default
		return 0, protocol.Errorf(protocol.InvalidInput, "k must be positive in a vector search")
	}
	k = min(saturating(k, req.Offset), d.CountRows())
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

func bounds(req *protocol.QueryTableRequest) vector.Bounds {
	narrow := func(f *float64) *float32 {
		if f == nil {
			return nil
		}
		v := float32(*f)
		return &v
	}
	return vector.Bounds{Lower: narrow(req.LowerBound), Upper: narrow(req.UpperBound)}
}

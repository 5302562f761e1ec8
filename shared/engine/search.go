package engine

import (
	"context"

	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/protocol"
	"tiltyard/shared/vector"
)

// defaultK is how many rows a search returns when the request does not say.
const defaultK = 10

// A vectorSearch answers a query for the rows nearest to one or several vectors, by measuring
// every row.
type vectorSearch struct {
	*foundRows
	target *target
	among  asked // of which rows the nearest are looked for
	k      int   // rows of each query, those to be skipped among them
	bounds vector.Bounds

	read, nearest *step
}

// newSearch resolves a query for the nearest rows.
func (e *Engine) newSearch(ctx context.Context, d *dataset.Dataset, req *protocol.QueryTableRequest) (answer, error) {
	s := &vectorSearch{bounds: bounds(req)}
	var err error
	if s.foundRows, err = newFoundRows(ctx, d, req, distanceColumn); err != nil {
		return nil, err
	}
	if s.target, err = newTarget(d, req); err != nil {
		return nil, err
	}
	s.queries, s.index = s.target.queries(), s.target.batch
	if s.among, err = before(ctx, req, d); err != nil {
		return nil, err
	}
	if s.k, err = e.searchK(d, req, s.queries); err != nil {
		return nil, err
	}
	s.describe(req)
	return s, nil
}

// before returns which rows a search is asked of: all, unless its filter comes first.
func before(ctx context.Context, req *protocol.QueryTableRequest, d *dataset.Dataset) (asked, error) {
	if !req.Prefilter {
		return asked{}, nil
	}
	return newAsked(ctx, d, req)
}

// describe makes the steps of the search.
func (s *vectorSearch) describe(req *protocol.QueryTableRequest) {
	s.read = s.among.step(s.dataset, req, []string{s.target.column})
	s.nearest = newStep(s.dataset, "Nearest", s.read).says("column=%s", s.target.column).says("metric=%s", s.target.metric).
		says("k=%d", s.k).says("queries=%d", s.queries).says("%s", s.target.index)
	if req.LowerBound != nil {
		s.nearest.says("from=%v", *req.LowerBound)
	}
	if req.UpperBound != nil {
		s.nearest.says("below=%v", *req.UpperBound)
	}
	s.follow(req, s.nearest)
}

func (s *vectorSearch) rows(ctx context.Context) (*protocol.Rows, error) {
	hits, err := s.find(ctx)
	if err != nil {
		return nil, err
	}
	return s.of(ctx, hits)
}

// find returns the k nearest rows of each query, nearest first, query by query.
func (s *vectorSearch) find(ctx context.Context) ([]found, error) {
	began := s.dataset.Now()
	hits, err := s.target.nearest(s.read.reading(ctx), s.dataset, s.among, s.read, s.k, s.bounds)
	s.read.took(began)
	s.nearest.took(began)
	s.nearest.rows.Add(int64(len(hits)))
	return hits, err
}

// topKsPerRequest is how many of the largest searches one request may hold together.
const topKsPerRequest = 4

// searchK returns how many rows to look for: those to be returned and those to be
// skipped before them. Of a small table it may be all.
func (e *Engine) searchK(d *dataset.Dataset, req *protocol.QueryTableRequest, queries int) (int, error) {
	k := int64(defaultK)
	switch {
	case req.K != nil && *req.K > 0:
		k = *req.K
	case req.K != nil && req.Dialect == protocol.DialectLanceDB: // to which zero is no default
		return 0, protocol.Errorf(protocol.InvalidInput, "k must be positive in a search for vectors")
	}
	k = min(saturating(k, req.Offset), d.CountRows())
	if k > int64(e.limits.TopK) {
		return 0, protocol.Errorf(protocol.InvalidInput,
			"k and offset together are above %d, the largest vector search of a table with more rows than that", e.limits.TopK)
	}
	if all := k * int64(queries); all > topKsPerRequest*int64(e.limits.TopK) {
		return 0, protocol.Errorf(protocol.InvalidInput,
			"%d query vectors of %d results each are too many for one request; send them in several", queries, k)
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

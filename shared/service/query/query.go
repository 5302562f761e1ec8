package query

import (
	"context"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/query"
	"tiltyard/shared/index/vector"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/queryapi"
	"tiltyard/shared/tables"
)

// Query returns rows of a table or a view: all rows, the rows that a filter keeps, or the rows nearest to a
// vector.
func (s *Service) Query(ctx context.Context, req *queryapi.Request) (*protocol.Rows, error) {
	return tables.Rows(ctx, s.tables.Open(req.ID, req.Branch), func(ctx context.Context, rows *engine.Table) (*protocol.Rows, error) {
		return rows.Query(ctx, asOf(req.Version, req.LogUse), queryOf(req))
	})
}

// asOf returns the rows of a table that a request is about.
func asOf(version *int64, log protocol.LogUse) engine.AsOf {
	return engine.AsOf{Version: version, Log: log.Wanted()}
}

// queryOf returns the query of a request.
func queryOf(req *queryapi.Request) *query.Query {
	q := &query.Query{
		WithRowID: req.WithRowID, Filter: req.Filter, Prefilter: req.Prefilter, FastSearch: req.FastSearch,
		Limit: limitOf(req), Offset: req.Offset, Text: req.FullTextQuery,
	}
	for _, c := range req.Columns {
		q.Columns = append(q.Columns, query.Column(c))
	}
	for _, o := range req.OrderBy {
		q.Order = append(q.Order, query.Order{Column: o.ColumnName, Descending: o.Ascending != nil && !*o.Ascending, NullsFirst: o.NullsFirst})
	}
	if !req.Vector.Empty() {
		q.Nearest = nearestOf(req)
	}
	return q
}

// defaultK is the number of rows of a vector search without k.
const defaultK = 10

// limitOf returns the limit of a request. A k of zero means no limit, except in vector searches of LanceDB clients, which
// request no rows by it: they express a query for all rows in another way.
func limitOf(req *queryapi.Request) *int64 {
	zero := req.K != nil && *req.K == 0
	switch {
	case req.K != nil && !zero, zero && req.Dialect == protocol.DialectLanceDB && req.FullTextQuery == nil:
		return req.K
	case !req.Vector.Empty():
		return new(int64(defaultK))
	}
	return nil
}

// nearestOf returns the search of a request for vectors.
func nearestOf(req *queryapi.Request) *query.Nearest {
	n := &query.Nearest{
		Vectors: req.Vector.Vectors, Numbered: req.Vector.Several, Column: req.VectorColumn, Metric: metricOf(req.DistanceType),
		Lower: req.LowerBound, Upper: req.UpperBound, Effort: req.SearchEffort, Refine: req.RefineFactor, BypassIndex: req.BypassVectorIndex,
	}
	n.MinProbes, n.MaxProbes = probesOf(req)
	if req.EF != nil {
		n.EF = int(*req.EF)
	}
	return n
}

// metricOf returns the metric of a distance type, nil if a request names none.
func metricOf(asked protocol.DistanceType) *vector.Metric {
	switch asked {
	case protocol.DistanceL2:
		return new(vector.L2)
	case protocol.DistanceCosine:
		return new(vector.Cosine)
	case protocol.DistanceDot:
		return new(vector.Dot)
	case protocol.DistanceHamming:
		return new(vector.Hamming)
	}
	return nil
}

// probesOf returns the bounds of the number of partitions to search; 0 is no limit. A search effort replaces nprobes, but
// not the bounds.
func probesOf(req *queryapi.Request) (least, most int) {
	if req.NProbes != nil && req.SearchEffort == nil {
		least, most = int(max(1, *req.NProbes)), int(max(1, *req.NProbes))
	}
	if req.MinimumNProbes != nil {
		least = int(*req.MinimumNProbes)
	}
	if req.MaximumNProbes != nil {
		most = int(*req.MaximumNProbes)
	}
	return least, most
}

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

// Query returns rows of a table or a view: all rows, rows that match a filter or a text, the
// rows nearest to a vector, or the best of the last two.
func (s *Service) Query(ctx context.Context, req *queryapi.Request) (*protocol.Rows, error) {
	if req.Part != "" {
		return s.part(ctx, req)
	}
	return tables.Rows(ctx, s.tables.Open(req.ID, req.Branch), func(ctx context.Context, rows *engine.Table) (*protocol.Rows, error) {
		return rows.Query(ctx, asOf(req.Version, req.LogUse), queryOf(req))
	})
}

// part runs a part of a query whose other parts other instances run.
func (s *Service) part(ctx context.Context, req *queryapi.Request) (*protocol.Rows, error) {
	part, err := query.ParsePart([]byte(req.Part))
	if err != nil {
		return nil, err
	}
	return tables.Rows(ctx, s.tables.Open(req.ID, req.Branch), func(ctx context.Context, rows *engine.Table) (*protocol.Rows, error) {
		return rows.Part(ctx, part)
	})
}

// asOf returns the version of the table to read, and whether its log may be ignored.
func asOf(version *int64, log protocol.LogUse) engine.AsOf {
	return engine.AsOf{Version: version, Log: log.Wanted()}
}

// queryOf converts a request to the engine's query.
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
	q.Fusion = fusionOf(req.Rerank)
	return q
}

// defaultK is the number of rows of a vector search that has no k.
const defaultK = 10

// limitOf returns the limit of a request, or nil for none. A k of zero means no limit, except in LanceDB clients' queries
// that are not text searches: there it means zero rows.
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

// nearestOf converts the vector search of a request.
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

// fusionOf returns how a hybrid search joins its rows. The defaults are those of LanceDB's clients.
func fusionOf(asked queryapi.Rerank) query.Fusion {
	f := query.Fusion{K: 60, Vector: 1, Text: 1}
	if asked.K != nil {
		f.K = *asked.K
	}
	if asked.Weights.Vector != nil {
		f.Vector = *asked.Weights.Vector
	}
	if asked.Weights.Text != nil {
		f.Text = *asked.Weights.Text
	}
	return f
}

// metricOf returns the metric of a distance type, or nil if it is unset.
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

// probesOf returns the bounds of the number of partitions to search; 0 means no bound. A search effort overrides nprobes,
// but not explicit bounds.
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

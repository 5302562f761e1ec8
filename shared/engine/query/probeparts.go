package query

import (
	"context"
	"encoding/json"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/engine/internal/annsearch"
	"tiltyard/shared/engine/internal/condition"
	"tiltyard/shared/engine/internal/prefilter"
	"tiltyard/shared/index/vector"
	"tiltyard/shared/lance/rowset"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/protocol"
)

// Probes are what a part searches of an index.
type Probes struct {
	Index    string             `json:"index"` // name
	Segments []annsearch.Probes `json:"segments"`
	// Among are the rows that pass the filter of the query, which the part does not filter again. Nil: all rows pass.
	Among *rowset.Set `json:"among,omitempty"`
}

// mostAmong is the size of the rows that pass a filter, encoded, above which they are not sent with each part.
const mostAmong = 1 << 20

// probeElsewhere searches partitions of the index in parts, if they are so large that the search is divided. Rows that
// pass a filter are sent with each part. A search through a view is then not divided, because each part would have to
// filter all rows again: rows that somebody has sent do not show what the caller may see.
func (x *indexedSearch) probeElsewhere(ctx context.Context, work *annsearch.Work, among *rowset.Set, tops []*vector.TopK) (done bool, err error) {
	size := work.Bytes()
	if size <= x.planner.Spread.Bytes || work.Partitions() < 2 || x.relation.View != nil && among != nil {
		return false, nil
	}
	if fit, err := fits(among); err != nil || !fit {
		return false, err
	}
	n := x.query.Nearest
	part := Part{Kind: probing, Query: &Query{Limit: new(int64(x.k)), Nearest: &Nearest{
		Vectors: n.Vectors, Numbered: n.Numbered, Column: x.target.column, Metric: &x.target.metric, Lower: n.Lower, Upper: n.Upper,
		MinProbes: n.MinProbes, MaxProbes: n.MaxProbes, Effort: n.Effort, EF: n.EF, Refine: n.Refine,
	}}}
	if part.View, err = viewOf(x.relation); err != nil {
		return false, err
	}
	divided := x.planner.division(x.relation, part)
	for _, segments := range work.Cut(x.planner.Spread.count(size)) {
		divided.add(func(p *Part) { p.Probes = &Probes{Index: x.target.index.Name, Segments: segments, Among: among} })
	}
	here, err := divided.each(ctx, toStep(x.index), func(batch arrow.RecordBatch) error {
		return hitsOf(batch, len(tops), func(h found) { tops[h.query].Add(h.Distance, h.RowID) })
	})
	if here {
		return false, nil
	}
	x.elsewhere = true
	x.index.WithMore("parts=%d", len(divided.parts)).WithMore("partitions=%d", work.Partitions())
	return true, err
}

// fits reports whether rows can be sent with each part.
func fits(among *rowset.Set) (bool, error) {
	if among == nil || among.Bytes() <= mostAmong {
		return true, nil
	}
	text, err := json.Marshal(among)
	return len(text) <= mostAmong, err
}

// among returns the rows to search: those that were sent, and that pass what the caller's view has the part check.
func (p *Probes) among(passing func(context.Context) (*rowset.Set, error)) func(context.Context) (*rowset.Set, error) {
	if p.Among == nil {
		return passing
	}
	return func(ctx context.Context) (*rowset.Set, error) {
		if err := memory.FromContext(ctx).Take(ctx, p.Among.Bytes()); err != nil {
			return nil, err
		}
		if passing == nil {
			return p.Among, nil
		}
		rows, err := passing(ctx)
		if err == nil {
			rows.Intersect(p.Among)
		}
		return rows, err
	}
}

// probingPart searches partitions of an index.
func (p *Planner) probingPart(ctx context.Context, r condition.Relation, part *Part) (*protocol.Rows, error) {
	s, err := p.newVectorSearch(ctx, r, part.Query)
	if err != nil {
		return nil, err
	}
	if s.indexed == nil || s.target.index.Name != part.Probes.Index {
		return nil, protocol.Errorf(protocol.Unsupported, "part: index %.100q is not the one that answers", part.Probes.Index)
	}
	s.indexed.part = part.Probes
	answer, err := s.indexed.probe(ctx)
	switch {
	case prefilter.IsUnusable(err):
		return nil, protocol.Errorf(protocol.Unsupported, "part: %w", err)
	case err != nil:
		return nil, err
	}
	return answerOf(flattened(answer.Hits))
}

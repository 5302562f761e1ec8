package query

import (
	"slices"

	"tiltyard/shared/engine/internal/condition"
	"tiltyard/shared/protocol"
)

// errWordsOfView is the error of a search for words through a view.
var errWordsOfView = &protocol.Error{
	Code: protocol.InvalidInput, Message: "full_text_query: a view cannot be searched for words; search the table that it reads",
}

// ofSource rewrites a query of a view for its source: it replaces the names of columns to search
// and to sort by, which must be unchanged columns of the source. A query of a view with a limit can
// only choose columns, a limit and an offset, because the limit of the view applies first.
func ofSource(r condition.Relation, asked *Query) (*Query, error) {
	q := *asked
	searches := q.Text != nil || q.Nearest != nil
	switch {
	case q.Text != nil:
		return nil, errWordsOfView
	case r.View.Query.Limit != nil && (searches || q.Filter != "" || len(q.Order) > 0):
		return nil, protocol.Errorf(protocol.InvalidInput, "the view has a LIMIT, so its rows cannot be filtered, searched or sorted")
	}
	var err error
	q.Order = slices.Clone(q.Order)
	for i, b := range q.Order {
		if q.Order[i].Column, err = r.Source(b.Column); err != nil {
			return nil, err
		}
	}
	if q.Nearest == nil {
		return &q, nil
	}
	nearest := *q.Nearest
	q.Nearest = &nearest
	// The default column is chosen among the columns of the view, not of its source.
	if nearest.Column == "" {
		dimensions := len(nearest.Vectors[0])
		all, fitting := vectorsOf(r, dimensions)
		if nearest.Column, err = onlyVectors(all, fitting, dimensions); err != nil {
			return nil, err
		}
	}
	nearest.Column, err = r.Source(nearest.Column)
	return &q, err
}

// vectorsOf returns the vector columns of a view. fitting are those with the given dimensions.
func vectorsOf(r condition.Relation, dimensions int) (all, fitting []string) {
	for _, f := range r.View.Schema.Fields() {
		if vectors, _ := vectorType(f.Type); vectors != nil {
			all = append(all, f.Name)
			if int(vectors.Len()) == dimensions {
				fitting = append(fitting, f.Name)
			}
		}
	}
	return all, fitting
}

// leftOfView returns the number of rows that a view's limit leaves after the offset of a query.
func leftOfView(r condition.Relation, q *Query) (rows int64, bounded bool) {
	if r.View == nil || r.View.Query.Limit == nil {
		return 0, false
	}
	return max(int64(*r.View.Query.Limit)-q.Offset, 0), true // Plan has refused larger limits
}

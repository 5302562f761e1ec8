package query

import (
	"context"

	"tiltyard/shared/engine/internal/condition"
	"tiltyard/shared/engine/internal/explain"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/snapshot"
	account "tiltyard/shared/process/memory"
)

// A postfilter is a search that drops found rows which do not match the filter of the query.
type postfilter struct {
	finder
	dataset *dataset.Dataset
	where   *snapshot.Where // may also test the columns that the search adds
	kept    *explain.Step
}

// filtered adds the filter of a query to a search, unless the query is prefiltered.
func filtered(ctx context.Context, r condition.Relation, q *Query, search finder) (finder, error) {
	if q.Prefilter || q.Filter == "" {
		return search, nil
	}
	where, err := search.rated().where(ctx, "filter", q.Filter, r)
	if err != nil {
		return nil, err
	}
	f := &postfilter{finder: search, dataset: r.Dataset, where: where}
	f.kept = explain.New(f.dataset.Now, explain.Filter, search.step()).With("filter=%s", q.Filter).With("columns=%s", explain.List(where.Columns))
	return f, nil
}

func (f *postfilter) step() *explain.Step { return f.kept }

// find returns the found rows that pass the filter.
func (f *postfilter) find(ctx context.Context, ahead []string) ([]found, error) {
	hits, err := f.finder.find(ctx, ahead)
	if err != nil {
		return nil, err
	}
	held, err := account.Take(ctx, foundBytes*int64(len(hits)))
	if err != nil {
		return nil, err
	}
	defer held.Release()
	defer f.kept.Took(f.dataset.Now())
	ctx = f.kept.Reading(ctx)
	rated, kept := f.rated(), hits[:0:0]
	for batch, err := range f.dataset.TakeEach(ctx, f.where.Columns, addresses(hits), fetchRows) {
		if err != nil {
			return nil, err
		}
		part := hits[:batch.NumRows()]
		hits = hits[len(part):]
		rows, err := f.where.Select(ctx, rated.with(batch, rated.of(part)), nil)
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			kept = append(kept, part[r])
		}
	}
	f.kept.Found(len(kept))
	return kept, nil
}

package engine

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/engine/internal/prefilter"
	"tiltyard/shared/engine/merge"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/rowset"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/protocol"
)

// Merge merges rows into the table in one commit; see [merge.Spec].
//
// Only the first rows of a large source stay in memory; the other rows and the keys for matching
// are in the scratch directory. Merge works on the newest version, and plans again when other
// writers commit rows that may affect the result.
func (t *Table) Merge(ctx context.Context, rows dataset.Rows, spec merge.Spec) (Written, error) {
	if !spec.Changes() {
		return Written{}, protocol.Errorf(protocol.InvalidInput,
			"the merge would change nothing; set when_matched_update_all, when_not_matched_insert_all or when_not_matched_by_source_delete")
	}
	// Rows may be read only once. Without a table no row is read, because the caller may then create a
	// table from them.
	if err := t.data.Find(ctx); err != nil {
		return Written{}, t.Translate(err)
	}
	source, err := merge.ReadSource(ctx, rows, t.engine.limits.MergeBytes, t.engine.limits.HeldBytes)
	if err != nil {
		return Written{}, t.Translate(err)
	}
	defer source.Close()
	attempts := 0
	plan, commit, err := change(ctx, t,
		func(ctx context.Context, d *dataset.Dataset) (*merge.Plan, error) {
			attempts++
			if err := notComputed(rows.Schema)(d.Schema()); err != nil {
				return nil, err
			}
			return merge.NewPlan(ctx, d, source, spec, t.engine.mergeMeans())
		},
		func(ctx context.Context, p *merge.Plan) (dataset.Commit, error) {
			r, err := p.Replacement(ctx)
			if err != nil {
				return dataset.Commit{}, err
			}
			if t.attempt != nil {
				r.Properties = map[string]string{mergedProperty: fmt.Sprint(p.Updated, p.Inserted, p.Deleted)}
			}
			return p.Dataset.Replace(ctx, r)
		})
	if err != nil {
		return already(Written{}, err)
	}
	done := written(commit)
	done.Updated, done.Inserted, done.Deleted, done.Attempts = plan.Updated, plan.Inserted, plan.Deleted, attempts
	return done, nil
}

// mergeMeans returns the functions and limits that a merge plan gets from the engine.
func (e *Engine) mergeMeans() merge.Means {
	return merge.Means{
		MappedRows: e.limits.MappedRows, Choose: e.chooseSet,
		Having: func(ctx context.Context, d *dataset.Dataset, column string, values arrow.Array) (*snapshot.Candidates, error) {
			return prefilter.Having(ctx, d, column, values, e.planner.Policy)
		},
	}
}

// chooseSet adapts choose to [merge.Means].
func (e *Engine) chooseSet(ctx context.Context, d *dataset.Dataset, predicate string) (*rowset.Set, *memory.Hold, error) {
	rows, err := e.choose(ctx, d, predicate)
	if err != nil {
		return nil, nil, err
	}
	return rows.set, &rows.held, nil
}

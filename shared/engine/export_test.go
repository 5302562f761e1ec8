package engine

import (
	"context"

	"tiltyard/shared/engine/merge"
	"tiltyard/shared/engine/query"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/rowset"
	"tiltyard/shared/process/memory"
)

const Patience = patience

func (t *Table) Engine() *Engine { return t.engine }

func (e *Engine) Planner() *query.Planner { return e.planner }

func (e *Engine) MergeMeans() merge.Means { return e.mergeMeans() }

type Chosen = chosen

func (c *chosen) Set() *rowset.Set { return c.set }

func (c *chosen) Held() *memory.Hold { return &c.held }

func (c *chosen) Delete(ctx context.Context, predicate string) (dataset.Commit, error) {
	return c.dataset.Delete(ctx, c.set, predicate)
}

func (e *Engine) Choose(ctx context.Context, d *dataset.Dataset, predicate string) (*Chosen, error) {
	return e.choose(ctx, d, predicate)
}

func (e *Engine) PlanUpdate(ctx context.Context, d *dataset.Dataset, assignments []Assignment, predicate string) (*updatePlan, error) {
	return e.planUpdate(ctx, d, assignments, predicate)
}

func (p *updatePlan) Replacement(ctx context.Context) (dataset.Replacement, error) {
	return p.replacement(ctx)
}

func Change[P any](ctx context.Context, t *Table, plan func(context.Context, *dataset.Dataset) (P, error), commit func(context.Context, P) (dataset.Commit, error)) (P, dataset.Commit, error) {
	return change(ctx, t, plan, commit)
}

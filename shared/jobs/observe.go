package jobs

import (
	"context"
	"time"

	"tiltyard/shared/jobs/transaction"
	"tiltyard/shared/process/tally"
	"tiltyard/shared/storage/objectstore"
)

// Ran is what one run of a job, or of a part of it, has done.
type Ran struct {
	Tenant   string   // for which the job works: see [transaction.ForTenant]
	Object   []string // id of the table or namespace that the job works on
	Duration time.Duration
	Storage  *objectstore.Usage // requests to storage
	Wrote    int64              // rows that were inserted, updated or deleted
}

// observed calls do, and reports what it has done if the job works for a tenant.
func (w *Worker) observed(ctx context.Context, r *Run, do func(context.Context) error) error {
	tenant := r.job.Work.Tenant
	ctx = transaction.ForTenant(ctx, tenant)
	if w.Observe == nil || tenant == "" {
		return do(ctx)
	}
	ran := Ran{Tenant: tenant, Object: r.job.Object, Storage: new(objectstore.Usage)}
	var counts tally.Tally
	begun := w.Now()
	err := do(tally.With(objectstore.WithTotal(ctx, ran.Storage), &counts))
	ran.Duration, ran.Wrote = w.Now().Sub(begun), counts.Rows()
	w.Observe(ran)
	return err
}

package naming

import (
	"context"
	"fmt"
	"strings"
	"time"

	"tiltyard/shared/catalog/objects"
	"tiltyard/shared/catalog/stored"
	"tiltyard/shared/process/backoff"
	"tiltyard/shared/storage/objectstore"
)

// DecisionOf reads the decision of a batch. It is undecided if there is none.
func (r *Registry) DecisionOf(ctx context.Context, batch string) (d stored.Decision, err error) {
	_, found, err := r.Store.Find(ctx, stored.BatchesPrefix+batch, &d)
	if err == nil && found {
		err = checkDecision(batch, d)
	}
	if err != nil {
		return stored.Decision{}, fmt.Errorf("read outcome of batch: %w", err)
	}
	return d, nil
}

func checkDecision(batch string, d stored.Decision) error {
	if d.Outcome != stored.Committed && d.Outcome != stored.Aborted {
		return fmt.Errorf("outcome of batch %s is %.20q; want committed or aborted", batch, d.Outcome)
	}
	return nil
}

// Decide puts the wanted decision, unless the batch has been decided before, and returns the
// outcome that counts.
func (r *Registry) Decide(ctx context.Context, batch string, want stored.Decision) (stored.Outcome, error) {
	var d stored.Decision
	err := r.Store.WriteOnce(ctx, stored.BatchesPrefix+batch, want, &d)
	if err == nil {
		err = checkDecision(batch, d)
	}
	if err != nil {
		return stored.Undecided, fmt.Errorf("decide batch: %w", err)
	}
	return d.Outcome, nil
}

// LastOf returns the decision of a committed batch with that request, or nil if there is none.
// Decisions of batches that removed tables are kept until a sweep deletes them.
func (r *Registry) LastOf(ctx context.Context, request string) (*stored.Decision, error) {
	listed, err := r.Store.List(ctx, objectstore.ListOptions{Prefix: stored.BatchesPrefix + request + "-", Limit: objects.PageSize})
	if err != nil {
		return nil, fmt.Errorf("look for the batch: %w", err)
	}
	for _, object := range listed.Objects {
		d, err := r.DecisionOf(ctx, strings.TrimPrefix(object.Key, stored.BatchesPrefix))
		if err != nil {
			return nil, err
		}
		if d.Outcome == stored.Committed {
			return &d, nil
		}
	}
	return nil, nil
}

// AwaitBatch waits for a batch that blocks the caller.
func (r *Registry) AwaitBatch(ctx context.Context, p *stored.Pending, attempt int) error {
	const longest = 100 * time.Millisecond
	left := max(0, p.Until.Sub(r.Now()))
	return backoff.Sleep(ctx, min(objects.FirstPause<<min(attempt, 10), longest, left+objects.FirstPause))
}

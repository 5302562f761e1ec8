package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"tiltyard/shared/objectstore"
)

// An outcome is how a batch ended.
type outcome string

const (
	undecided outcome = ""
	committed outcome = "committed"
	aborted   outcome = "aborted"
)

// A decision is the object that ends a batch: see batch.go.
type decision struct {
	Outcome outcome    `json:"outcome"`
	Tables  [][]string `json:"tables,omitempty"` // that the batch is about, if it committed
	// Removed are the records that went with it, for who asks for the same again.
	Removed []*tableRecord `json:"removed,omitempty"`
}

const batchesPrefix = "_batches/"

// decisionOf reads how a batch ended.
func (c *Catalog) decisionOf(ctx context.Context, batch string) (decision, error) {
	var d decision
	_, err := c.read(ctx, batchesPrefix+batch, &d)
	switch {
	case errors.Is(err, objectstore.ErrNotExist):
		return decision{}, nil
	case err != nil:
		return decision{}, fmt.Errorf("read outcome of batch: %w", err)
	case d.Outcome != committed && d.Outcome != aborted:
		return decision{}, fmt.Errorf("outcome of batch %s is %.20q", batch, d.Outcome)
	}
	return d, nil
}

// decide ends a batch as wanted, unless it has been decided before, and returns how it ended.
func (c *Catalog) decide(ctx context.Context, batch string, want decision) (outcome, error) {
	data, err := json.Marshal(want)
	if err != nil {
		return undecided, fmt.Errorf("decide batch: %w", err)
	}
	for attempt := 1; ; attempt++ {
		_, err := c.store.Put(ctx, batchesPrefix+batch, data, objectstore.Condition{IfAbsent: true})
		if err == nil {
			return want.Outcome, nil
		}
		if !errors.Is(err, objectstore.ErrPrecondition) && !errors.Is(err, objectstore.ErrUnknownOutcome) {
			return undecided, fmt.Errorf("decide batch: %w", err)
		}
		got, read := c.decisionOf(ctx, batch)
		if got.Outcome != undecided {
			return got.Outcome, nil
		}
		if read != nil || attempt == settleAttempts {
			return undecided, unsettled(errors.Join(err, read))
		}
	}
}

// lastOf returns the decision of a batch of that request that was committed, or nil. Batches
// of requests that removed tables are known until a sweep forgets them.
func (c *Catalog) lastOf(ctx context.Context, request string) (*decision, error) {
	listed, err := c.store.List(ctx, objectstore.ListOptions{Prefix: batchesPrefix + request + "-", Limit: listPageSize})
	if err != nil {
		return nil, fmt.Errorf("look for the batch: %w", err)
	}
	for _, object := range listed.Objects {
		d, err := c.decisionOf(ctx, strings.TrimPrefix(object.Key, batchesPrefix))
		if err != nil {
			return nil, err
		}
		if d.Outcome == committed {
			return &d, nil
		}
	}
	return nil, nil
}

// awaitBatch waits for a batch that a writer cannot go past.
func (c *Catalog) awaitBatch(ctx context.Context, p *pending, attempt int) error {
	const longest = 100 * time.Millisecond
	left := max(0, p.Until.Sub(c.now()))
	return sleep(ctx, min(dropPause<<min(attempt, 10), longest, left+dropPause))
}

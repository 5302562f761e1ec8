// Package tally counts the work of a request, or of a run of a job, where it is done, for quotas and for the metering of
// usage: the rows that its commits wrote, and the jobs that it began. It also has the number of parts of a query that
// quotas allow at once. Requests to storage are counted by package objectstore.
package tally

import (
	"context"
	"sync/atomic"
)

// A Tally has the counts of one request or run. It is safe for concurrent use.
type Tally struct{ rows, jobs, parts atomic.Int64 }

// Rows returns the number of rows that were inserted, updated or deleted.
func (t *Tally) Rows() int64 { return t.rows.Load() }

// Jobs returns the number of jobs that were begun.
func (t *Tally) Jobs() int64 { return t.jobs.Load() }

// LimitParts bounds the parts of a query of the request that run at once. Of several bounds, the least applies.
func (t *Tally) LimitParts(most int64) {
	if now := t.parts.Load(); now == 0 || most < now {
		t.parts.Store(most)
	}
}

// MostParts returns the bound of the parts that run at once, or 0 if there is none.
func MostParts(ctx context.Context) int64 {
	if t, ok := ctx.Value(key{}).(*Tally); ok {
		return t.parts.Load()
	}
	return 0
}

type key struct{}

// With returns a context whose work is counted in t.
func With(ctx context.Context, t *Tally) context.Context { return context.WithValue(ctx, key{}, t) }

// AddRows counts rows that a commit wrote. Without a tally in the context it does nothing.
func AddRows(ctx context.Context, n int64) {
	if t, ok := ctx.Value(key{}).(*Tally); ok {
		t.rows.Add(n)
	}
}

// AddJob counts a job that was begun.
func AddJob(ctx context.Context) {
	if t, ok := ctx.Value(key{}).(*Tally); ok {
		t.jobs.Add(1)
	}
}

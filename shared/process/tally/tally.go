// Package tally counts the work of a request, or of a run of a job, where it is done, for quotas and for the metering of
// usage: the rows that its commits wrote, and the jobs that it began. Requests to storage are counted by package
// objectstore.
package tally

import (
	"context"
	"sync/atomic"
)

// A Tally has the counts of one request or run. It is safe for concurrent use.
type Tally struct{ rows, jobs atomic.Int64 }

// Rows returns the number of rows that were inserted, updated or deleted.
func (t *Tally) Rows() int64 { return t.rows.Load() }

// Jobs returns the number of jobs that were begun.
func (t *Tally) Jobs() int64 { return t.jobs.Load() }

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

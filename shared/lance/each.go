package lance

import (
	"context"

	"golang.org/x/sync/errgroup"
)

// Each calls f with the numbers [0, n), at most limit in parallel, and returns the first error.
// Their context ends with it. A single call runs without a goroutine.
func Each(ctx context.Context, n, limit int, f func(ctx context.Context, i int) error) error {
	contained := func(ctx context.Context, i int) (err error) {
		defer Contain(func(e error) { err = e })
		return f(ctx, i)
	}
	if n == 1 {
		return contained(ctx, 0)
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(limit)
	for i := range n {
		group.Go(func() error { return contained(ctx, i) })
	}
	return group.Wait()
}

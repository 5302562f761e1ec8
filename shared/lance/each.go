package lance

import (
	"context"

	"golang.org/x/sync/errgroup"
)

// Each calls f with the numbers from 0 to before n, side by side and at most limit at a time, and returns
// the first error. The context of the calls ends with it. A single call needs no goroutine, and has none.
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

package objectstore

import "context"

type passingKey struct{}

// Passing returns a context for reads of bytes that nobody is likely to read again soon, such as those of a job
// or of a scan of a large table. Stores that keep what was read neither keep these bytes nor look for them.
func Passing(ctx context.Context) context.Context { return context.WithValue(ctx, passingKey{}, true) }

// IsPassing reports whether the bytes of a read should not be kept.
func IsPassing(ctx context.Context) bool {
	passing, _ := ctx.Value(passingKey{}).(bool)
	return passing
}

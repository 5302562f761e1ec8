package objectstore

import (
	"context"
	"errors"
	"sync/atomic"
)

// Usage counts the requests to stores for one purpose. It is safe for concurrent use.
type Usage struct{ reads, read, writes, written, kept atomic.Int64 }

// Requests returns the number of read requests: one per range, as with S3, and one per page of a
// listing.
func (u *Usage) Requests() int64 { return u.reads.Load() }

// Bytes returns the number of bytes that were read from objects.
func (u *Usage) Bytes() int64 { return u.read.Load() }

// Writes returns the number of requests that write or delete. A streamed write counts once, whatever the
// number of its parts.
func (u *Usage) Writes() int64 { return u.writes.Load() }

// Written returns the number of bytes in write requests, including failed ones.
func (u *Usage) Written() int64 { return u.written.Load() }

// Kept returns the number of ranges that were found in a range cache, so that their store got no request.
func (u *Usage) Kept() int64 { return u.kept.Load() }

func (u *Usage) add(read bool, requests, bytes int) {
	if read {
		u.reads.Add(int64(requests))
		u.read.Add(int64(bytes))
	} else {
		u.writes.Add(int64(requests))
		u.written.Add(int64(bytes))
	}
}

type usageKey struct{}

type totalKey struct{}

// WithUsage returns a context that makes the stores of [Counting] count in u, and no longer in the
// usage of the outer context.
func WithUsage(ctx context.Context, u *Usage) context.Context {
	return context.WithValue(ctx, usageKey{}, u)
}

// WithTotal returns a context in which requests are also counted in total, even if a derived context has a
// usage of its own.
func WithTotal(ctx context.Context, total *Usage) context.Context {
	return context.WithValue(ctx, totalKey{}, total)
}

// Count adds requests, successful or failed, to the usages of a context. The stores of [Counting] call it;
// other code calls it for other remote requests.
func Count(ctx context.Context, read bool, requests, bytes int) {
	countersOf(ctx).add(read, requests, bytes)
}

// CountKept adds ranges that were found in a range cache to the usages of a context.
func CountKept(ctx context.Context, ranges int) {
	c := countersOf(ctx)
	for _, u := range []*Usage{c.usage, c.total} {
		if u != nil {
			u.kept.Add(int64(ranges))
		}
	}
}

// counters are the usages of a context. Either may be nil.
type counters struct{ usage, total *Usage }

func countersOf(ctx context.Context) counters {
	usage, _ := ctx.Value(usageKey{}).(*Usage)
	total, _ := ctx.Value(totalKey{}).(*Usage)
	return counters{usage, total}
}

func (c counters) add(read bool, requests, bytes int) {
	if c.usage != nil {
		c.usage.add(read, requests, bytes)
	}
	if c.total != nil {
		c.total.add(read, requests, bytes)
	}
}

// Counting returns a store that counts the requests to s for [WithUsage] and [WithTotal]. If s does so, or wraps a
// store that does, it is s itself.
func Counting(s Store) Store {
	for inner := s; ; {
		if _, ok := inner.(counting); ok {
			return s
		}
		w, ok := inner.(Wrapper)
		if !ok {
			return counting{s}
		}
		inner = w.Unwrap()
	}
}

type counting struct{ Store }

// ReadGap implements [Gapper] as the inner store does.
func (c counting) ReadGap() int64 { return ReadGap(c.Store) }

// Unwrap implements [Wrapper].
func (c counting) Unwrap() Store { return c.Store }

// CopyFrom implements [Copier] with the inner store. A copy counts as one write of no bytes.
func (c counting) CopyFrom(ctx context.Context, from Store, was Info, key string) error {
	err := CopyWithin(ctx, from, was, c.Store, key)
	if !errors.Is(err, errors.ErrUnsupported) {
		Count(ctx, false, 1, 0)
	}
	return err
}

// Writable implements [Writable] as the inner store does.
func (c counting) Writable(ctx context.Context) error { return Writable(ctx, c.Store) }

func (c counting) Get(ctx context.Context, key string) ([]byte, Info, error) {
	data, info, err := c.Store.Get(ctx, key)
	Count(ctx, true, 1, len(data))
	return data, info, err
}

func (c counting) GetRanges(ctx context.Context, key string, ranges ...Range) ([][]byte, Info, error) {
	parts, info, err := c.Store.GetRanges(ctx, key, ranges...)
	bytes := 0
	for _, part := range parts {
		bytes += len(part)
	}
	Count(ctx, true, max(1, len(ranges)), bytes)
	return parts, info, err
}

func (c counting) List(ctx context.Context, opts ListOptions) (ListPage, error) {
	page, err := c.Store.List(ctx, opts)
	Count(ctx, true, 1, 0)
	return page, err
}

func (c counting) Put(ctx context.Context, key string, data []byte, cond Condition) (Info, error) {
	info, err := c.Store.Put(ctx, key, data, cond)
	Count(ctx, false, 1, len(data))
	return info, err
}

func (c counting) Delete(ctx context.Context, key string, cond Condition) error {
	err := c.Store.Delete(ctx, key, cond)
	Count(ctx, false, 1, 0)
	return err
}

func (c counting) Create(ctx context.Context, key string) (Writer, error) {
	w, err := c.Store.Create(ctx, key)
	if err != nil {
		return nil, err
	}
	return &countingWriter{Writer: w, counters: countersOf(ctx)}, nil
}

// countingWriter counts at the commit, because an aborted write stores nothing.
type countingWriter struct {
	Writer
	counters counters
	bytes    int
}

func (w *countingWriter) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	w.bytes += n
	return n, err
}

func (w *countingWriter) Commit() (Info, error) {
	w.counters.add(false, 1, w.bytes)
	return w.Writer.Commit()
}

package objectstore

import (
	"context"
	"sync/atomic"
)

// Usage counts what was asked of stores for one purpose. It is safe for concurrent use.
type Usage struct{ reads, read, writes, written atomic.Int64 }

// Requests returns the number of requests to read: one for each range, as with S3, and one
// for each page of a listing.
func (u *Usage) Requests() int64 { return u.reads.Load() }

// Bytes returns the number of bytes that were read of objects.
func (u *Usage) Bytes() int64 { return u.read.Load() }

// Writes returns the number of requests to write or to delete. A streamed write is one,
// however many parts a store may send it in.
func (u *Usage) Writes() int64 { return u.writes.Load() }

// Written returns the number of bytes that were to be written.
func (u *Usage) Written() int64 { return u.written.Load() }

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

// WithUsage returns a context in which what is asked of a store that [Counting] returned
// is counted, in place of the usage of the context around it.
func WithUsage(ctx context.Context, u *Usage) context.Context {
	return context.WithValue(ctx, usageKey{}, u)
}

// WithTotal returns a context in which the same is counted in total, whatever usages
// further in count it for.
func WithTotal(ctx context.Context, total *Usage) context.Context {
	return context.WithValue(ctx, totalKey{}, total)
}

// Count notes requests, answered or failed, for those who want to know. Stores that
// [Counting] returned do so; it is for others that a request waits for.
func Count(ctx context.Context, read bool, requests, bytes int) {
	countersOf(ctx).add(read, requests, bytes)
}

// counters are the usages of a context; those that no caller asked for are nil.
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

// Counting returns the store, which counts what is asked of it for those who want to know
// by [WithUsage] and [WithTotal].
func Counting(s Store) Store {
	if _, ok := s.(counting); ok {
		return s
	}
	return counting{s}
}

type counting struct{ Store }

// ReadGap implements [Gapper] as the inner store does.
func (c counting) ReadGap() int64 { return ReadGap(c.Store) }

// Writable answers as the inner store does.
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

// countingWriter counts when it commits: what is aborted is nothing that was stored.
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

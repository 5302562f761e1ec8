// Package traced wraps stores of objects, stores of records and queues of jobs, to make spans for their requests. A
// program without traces does not use it.
package traced

import (
	"context"
	"errors"

	"tiltyard/shared/process/tracing"
	"tiltyard/shared/storage/objectstore"
)

// Store returns a store that makes a span for each call of s. root is the store's URI, for the
// spans.
func Store(s objectstore.Store, root string) objectstore.Store { return &store{s, root} }

// A store makes spans for the requests to a store of objects.
type store struct {
	objectstore.Store
	root string
}

// Unwrap implements [objectstore.Wrapper].
func (s *store) Unwrap() objectstore.Store { return s.Store }

// ReadGap implements [objectstore.Gapper] as the inner store does.
func (s *store) ReadGap() int64 { return objectstore.ReadGap(s.Store) }

// Writable returns the result of the inner store.
func (s *store) Writable(ctx context.Context) error { return objectstore.Writable(ctx, s.Store) }

// start starts the span of a request.
func (s *store) start(ctx context.Context, name, key string) (context.Context, *tracing.Span) {
	ctx, span := tracing.Start(ctx, "store "+name, tracing.Client)
	span.Text("store.root", s.root)
	span.Text("store.key", key)
	return ctx, span
}

func (s *store) Get(ctx context.Context, key string) ([]byte, objectstore.Info, error) {
	ctx, span := s.start(ctx, "get", key)
	data, info, err := s.Store.Get(ctx, key)
	span.Number("store.bytes", int64(len(data)))
	end(span, err)
	return data, info, err
}

func (s *store) GetRanges(ctx context.Context, key string, ranges ...objectstore.Range) ([][]byte, objectstore.Info, error) {
	ctx, span := s.start(ctx, "get ranges", key)
	parts, info, err := s.Store.GetRanges(ctx, key, ranges...)
	bytes := 0
	for _, part := range parts {
		bytes += len(part)
	}
	span.Number("store.ranges", int64(len(ranges)))
	span.Number("store.bytes", int64(bytes))
	end(span, err)
	return parts, info, err
}

func (s *store) List(ctx context.Context, opts objectstore.ListOptions) (objectstore.ListPage, error) {
	ctx, span := s.start(ctx, "list", opts.Prefix)
	page, err := s.Store.List(ctx, opts)
	span.Number("store.keys", int64(len(page.Objects)+len(page.Prefixes)))
	end(span, err)
	return page, err
}

func (s *store) Put(ctx context.Context, key string, data []byte, cond objectstore.Condition) (objectstore.Info, error) {
	ctx, span := s.start(ctx, "put", key)
	span.Number("store.bytes", int64(len(data)))
	info, err := s.Store.Put(ctx, key, data, cond)
	end(span, err)
	return info, err
}

func (s *store) Delete(ctx context.Context, key string, cond objectstore.Condition) error {
	ctx, span := s.start(ctx, "delete", key)
	err := s.Store.Delete(ctx, key, cond)
	end(span, err)
	return err
}

// CopyFrom implements [objectstore.Copier] as the inner store does.
func (s *store) CopyFrom(ctx context.Context, from objectstore.Store, was objectstore.Info, key string) error {
	ctx, span := s.start(ctx, "copy", key)
	span.Number("store.bytes", was.Size)
	err := objectstore.CopyWithin(ctx, from, was, s.Store, key)
	end(span, err)
	return err
}

// Create starts a streamed write. The span ends when the writer is closed.
func (s *store) Create(ctx context.Context, key string) (objectstore.Writer, error) {
	ctx, span := s.start(ctx, "write", key)
	w, err := s.Store.Create(ctx, key)
	if err != nil {
		end(span, err)
		return nil, err
	}
	return &writer{Writer: w, span: span}, nil
}

// A writer ends its span when the object is committed or aborted.
type writer struct {
	objectstore.Writer
	span  *tracing.Span
	bytes int64
}

func (w *writer) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	w.bytes += int64(n)
	return n, err
}

func (w *writer) Commit() (objectstore.Info, error) {
	info, err := w.Writer.Commit()
	w.end(err)
	return info, err
}

func (w *writer) Abort() error {
	err := w.Writer.Abort()
	w.end(err)
	return err
}

// end ends the span. It does nothing after the first call.
func (w *writer) end(err error) {
	w.span.Number("store.bytes", w.bytes)
	end(w.span, err)
}

// end ends the span of a call. A missing object and a failed precondition are regular answers, so the span does not count
// as failed.
func end(span *tracing.Span, err error) {
	defer span.End()
	switch {
	case err == nil:
	case errors.Is(err, objectstore.ErrNotExist):
		span.Text("store.outcome", "missing")
	case errors.Is(err, objectstore.ErrUnknownOutcome):
		span.Fail("unknown outcome")
	case errors.Is(err, objectstore.ErrPrecondition):
		span.Text("store.outcome", "precondition failed")
	default:
		span.Fail(why(err))
	}
}

// why returns a word for an error. The text of the error is not used, because it may quote
// confidential values.
func why(err error) string {
	switch {
	case errors.Is(err, context.Canceled):
		return "cancelled"
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	}
	return "failed"
}

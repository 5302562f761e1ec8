package traced

import (
	"context"
	"errors"
	"strings"

	"tiltyard/shared/process/tracing"
	"tiltyard/shared/storage/record"
)

// Records returns a store that makes a span for each call of s. The spans contain the kind of a record, but not its key,
// because clients choose a part of it.
func Records(s record.Store) record.Store { return records{s} }

// records makes spans for the requests to a store of records.
type records struct{ record.Store }

// startRecord starts the span of a request for a record or a folder. It contains the first part of the
// key only.
func startRecord(ctx context.Context, name, key string) (context.Context, *tracing.Span) {
	ctx, span := tracing.Start(ctx, "records "+name, tracing.Client)
	kind, _, _ := strings.Cut(key, "/")
	span.Text("record.kind", kind)
	return ctx, span
}

func (s records) Get(ctx context.Context, key string) (record.Record, error) {
	ctx, span := startRecord(ctx, "get", key)
	r, err := s.Store.Get(ctx, key)
	endRecord(span, err)
	return r, err
}

func (s records) Put(ctx context.Context, r record.Record) (version string, err error) {
	ctx, span := startRecord(ctx, "put", r.Key)
	version, err = s.Store.Put(ctx, r)
	endRecord(span, err)
	return version, err
}

func (s records) Delete(ctx context.Context, key, version string) error {
	ctx, span := startRecord(ctx, "delete", key)
	err := s.Store.Delete(ctx, key, version)
	endRecord(span, err)
	return err
}

func (s records) List(ctx context.Context, folder, after string, limit int) (record.Page, error) {
	ctx, span := startRecord(ctx, "list", folder)
	page, err := s.Store.List(ctx, folder, after, limit)
	span.Number("record.count", int64(len(page.Records)))
	endRecord(span, err)
	return page, err
}

// endRecord ends the span of a call. That a record is missing or has changed is an answer and no failure.
func endRecord(span *tracing.Span, err error) {
	defer span.End()
	switch {
	case err == nil:
	case errors.Is(err, record.ErrNotExist):
		span.Text("record.outcome", "missing")
	case errors.Is(err, record.ErrConflict):
		span.Text("record.outcome", "conflict")
	case errors.Is(err, record.ErrUnknownOutcome):
		span.Fail("unknown outcome")
	default:
		span.Fail(why(err))
	}
}

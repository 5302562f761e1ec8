package client

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/dataapi"
)

const (
	// defaultPartBytes is the size of a part in memory.
	defaultPartBytes = 64 << 20
	// partsAtOnce bounds the parts sent in parallel. Meanwhile the next one is read.
	partsAtOnce = 2
	// abortTime bounds the abort of an upload, which continues after the context has ended.
	abortTime = 10 * time.Second
)

// InsertInParts inserts any number of rows, also from a [Source] that can be read only once. It
// reads parts of about partBytes, or 64 MiB if that is 0, and keeps at most three in memory.
//
// Rows that fill more than one part are sent as a multipart write. The client repeats a part whose
// answer was lost, and splits a part that is too large for a request. All parts become one version,
// in the order of the source, or none do. If the call fails, the same call within 15 minutes adds
// the rows once, even if the first one has added them but lost the answer.
//
// If the server has no multipart writes, all rows go into one request.
func (c *Client) InsertInParts(ctx context.Context, req *dataapi.InsertRequest, rows Source, partBytes int64) (*dataapi.InsertResponse, error) {
	r := &partReader{schema: rows.Schema}
	r.partBytes.Store(cmp.Or(partBytes, defaultPartBytes))
	batches := rows.Batches
	if batches == nil {
		batches = func(func(arrow.RecordBatch, error) bool) {}
	}
	var stop func()
	r.next, stop = iter.Pull2(batches)
	defer stop()
	first, err := r.part()
	if err != nil {
		return nil, err
	}
	// One part is enough, unless the server refuses its size.
	if r.ended {
		answer, err := c.InsertIntoTable(ctx, req, first.source(r.schema))
		if !isTooLarge(err) {
			return answer, err
		}
	}
	begun, err := c.CreateMultipartWrite(ctx, &dataapi.CreateMultipartWriteRequest{Common: req.Common, Branch: req.Branch})
	if isUnserved(err) {
		return c.InsertIntoTable(ctx, req, r.rest(first))
	}
	if err != nil {
		return nil, err
	}
	w := &multipartWrite{client: c, req: *req, reader: r, seed: uuid.New()}
	w.req.UploadID = begun.UploadID
	answer, err := w.send(ctx, first)
	if err != nil {
		w.abort(ctx)
	}
	return answer, err
}

// isUnserved reports whether an error means that the server lacks the operation.
func isUnserved(err error) bool {
	var refusal *Error
	return errors.As(err, &refusal) && (protocol.HasCode(err, protocol.Unsupported) ||
		refusal.Status == http.StatusNotFound && protocol.HasCode(err, protocol.Internal)) // the latter comes from a server other than Tiltyard
}

// isTooLarge reports whether an error means that the body exceeds the server's limit.
func isTooLarge(err error) bool {
	var refusal *Error
	return errors.As(err, &refusal) && refusal.Status == http.StatusRequestEntityTooLarge
}

// A partReader divides rows into parts.
type partReader struct {
	schema    *arrow.Schema
	partBytes atomic.Int64
	next      func() (arrow.RecordBatch, error, bool)
	ahead     arrow.RecordBatch // read, but not in a part yet
	ended     bool              // the source has no more rows
}

// part returns the next rows, of about partBytes.
func (r *partReader) part() (*rowsPart, error) {
	part := new(rowsPart)
	for size := int64(0); ; {
		if r.ahead != nil {
			size += sizeOf(r.ahead)
			part.batches, r.ahead = append(part.batches, r.ahead), nil
		}
		batch, err, ok := r.next()
		switch {
		case err != nil:
			return nil, fmt.Errorf("the rows to send: %w", err)
		case !ok:
			r.ended = true
			return part, nil
		}
		batch.Retain() // the source may release it before it is sent
		if r.ahead = batch; size >= r.partBytes.Load() {
			return part, nil
		}
	}
}

// rest returns a source of a part and all rows after it. It can be read once.
func (r *partReader) rest(part *rowsPart) Source {
	return Source{Schema: r.schema, Once: true, Batches: func(yield func(arrow.RecordBatch, error) bool) {
		for _, batch := range part.batches {
			if !yield(batch, nil) {
				return
			}
		}
		if r.ahead != nil && !yield(r.ahead, nil) {
			return
		}
		for batch, err, ok := r.next(); ok; batch, err, ok = r.next() {
			if !yield(batch, err) || err != nil {
				return
			}
		}
	}}
}

// A rowsPart is a part in memory.
type rowsPart struct{ batches []arrow.RecordBatch }

func (p *rowsPart) source(schema *arrow.Schema) Source { return Batches(schema, p.batches...) }

func (p *rowsPart) rows() (rows int64) {
	for _, batch := range p.batches {
		rows += batch.NumRows()
	}
	return rows
}

func (p *rowsPart) size() (size int64) {
	for _, batch := range p.batches {
		size += sizeOf(batch)
	}
	return size
}

// sizeOf returns the memory in bytes of a batch's columns.
func sizeOf(batch arrow.RecordBatch) (size int64) {
	for _, column := range batch.Columns() {
		size += int64(column.Data().SizeInBytes())
	}
	return size
}

// halves splits the rows in two parts.
func (p *rowsPart) halves() (first, second *rowsPart) {
	first, second = new(rowsPart), new(rowsPart)
	left := p.rows() / 2
	for _, batch := range p.batches {
		cut := min(left, batch.NumRows())
		left -= cut
		if cut > 0 {
			first.batches = append(first.batches, batch.NewSlice(0, cut))
		}
		if cut < batch.NumRows() {
			second.batches = append(second.batches, batch.NewSlice(cut, batch.NumRows()))
		}
	}
	return first, second
}

// largest describes the longest text or binary of the first row, for an error.
func (p *rowsPart) largest() string {
	most, name := -1, ""
	for _, batch := range p.batches {
		for i, column := range batch.Columns() {
			if values, ok := column.(interface{ ValueLen(i int) int }); ok && batch.NumRows() > 0 && values.ValueLen(0) > most {
				most, name = values.ValueLen(0), batch.ColumnName(i)
			}
		}
	}
	if most < 0 {
		return "one row"
	}
	return fmt.Sprintf("one row, whose column %s has %d bytes", name, most)
}

// A multipartWrite is a multipart write that has begun.
type multipartWrite struct {
	client *Client
	req    dataapi.InsertRequest
	reader *partReader
	seed   uuid.UUID
	rows   atomic.Int64 // number of rows that the server has accepted
}

// send sends the first part and all following ones, and completes the write.
func (w *multipartWrite) send(ctx context.Context, first *rowsPart) (*dataapi.InsertResponse, error) {
	// Parts are read in this goroutine and sent in others. SetLimit keeps at most partsAtOnce in flight.
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(partsAtOnce)
	var failed error
	for number, next := uint64(0), first; ; number++ {
		this := next
		group.Go(func() error { return w.sendPart(within, number<<32, 1<<32, this) })
		// After a failed part the write cannot succeed, so read no further ones.
		if w.reader.ended || within.Err() != nil {
			break
		}
		if next, failed = w.reader.part(); failed != nil {
			break
		}
	}
	if err := cmp.Or(group.Wait(), failed); err != nil {
		return nil, err
	}
	done, err := w.client.CompleteMultipartWrite(ctx, w.end())
	if err != nil {
		return nil, err
	}
	return &dataapi.InsertResponse{TransactionID: done.TransactionID, NumInsertedRows: w.rows.Load(), Version: done.Version}, nil
}

// sendPart sends a part until the server has accepted it, under an id that makes repetitions safe.
// The server orders the rows by the ids of their parts. The part may use the width numbers from at
// on, so that the halves of a split part have ids in order.
func (w *multipartWrite) sendPart(ctx context.Context, at, width uint64, rows *rowsPart) error {
	id := w.seed
	binary.BigEndian.PutUint64(id[:], at)
	req := w.req
	req.UploadPartID = id.String()
	call, err := w.client.newCall("InsertIntoTable", &req)
	if err != nil {
		return err
	}
	source := rows.source(w.reader.schema)
	call.rows, call.repeatable = &source, true
	taken, err := askCall[dataapi.InsertResponse](ctx, call)
	if isTooLarge(err) && rows.rows() > 1 && width > 1 {
		w.reader.partBytes.Store(max(rows.size()/2, 1))
		first, second := rows.halves()
		if err := w.sendPart(ctx, at, width/2, first); err != nil {
			return err
		}
		return w.sendPart(ctx, at+width/2, width/2, second)
	}
	if isTooLarge(err) && rows.rows() == 1 {
		return fmt.Errorf("%s: %w", rows.largest(), err)
	}
	if err == nil && taken != nil {
		w.rows.Add(taken.NumInsertedRows)
	}
	return err
}

// abort aborts the write. It ignores its own error, because the caller returns the error that
// caused the abort.
func (w *multipartWrite) abort(ctx context.Context) {
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), abortTime)
	defer done()
	_, _ = w.client.AbortMultipartWrite(ctx, w.end())
}

// end returns the request that completes or aborts the write.
func (w *multipartWrite) end() *dataapi.EndMultipartWriteRequest {
	return &dataapi.EndMultipartWriteRequest{Common: w.req.Common, Branch: w.req.Branch, UploadID: w.req.UploadID}
}

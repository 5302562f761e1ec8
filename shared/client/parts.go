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
)

const (
	// defaultPartBytes is the size of a part in memory.
	defaultPartBytes = 64 << 20
	// partsAtOnce is how many parts are sent at a time. The next one is read meanwhile.
	partsAtOnce = 2
	// abortTime is how long the abort of an upload may take, also after the end of the context.
	abortTime = 10 * time.Second
)

// InsertInParts is InsertIntoTable for any number of rows, also of a [Source] that can be read once.
// It reads parts of about partBytes, 64 MiB if that is 0, and holds three of them at most. Rows that
// fill more than one are sent as a multipart write: a part whose answer is lost is sent again alone,
// and all parts become one version, in the order of the source, or none. If that fails, the same
// call within 15 minutes adds the rows once, even if the first one has added them without an answer.
//
// The rows of a server without multipart writes go in one request.
func (c *Client) InsertInParts(ctx context.Context, req *protocol.InsertIntoTableRequest, rows Source, partBytes int64) (*protocol.InsertIntoTableResponse, error) {
	r := &partReader{schema: rows.Schema, partBytes: cmp.Or(partBytes, defaultPartBytes)}
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
	if r.ended {
		return c.InsertIntoTable(ctx, req, first)
	}
	begun, err := c.CreateMultipartWrite(ctx, &protocol.CreateMultipartWriteRequest{Common: req.Common, Branch: req.Branch})
	if isUnserved(err) {
		return c.InsertIntoTable(ctx, req, r.rest(first))
	}
	if err != nil {
		return nil, err
	}
	w := &multipartWrite{client: c, req: *req}
	w.req.UploadID = begun.UploadID
	answer, err := w.send(ctx, first, r)
	if err != nil {
		w.abort(ctx)
	}
	return answer, err
}

// isUnserved reports whether a server does not have the operation.
func isUnserved(err error) bool {
	var refusal *Error
	return errors.As(err, &refusal) && (protocol.HasCode(err, protocol.Unsupported) ||
		refusal.Status == http.StatusNotFound && protocol.HasCode(err, protocol.Internal)) // the latter is no server of ours
}

// A partReader divides rows into parts.
type partReader struct {
	schema    *arrow.Schema
	partBytes int64
	next      func() (arrow.RecordBatch, error, bool)
	ahead     arrow.RecordBatch // read, and in no part yet
	ended     bool              // there are no more rows
}

// part returns the next rows, in memory.
func (r *partReader) part() (Source, error) {
	var batches []arrow.RecordBatch
	for size := int64(0); ; {
		if r.ahead != nil {
			size += sizeOf(r.ahead)
			batches, r.ahead = append(batches, r.ahead), nil
		}
		batch, err, ok := r.next()
		switch {
		case err != nil:
			return Source{}, fmt.Errorf("the rows to send: %w", err)
		case !ok:
			r.ended = true
			return Batches(r.schema, batches...), nil
		}
		batch.Retain() // the source may release it before it is sent
		if r.ahead = batch; size >= r.partBytes {
			return Batches(r.schema, batches...), nil
		}
	}
}

// sizeOf returns how much memory a batch takes.
func sizeOf(batch arrow.RecordBatch) (size int64) {
	for _, column := range batch.Columns() {
		size += int64(column.Data().SizeInBytes())
	}
	return size
}

// rest returns a part and all rows after it.
func (r *partReader) rest(part Source) Source {
	return Source{Schema: r.schema, Once: true, Batches: func(yield func(arrow.RecordBatch, error) bool) {
		for batch := range part.Batches {
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

// A multipartWrite is one that has begun.
type multipartWrite struct {
	client *Client
	req    protocol.InsertIntoTableRequest
	rows   atomic.Int64 // that the server has taken
}

// send sends all parts, of which the first one is read, and completes the write.
func (w *multipartWrite) send(ctx context.Context, part Source, r *partReader) (*protocol.InsertIntoTableResponse, error) {
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(partsAtOnce)
	var failed error
	for id, number := uuid.New(), uint32(0); ; number++ {
		// A server orders the rows by the ids of their parts.
		binary.BigEndian.PutUint32(id[:], number)
		this := part
		group.Go(func() error { return w.sendPart(within, id.String(), this) })
		if r.ended || within.Err() != nil {
			break
		}
		if part, failed = r.part(); failed != nil {
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
	return &protocol.InsertIntoTableResponse{TransactionID: done.TransactionID, NumInsertedRows: w.rows.Load(), Version: done.Version}, nil
}

// sendPart sends a part until the server has it. Its id makes each repetition safe.
func (w *multipartWrite) sendPart(ctx context.Context, id string, rows Source) error {
	req := w.req
	req.UploadPartID = id
	call, err := w.client.newCall("InsertIntoTable", &req)
	if err != nil {
		return err
	}
	call.rows, call.repeatable = &rows, true
	taken, err := askCall[protocol.InsertIntoTableResponse](ctx, call)
	if err == nil && taken != nil {
		w.rows.Add(taken.NumInsertedRows)
	}
	return err
}

// abort gives up the write. The error that is the reason for it says more than one of the abort.
func (w *multipartWrite) abort(ctx context.Context) {
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), abortTime)
	defer done()
	_, _ = w.client.AbortMultipartWrite(ctx, w.end())
}

func (w *multipartWrite) end() *protocol.EndMultipartWriteRequest {
	return &protocol.EndMultipartWriteRequest{Common: w.req.Common, Branch: w.req.Branch, UploadID: w.req.UploadID}
}

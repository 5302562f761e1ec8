package httpapi

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/arrow/arrowipc"
	"tiltyard/shared/catalog/result"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/protocol/queryapi"
)

// ResultHeader is the header by which a client chooses to download an answer with rows from
// storage, because the response may be limited in size or in time.
const ResultHeader = "X-Tiltyard-Result"

// A delivery is the way of an answer with rows to its client.
type delivery string

const (
	direct delivery = "" // in the response
	// redirect serves clients that follow redirects but do not support stored answers. A short answer
	// is in the response; for a longer one the response redirects to the stored answer.
	redirect delivery = "redirect"
	// link answers with a [queryapi.StoredResult], however short the rows are.
	link delivery = "link"
)

// directBytes is the maximum size of an answer in the response itself. Every gateway of a function
// accepts it.
const directBytes = 4 << 20

// delivery returns the value of the header of a request.
func (c *call) delivery() (delivery, error) {
	switch asked := delivery(strings.ToLower(c.r.Header.Get(ResultHeader))); {
	case asked == direct:
		return direct, nil
	case asked != redirect && asked != link:
		return direct, protocol.Errorf(protocol.InvalidInput, "header %s is %.40q; it must be redirect or link", strings.ToLower(ResultHeader), asked)
	case !strings.Contains(c.match.operation.Path, "{id}"):
		return direct, protocol.Errorf(protocol.InvalidInput, "%s stores no results; leave out the header %s", c.match.operation.Name, strings.ToLower(ResultHeader))
	case c.Results == nil:
		return direct, protocol.Errorf(protocol.InvalidInput, "this server stores no results; leave out the header %s", strings.ToLower(ResultHeader))
	default:
		return asked, nil
	}
}

// storeRows writes batches to storage and answers where they are. An error leaves nothing behind and
// is an error response.
func (c *call) storeRows(rows *protocol.Rows, form arrowForm, asked delivery) error {
	kept := &keptAnswer{call: c, kind: result.File}
	if form.contentType == arrowipc.ContentTypeStream {
		kept.kind = result.Stream
	}
	if asked == redirect {
		kept.room = directBytes
	}
	defer kept.drop()
	if err := c.keepRows(kept, rows, form); err != nil {
		return err
	}
	if kept.out == nil && asked == redirect {
		if version := versionOf(rows); version != "" {
			c.w.Header().Set(versionHeader, version)
		}
		c.w.Header().Set("Content-Type", form.contentType)
		c.w.Header().Set("Content-Length", strconv.Itoa(len(kept.held)))
		_, _ = c.w.Write(kept.held) // an error means that the client has disconnected
		return nil
	}
	made, err := kept.commit()
	if err != nil {
		return err
	}
	answer := &queryapi.StoredResult{
		ID: made.ID, Location: made.Location, ExpiresAtMillis: made.Expires.UnixMilli(),
		ContentType: form.contentType, Rows: c.rows, Bytes: made.Size, Version: rows.Version,
	}
	at, expires, err := c.Results.URL(c.ctx(), made, form.contentType)
	if err != nil {
		return err
	}
	if answer.URL = at; at == "" {
		answer.URL = c.resultPath(made.ID)
	} else {
		answer.URLExpiresAtMillis = expires.UnixMilli()
	}
	r, err := c.encode(answer)
	if err != nil {
		return err
	}
	r.header["Cache-Control"] = "no-store"
	if asked == redirect {
		r.status, r.header["Location"] = http.StatusSeeOther, answer.URL
	}
	c.send(r)
	return nil
}

// keepRows writes batches in an Arrow form.
func (c *call) keepRows(kept io.Writer, rows *protocol.Rows, form arrowForm) error {
	buffer := buffers.Get().(*bufio.Writer)
	buffer.Reset(kept)
	defer func() {
		buffer.Reset(io.Discard)
		buffers.Put(buffer)
	}()
	file, err := form.writer(buffer, rows.Schema)
	if err != nil {
		return fmt.Errorf("open the Arrow result: %w", err)
	}
	for batch, err := range rows.Batches {
		if err == nil {
			err = c.keepBatch(file, batch)
		}
		if err != nil {
			return err
		}
	}
	if err := file.Close(); err != nil {
		return err
	}
	return buffer.Flush()
}

func (c *call) keepBatch(file rowsWriter, batch arrow.RecordBatch) error {
	c.rows += batch.NumRows()
	return file.Write(batch)
}

// resultPath returns the path of a stored answer relative to the path of the request, because
// proxies may have changed the prefix of both.
func (c *call) resultPath(id string) string {
	path := "result/" + id
	if strings.HasSuffix(c.r.URL.Path, "/") {
		path = "../" + path
	}
	if c.delimiter != protocol.DefaultDelimiter {
		path += "?" + url.Values{"delimiter": {c.delimiter}}.Encode()
	}
	return path
}

// resultOwner is the sender of the request and the table in its path.
func (c *call) resultOwner() result.Owner {
	return result.Owner{Principal: c.principal.String(), Table: c.id}
}

// A keptAnswer buffers the bytes of an answer while they fit, and then begins to store them.
type keptAnswer struct {
	call *call
	kind result.Kind
	room int
	held []byte
	hold memory.Hold
	out  *result.Writer // nil before the first write to storage
}

// Write keeps the bytes in memory, or writes them to storage if they exceed the room.
func (k *keptAnswer) Write(p []byte) (int, error) {
	if k.out == nil && len(k.held)+len(p) <= k.room {
		if err := k.grow(len(p)); err != nil {
			return 0, err
		}
		k.held = append(k.held, p...)
		return len(p), nil
	}
	if err := k.begin(); err != nil {
		return 0, err
	}
	return k.out.Write(p)
}

// grow makes room for more bytes. It takes memory before it allocates.
func (k *keptAnswer) grow(more int) error {
	size := len(k.held) + more
	if size <= cap(k.held) {
		return nil
	}
	size = min(max(size, 2*cap(k.held)), k.room)
	if err := k.hold.Resize(k.call.ctx(), int64(size+cap(k.held))); err != nil { // both exist during the copy
		return err
	}
	k.held = append(make([]byte, 0, size), k.held...)
	return k.hold.Resize(k.call.ctx(), int64(size))
}

// begin begins to store the answer, unless that has happened.
func (k *keptAnswer) begin() (err error) {
	if k.out != nil {
		return nil
	}
	if k.out, err = k.call.Results.Create(k.call.ctx(), k.call.resultOwner(), k.kind); err != nil {
		return err
	}
	_, err = k.out.Write(k.held)
	k.held = nil
	k.hold.Release()
	return err
}

// commit makes the stored answer readable.
func (k *keptAnswer) commit() (result.Result, error) {
	if err := k.begin(); err != nil {
		return result.Result{}, err
	}
	return k.out.Commit()
}

// drop aborts an uncommitted answer.
func (k *keptAnswer) drop() {
	if k.out != nil {
		k.out.Abort()
	}
	k.hold.Release()
}

// Result serves the operation that reads a stored answer. Where the store signs URLs, it redirects to
// one.
func Result(operation string) Route {
	route := typed[queryapi.ReadResultRequest, protocol.Bytes](operation)
	route.answers = arrowipc.ContentTypeFile
	route.serve = func(c *call) error {
		req := new(queryapi.ReadResultRequest)
		if err := c.decodeJSON(req); err != nil {
			return err
		}
		if c.Results == nil || auth.Hides(c.ctx(), c.match.operation, c.id) {
			return noSuchResult()
		}
		found, err := c.Results.Find(c.ctx(), c.resultOwner(), req.ResultID)
		if errors.Is(err, result.ErrNotFound) {
			return noSuchResult()
		} else if err != nil {
			return err
		}
		return c.sendResult(found)
	}
	return route
}

// sendResult redirects to a signed URL of a stored answer, or sends its bytes if the store signs no
// URLs.
func (c *call) sendResult(found result.Result) error {
	contentType := arrowipc.ContentTypeFile
	if found.Kind == result.Stream {
		contentType = arrowipc.ContentTypeStream
	}
	at, _, err := c.Results.URL(c.ctx(), found, contentType)
	if err != nil {
		return err
	}
	if at != "" {
		c.send(reply{status: http.StatusSeeOther, header: map[string]string{"Location": at, "Cache-Control": "no-store"}})
		return nil
	}
	return c.writeBytes(&protocol.Bytes{Size: found.Size, Read: func(ctx context.Context, from, size int64) ([]byte, error) {
		return c.Results.Read(ctx, found, from, size)
	}}, contentType)
}

// noSuchResult is the error for a result that was deleted or belongs to another caller.
func noSuchResult() error {
	return &httpError{
		cause: protocol.Error{
			Code: protocol.InvalidInput, Message: "there is no such result of this table for this caller",
			Detail: "results are deleted a day after they were made, and only the caller that asked for one can read it; send the query again",
		},
		status: http.StatusNotFound, kind: "no-such-result",
	}
}

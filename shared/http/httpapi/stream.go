package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"tiltyard/shared/jobs/idempotency"
	"tiltyard/shared/protocol"
)

// streamSentAgain reports whether LanceDB clients repeat the request automatically if it is an
// Arrow stream. A stream with a key is recognized by the key.
func (c *call) streamSentAgain() bool {
	if c.Ledger != nil && c.r.Header.Get("Idempotency-Key") != "" {
		return false
	}
	switch c.match.operation.Name {
	case "InsertIntoTable", "MergeInsertIntoTable":
		return true
	}
	return false
}

// serveStream serves an upload, or repeats the answer of an earlier one. It recognizes a repeated
// upload only if this server noticed that the first one got no answer; see package idempotency.
func (c *call) serveStream(body io.Reader, serve func(io.Reader) (any, error)) error {
	upload := idempotency.Upload{
		Principal: c.principal.String(), Operation: c.match.operation.Name,
		Target: c.r.URL.EscapedPath() + "?" + c.r.URL.RawQuery,
	}
	if c.match.dialect == protocol.DialectLanceDB && c.r.Header.Get("X-Request-Id") == c.requestID {
		upload.ID = c.requestID // these clients make a new id for each try
	}
	stream := c.uploads.Open(c.ctx(), upload, body)
	defer stream.Close()
	c.attempt(stream.Attempt())
	value, err := serve(stream)
	_, _ = io.CopyN(io.Discard, body, maxDrainBytes) // read a part of the rest, as for other uploads
	var r reply
	var before *idempotency.Repeated
	switch {
	case errors.As(err, &before):
		r, err = replay(&before.Answer)
	case errors.Is(err, idempotency.ErrInFlight), errors.Is(err, idempotency.ErrNotRecalled):
		err = c.ledgerError(err)
	case err == nil:
		r, err = c.encode(value)
	}
	if err != nil {
		c.warn(stream.Failed(unsettled(err)))
		return err
	}
	return c.sendTo(stream, r)
}

// sendTo sends the reply to an upload and records in the stream whether the client received it.
func (c *call) sendTo(stream *idempotency.Stream, r reply) error {
	header, err := json.Marshal(r.header)
	if err != nil {
		return err
	}
	answer := idempotency.Answer{Status: r.status, Header: header, Body: r.body}
	// A client that disconnects after the answer was sent may have received it. Behind a gateway no
	// disconnect is visible, but the time of a function may have run out.
	reached := !errors.Is(c.clientErr(), context.Canceled)
	mine, err := stream.Settle(reached)
	c.warn(err)
	if !mine {
		return errTookTooLong
	}
	c.send(r)
	if reached && c.flushed() {
		stream.Answered(answer)
	} else {
		c.warn(stream.Lost(answer))
	}
	return nil
}

// errTookTooLong answers an upload after another one has taken over its change.
var errTookTooLong = &protocol.Error{
	Code: protocol.ServiceUnavailable, Message: "the request took longer than its time limit",
	Detail: "the same rows arrived in another request in the meantime; if that was not yours, send them once more", Unsettled: true,
}

// flushed sends the written bytes and reports whether the connection accepted them. It is always
// true for servers without connections.
func (c *call) flushed() bool {
	err := http.NewResponseController(c.w).Flush()
	return err == nil || errors.Is(err, http.ErrNotSupported)
}

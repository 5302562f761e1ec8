package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"tiltyard/shared/idempotency"
	"tiltyard/shared/protocol"
)

// streamSentAgain says whether LanceDB clients send the request again by themselves when it
// is an Arrow stream. One that has a key is recognised by that.
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

// serveStream serves an upload, or answers as when it was made before. What is sent again
// can only be recognised when this was seen to be without an answer; see package idempotency.
func (c *call) serveStream(body io.Reader, serve func(io.Reader) (any, error)) error {
	upload := idempotency.Upload{
		Principal: c.principal.String(), Operation: c.match.operation.Name,
		Target: c.r.URL.EscapedPath() + "?" + c.r.URL.RawQuery,
	}
	if c.match.dialect == protocol.DialectLanceDB && c.r.Header.Get("X-Request-Id") == c.requestID {
		upload.ID = c.requestID // those clients make a new one for each time they send
	}
	stream := c.uploads.Open(c.ctx(), upload, body)
	defer stream.Close()
	c.attempt(stream.Attempt())
	value, err := serve(stream)
	_, _ = io.CopyN(io.Discard, body, maxDrainBytes) // as for other uploads
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

// sendTo sends the reply to an upload and tells the stream whether its sender has it.
func (c *call) sendTo(stream *idempotency.Stream, r reply) error {
	header, err := json.Marshal(r.header)
	if err != nil {
		return err
	}
	answer := idempotency.Answer{Status: r.status, Header: header, Body: r.body}
	// Who goes after the answer was sent may go because he has it. Behind a gateway nobody is
	// seen to go, but the time of a function may be up.
	reached := !errors.Is(c.client.Err(), context.Canceled)
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

// errTookTooLong answers an upload that another one has been taken for.
var errTookTooLong = &protocol.Error{
	Code: protocol.ServiceUnavailable, Message: "the request took longer than it was given",
	Detail: "the same rows were sent again meanwhile; send them once more if that was not you", Unsettled: true,
}

// flushed sends what was written and says whether the connection took it. Servers that have
// no connections are trusted.
func (c *call) flushed() bool {
	err := http.NewResponseController(c.w).Flush()
	return err == nil || errors.Is(err, http.ErrNotSupported)
}

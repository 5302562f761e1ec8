package httpapi

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"tiltyard/shared/idempotency"
	"tiltyard/shared/protocol"
)

// A mutation that the client sends again happens once. Two headers say that a request is
// the same as one before:
//
//	Idempotency-Key   chosen by users who want this; of another request it is refused
//	X-Request-Id      LanceDB clients send the same one when they send again. Others may
//	                  use one for many requests, so the body counts as a part of it
//
// Arrow streams are sent again under a new request id, so that only the former counts
// there. They are hashed as they are read, and one that is sent again is read to its end before
// it gets the first one's answer. Those without a key are recognised in stream.go, as far as
// they can be.

// ledgerTime bounds what is done in the ledger after a mutation, when the time of the
// request may have passed.
const ledgerTime = 10 * time.Second

// maxKeyBytes is the length of the longest key that a client may choose.
const maxKeyBytes = 255

// repeatKey returns the key by which a repetition of the request is known, or "" when it
// is none, and whether the client chose it for just that.
func (c *call) repeatKey() (key string, chosen bool) {
	if c.Ledger == nil || c.match.operation.Access != protocol.Write {
		return "", false
	}
	if key := c.r.Header.Get("Idempotency-Key"); key != "" {
		return "key " + key, true
	}
	id := c.r.Header.Get("X-Request-Id")
	operation := c.match.operation
	if id == "" || id != c.requestID || !sentAgain(operation.Group) || c.routes[operation.Name].body != jsonBody {
		return "", false
	}
	return "id " + id, false
}

// sentAgain says whether LanceDB clients send JSON mutations of the group again by
// themselves. To note the others, too, would cost two writes each for nothing.
func sentAgain(group protocol.Group) bool {
	switch group {
	case protocol.GroupSchema, protocol.GroupData, protocol.GroupIndex, protocol.GroupVersion, protocol.GroupRef:
		return true
	}
	return false
}

// sum hashes what the request says: path, query string and, when it has been read, body.
func (c *call) sum() [sha256.Size]byte {
	h := sha256.New()
	h.Write([]byte(c.r.URL.EscapedPath() + "\n" + c.r.URL.RawQuery + "\n"))
	h.Write(c.body)
	return [sha256.Size]byte(h.Sum(nil))
}

// once serves a request, or takes the reply that it was given before. serve returns what
// [call.encode] takes. What it reads of a body that has not been read comes from stream, which
// is nil when there is none.
func (c *call) once(stream *idempotency.Digest, serve func() (any, error)) (reply, error) {
	request, ok, err := c.repeatable()
	if err != nil {
		return reply{}, err
	}
	request.Stream = stream
	if !ok {
		value, err := serve()
		if err != nil {
			return reply{}, err
		}
		return c.encode(value)
	}
	before, note, err := c.Ledger.Begin(c.ctx(), request)
	switch {
	case err != nil:
		return reply{}, c.ledgerError(err)
	case before != nil:
		return replay(before)
	}
	return c.serveAndNote(note, serve)
}

// repeatable returns what makes the request one that may be sent twice; false when it is
// nothing of the kind.
func (c *call) repeatable() (r idempotency.Request, ok bool, err error) {
	key, chosen := c.repeatKey()
	if key == "" {
		return r, false, nil
	}
	if len(key) > maxKeyBytes {
		return r, false, protocol.Errorf(protocol.InvalidInput, "header idempotency-key is longer than %d bytes", maxKeyBytes)
	}
	r = idempotency.Request{
		Principal: c.principal.String(), Operation: c.match.operation.Name, Object: c.object, Key: key,
		Body: c.sum(), Lease: c.Timeout + time.Minute,
	}
	if !chosen {
		r.Key += " " + hex.EncodeToString(r.Body[:])
	}
	return r, true, nil
}

// serveAndNote serves a request and notes the reply. An error that leaves nothing behind
// is not worth a note. One that may have left something is, unless the next attempt can find
// that: who repeats the request must not do it again.
func (c *call) serveAndNote(note *idempotency.Note, serve func() (any, error)) (reply, error) {
	c.attempt(note.Attempt())
	value, failure := serve()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.ctx()), ledgerTime)
	defer cancel()
	if failure != nil {
		ended, err := note.Failed(ctx, unsettled(failure))
		c.warn(err)
		if ended {
			return reply{}, failure
		}
	}
	var r reply
	var err error
	if failure == nil {
		r, err = c.encode(value)
	} else {
		r = c.problemReply(failure)
	}
	if err != nil {
		return reply{}, err
	}
	header, err := json.Marshal(r.header)
	if err != nil {
		return reply{}, err
	}
	c.warn(note.Finish(ctx, idempotency.Answer{Status: r.status, Header: header, Body: r.body}))
	return r, failure
}

// unsettled says whether a failed change may have been made all the same.
func unsettled(failure error) bool {
	var known *protocol.Error
	return errors.As(failure, &known) && known.Unsettled
}

// attempt says what the changes of the request are to be stored under.
func (c *call) attempt(a *idempotency.Attempt) {
	c.r = c.r.WithContext(idempotency.WithAttempt(c.ctx(), a))
}

// warn logs what went wrong in the ledger when the request itself is settled.
func (c *call) warn(err error) {
	if err != nil {
		c.Logger.WarnContext(c.ctx(), "ledger", "request_id", c.requestID, "error", protocol.LogText(err))
	}
}

// replay is the reply of before, marked as such.
func replay(before *idempotency.Answer) (reply, error) {
	r := reply{status: before.Status, body: before.Body}
	if err := json.Unmarshal(before.Header, &r.header); err != nil {
		return reply{}, fmt.Errorf("decode a noted reply: %w", err)
	}
	if r.header == nil {
		r.header = map[string]string{}
	}
	r.header[replayedHeader] = "true"
	return r, nil
}

// replayedHeader marks the reply of an earlier request.
const replayedHeader = "Idempotent-Replayed"

// ledgerError words why a request was not begun.
func (c *call) ledgerError(err error) error {
	switch {
	case errors.Is(err, idempotency.ErrInFlight):
		c.w.Header().Set("Retry-After", strconv.Itoa(retryAfterSeconds))
		return &protocol.Error{
			Code: protocol.ConcurrentModification, Message: "the same request is being answered",
			Detail: "wait for its answer, or send it again a little later", Err: err,
		}
	case errors.Is(err, idempotency.ErrOtherRequest):
		return &httpError{
			cause: protocol.Error{
				Code: protocol.InvalidInput, Message: "the idempotency key was used for another request",
				Detail: "a key stands for one request: choose a new one", Err: err,
			},
			status: http.StatusUnprocessableEntity, kind: "idempotency-key-reused",
		}
	case c.ctx().Err() != nil, isBodyError(err):
		return err
	}
	return &protocol.Error{
		Code: protocol.ServiceUnavailable, Message: "whether the request was sent before cannot be found out at present", Err: err,
	}
}

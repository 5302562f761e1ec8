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

	"tiltyard/shared/jobs/idempotency"
	"tiltyard/shared/protocol"
	"tiltyard/shared/storage/format"
)

// A mutation that a client sends again is executed once. Two headers mark a request as a
// repetition:
//
// 	Idempotency-Key   users choose it for this purpose; with another request it is refused
// 	X-Request-Id      LanceDB clients send the same one when they repeat a request. Other
// 	                  clients may use one for many requests, so the body is compared as well
//
// Clients repeat Arrow streams under a new request id, so only the key counts for them. The handler
// hashes a stream while it reads it, and reads a repeated one to its end before it sends the first
// one's answer. stream.go recognizes streams without a key, as far as that is possible.

// ledgerTime bounds the work on the ledger after a mutation, because the deadline of the request
// may have passed.
const ledgerTime = 10 * time.Second

// maxKeyBytes is the length of the longest key that a client may choose.
const maxKeyBytes = 255

// keyPrefix distinguishes keys that clients choose from ids of requests.
const keyPrefix = "key "

// repeatKey returns the key by which a repetition of the request is recognized, or "" if it cannot
// be recognized. chosen means that the client chose the key for this purpose.
func (c *call) repeatKey() (key string, chosen bool) {
	operation := c.match.operation
	if c.Ledger == nil || operation.Access != protocol.Write || c.routes[operation.Name].concealed {
		return "", false
	}
	if key := c.r.Header.Get("Idempotency-Key"); key != "" {
		return keyPrefix + key, true
	}
	id := c.r.Header.Get("X-Request-Id")
	if id == "" || id != c.requestID || !sentAgain(operation.Group) || c.routes[operation.Name].body != jsonBody {
		return "", false
	}
	return "id " + id, false
}

// sentAgain reports whether LanceDB clients repeat JSON mutations of the group automatically.
// Entering other mutations in the ledger would cost two writes each for nothing.
func sentAgain(group protocol.Group) bool {
	switch group {
	case protocol.GroupSchema, protocol.GroupData, protocol.GroupIndex, protocol.GroupVersion, protocol.GroupRef:
		return true
	}
	return false
}

// sum hashes the contents of the request: path, query string and, once it has been read, body.
func (c *call) sum() [sha256.Size]byte {
	h := sha256.New()
	h.Write([]byte(c.r.URL.EscapedPath() + "\n" + c.r.URL.RawQuery + "\n"))
	h.Write(c.body)
	return [sha256.Size]byte(h.Sum(nil))
}

// once serves a request, or returns the reply to the same request from the ledger. serve returns a
// value for [call.encode]. stream hashes a body that serve reads; it is nil if there is none.
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

// repeatable returns the request in the form for the ledger. ok is false if a repetition cannot be
// recognized.
func (c *call) repeatable() (r idempotency.Request, ok bool, err error) {
	key, chosen := c.repeatKey()
	if key == "" {
		return r, false, nil
	}
	if len(key) > len(keyPrefix)+maxKeyBytes {
		return r, false, protocol.Errorf(protocol.InvalidInput, "header idempotency-key is longer than %d bytes; choose a shorter key", maxKeyBytes)
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

// serveAndNote serves a request and enters the reply in the ledger. It does not enter an error if
// nothing has changed. It does enter an error if a change may have been made, unless the next
// attempt can find that change, so that a repetition does not change the table again.
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
	var r, noted reply
	var err error
	if failure == nil {
		r, noted, err = c.encodeForLedger(value)
	} else {
		r = c.problemReply(failure)
		noted = r
	}
	if err != nil {
		return reply{}, err
	}
	header, err := json.Marshal(noted.header)
	if err != nil {
		return reply{}, err
	}
	c.warn(note.Finish(ctx, idempotency.Answer{Status: noted.status, Header: header, Body: noted.body}))
	return r, failure
}

// encodeForLedger encodes a response for the client and for the ledger. A response with credentials
// has the method WithoutCredentials: the ledger must not store credentials, and they would have
// expired when the request is repeated.
func (c *call) encodeForLedger(value any) (sent, noted reply, err error) {
	if sent, err = c.encode(value); err != nil {
		return reply{}, reply{}, err
	}
	v, ok := value.(interface{ WithoutCredentials() any })
	if !ok {
		return sent, sent, nil
	}
	noted, err = c.encode(v.WithoutCredentials())
	return sent, noted, err
}

// unsettled reports whether a change may have been made although the request failed.
func unsettled(failure error) bool {
	var known *protocol.Error
	return errors.As(failure, &known) && known.Unsettled
}

// attempt makes the request's commits carry the id of the attempt.
func (c *call) attempt(a *idempotency.Attempt) {
	c.r = c.r.WithContext(idempotency.WithAttempt(c.ctx(), a))
}

// warn logs an error of the ledger that does not affect the reply.
func (c *call) warn(err error) {
	if err != nil {
		c.Logger.WarnContext(c.ctx(), "ledger", "request_id", c.requestID, "error", protocol.LogText(err))
	}
}

// replay returns an earlier reply, marked as such.
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

// replayedHeader marks the reply to an earlier request.
const replayedHeader = "Idempotent-Replayed"

// ledgerError turns an error of the ledger into the answer of a request that was not begun.
func (c *call) ledgerError(err error) error {
	switch {
	case errors.Is(err, idempotency.ErrInFlight):
		c.w.Header().Set("Retry-After", strconv.Itoa(retryAfterSeconds))
		return &protocol.Error{
			Code: protocol.ConcurrentModification, Message: "the same request is still being processed",
			Detail: "wait for its answer, or send the request again a little later", Err: err,
		}
	case errors.Is(err, idempotency.ErrOtherRequest):
		return &httpError{
			cause: protocol.Error{
				Code: protocol.InvalidInput, Message: "the idempotency key belongs to another request",
				Detail: "choose a new key for each request", Err: err,
			},
			status: http.StatusUnprocessableEntity, kind: "idempotency-key-reused",
		}
	case c.ctx().Err() != nil, isBodyError(err), format.Newer(err):
		return err
	}
	return &protocol.Error{
		Code: protocol.ServiceUnavailable, Message: "the server cannot check at present whether it has received the request before", Err: err,
	}
}

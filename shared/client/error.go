package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/tableapi"
)

// An Error is an error response of the server. It wraps a *[protocol.Error] with the code, the
// message and the detail of the response.
type Error struct {
	Operation string // such as DescribeTable
	Status    int    // HTTP status
	// RequestID identifies the request in the log of the server.
	RequestID string
	// Kind is the last part of the problem's type, such as table-not-found; other servers than Tiltyard
	// send none.
	Kind string

	refusal  *protocol.Error
	body     []byte
	settled  bool // nothing was changed, and a repetition may succeed
	fleeting bool // a repetition may succeed
}

// Error returns the name of the operation and the message of the server.
func (e *Error) Error() string { return e.Operation + ": " + e.refusal.Error() }

// Unwrap returns the *[protocol.Error].
func (e *Error) Unwrap() error { return e.refusal }

// maxProblemBytes bounds the body of an error response that is read.
const maxProblemBytes = 1 << 20

// problem is the JSON body of an error response.
type problem struct {
	Error     string         `json:"error"`
	Code      *protocol.Code `json:"code"`
	Type      string         `json:"type"`
	Title     string         `json:"title"`
	Detail    string         `json:"detail"`
	RequestID string         `json:"request_id"`
	Retryable *bool          `json:"retryable"` // only Tiltyard sends it
}

// readRefusal converts an error response to an Error. A body without a code comes from a gateway in
// front of the server; the status decides then.
func readRefusal(operation string, answer *http.Response) *Error {
	e := &Error{Operation: operation, Status: answer.StatusCode, RequestID: answer.Header.Get("X-Request-Id")}
	body, _ := io.ReadAll(io.LimitReader(answer.Body, maxProblemBytes))
	e.body = body
	var p problem
	// Without a code the response comes from a proxy, a gateway, or another server.
	if err := json.Unmarshal(body, &p); err != nil || p.Code == nil {
		e.refusal = foreignRefusal(answer, body)
	} else {
		e.refusal = &protocol.Error{Code: *p.Code, Message: p.Error, Detail: p.Detail}
		_, e.Kind, _ = strings.Cut(p.Type, "/errors/")
		e.refusal.Kind = e.Kind
	}
	if p.RequestID != "" {
		e.RequestID = p.RequestID
	}
	e.fleeting = isFleeting(answer.StatusCode, e.refusal.Code)
	// A throttled request was not begun, whatever the body.
	e.settled = answer.StatusCode == http.StatusTooManyRequests
	// Tiltyard states explicitly whether nothing was changed.
	if p.Retryable != nil {
		// A quota that does not refill refuses for good.
		e.fleeting = e.fleeting && (*p.Retryable || answer.StatusCode != http.StatusTooManyRequests)
		e.refusal.Unsettled = e.fleeting && !*p.Retryable && isMomentary(e.refusal.Code)
		e.settled = *p.Retryable
	}
	return e
}

// isMomentary reports whether a request with this error code may succeed a little later. If the
// change may have been made, Tiltyard marks the error as not retryable.
func isMomentary(code protocol.Code) bool {
	switch code {
	case protocol.ConcurrentModification, protocol.ServiceUnavailable, protocol.Throttling:
		return true
	}
	return false
}

// isFleeting reports whether an error response of another server is temporary.
func isFleeting(status int, code protocol.Code) bool {
	switch status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return status == http.StatusConflict && isMomentary(code)
}

// foreignRefusal returns an error for a response that does not follow the protocol, such as one
// from a gateway.
func foreignRefusal(answer *http.Response, body []byte) *protocol.Error {
	code := protocol.Internal
	switch answer.StatusCode {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		code = protocol.InvalidInput
	case http.StatusUnauthorized:
		code = protocol.Unauthenticated
	case http.StatusForbidden:
		code = protocol.PermissionDenied
	case http.StatusNotAcceptable, http.StatusMethodNotAllowed, http.StatusNotImplemented:
		code = protocol.Unsupported
	case http.StatusTooManyRequests:
		code = protocol.Throttling
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		code = protocol.ServiceUnavailable
	}
	message := "the server answered " + answer.Status
	const most = 200
	if text := strings.TrimSpace(string(body[:min(len(body), most)])); text != "" {
		message += fmt.Sprintf(": %q", text)
	}
	return &protocol.Error{Code: code, Message: message}
}

// ErrAnswer is wrapped by errors about a response that violates the protocol.
var ErrAnswer = errors.New("the answer of the server is malformed")

// An UnreadableTable is the error for a table that a search could not read.
type UnreadableTable tableapi.Unreadable

// Error names the table and the reason.
func (e UnreadableTable) Error() string {
	return fmt.Sprintf("%s cannot be searched: %s", strings.Join(e.ID, "/"), e.Reason)
}

package httpapi

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/storage/objectstore"
)

// Served describes an answered request. The log line and the metrics are made of it. It contains no
// secrets.
type Served struct {
	RequestID string
	Remote    string // address of the sender, as the server sees it
	Principal string // empty when the sender was not authenticated
	Tenant    string // of the principal
	Method    string
	Operation protocol.Operation // the zero value when the path belongs to no operation
	Performed protocol.Operation // another one that the request has performed; else the zero value
	Dialect   protocol.Dialect
	Object    string // canonical id
	Status    int    // of the answer that the client got; 499 when it had disconnected
	Code      string // code of the error in the answer, such as "table-not-found"; else empty
	Err       error  // the error with its cause, for operators
	Hidden    bool   // policies hide the object, so the answer was that it is missing

	// Version is the version of the table that the request read or made, "" when the answer names
	// none.
	Version string
	// Transaction is the id of the transaction that the request made or began.
	Transaction string
	Replayed    bool // the answer was stored for an earlier request

	Received, Sent int64              // bytes of the bodies
	Rows           int64              // of the answer, as far as they were written
	Wrote          int64              // rows that were inserted, updated or deleted
	Jobs           int64              // that were begun
	Cut            bool               // the answer broke off after its start, and the client could see that
	Gone           bool               // the client had disconnected before the answer was complete
	Storage        *objectstore.Usage // requests to the stores
	Memory         int64              // most bytes that the request held at once
	Duration       time.Duration
	Cold           bool // the request was the first of the process
}

// ErrUndeliverable is the error of a response writer for a response that exceeds the size limit of
// the gateway in front of the service.
var ErrUndeliverable = errors.New("response is larger than the gateway delivers")

// A Withholder is a response writer that replaces a response which cannot be delivered whole.
type Withholder interface {
	// Withheld is called after a response was written or, if cut is true, has broken off. It returns the status and the code
	// of the replacement, or 0 if the client gets the written response.
	Withheld(cut bool) (status int, code string)
}

// withhold records the replacement of a response. The client got none of the written response, but a change that was made
// stays.
func (s *Served) withhold(status int, code string) {
	if status != 0 {
		s.Status, s.Code, s.Sent, s.Rows, s.Cut, s.Gone = status, code, 0, 0, false, false
	}
}

// Failed reports whether the service, and not the client, caused the error. The client causes it if
// it requests more than can be delivered.
func (s *Served) Failed() bool {
	if s.Cut {
		return !s.Gone && !errors.Is(s.Err, ErrUndeliverable)
	}
	return s.Status >= http.StatusInternalServerError && s.Status != http.StatusNotImplemented
}

// served describes the call after it has been answered.
func (c *call) served(took time.Duration) *Served {
	s := &Served{
		RequestID: c.requestID, Remote: c.r.RemoteAddr, Method: c.r.Method,
		Operation: c.match.operation, Dialect: c.match.dialect, Object: c.object,
		Status: c.w.status, Code: c.code, Err: c.err,
		Version: c.version, Transaction: c.transaction, Replayed: c.w.Header().Get(replayedHeader) != "",
		Received: c.received.bytes, Sent: c.w.bytes, Rows: c.rows, Wrote: c.tally.Rows(), Jobs: c.tally.Jobs(), Cut: c.cut, Gone: c.cut && c.clientHasGone(), Storage: &c.storage, Memory: c.memory.Peak(), Duration: took, Cold: c.cold,
	}
	if c.principal != nil {
		s.Principal, s.Tenant = c.principal.String(), c.principal.Tenant()
	}
	if s.Version == "" {
		s.Version = c.w.Header().Get(versionHeader)
	}
	s.Hidden = s.Err != nil && c.access != nil && auth.Hides(c.ctx(), c.match.operation, c.id)
	s.perform(c.ctx(), &c.performed, c.access != nil)
	if s.Code == "" && s.Err != nil { // the answer was not completed
		s.Code = slug(protocol.CodeOf(s.Err))
	}
	if w, ok := c.w.ResponseWriter.(Withholder); ok {
		s.withhold(w.Withheld(s.Cut))
	}
	return s
}

// clientHasGone reports whether an answer that broke off had lost its client: it has disconnected, or it
// has not read for too long.
func (c *call) clientHasGone() bool {
	return c.clientErr() != nil || errors.Is(c.err, os.ErrDeadlineExceeded) || errors.Is(c.err, syscall.EPIPE) || errors.Is(c.err, syscall.ECONNRESET)
}

// note takes the version and the transaction of a change from the answer's JSON, for the log. It can
// parse all such answers: they are small, and even replayed ones have the same field names.
func (c *call) note(r reply) {
	if c.match.operation.Access != protocol.Write || r.header["Content-Type"] != contentTypeJSON {
		return
	}
	var said struct {
		Version     json.RawMessage `json:"version"`
		Transaction json.RawMessage `json:"transaction_id"`
	}
	if json.Unmarshal(r.body, &said) != nil {
		return
	}
	if _, err := strconv.ParseInt(string(said.Version), 10, 64); err == nil {
		c.version = string(said.Version)
	}
	var ids []string // one id, or an array of ids
	if json.Unmarshal(said.Transaction, &ids) != nil {
		ids = make([]string, 1)
		if json.Unmarshal(said.Transaction, &ids[0]) != nil {
			return
		}
	}
	c.transaction = strings.Join(ids, " ")
}

// countedBody counts the bytes of a request as they are read.
type countedBody struct {
	io.ReadCloser
	bytes int64
	ended bool // after the body's end or an error
}

func (b *countedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.bytes, b.ended = b.bytes+int64(n), b.ended || err != nil
	return n, err
}

// denied reports whether a request was refused because of its sender.
func (s *Served) denied() bool {
	return s.Status == http.StatusUnauthorized || s.Status == http.StatusForbidden || s.Hidden
}

// mayHaveChanged reports whether a change may have been made although the request failed.
func (s *Served) mayHaveChanged() bool {
	var known *protocol.Error
	return errors.As(s.Err, &known) && known.Unsettled
}

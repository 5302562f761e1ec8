package httpapi

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"tiltyard/shared/auth"
	"tiltyard/shared/objectstore"
	"tiltyard/shared/protocol"
)

// Served is what is known of a request when it has been answered: what the line in the log
// says, and what metrics are made of. Nothing in it is a secret.
type Served struct {
	RequestID string
	Remote    string // address of the sender, as far as the server sees
	Principal string // empty when nobody was authenticated
	Method    string
	Operation protocol.Operation // the zero value when the path is that of none
	Dialect   protocol.Dialect
	Object    string // canonical id
	Status    int    // 499 when the client had gone
	Code      string // of the error that was answered: "table-not-found"; else empty
	Err       error  // the same with its cause, for operators
	Hidden    bool   // policies hide the object from the principal, who was told that it is missing

	// Version is that of the table that was read, or that the request made; "" when the
	// answer names none.
	Version string
	// Transaction is the id of the transaction that the request made or began.
	Transaction string
	Replayed    bool // the answer is that of an earlier request, sent again

	Received, Sent int64              // bytes of the bodies
	Storage        *objectstore.Usage // what was asked of stores that count
	Memory         int64              // most bytes that the request held at once
	Duration       time.Duration
	Cold           bool // it was the first of the process
}

// Failed says whether the service, and not its client, is to blame for an error.
func (s *Served) Failed() bool {
	return s.Status >= http.StatusInternalServerError && s.Status != http.StatusNotImplemented
}

// served sums up the call.
func (c *call) served(took time.Duration) *Served {
	s := &Served{
		RequestID: c.requestID, Remote: c.r.RemoteAddr, Method: c.r.Method,
		Operation: c.match.operation, Dialect: c.match.dialect, Object: c.object,
		Status: c.w.status, Code: c.code, Err: c.err,
		Version: c.version, Transaction: c.transaction, Replayed: c.w.Header().Get(replayedHeader) != "",
		Received: c.received.bytes, Sent: c.w.bytes, Storage: &c.storage, Memory: c.memory.Peak(), Duration: took, Cold: c.cold,
	}
	if c.principal != nil {
		s.Principal = c.principal.String()
	}
	if s.Version == "" {
		s.Version = c.w.Header().Get(versionHeader)
	}
	s.Hidden = s.Err != nil && c.access != nil && auth.Hides(c.ctx(), c.match.operation, c.id)
	if s.Code == "" && s.Err != nil { // the answer broke off
		s.Code = slug(protocol.CodeOf(s.Err))
	}
	return s
}

// note remembers what an answer says of version and transaction. That of a change is looked
// into: it is small, all of them name the two alike, and so do those that are replayed.
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
	var ids []string // one, or an array
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
	ended bool // by its end or an error
}

func (b *countedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.bytes, b.ended = b.bytes+int64(n), b.ended || err != nil
	return n, err
}

// denied says whether a request was refused for who sent it.
func (s *Served) denied() bool {
	return s.Status == http.StatusUnauthorized || s.Status == http.StatusForbidden || s.Hidden
}

// mayHaveChanged says whether nobody knows what became of a change.
func (s *Served) mayHaveChanged() bool {
	var known *protocol.Error
	return errors.As(s.Err, &known) && known.Unsettled
}

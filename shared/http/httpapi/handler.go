package httpapi

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	"tiltyard/shared/catalog/result"
	"tiltyard/shared/http/quota"
	"tiltyard/shared/jobs/idempotency"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/process/requestid"
	"tiltyard/shared/process/tally"
	"tiltyard/shared/process/tracing"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/protocol/operations"
	"tiltyard/shared/storage/objectstore"
)

// Options configures a handler. The zero value of each field but Verifier is a sensible default.
type Options struct {
	// Verifier authenticates the senders of requests. Without one every request is refused.
	Verifier auth.Verifier
	// Policies decide the rights of senders. Nil: the scopes of their tokens decide.
	Policies *auth.Policies
	// Quotas limit the requests of senders. Nil: no limits.
	Quotas *quota.Limiter
	// Ledger prevents that a mutation which is sent again happens twice. Nil: it happens again.
	Ledger *idempotency.Ledger
	// Memory bounds the memory of all requests together. Nil: no bound.
	Memory *memory.Budget
	// Results keep answers that clients take from storage. Nil: none are kept.
	Results *result.Store
	// Logger gets one line per request, and more for internal errors. Nil: none.
	Logger *slog.Logger
	// Audit gets one line per change and per refusal for missing rights. Nil: none.
	Audit *slog.Logger
	// Observe is called after each request has been answered. Nil: no call.
	Observe func(*Served)
	// Metrics writes the answer to GET /metrics. Nil: the path does not exist.
	Metrics func(io.Writer)
	// Traces makes a span for each request. Nil: none.
	Traces *tracing.Tracer
	// Ready checks whether the stores that requests need can be reached, for GET /readyz. Nil:
	// always ready.
	Ready func(context.Context) error
	// Store checks whether the store has the guarantees that commits need, for GET /storez. Nil: the
	// path does not exist.
	Store func(context.Context) error
	// Now is the clock that durations in the log are measured with. Nil: time.Now.
	Now func() time.Time
	// NewID makes the ids of requests that arrive without one. Nil: random ids.
	NewID func() string
	// BasePath is an optional prefix of /v1 in paths.
	BasePath string
	// Release is the version in the answer to GET /version.
	Release string
	// Timeout bounds every request. A client may ask for a shorter one. Zero: 5 minutes.
	Timeout time.Duration
	// StallTimeout is how long a client may take for 64 KiB of a body or an answer before its
	// connection is closed. Zero: one minute.
	StallTimeout time.Duration
	// Limits bound the bodies of requests.
	Limits Limits
}

// Limits are in bytes. Zero means the default.
type Limits struct {
	JSON   int64 // of a JSON body: 1 MiB
	Query  int64 // of the body of a query, which may contain many vectors: 8 MiB
	Upload int64 // of an Arrow stream: 4 GiB
}

// Handler serves all operations of the protocol. An operation without a route gets the error that
// this server does not support it. The handler also serves /healthz, /readyz and /version, which
// need no token, and /storez and /metrics. It panics if two routes have the same operation or a route has an
// unknown one, because the program is then wrong.
func Handler(routes []Route, options Options) http.Handler {
	h := &handler{
		Options: options.withDefaults(),
		router:  newRouter(options.BasePath, operations.All),
		routes:  make(map[string]Route, len(routes)),
		ready:   readiness{age: readyAge, timeout: readyTimeout},
		store:   readiness{age: storeAge, timeout: storeTimeout},
	}
	h.uploads = idempotency.OpenUploads(h.Ledger, h.Now)
	for _, route := range routes {
		if _, known := operations.Lookup(route.operation); !known {
			panic("httpapi: no operation is called " + route.operation)
		}
		if _, taken := h.routes[route.operation]; taken {
			panic("httpapi: two routes for " + route.operation)
		}
		h.routes[route.operation] = route
	}
	return h
}

// withDefaults returns the options with defaults in place of zero values.
func (o Options) withDefaults() Options {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.NewID == nil {
		o.NewID = randomID
	}
	if o.Timeout <= 0 {
		o.Timeout = 5 * time.Minute
	}
	if o.StallTimeout <= 0 {
		o.StallTimeout = time.Minute
	}
	if o.Limits.JSON <= 0 {
		o.Limits.JSON = 1 << 20
	}
	if o.Limits.Query <= 0 {
		o.Limits.Query = 8 << 20
	}
	if o.Limits.Upload <= 0 {
		o.Limits.Upload = 4 << 30
	}
	return o
}

func randomID() string {
	var id [16]byte
	_, _ = rand.Read(id[:]) // never returns an error: a failure ends the program
	return hex.EncodeToString(id[:])
}

type handler struct {
	Options
	router  *router
	routes  map[string]Route
	uploads *idempotency.Uploads
	ready   readiness
	store   readiness
	warm    atomic.Bool // an earlier request has been served
}

// ServeHTTP answers one request and logs it.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// The previous request on this connection may have left a deadline.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(h.StallTimeout))
	if h.serveProbe(w, r) {
		return
	}
	start := h.Now()
	c := h.newCall(w, r)
	c.w.Header().Set("X-Request-Id", c.requestID)
	setOrigin(c.w.Header(), requestid.From(r.Context()))
	c.w.Header().Set("Phalanx-Version", protocol.RemoteVersion)
	defer c.memory.Close()
	defer h.Traces.Rest(c.ctx())
	defer func() {
		s := c.served(h.Now().Sub(start))
		c.admission.Done(quota.Use{ReadBytes: s.Storage.Bytes(), SentBytes: s.Sent, WrittenBytes: s.Storage.Written(), WrittenRows: s.Wrote, Jobs: s.Jobs})
		h.report(c, s)
	}()
	defer c.containPanic()
	if c.err = c.run(); c.err != nil {
		c.hurryBody()
		c.writeProblem(c.err)
	}
}

// setOrigin adds the request ids of the gateway and of Lambda to an answer, so that a client can
// find their logs.
func setOrigin(header http.Header, o requestid.IDs) {
	if o.Gateway != "" {
		header.Set("X-Gateway-Request-Id", o.Gateway)
	}
	if o.Lambda != "" {
		header.Set("X-Lambda-Request-Id", o.Lambda)
	}
}

// newCall starts a call for a request. It counts the bytes of the body and the storage requests
// made for the call.
func (h *handler) newCall(w http.ResponseWriter, r *http.Request) *call {
	c := &call{
		handler: h, w: &responseWriter{ResponseWriter: w, stall: h.StallTimeout}, clientErr: r.Context().Err,
		requestID: h.chooseRequestID(r), cold: !h.warm.Swap(true),
		received: countedBody{ReadCloser: r.Body}, memory: h.Memory.Open(),
	}
	ctx, span := h.Traces.Request(r.Context(), r.Header)
	c.span = span
	c.performed.enter = c.enter
	ctx = tally.With(context.WithValue(ctx, performedKey{}, &c.performed), &c.tally)
	c.r = r.WithContext(memory.WithShare(objectstore.WithTotal(ctx, &c.storage), c.memory))
	c.r.Body = &c.received
	return c
}

// call is one request on its way through the handler.
type call struct {
	*handler
	w         *responseWriter
	r         *http.Request
	clientErr func() error // context.Canceled once the client has disconnected
	requestID string
	match     match
	principal *auth.Principal
	access    *auth.Access // nil if there are no policies
	admission *quota.Admission
	body      []byte // JSON, as it arrived
	object    string // canonical id, for the log
	memory    *memory.Share
	span      *tracing.Span // nil if there are no traces
	end       time.Time     // deadline of the connection, a little after the deadline of the request
	paced     int           // bytes of the body since the last deadline was set
	isPaced   bool          // a deadline was set for a part of the body
	err       error         // the error that was answered, for the log

	// The next fields are for the log.
	id                         []string // the id of object
	delimiter                  string   // the delimiter in the path
	code, version, transaction string
	received                   countedBody
	rows                       int64 // rows of the answer so far
	tally                      tally.Tally
	cut                        bool // the answer broke off after its start
	storage                    objectstore.Usage
	cold                       bool
	performed                  performance
}

func (c *call) ctx() context.Context { return c.r.Context() }

// run finds the operation of the request and lets its route serve it. The error is for the client.
func (c *call) run() error {
	var err error
	if c.match, err = c.router.find(c.r.Method, c.r.URL.EscapedPath()); err != nil {
		return err
	}
	if c.match.operation.Frees {
		c.r = c.r.WithContext(objectstore.Freeing(c.ctx()))
	}
	cancel, err := c.setDeadline()
	if err != nil {
		return err
	}
	defer cancel()
	route, served := c.routes[c.match.operation.Name]
	if err := c.signIn(); err != nil {
		return err
	}
	if !served {
		return c.unserved()
	}
	if err := c.limit(); err != nil {
		c.hurryBody()
		return c.answerDeadline(err)
	}
	if err := c.ctx().Err(); errors.Is(err, context.DeadlineExceeded) {
		return c.answerDeadline(err)
	}
	return c.answerDeadline(route.serve(c))
}

// unserved is the error for an operation without a route. A gateway sends operations with an
// unknown path to a handler without routes.
func (c *call) unserved() error {
	err := protocol.Errorf(protocol.Unsupported, "operation %s is not supported by this server", c.match.operation.Name)
	if path := c.r.URL.EscapedPath(); strings.Contains(path, "//") {
		err.Detail = fmt.Sprintf("the path %.200s has two slashes in a row; gateways have routes for single slashes only, so send single ones", path)
	}
	return err
}

// answerDeadline replaces an error that was caused by a passed deadline with one that names the
// deadline.
func (c *call) answerDeadline(err error) error {
	var known *protocol.Error
	if err == nil || errors.As(err, &known) && known.Code != protocol.Internal {
		return err
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(c.ctx().Err(), context.DeadlineExceeded) {
		return &protocol.Error{
			Code:    protocol.ServiceUnavailable,
			Message: "the request took longer than its time limit",
			Err:     err,
		}
	}
	return err
}

// containPanic answers a panic of the program with 500, or aborts the connection if the answer has
// begun.
func (c *call) containPanic() {
	cause := recover()
	if cause == nil {
		return
	}
	if cause == http.ErrAbortHandler {
		panic(cause)
	}
	c.Logger.ErrorContext(c.ctx(), "panic", "request_id", c.requestID, "cause", fmt.Sprint(cause), "stack", string(debug.Stack()))
	c.err = fmt.Errorf("panic: %v", cause)
	if c.w.status != 0 {
		panic(http.ErrAbortHandler)
	}
	c.writeProblem(c.err)
}

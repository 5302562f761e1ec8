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

	"tiltyard/shared/auth"
	"tiltyard/shared/idempotency"
	"tiltyard/shared/memory"
	"tiltyard/shared/objectstore"
	"tiltyard/shared/protocol"
)

// Options is what a handler can be told. The zero value of each field but Verifier is right.
type Options struct {
	// Verifier knows who sends requests. Without one every request is refused.
	Verifier auth.Verifier
	// Policies say what they may do. Nil: the scopes of their tokens do.
	Policies *auth.Policies
	// Ledger makes mutations that are sent again happen once. Nil: they happen again.
	Ledger *idempotency.Ledger
	// Memory is what requests hold together. Nil: they hold what they like.
	Memory *memory.Budget
	// Logger gets one line per request, and more for what went wrong inside. Nil: none.
	Logger *slog.Logger
	// Audit gets one line per change and per refusal for lack of rights. Nil: none.
	Audit *slog.Logger
	// Observe is told of each request when it has been answered. Nil: nobody is.
	Observe func(*Served)
	// Metrics writes what GET /metrics answers. Nil: there is no such path.
	Metrics func(io.Writer)
	// Ready says whether what requests need can be reached, for GET /readyz. Nil: it can.
	Ready func(context.Context) error
	// Now is the clock that durations in the log are measured with. Nil: time.Now.
	Now func() time.Time
	// NewID makes ids for requests that come without. Nil: random ones.
	NewID func() string
	// BasePath may precede /v1 in paths.
	BasePath string
	// Release is what GET /version tells.
	Release string
	// Timeout bounds every request; a client may ask for less. Zero: 5 minutes.
	Timeout time.Duration
	// StallTimeout is how long a client may take for 64 KiB of a body or of an answer before its
	// connection ends. Zero: a minute.
	StallTimeout time.Duration
	// Limits bound the bodies of requests.
	Limits Limits
}

// Limits are in bytes; zero means the default.
type Limits struct {
	JSON   int64 // of a JSON body: 1 MiB
	Query  int64 // of the body of a query, which may hold many vectors: 8 MiB
	Upload int64 // of an Arrow stream: 4 GiB
}

// Handler serves all operations of the protocol: those with a route by it, the others
// with an error that says that they are not supported here. It also serves /healthz,
// /readyz and /version, which need no token, and /metrics. An unknown or doubled operation
// among the routes is a mistake of the program and panics.
func Handler(routes []Route, options Options) http.Handler {
	h := &handler{
		Options: options.withDefaults(),
		router:  newRouter(options.BasePath, protocol.Operations),
		routes:  make(map[string]Route, len(routes)),
	}
	h.uploads = idempotency.OpenUploads(h.Ledger, h.Now)
	for _, route := range routes {
		if _, known := protocol.Lookup(route.operation); !known {
			panic("httpapi: no operation is called " + route.operation)
		}
		if _, taken := h.routes[route.operation]; taken {
			panic("httpapi: two routes for " + route.operation)
		}
		h.routes[route.operation] = route
	}
	return h
}

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
	_, _ = rand.Read(id[:]) // never fails: the program ends first
	return hex.EncodeToString(id[:])
}

type handler struct {
	Options
	router    *router
	routes    map[string]Route
	uploads   *idempotency.Uploads
	readiness readiness
	warm      atomic.Bool // there was a request
}

// ServeHTTP answers one request and logs it.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// The request before on this connection may have left a deadline.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(h.StallTimeout))
	if h.serveProbe(w, r) {
		return
	}
	start := h.Now()
	c := h.newCall(w, r)
	c.w.Header().Set("X-Request-Id", c.requestID)
	c.w.Header().Set("Phalanx-Version", phalanxVersion)
	defer c.memory.Close()
	defer func() { h.report(c.ctx(), c.served(h.Now().Sub(start))) }()
	defer c.containPanic()
	if c.err = c.run(); c.err != nil {
		c.hurryBody()
		c.writeProblem(c.err)
	}
}

// newCall takes a request in. What it reads and what is asked of storage for it is counted.
func (h *handler) newCall(w http.ResponseWriter, r *http.Request) *call {
	c := &call{
		handler: h, w: &responseWriter{ResponseWriter: w, stall: h.StallTimeout}, client: r.Context(),
		requestID: h.chooseRequestID(r), cold: !h.warm.Swap(true),
		received: countedBody{ReadCloser: r.Body}, memory: h.Memory.Open(),
	}
	c.r = r.WithContext(memory.WithShare(objectstore.WithTotal(r.Context(), &c.storage), c.memory))
	c.r.Body = &c.received
	return c
}

// phalanxVersion is the level of features that LanceDB clients take us for: with 0.3.0
// they send structured text queries and several vectors, and no multipart writes.
const phalanxVersion = "0.3.0"

// call is one request on its way through the handler.
type call struct {
	*handler
	w         *responseWriter
	r         *http.Request
	client    context.Context // done when the client has gone
	requestID string
	match     match
	principal *auth.Principal
	access    *auth.Access // nil when there are no policies
	body      []byte       // of JSON, as it came
	object    string       // canonical id, for the log
	memory    *memory.Share
	end       time.Time // of the connection, a little after that of the request
	paced     int       // bytes of the body since its deadline was set
	err       error     // what was answered, for the log

	// More for the log.
	id                         []string // that object names
	delimiter                  string   // that the path is written with
	code, version, transaction string
	received                   countedBody
	storage                    objectstore.Usage
	cold                       bool
}

func (c *call) ctx() context.Context { return c.r.Context() }

// run finds the operation and lets its route serve the request. The error is what the
// client is to be told.
func (c *call) run() error {
	var err error
	if c.match, err = c.router.find(c.r.Method, c.r.URL.EscapedPath()); err != nil {
		return err
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
	return c.answerDeadline(route.serve(c))
}

// unserved is the error for an operation that has no route here. A gateway leads an operation
// whose path it does not recognise to a handler that serves none.
func (c *call) unserved() error {
	err := protocol.Errorf(protocol.Unsupported, "operation %s is not supported by this server", c.match.operation.Name)
	if path := c.r.URL.EscapedPath(); strings.Contains(path, "//") {
		err.Detail = fmt.Sprintf("the path %.200s has two slashes in a row, and gateways have routes for single ones only", path)
	}
	return err
}

// answerDeadline makes an error that came of a passed deadline one that says so.
func (c *call) answerDeadline(err error) error {
	var known *protocol.Error
	if err == nil || errors.As(err, &known) && known.Code != protocol.Internal {
		return err
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(c.ctx().Err(), context.DeadlineExceeded) {
		return &protocol.Error{
			Code:    protocol.ServiceUnavailable,
			Message: "the request took longer than it was given",
			Err:     err,
		}
	}
	return err
}

// containPanic answers a panic of the program with 500, or by aborting the connection
// when the answer has begun.
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

package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path"
	"strconv"
	"strings"
	"unicode"

	"tiltyard/shared/http/quota"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/outage"
	"tiltyard/shared/storage/record"
)

// statuses maps each code to its status. Unsupported is 501 here. The specification has 406, but
// proxies and people relate that to Accept headers, and no client depends on it.
var statuses = map[protocol.Code]int{
	protocol.Unsupported:                http.StatusNotImplemented,
	protocol.NamespaceNotFound:          http.StatusNotFound,
	protocol.NamespaceAlreadyExists:     http.StatusConflict,
	protocol.NamespaceNotEmpty:          http.StatusConflict,
	protocol.TableNotFound:              http.StatusNotFound,
	protocol.TableAlreadyExists:         http.StatusConflict,
	protocol.TableIndexNotFound:         http.StatusNotFound,
	protocol.TableIndexAlreadyExists:    http.StatusConflict,
	protocol.TableTagNotFound:           http.StatusNotFound,
	protocol.TableTagAlreadyExists:      http.StatusConflict,
	protocol.TransactionNotFound:        http.StatusNotFound,
	protocol.TableVersionNotFound:       http.StatusNotFound,
	protocol.TableColumnNotFound:        http.StatusNotFound,
	protocol.InvalidInput:               http.StatusBadRequest,
	protocol.ConcurrentModification:     http.StatusConflict,
	protocol.PermissionDenied:           http.StatusForbidden,
	protocol.Unauthenticated:            http.StatusUnauthorized,
	protocol.ServiceUnavailable:         http.StatusServiceUnavailable,
	protocol.Internal:                   http.StatusInternalServerError,
	protocol.InvalidTableState:          http.StatusConflict,
	protocol.TableSchemaValidationError: http.StatusBadRequest,
	protocol.Throttling:                 http.StatusTooManyRequests,
	protocol.TableBranchNotFound:        http.StatusNotFound,
	protocol.TableBranchAlreadyExists:   http.StatusConflict,
}

// retryAfterSeconds is the pause that clients are requested to make if the server is overloaded.
const retryAfterSeconds = 1

// problem is the body of an error. It joins the fields of the public specification (error, code,
// detail, instance) and those of a problem document (type, title, status, detail, instance).
type problem struct {
	Error     string `json:"error"`
	Code      int    `json:"code"`
	Type      string `json:"type"`
	Title     string `json:"title"`
	Status    int    `json:"status"`
	Detail    string `json:"detail"`
	Instance  string `json:"instance"`
	RequestID string `json:"request_id"`
	Retryable bool   `json:"retryable"`

	// Violated are the names of the exceeded quotas. Source: draft-ietf-httpapi-ratelimit-headers-10, "Quota Exceeded".
	Violated []string `json:"violated-policies,omitempty"`
}

// httpError is an error of HTTP itself, with its own status and the code of a related protocol
// error.
type httpError struct {
	cause  protocol.Error
	status int
	kind   string   // last part of the type
	allow  []string // allowed methods, if the method was wrong
}

// Error returns the text of the cause.
func (e *httpError) Error() string { return e.cause.Error() }

// Unwrap returns the related protocol error.
func (e *httpError) Unwrap() error { return &e.cause }

// wrongMethod is the error for a known path with another method. The answer lists the allowed ones.
func wrongMethod(method string, allowed []string) error {
	return &httpError{
		cause: protocol.Error{
			Code:    protocol.InvalidInput,
			Message: fmt.Sprintf("method %.20s is not allowed for this path; allowed: %s", method, strings.Join(allowed, ", ")),
		},
		status: http.StatusMethodNotAllowed, kind: "method-not-allowed", allow: allowed,
	}
}

// unknownRoute is the error for a path without an operation. It is 501 under /v1/table, because
// LanceDB clients interpret a 404 as a missing table, and would discard their cached state of it.
// It is 501 as well for paths of these clients outside of tables, with a hint at the operation to
// use instead.
func unknownRoute(path string, segments []string) error {
	e := &httpError{
		cause:  protocol.Error{Code: protocol.Unsupported, Message: fmt.Sprintf("no operation has the path %.200s", path)},
		status: http.StatusNotFound, kind: "no-such-operation",
	}
	switch {
	case isTablePath(segments):
		e.status = http.StatusNotImplemented
	case len(segments) > 1 && segments[0] == "admin" && segments[1] == "authz":
		e.status = http.StatusNotImplemented
		e.cause.Detail = "permissions are the policies of the operator and not lists of grants and roles; POST /v1/access/explain shows what a caller may do"
	}
	return e
}

// bodyTooLarge is the error for a body beyond its limit. The advised size leaves room below the limit.
func bodyTooLarge(limit int64) error {
	return &httpError{
		cause: protocol.Error{
			Code:    protocol.InvalidInput,
			Message: fmt.Sprintf("body is larger than %d bytes", limit),
			Detail: fmt.Sprintf("send the data in smaller requests, as LanceDB clients do that add rows with write_parallelism=2 and the environment variable "+
				"LANCE_CLIENT_MAX_BYTES_PER_REQUEST=%d, or write it to the location of the table directly", limit*2/3),
		},
		status: http.StatusRequestEntityTooLarge, kind: "body-too-large",
	}
}

// outOfMemory is the error of a request that could not take memory. The status is 503 if other
// requests occupy the memory, and 413 if the request exceeds its own limit. The refusal may be
// wrapped as a mistake of the client, so outOfMemory unwraps it. If err means that a change may
// have been made, the result means this too.
func outOfMemory(refused *memory.Error, err error) error {
	if refused.Busy {
		var known *protocol.Error
		return &protocol.Error{
			Code:      protocol.ServiceUnavailable,
			Message:   "the memory of this server is in use by other requests",
			Detail:    "send the request again after a moment; smaller requests get memory sooner",
			Unsettled: errors.As(err, &known) && known.Unsettled, Err: err,
		}
	}
	return &protocol.Error{
		Code:     protocol.InvalidInput,
		TooLarge: true,
		Message:  fmt.Sprintf("the request needs more memory than one request may hold (%d bytes)", refused.Limit),
		Detail:   "ask for fewer rows or columns at a time, send the data in smaller batches, or work on the location of the table directly",
		Err:      err,
	}
}

// unsupportedEncoding is the error for a body with a Content-Encoding. None is supported.
func unsupportedEncoding(encoding string) error {
	return &httpError{
		cause: protocol.Error{
			Code:    protocol.InvalidInput,
			Message: fmt.Sprintf("content encoding %.40q is not supported; send the body as it is", encoding),
		},
		status: http.StatusUnsupportedMediaType, kind: "unsupported-encoding",
	}
}

// bodyError is the error for a body that did not arrive completely: the connection broke off, or
// its chunks are malformed. If the deadline of the request has passed, the error names that
// instead.
func (c *call) bodyError(err error) error {
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return err
	}
	if refused := (*memory.Error)(nil); errors.As(err, &refused) {
		return err
	}
	if slow := c.bodyTooSlow(err); slow != nil { // the server then assumes that the client has disconnected
		return slow
	}
	if over := c.ctx().Err(); over != nil {
		return over
	}
	return &protocol.Error{
		Code: protocol.InvalidInput, Message: "body could not be read to its end",
		Detail: "its chunks are malformed, or it is shorter than its Content-Length", Err: err,
	}
}

// isBodyError reports whether an error is about the body of the request.
func isBodyError(err error) bool {
	var known *protocol.Error
	var tooLarge *http.MaxBytesError
	return errors.As(err, &known) || errors.As(err, &tooLarge)
}

// writeProblem answers with an error, unless the client has disconnected.
func (c *call) writeProblem(err error) {
	if errors.Is(err, context.Canceled) && c.clientErr() != nil {
		c.w.status = statusClientGone
		panic(http.ErrAbortHandler)
	}
	c.send(c.problemReply(err))
}

// problemReply makes the reply for an error.
func (c *call) problemReply(err error) reply {
	p := c.problemOf(err)
	c.code = path.Base(p.Type)
	header := map[string]string{"Content-Type": contentTypeJSON}
	var special *httpError
	if errors.As(err, &special) && special.allow != nil {
		header["Allow"] = strings.Join(special.allow, ", ")
	}
	switch p.Status {
	case http.StatusUnauthorized, http.StatusForbidden:
		header["WWW-Authenticate"] = c.challenge(p.Status)
	case http.StatusServiceUnavailable, http.StatusTooManyRequests:
		header["Retry-After"] = strconv.Itoa(retryAfterSeconds)
	}
	if beyond := (*quota.Exceeded)(nil); errors.As(err, &beyond) {
		p.Violated = []string{beyond.Quota}
		if header["Retry-After"] = strconv.FormatInt(beyond.Seconds(), 10); beyond.After == 0 {
			delete(header, "Retry-After")
			p.Retryable = false
		}
	}
	body, err := encodeJSON(p)
	if err != nil {
		panic(err) // a struct of strings and numbers always encodes
	}
	return reply{status: p.Status, header: header, body: body}
}

// statusClientGone is the status in the log for a client that disconnected before the answer.
const statusClientGone = 499

// problemOf converts an error to the body of the response.
func (c *call) problemOf(err error) problem {
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		err = bodyTooLarge(tooLarge.Limit)
	}
	if refused := (*memory.Error)(nil); errors.As(err, &refused) {
		err = outOfMemory(refused, err)
	}
	if known := (*protocol.Error)(nil); objectstore.TakesNoWrites(err) && (!errors.As(err, &known) || known.Code == protocol.Internal) {
		err = storageFull(err)
	}
	if known := (*protocol.Error)(nil); errors.Is(err, objectstore.ErrLink) && (!errors.As(err, &known) || known.Code == protocol.Internal) {
		err = linkInTheWay(err)
	}
	if known := (*protocol.Error)(nil); !errors.As(err, &known) || known.Code == protocol.Internal {
		err = storageTrouble(err)
	}
	p := problem{
		Error:     "internal error; operators find the cause in the log by the request id",
		Code:      int(protocol.Internal),
		Instance:  c.r.URL.EscapedPath(),
		RequestID: c.requestID,
	}
	var known *protocol.Error
	if errors.As(err, &known) && known.Code != protocol.Internal {
		p.Error, p.Code, p.Detail = known.Text(), int(known.Code), known.Detail
	}
	code := protocol.Code(p.Code)
	p.Status, p.Type, p.Title = statuses[code], "/errors/"+slug(code), title(code)
	if known != nil && known.Kind != "" {
		p.Type, p.Title = "/errors/"+known.Kind, titleOf(known.Kind)
	}
	unsettled := known != nil && known.Unsettled
	p.Retryable = !unsettled && (code == protocol.ConcurrentModification || code == protocol.ServiceUnavailable || code == protocol.Throttling)

	var special *httpError
	if errors.As(err, &special) {
		p.Status, p.Type, p.Title = special.status, "/errors/"+special.kind, http.StatusText(special.status)
		return p
	}
	if known != nil && known.TooLarge {
		p.Status = http.StatusRequestEntityTooLarge
		p.Type, p.Title = "/errors/too-large", http.StatusText(p.Status)
		return p
	}
	if known != nil && known.Damaged {
		p.Status = http.StatusUnprocessableEntity
		p.Type, p.Title = "/errors/damaged-table", "Damaged table"
		return p
	}
	c.applyException(&p)
	return p
}

// storageTrouble returns the error of a request that failed because of an outage of a service. It returns other errors
// unchanged. A write whose answer was lost may have happened, so the error then advises the client to check before it
// repeats the request.
func storageTrouble(err error) error {
	unsettled := errors.Is(err, objectstore.ErrUnknownOutcome) || errors.Is(err, record.ErrUnknownOutcome)
	trouble := outage.Of(err)
	switch {
	case unsettled:
		return &protocol.Error{
			Code: protocol.ServiceUnavailable, Message: "the answer of the storage was lost, so the change may or may not have been made",
			Detail: "look at what the request was about before you send it again", Unsettled: true, Err: err,
		}
	case trouble != nil:
		return &protocol.Error{
			Code: protocol.ServiceUnavailable, Message: trouble.Message,
			Detail: "send the request again after a moment; if that does not help, the operator of the server must", Err: err,
		}
	}
	return err
}

// linkInTheWay is the error for a table whose files are behind a symbolic link, which the store does
// not follow.
func linkInTheWay(err error) error {
	return &protocol.Error{
		Code: protocol.InvalidInput, Message: "the path to the files of the table contains a symbolic link",
		Detail: "links are not followed; the operator of the server can allow the folder that the link leads to, so that the table can be registered there",
		Err:    err,
	}
}

// storageFull is the error for a write to a full or read-only disk.
func storageFull(err error) error {
	return &httpError{
		cause: protocol.Error{
			Code: protocol.ServiceUnavailable, Message: "the storage cannot take more data",
			Detail: "the disk of the server is full or read-only", Err: err,
		},
		status: http.StatusInsufficientStorage, kind: "insufficient-storage",
	}
}

// applyException changes the status of an error where a client of one operation expects another.
func (c *call) applyException(p *problem) {
	lanceDB := c.match.dialect == protocol.DialectLanceDB
	code := protocol.Code(p.Code)
	switch operation := c.match.operation.Name; {
	case operation == "DropNamespace" && code == protocol.NamespaceNotFound:
		p.Status = http.StatusBadRequest
	case operation == "CreateTable" && lanceDB && code == protocol.TableAlreadyExists:
		// The client searches the text of a 400 for these words.
		p.Status = http.StatusBadRequest
		if !strings.Contains(p.Error, "already exists") {
			p.Error += ": already exists"
		}
	case lanceDB && code == protocol.TableColumnNotFound:
		p.Status = http.StatusBadRequest // after a 404 the client would report that the table does not exist
	case lanceDB && (code == protocol.TableTagAlreadyExists || code == protocol.TableIndexAlreadyExists):
		// The client would retry a 409 three times before it reported the error.
		p.Status = http.StatusBadRequest
	}
}

// challenge returns the WWW-Authenticate header for a status.
func (c *call) challenge(status int) string {
	if status == http.StatusForbidden {
		scope := auth.ScopeRead
		if c.match.operation.Access == protocol.Write || c.performed.operation.Access == protocol.Write {
			scope = auth.ScopeWrite
		}
		return `Bearer realm="tiltyard", error="insufficient_scope", scope="` + scope + `"`
	}
	if _, presented, err := headerToken(c.r.Header); presented || err != nil {
		return `Bearer realm="tiltyard", error="invalid_token"`
	}
	return `Bearer realm="tiltyard"`
}

// slug is the name of a code in a path: table-not-found. Malformed requests have the slug
// bad-request, as the problem form of the specification has it.
func slug(code protocol.Code) string {
	if code == protocol.InvalidInput {
		return "bad-request"
	}
	return strings.Join(words(code), "-")
}

// title is the name of a code for human readers: Table not found.
func title(code protocol.Code) string { return titleOf(slug(code)) }

func titleOf(slug string) string {
	text := strings.ReplaceAll(slug, "-", " ")
	return strings.ToUpper(text[:1]) + text[1:]
}

// words splits the name of a code into words: table, not, found.
func words(code protocol.Code) []string {
	var split []string
	for _, r := range code.String() {
		if unicode.IsUpper(r) {
			split = append(split, "")
		}
		split[len(split)-1] += string(unicode.ToLower(r))
	}
	return split
}

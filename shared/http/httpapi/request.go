package httpapi

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"tiltyard/shared/arrow/arrowipc"
	"tiltyard/shared/protocol"
)

type requestIDKey struct{}

// RequestID returns the id of the request in ctx, or "" if there is none.
func RequestID(ctx context.Context) string {
	id, _ := ctx.Value(requestIDKey{}).(string)
	return id
}

// chooseRequestID returns the id that the client chose if it is safe for headers and logs, or else
// a new one.
func (h *handler) chooseRequestID(r *http.Request) string {
	const longest = 128
	id := r.Header.Get("X-Request-Id")
	fit := func(c rune) bool {
		return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.ContainsRune("-_.:/+=", c)
	}
	if id == "" || len(id) > longest || strings.ContainsFunc(id, func(c rune) bool { return !fit(c) }) {
		return h.NewID()
	}
	return id
}

// setDeadline bounds the request by the timeout of the server, or by a shorter timeout of the client. LanceDB clients send
// 0 if none of their time is left. The deadline of the connection is a little later, so that a client that neither sends
// nor reads cannot occupy the connection.
func (c *call) setDeadline() (context.CancelFunc, error) {
	const grace = 5 * time.Second
	timeout := c.Timeout
	if text := c.r.Header.Get("X-Request-Timeout-Ms"); text != "" {
		millis, err := strconv.ParseInt(text, 10, 64)
		if err != nil || millis < 0 {
			return nil, protocol.Errorf(protocol.InvalidInput, "header x-request-timeout-ms is %.80q; it must be a number of milliseconds", text)
		}
		if millis < timeout.Milliseconds() {
			timeout = time.Duration(millis) * time.Millisecond
		}
	}
	ctx := context.WithValue(c.r.Context(), requestIDKey{}, c.requestID)
	ctx, cancel := context.WithTimeout(ctx, timeout)
	c.r = c.r.WithContext(ctx)

	// Some servers have no connection to set deadlines on; they bound requests themselves.
	c.end = time.Now().Add(timeout + grace)
	c.w.end = c.end
	connection := http.NewResponseController(c.w)
	_ = connection.SetReadDeadline(c.end)
	_ = connection.SetWriteDeadline(c.end)
	return cancel, nil
}

// hurryBody sets a short deadline for a body that the handler does not read to its end. The HTTP
// server reads the rest of a short body before it answers, so that the connection can be used
// again. Without the deadline it would wait for the last byte until the request times out.
func (c *call) hurryBody() {
	if c.received.ended || c.r.ContentLength == 0 {
		return
	}
	_ = http.NewResponseController(c.w).SetReadDeadline(time.Now().Add(refusedBodyTime))
}

// refusedBodyTime bounds the time for reading the rest of a refused body.
const refusedBodyTime = time.Second

// decodeJSON fills a request from the path, the body and the query string. It checks the policies
// for the object in the path before it reads the body.
func (c *call) decodeJSON(req protocol.Request) error {
	values, err := c.decodePath()
	if err != nil {
		return err
	}
	if err := c.decodeBody(req); err != nil {
		return err
	}
	return c.decodeParameters(req, values)
}

// decodeBody reads a JSON object. An empty body counts as an empty object, and so does null, which
// Java clients send.
func (c *call) decodeBody(req protocol.Request) error {
	if c.r.Method == http.MethodGet {
		c.hurryBody()
		return nil
	}
	limit := c.Limits.JSON
	if c.match.operation.Group == protocol.GroupQuery {
		limit = c.Limits.Query
	}
	limit = max(limit, c.routes[c.match.operation.Name].most)
	body, err := c.limitBody(limit)
	if err != nil {
		return err
	}
	data, err := c.readBody(body)
	if err != nil {
		return c.bodyError(err)
	}
	c.body = data
	if text := bytes.TrimSpace(data); len(data) == 0 || string(text) == "null" {
		return nil
	}
	if u, ok := req.(interface{ RequestUpload() *protocol.Upload }); ok && strings.HasPrefix(c.r.Header.Get("Content-Type"), arrowipc.ContentTypeStream) {
		u.RequestUpload().Body = bytes.NewReader(data) // the columns may come as an Arrow schema
		return nil
	}
	if err := unmarshal(data, req); err != nil && c.routes[c.match.operation.Name].concealed {
		return protocol.Errorf(protocol.InvalidInput, "body is not a JSON object with the fields of the operation")
	} else if err != nil {
		return err
	}
	return nil
}

// uploadBody returns the body as a stream that ends with the request.
func (c *call) uploadBody() (io.Reader, error) {
	body, err := c.limitBody(c.Limits.Upload)
	if err != nil {
		return nil, err
	}
	return &uploadReader{call: c, r: body}, nil
}

// limitBody returns a body that fails beyond the limit. It refuses a body with a Content-Encoding.
func (c *call) limitBody(limit int64) (io.Reader, error) {
	if encoding := c.r.Header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return nil, unsupportedEncoding(encoding)
	}
	if c.r.ContentLength > limit {
		return nil, bodyTooLarge(limit)
	}
	return http.MaxBytesReader(c.w.ResponseWriter, c.r.Body, limit), nil
}

// uploadReader is the body of an upload. It ends with the request, enforces a minimum rate, and
// turns errors of the connection into answers.
type uploadReader struct {
	call *call
	r    io.Reader
	left time.Duration // time left for the rest of the bytes over which the rate is measured
	due  int           // number of remaining bytes in that measurement
}

// Read waits for the client. The time between two reads does not count against the client, because
// the server spends it.
func (r *uploadReader) Read(p []byte) (int, error) {
	if err := r.call.ctx().Err(); err != nil {
		return 0, err
	}
	if r.due <= 0 {
		r.left, r.due = r.call.StallTimeout, pace
	}
	began := time.Now()
	connection := http.NewResponseController(r.call.w)
	_ = connection.SetReadDeadline(earlier(r.call.end, began.Add(r.left)))
	n, err := r.r.Read(p)
	r.left, r.due = r.left-time.Since(began), r.due-n
	switch {
	case errors.Is(err, io.EOF):
		// The server continues to read, to notice that the client disconnects.
		_ = connection.SetReadDeadline(r.call.end)
	case err != nil:
		err = r.call.bodyError(err)
	}
	return n, err
}

// decodePath decodes the object of the request from the path, and checks the policies for it. It
// returns the parameters of the query string.
func (c *call) decodePath() (url.Values, error) {
	values, err := url.ParseQuery(c.r.URL.RawQuery)
	if err != nil {
		return nil, protocol.Errorf(protocol.InvalidInput, "query string is not properly encoded")
	}
	if err := c.decodeID(values); err != nil {
		return nil, err
	}
	err = c.admit()
	if err == nil {
		err = c.enter(c.match.operation, c.id)
	}
	if err != nil {
		c.hurryBody()
		return nil, err
	}
	return values, nil
}

// decodeParameters sets the fields of a request from path, query string and headers. It validates
// the request, and checks the policies for its other objects.
func (c *call) decodeParameters(req protocol.Request, values url.Values) error {
	if err := decodeQuery(values, req); err != nil {
		return err
	}
	if err := decodePathNames(c.match.params, req); err != nil {
		return err
	}
	common := req.RequestCommon()
	common.Identity = protocol.Identity{}
	common.Dialect = c.match.dialect
	common.Delimiter = c.delimiter
	common.Context = withContextHeaders(common.Context, c.r.Header)
	common.Database = c.r.Header.Get("X-Lancedb-Database")
	if err := c.settleID(common); err != nil {
		return err
	}
	if v, ok := req.(interface{ Validate() error }); ok {
		if err := v.Validate(); err != nil {
			return err
		}
	}
	if err := c.admitTargets(req); err != nil {
		return err
	}
	return c.enterTargets(req)
}

// decodeID decodes the id in the path.
func (c *call) decodeID(values url.Values) error {
	c.delimiter = protocol.DefaultDelimiter
	if given := values["delimiter"]; len(given) > 1 {
		return protocol.Errorf(protocol.InvalidInput, "query parameter delimiter is given %d times; give it once", len(given))
	} else if len(given) == 1 {
		c.delimiter = given[0]
		if err := protocol.CheckDelimiter(c.delimiter); err != nil {
			return err
		}
	}
	raw, ok := c.match.params["id"]
	if !ok {
		return nil
	}
	decoded, err := decodeSegment("id", raw)
	if err != nil {
		return err
	}
	id, err := protocol.SplitID(decoded, c.delimiter)
	if err != nil {
		return err
	}
	if len(id) == 0 && !strings.HasPrefix(c.match.operation.Path, "/v1/namespace/") {
		return protocol.Errorf(protocol.InvalidInput, "id names the root namespace, but %s needs a table or another namespace", c.match.operation.Name)
	}
	c.id, c.object = id, protocol.JoinID(id, protocol.DefaultDelimiter)
	return nil
}

// settleID sets the id of the request to the id in the path. It refuses a body that names another
// object, because a proxy may have checked the path while the service would act on the body. An
// empty id in the body counts as absent.
func (c *call) settleID(common *protocol.Common) error {
	if _, ok := c.match.params["id"]; !ok {
		common.ID = []string{}
		return nil
	}
	if len(common.ID) > 0 && !protocol.SameID(common.ID, c.id, c.delimiter) {
		return protocol.Errorf(protocol.InvalidInput, "id names one object in the path and another in the body; send the same id or leave it out of the body")
	}
	common.ID = c.id
	return nil
}

// withContextHeaders adds the entries that arrive as headers x-svc-ctx-<key>.
func withContextHeaders(entries map[string]string, header http.Header) map[string]string {
	const prefix = "X-Svc-Ctx-"
	for name := range header {
		key, ok := strings.CutPrefix(name, prefix)
		if !ok || key == "" {
			continue
		}
		if entries == nil {
			entries = map[string]string{}
		}
		entries[strings.ToLower(key)] = header.Get(name)
	}
	return entries
}

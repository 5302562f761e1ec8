package client

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strconv"
	"time"

	"tiltyard/shared/arrow/arrowipc"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/operations"
)

// ask calls an operation with a JSON answer. The response is nil if the answer is empty, which
// means that there was nothing to do.
func ask[Resp any](ctx context.Context, c *Client, operation string, req protocol.Request) (*Resp, error) {
	call, err := c.newCall(operation, req)
	if err != nil {
		return nil, err
	}
	return askCall[Resp](ctx, call)
}

// Call calls an operation with a JSON request and answer. The result is a pointer to the response type of op, or nil for
// an empty answer.
func (c *Client) Call(ctx context.Context, op protocol.Operation, req protocol.Request) (any, error) {
	if !op.IsJSON() {
		return nil, protocol.Errorf(protocol.InvalidInput, "%s takes or answers with rows or bytes; its own method sends it", op.Name)
	}
	call, err := c.newCall(op.Name, req)
	if err != nil {
		return nil, err
	}
	var resp any
	err = call.send(ctx, func(answer *http.Response) error {
		defer answer.Body.Close()
		if _, none := op.Response.(*protocol.Empty); none || answer.StatusCode == http.StatusNoContent {
			return nil
		}
		resp = reflect.New(op.ResponseType()).Interface()
		return readJSON(answer.Body, resp)
	})
	return resp, err
}

// upload calls an operation that receives rows and answers in JSON.
func upload[Resp any](ctx context.Context, c *Client, operation string, req protocol.Request, rows Source) (*Resp, error) {
	call, err := c.newCall(operation, req)
	if err != nil {
		return nil, err
	}
	call.rows = &rows
	return askCall[Resp](ctx, call)
}

// askCall sends a call and decodes its JSON answer.
func askCall[Resp any](ctx context.Context, call *call) (*Resp, error) {
	var resp *Resp
	err := call.send(ctx, func(answer *http.Response) error {
		defer answer.Body.Close()
		if answer.StatusCode == http.StatusNoContent {
			return nil
		}
		resp = new(Resp)
		if _, none := any(resp).(*protocol.Empty); none {
			return nil
		}
		return readJSON(answer.Body, resp)
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// maxAnswerBytes bounds a JSON answer, which is read as a whole. Lists come page by page.
const maxAnswerBytes = 256 << 20

// readJSON decodes an answer of bounded size. Malformed answers wrap ErrAnswer.
func readJSON(body io.Reader, into any) error {
	data, err := io.ReadAll(io.LimitReader(body, maxAnswerBytes+1))
	if err != nil {
		return err
	}
	if len(data) > maxAnswerBytes {
		return fmt.Errorf("%w: it is longer than %d bytes", ErrAnswer, maxAnswerBytes)
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("%w: %w", ErrAnswer, err)
	}
	return nil
}

// A call is one use of an operation. It may be sent several times.
type call struct {
	client    *Client
	operation protocol.Operation
	url       string
	header    http.Header
	body      []byte    // JSON, or nil for a GET
	rows      *Source   // the rows of the body, or nil
	sent      *rowsBody // the body of the last attempt
	follows   bool      // the answer may redirect to the storage, which must not get the token
	// repeatable is set if the server performs the call once however often it is sent, even without
	// support for keys.
	repeatable bool
}

// newCall encodes a request. It panics if there is no such operation.
func (c *Client) newCall(name string, req protocol.Request) (*call, error) {
	op, ok := operations.Lookup(name)
	if !ok {
		panic("client: no operation is called " + name)
	}
	path, err := encodePath(op, req)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	query, err := encodeQuery(req)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	target := c.base.JoinPath(path)
	target.RawQuery = query.Encode()
	call := &call{client: c, operation: op, url: target.String(), header: http.Header{}}
	if op.Methods[0] != http.MethodGet {
		if call.body, err = encodeBody(req); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	call.header.Set("User-Agent", userAgent)
	// The id and the key are generated once, so that every attempt sends the same ones.
	call.header.Set("X-Request-Id", rand.Text())
	if op.Access == protocol.Write {
		call.header.Set("Idempotency-Key", rand.Text())
	}
	return call, nil
}

const (
	userAgent   = "tiltyard-go"
	contentJSON = "application/json"
)

// send sends the call until there is an answer. It passes a successful answer to receive, which
// closes its body. An error of receive counts as a lost answer, unless it wraps ErrAnswer.
func (c *call) send(ctx context.Context, receive func(*http.Response) error) error {
	for try := 0; ; try++ {
		outcome, err := c.try(ctx, receive)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return c.wrap(context.Cause(ctx))
		}
		if !c.again(ctx, outcome, try) || !pause(ctx, outcome.pause(try)) {
			return c.wrap(err)
		}
	}
}

// wrap adds the name of the operation to an error, unless it is an [Error], which has it.
func (c *call) wrap(err error) error {
	if named := (*Error)(nil); errors.As(err, &named) {
		return err
	}
	return fmt.Errorf("%s: %w", c.operation.Name, err)
}

// try sends the call once. Its outcome decides whether another attempt is possible.
func (c *call) try(ctx context.Context, receive func(*http.Response) error) (outcome, error) {
	request, err := http.NewRequestWithContext(ctx, c.operation.Methods[0], c.url, nil)
	if err != nil {
		return outcome{kind: final}, err
	}
	request.Header = c.header.Clone()
	if c.client.token != "" {
		request.Header.Set("Authorization", "Bearer "+c.client.token)
	}
	// Let the server stop when this client no longer waits.
	if end, ok := ctx.Deadline(); ok {
		request.Header.Set("X-Request-Timeout-Ms", strconv.FormatInt(max(time.Until(end).Milliseconds(), 1), 10))
	}
	rows := c.setBody(ctx, request)
	answer, err := c.client.http.Do(request)
	if rows != nil {
		defer func() { _ = rows.Close() }()
		// An error of the source also breaks the request. Report it instead, and do not retry.
		if failed := rows.failure(); failed != nil && err != nil {
			return outcome{kind: final}, failed
		}
	}
	if err != nil {
		return outcome{kind: kindOf(err)}, err
	}
	if c.follows && answer.StatusCode == http.StatusSeeOther {
		if answer, err = c.follow(ctx, answer); err != nil {
			return outcome{kind: lost}, err
		}
	}
	if answer.StatusCode/100 != 2 && !c.beyond(answer) {
		defer answer.Body.Close()
		refusal := readRefusal(c.operation.Name, answer)
		return outcomeOf(refusal, answer), refusal
	}
	// A malformed answer stays malformed; another error broke the connection.
	if err := receive(answer); errors.Is(err, ErrAnswer) {
		return outcome{kind: final}, err
	} else if err != nil {
		return outcome{kind: lost}, err
	}
	return outcome{}, nil
}

// follow follows a redirect without sending the token, because only the server may see it.
func (c *call) follow(ctx context.Context, answer *http.Response) (*http.Response, error) {
	_ = answer.Body.Close() // the redirect has no body
	target, err := answer.Location()
	if err != nil {
		return nil, fmt.Errorf("%w: it leads nowhere: %w", ErrAnswer, err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("User-Agent", userAgent)
	return c.client.http.Do(request)
}

// beyond reports whether the requested range of a blob begins after its end.
func (c *call) beyond(answer *http.Response) bool {
	return answer.StatusCode == http.StatusRequestedRangeNotSatisfiable && c.header.Get("Range") != ""
}

// setBody sets the body of a request. The request has no GetBody, so that net/http does not repeat
// it: only [call.again] can decide whether that is safe.
func (c *call) setBody(ctx context.Context, request *http.Request) *rowsBody {
	switch {
	case c.rows != nil:
		// The previous attempt may still read the source.
		if c.sent != nil {
			c.sent.wait()
		}
		body := c.rows.open(ctx)
		c.sent = body
		request.Body, request.ContentLength = body, -1
		request.Header.Set("Content-Type", arrowipc.ContentTypeStream)
		return body
	case c.body != nil:
		request.Body, request.ContentLength = io.NopCloser(bytes.NewReader(c.body)), int64(len(c.body))
		request.Header.Set("Content-Type", contentJSON)
	}
	return nil
}

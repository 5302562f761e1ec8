package httpapi

import (
	"context"
	"errors"
	"io"

	"tiltyard/shared/arrowipc"
	"tiltyard/shared/idempotency"
	"tiltyard/shared/protocol"
)

// Route joins an operation to the function that serves it.
type Route struct {
	operation string
	body      bodyKind
	serve     func(c *call) error
}

// bodyKind is what the body of a request holds.
type bodyKind uint8

const (
	jsonBody bodyKind = iota
	arrowBody
)

// JSON serves an operation with a function from one JSON object to another. A nil
// response is answered with 204, a *protocol.Empty with 200 and no body. Its parameters
// are inferred from serve.
func JSON[Req, Resp any, PReq interface {
	*Req
	protocol.Request
}](operation string, serve func(context.Context, *Req) (*Resp, error)) Route {
	return Route{operation: operation, serve: func(c *call) error {
		req := PReq(new(Req))
		if err := c.decodeJSON(req); err != nil {
			return err
		}
		r, err := c.once(nil, func() (any, error) {
			resp, err := serve(c.ctx(), (*Req)(req))
			if resp == nil || err != nil {
				return nil, err
			}
			return resp, nil
		})
		if err != nil {
			return err
		}
		c.send(r)
		return nil
	}}
}

// Upload serves an operation whose request is an Arrow stream with parameters in the
// query string, and whose response is a JSON object. The function reads the stream from
// the Body of the request.
func Upload[Req, Resp any, PReq interface {
	*Req
	protocol.Request
	RequestUpload() *protocol.Upload
}](operation string, serve func(context.Context, *Req) (*Resp, error)) Route {
	return Route{operation: operation, body: arrowBody, serve: func(c *call) error {
		req := PReq(new(Req))
		values, err := c.decodePath()
		if err != nil {
			return err
		}
		if err := c.decodeParameters(req, values); err != nil {
			return err
		}
		body, err := c.uploadBody()
		if err != nil {
			return err
		}
		if c.streamSentAgain() {
			return c.serveStream(body, func(body io.Reader) (any, error) {
				req.RequestUpload().Body = body
				return serve(c.ctx(), (*Req)(req))
			})
		}
		r, err := c.serveUpload(body, func(body io.Reader) (any, error) {
			req.RequestUpload().Body = body
			return serve(c.ctx(), (*Req)(req))
		})
		// Some of what the service did not read is read here: a client that is still
		// sending could see a reset instead of the answer.
		_, _ = io.CopyN(io.Discard, body, maxDrainBytes)
		if err != nil {
			return err
		}
		c.send(r)
		return nil
	}}
}

// serveUpload serves an upload that only a key could make known when it is sent again.
func (c *call) serveUpload(body io.Reader, serve func(io.Reader) (any, error)) (reply, error) {
	if key, _ := c.repeatKey(); key == "" {
		return c.once(nil, func() (any, error) { return serve(body) })
	}
	stream := idempotency.NewDigest(body)
	r, err := c.once(stream, func() (any, error) {
		value, err := serve(stream)
		if err == nil {
			err = stream.ReadAll() // a service need not look at rows that it ignores
		}
		return value, err
	})
	if errors.Is(err, idempotency.ErrOtherRequest) {
		err = c.ledgerError(idempotency.ErrOtherRequest)
	}
	return r, err
}

// maxDrainBytes is how much of an upload is read for politeness only.
const maxDrainBytes = 16 << 20

// Arrow serves an operation whose request is a JSON object and whose response is an
// Arrow file, unless the client asks for the stream, or compressed. Errors before the first bytes leave are answered as errors; one that comes later
// aborts the connection, so that no client takes half an answer for a whole one.
func Arrow[Req any, PReq interface {
	*Req
	protocol.Request
}](operation string, serve func(context.Context, *Req) (*protocol.Rows, error)) Route {
	return rowsRoute[Req, PReq](operation, arrowForm{contentType: arrowipc.ContentTypeFile}, serve)
}

// ArrowStream is Arrow for operations that are answered with an Arrow stream.
func ArrowStream[Req any, PReq interface {
	*Req
	protocol.Request
}](operation string, serve func(context.Context, *Req) (*protocol.Rows, error)) Route {
	return rowsRoute[Req, PReq](operation, arrowForm{contentType: arrowipc.ContentTypeStream}, serve)
}

func rowsRoute[Req any, PReq interface {
	*Req
	protocol.Request
}](operation string, form arrowForm, serve func(context.Context, *Req) (*protocol.Rows, error)) Route {
	return Route{operation: operation, serve: func(c *call) error {
		req := PReq(new(Req))
		if err := c.decodeJSON(req); err != nil {
			return err
		}
		rows, err := serve(c.ctx(), (*Req)(req))
		if err != nil {
			return err
		}
		return c.writeRows(rows, form.asked(c.r.Header.Values("Accept")))
	}}
}

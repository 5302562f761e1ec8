package httpapi

import (
	"context"
	"errors"
	"io"
	"reflect"

	"tiltyard/shared/arrow/arrowipc"
	"tiltyard/shared/jobs/idempotency"
	"tiltyard/shared/protocol"
)

// A Route joins an operation with the function that serves it.
type Route struct {
	operation string
	body      bodyKind
	concealed bool  // see Concealed
	most      int64 // bytes of a JSON body; 0: the common limit
	serve     func(c *call) error

	request, response reflect.Type // the function's parameter and result, without pointers
	answers           string       // content type of the answer; empty: JSON
}

// bodyKind is the kind of a request's body.
type bodyKind uint8

const (
	jsonBody bodyKind = iota
	arrowBody
)

// JSON serves an operation with a function from one JSON object to another. A nil response is
// answered with 204, a *protocol.Empty with 200 and no body. The type parameters are inferred from
// serve.
func JSON[Req, Resp any, PReq interface {
	*Req
	protocol.Request
}](operation string, serve func(context.Context, *Req) (*Resp, error)) Route {
	route := typed[Req, Resp](operation)
	route.serve = func(c *call) error {
		req := PReq(new(Req))
		return c.serveJSON(req, func() (any, error) {
			resp, err := serve(c.ctx(), (*Req)(req))
			if resp == nil || err != nil {
				return nil, err
			}
			return resp, nil
		})
	}
	return route
}

// Untyped serves any operation with a JSON request: the function takes the request type of the
// operation's row, and returns any value.
func Untyped(op protocol.Operation, serve func(context.Context, protocol.Request) (any, error)) Route {
	route := Route{operation: op.Name, request: op.RequestType(), response: op.ResponseType()}
	route.serve = func(c *call) error {
		req := op.NewRequest()
		return c.serveJSON(req, func() (any, error) { return serve(c.ctx(), req) })
	}
	return route
}

// serveJSON decodes a request, and sends the result of serve.
func (c *call) serveJSON(req protocol.Request, serve func() (any, error)) error {
	if err := c.decodeJSON(req); err != nil {
		return err
	}
	r, err := c.once(nil, serve)
	if err != nil {
		return err
	}
	c.send(r)
	return nil
}

// typed returns the route of an operation without the function that serves it.
func typed[Req, Resp any](operation string) Route {
	return Route{operation: operation, request: reflect.TypeFor[Req](), response: reflect.TypeFor[Resp]()}
}

// Within returns the route with another limit of the JSON body, where that is more than all operations
// allow.
func (r Route) Within(bytes int64) Route {
	r.most = bytes
	return r
}

// Concealed serves a JSON operation whose body contains a secret. The body is neither quoted in an
// answer nor stored in the ledger, so a repeated mutation is executed again.
func Concealed[Req, Resp any, PReq interface {
	*Req
	protocol.Request
}](operation string, serve func(context.Context, *Req) (*Resp, error)) Route {
	route := JSON[Req, Resp, PReq](operation, serve)
	route.concealed = true
	return route
}

// Upload serves an operation whose request is an Arrow stream with parameters in the query string,
// and whose response is a JSON object. The function reads the stream from the Body of the request.
func Upload[Req, Resp any, PReq interface {
	*Req
	protocol.Request
	RequestUpload() *protocol.Upload
}](operation string, serve func(context.Context, *Req) (*Resp, error)) Route {
	route := typed[Req, Resp](operation)
	route.body = arrowBody
	route.serve = func(c *call) error {
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
		// The service may not have read the whole body. Part of the rest is read here, because a client
		// that is still sending could get a connection reset instead of the answer.
		_, _ = io.CopyN(io.Discard, body, maxDrainBytes)
		if err != nil {
			return err
		}
		c.send(r)
		return nil
	}
	return route
}

// serveUpload serves an upload that can be recognized as a repetition by its key only.
func (c *call) serveUpload(body io.Reader, serve func(io.Reader) (any, error)) (reply, error) {
	if key, _ := c.repeatKey(); key == "" {
		return c.once(nil, func() (any, error) { return serve(body) })
	}
	stream := idempotency.NewDigest(body)
	r, err := c.once(stream, func() (any, error) {
		value, err := serve(stream)
		if err == nil {
			err = stream.ReadAll() // the service may have ignored the rest of the rows
		}
		return value, err
	})
	if errors.Is(err, idempotency.ErrOtherRequest) {
		err = c.ledgerError(idempotency.ErrOtherRequest)
	}
	return r, err
}

// maxDrainBytes bounds the part of an unread upload that is read before the answer.
const maxDrainBytes = 16 << 20

// Arrow serves an operation whose request is a JSON object and whose response is an Arrow file. A
// client can request an Arrow stream, compression or JSON instead, or the rows in storage. An error
// before the first bytes is an error response. A later error aborts the connection, so that no
// client mistakes a part of the rows for all of them.
func Arrow[Req any, PReq interface {
	*Req
	protocol.Request
}](operation string, serve func(context.Context, *Req) (*protocol.Rows, error)) Route {
	return rowsRoute[Req, PReq](operation, arrowForm{contentType: arrowipc.ContentTypeFile}, serve)
}

// ArrowStream serves operations as Arrow does, but the default form of the response is an Arrow
// stream.
func ArrowStream[Req any, PReq interface {
	*Req
	protocol.Request
}](operation string, serve func(context.Context, *Req) (*protocol.Rows, error)) Route {
	return rowsRoute[Req, PReq](operation, arrowForm{contentType: arrowipc.ContentTypeStream}, serve)
}

// rowsRoute serves an operation whose response is rows, in the given form unless the client requests
// another one.
func rowsRoute[Req any, PReq interface {
	*Req
	protocol.Request
}](operation string, form arrowForm, serve func(context.Context, *Req) (*protocol.Rows, error)) Route {
	route := typed[Req, protocol.Rows](operation)
	route.answers = form.contentType
	route.serve = func(c *call) error {
		asked, err := c.delivery()
		if err != nil {
			return err
		}
		req := PReq(new(Req))
		if err := c.decodeJSON(req); err != nil {
			return err
		}
		rows, err := serve(c.ctx(), (*Req)(req))
		if err != nil {
			return err
		}
		wanted := form.asked(c.r)
		if asked == direct {
			return c.writeRows(rows, wanted)
		}
		if wanted.isJSON() { // of the answer that tells where the rows are
			wanted = form
		}
		return c.storeRows(rows, wanted, asked)
	}
	return route
}

package httpapi

import (
	"errors"
	"io"
	"net/http"
	"os"
	"time"

	"tiltyard/shared/process/memory"
	"tiltyard/shared/protocol"
)

const (
	// pace is the number of bytes of a body or an answer that a client must send or receive within
	// [Options.StallTimeout].
	pace = 64 << 10
	// firstBody is the size of the buffer for a JSON body before any byte has arrived.
	firstBody = 64 << 10
	// parsedFactor is the memory per byte of JSON, including its text and the parsed copy. The worst
	// case is a list of one-digit numbers, which become doubles.
	parsedFactor = 5
)

// readBody reads a JSON body. It takes memory as the bytes arrive, and memory for the parsed form
// at the end, so that a client that announces a large body but sends little occupies little memory.
func (c *call) readBody(body io.Reader) ([]byte, error) {
	c.pace(c.r.ContentLength)
	size := int64(512)
	if c.r.ContentLength >= 0 {
		size = min(c.r.ContentLength+1, firstBody)
	}
	var hold memory.Hold // released at the end of the request
	if err := hold.Resize(c.ctx(), size); err != nil {
		return nil, err
	}
	data := make([]byte, 0, size)
	for {
		n, err := body.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		switch {
		case errors.Is(err, io.EOF):
			if c.isPaced { // the server continues to read, to notice that the client disconnects
				_ = http.NewResponseController(c.w).SetReadDeadline(c.end)
			}
			return data, hold.Resize(c.ctx(), parsedFactor*int64(cap(data)))
		case err != nil:
			return nil, err
		}
		c.progress(n)
		if len(data) < cap(data) {
			continue
		}
		size = 4 * int64(cap(data))
		if c.r.ContentLength >= 0 {
			size = min(size, c.r.ContentLength+1)
		}
		if err := hold.Resize(c.ctx(), int64(cap(data))+size); err != nil { // both exist during the copy
			return nil, err
		}
		data = append(make([]byte, 0, size), data...)
		if err := hold.Resize(c.ctx(), size); err != nil {
			return nil, err
		}
	}
}

// pace starts to enforce a minimum rate at which the client sends its body. It ignores a short
// body, because that occupies little memory.
func (c *call) pace(length int64) {
	if length < 0 || length > 4<<10 {
		c.progress(pace)
	}
}

// progress counts received bytes and extends the deadline of the next ones.
func (c *call) progress(bytes int) {
	if c.paced += bytes; c.paced < pace {
		return
	}
	c.paced, c.isPaced = 0, true
	_ = http.NewResponseController(c.w).SetReadDeadline(earlier(c.end, time.Now().Add(c.StallTimeout)))
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// bodyTooSlow returns an error if the next bytes of the body did not arrive in time, and nil
// otherwise.
func (c *call) bodyTooSlow(err error) error {
	if !errors.Is(err, os.ErrDeadlineExceeded) || !time.Now().Before(c.end) {
		return nil
	}
	return &httpError{
		cause: protocol.Error{
			Code: protocol.InvalidInput, Message: "the body came too slowly: less than 64 KiB in " + c.StallTimeout.String(),
			Detail: "send the request again, over a faster connection or with a smaller body", Err: err,
		},
		status: http.StatusRequestTimeout, kind: "body-too-slow",
	}
}

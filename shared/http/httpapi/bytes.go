package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"tiltyard/shared/process/memory"
	"tiltyard/shared/protocol"
)

// Bytes serves an operation that answers with bytes, of which a client can select a part by a Range
// header. A null value is answered with 204.
func Bytes[Req any, PReq interface {
	*Req
	protocol.Request
}](operation string, serve func(context.Context, *Req) (*protocol.Bytes, error)) Route {
	route := typed[Req, protocol.Bytes](operation)
	route.answers = contentTypeBytes
	route.serve = func(c *call) error {
		req := PReq(new(Req))
		if err := c.decodeJSON(req); err != nil {
			return err
		}
		value, err := serve(c.ctx(), (*Req)(req))
		if err != nil {
			return err
		}
		return c.writeBytes(value, contentTypeBytes)
	}
	return route
}

const contentTypeBytes = "application/octet-stream"

// bytesPiece is the part of an answer that is held in memory at a time.
const bytesPiece = 8 << 20

// writeBytes sends the part of a value that the request selects. An error before the first piece is
// still an error response; a later error aborts the connection.
func (c *call) writeBytes(value *protocol.Bytes, contentType string) error {
	if value.Null {
		c.w.Header().Set(versionHeader, versionOf(value))
		c.w.WriteHeader(http.StatusNoContent)
		return nil
	}
	header := map[string]string{"Content-Type": contentType, "Accept-Ranges": "bytes"}
	if value.Version != 0 { // a stored result is of no version that later reads have to be as new as
		header[versionHeader] = versionOf(value)
	}
	status, from, size := http.StatusOK, int64(0), value.Size
	switch part, asked := parseRange(c.r.Header.Get("Range"), value.Size); {
	case asked && part.size == 0:
		header["Content-Range"] = fmt.Sprintf("bytes */%d", value.Size)
		c.send(reply{status: http.StatusRequestedRangeNotSatisfiable, header: header})
		return nil
	case asked:
		status, from, size = http.StatusPartialContent, part.from, part.size
		header["Content-Range"] = fmt.Sprintf("bytes %d-%d/%d", from, from+size-1, value.Size)
	}
	if _, err := memory.Take(c.ctx(), min(size, bytesPiece)); err != nil {
		return err
	}
	piece, err := value.Read(c.ctx(), from, min(size, bytesPiece))
	if err != nil {
		return err
	}
	for name, text := range header {
		c.w.Header().Set(name, text)
	}
	c.w.Header().Set("Content-Length", strconv.FormatInt(size, 10))
	c.w.WriteHeader(status)
	for {
		_, gone := c.w.Write(piece)
		if from, size = from+int64(len(piece)), size-int64(len(piece)); size == 0 || gone != nil {
			return nil //nolint:nilerr // the client has disconnected
		}
		if piece, err = value.Read(c.ctx(), from, min(size, bytesPiece)); err != nil {
			c.err, c.cut = err, true
			panic(http.ErrAbortHandler)
		}
	}
}

// A byteRange is a part of a value. Size 0 means that the range is beyond the value's end.
type byteRange struct{ from, size int64 }

// parseRange parses a Range header. ok is false if it is absent, has several ranges, or uses
// another unit; the whole value is then the answer, as RFC 9110 requires.
func parseRange(header string, total int64) (byteRange, bool) {
	spec, ok := strings.CutPrefix(header, "bytes=")
	first, last, dash := strings.Cut(strings.TrimSpace(spec), "-")
	if !ok || !dash || strings.Contains(spec, ",") {
		return byteRange{}, false
	}
	if first == "" { // the number is the length of a suffix
		n, err := strconv.ParseUint(last, 10, 63)
		size := min(int64(n), total)
		return byteRange{total - size, size}, err == nil
	}
	from, err := strconv.ParseUint(first, 10, 63)
	if err != nil {
		return byteRange{}, false
	}
	end := total
	if last != "" {
		to, err := strconv.ParseUint(last, 10, 63)
		if err != nil || to < from {
			return byteRange{}, false
		}
		end = min(int64(to), total-1) + 1
	}
	if int64(from) >= total {
		return byteRange{from: total}, true
	}
	return byteRange{int64(from), end - int64(from)}, true
}

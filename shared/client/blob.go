package client

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/queryapi"
)

// A Part is a byte range of a blob. The zero value is the whole blob.
type Part struct {
	From int64 // offset of the first byte
	Size int64 // maximum size in bytes; 0 means up to the end
}

// header returns the value of the Range header, or "" for the whole blob.
func (p Part) header() string {
	switch {
	case p == Part{}:
		return ""
	case p.Size == 0:
		return fmt.Sprintf("bytes=%d-", p.From)
	}
	return fmt.Sprintf("bytes=%d-%d", p.From, p.From+p.Size-1)
}

// A Blob is a value of a blob column, or a part of it, which is read from the connection. The
// caller must close it.
type Blob struct {
	io.ReadCloser
	Version int64 // of the table; 0 if the server does not send it
	Null    bool  // the value is null, and there is nothing to read
	Size    int64 // of the whole value; -1 if the server does not send it
}

// ReadTableBlob returns one value of a blob column, or a part of it. A part that begins after the
// end of the value is empty.
func (c *Client) ReadTableBlob(ctx context.Context, req *queryapi.ReadBlobRequest, part Part) (*Blob, error) {
	if part.From < 0 || part.Size < 0 {
		return nil, protocol.Errorf(protocol.InvalidInput, "ReadTableBlob: the part has %d bytes from %d on; neither may be negative", part.Size, part.From)
	}
	call, err := c.newCall("ReadTableBlob", req)
	if err != nil {
		return nil, err
	}
	if part != (Part{}) {
		call.header.Set("Range", part.header())
	}
	var blob *Blob
	err = call.send(ctx, func(answer *http.Response) error {
		blob = &Blob{ReadCloser: answer.Body, Size: answer.ContentLength, Null: answer.StatusCode == http.StatusNoContent}
		blob.Version = versionOf(answer)
		if _, total, ok := strings.Cut(answer.Header.Get("Content-Range"), "/"); ok {
			blob.Size = parseSize(total)
		}
		// The server may ignore Range, but the caller relies on the offset.
		if part != (Part{}) && answer.StatusCode == http.StatusOK {
			_ = answer.Body.Close()
			return fmt.Errorf("%w: it is a whole blob instead of a part", ErrAnswer)
		}
		return nil
	})
	return blob, err
}

// parseSize returns the size in a Content-Range header, or -1 if it is unknown.
func parseSize(text string) int64 {
	size, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return -1
	}
	return size
}

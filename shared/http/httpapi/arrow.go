package httpapi

import (
	"bufio"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/arrow/arrowipc"
	"tiltyard/shared/protocol"
)

// An arrowForm is the form of an answer with rows: an Arrow IPC file or stream, and the compression
// of its buffers, or JSON as in jsonrows.go.
type arrowForm struct {
	contentType string
	compression arrowipc.Compression
}

// asked returns the form in the Accept header of a request, such as
//
//	Accept: application/vnd.apache.arrow.stream; compression=zstd
//
// The compression is lz4 or zstd. The first form in the header counts. A header that names no form, as with most clients,
// leaves it as it is: the operation's own, uncompressed, since not every reader can decompress.
func (f arrowForm) asked(r *http.Request) arrowForm {
	for _, header := range r.Header.Values("Accept") {
		for wanted := range strings.SplitSeq(header, ",") {
			contentType, parameters, err := mime.ParseMediaType(wanted)
			if err == nil && wantsJSON(contentType, r) {
				return arrowForm{contentType: contentType}
			}
			if err != nil || contentType != arrowipc.ContentTypeFile && contentType != arrowipc.ContentTypeStream {
				continue
			}
			f.contentType = contentType
			switch strings.ToLower(parameters["compression"]) {
			case "lz4":
				f.compression = arrowipc.LZ4
			case "zstd":
				f.compression = arrowipc.ZSTD
			}
			return f
		}
	}
	return f
}

// writer returns a writer of the form.
func (f arrowForm) writer(w io.Writer, schema *arrow.Schema) (rowsWriter, error) {
	switch {
	case f.isJSON():
		return &jsonWriter{w: w, array: f.contentType == contentTypeObject}, nil
	case f.contentType == arrowipc.ContentTypeStream:
		return arrowipc.NewStreamWriter(w, schema, f.compression), nil
	}
	return arrowipc.NewFileWriter(w, schema, f.compression)
}

// isJSON reports whether the form is JSON.
func (f arrowForm) isJSON() bool {
	return f.contentType == contentTypeLines || f.contentType == contentTypeObject
}

// writeRows streams batches in a form. The header is sent with the first batch, so that an
// error before it can still be an error response.
func (c *call) writeRows(rows *protocol.Rows, form arrowForm) error {
	out := &arrowResponse{call: c, rows: rows, form: form}
	for batch, err := range rows.Batches {
		switch {
		case err != nil && c.w.status == 0: // the client has received nothing yet
			c.w.Header().Del(versionHeader)
			return err
		case err != nil:
			out.abort(err)
		}
		if err := out.begin(); err != nil {
			return err
		}
		if err := out.file.Write(batch); err != nil {
			out.abort(err)
		}
		c.rows += batch.NumRows()
	}
	if err := out.begin(); err != nil {
		return err
	}
	if err := out.file.Close(); err != nil {
		out.abort(err)
	}
	if err := out.buffer.Flush(); err != nil {
		out.abort(err)
	}
	out.buffer.Reset(io.Discard) // releases the connection
	buffers.Put(out.buffer)
	return nil
}

// buffers are reused between responses, because most responses are much shorter than a buffer.
var buffers = sync.Pool{New: func() any { return bufio.NewWriterSize(io.Discard, 64<<10) }}

// arrowResponse is an Arrow file or stream that is being sent.
type arrowResponse struct {
	call   *call
	rows   *protocol.Rows
	form   arrowForm
	buffer *bufio.Writer
	file   rowsWriter
}

// begin writes the start of the file on the first call.
func (o *arrowResponse) begin() error {
	if o.file != nil {
		return nil
	}
	buffer := buffers.Get().(*bufio.Writer)
	buffer.Reset(o.call.w)
	file, err := o.form.writer(buffer, o.rows.Schema)
	if err != nil {
		return fmt.Errorf("open the Arrow response: %w", err)
	}
	if version := versionOf(o.rows); version != "" {
		o.call.w.Header().Set(versionHeader, version)
	}
	o.call.w.Header().Set("Content-Type", o.form.contentType)
	o.buffer, o.file = buffer, file
	return nil
}

// abort breaks off a response that cannot be completed, so that the client notices.
func (o *arrowResponse) abort(err error) {
	o.call.err, o.call.cut = err, true
	panic(http.ErrAbortHandler)
}

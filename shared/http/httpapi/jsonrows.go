package httpapi

import (
	"bytes"
	"io"
	"net/http"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/arrow/rowjson"
)

// Content types of rows as JSON, which a client requests by Accept.
const (
	contentTypeLines  = "application/x-ndjson" // an object in each line
	contentTypeObject = contentTypeJSON        // an array of objects
)

// generatedAgent is in the User-Agent of clients that are generated from the specification. They send
// Accept: application/json with each request, also for rows, and expect Arrow.
const generatedAgent = "OpenAPI-Generator/"

// wantsJSON reports whether a media type of an Accept header requests rows as JSON.
func wantsJSON(contentType string, r *http.Request) bool {
	return contentType == contentTypeLines || contentType == contentTypeObject && !strings.Contains(r.Header.Get("User-Agent"), generatedAgent)
}

// A rowsWriter writes the rows of an answer in one of its forms.
type rowsWriter interface {
	Write(batch arrow.RecordBatch) error
	Close() error
}

// jsonWriter writes rows as JSON objects, in lines or as an array. Bytes are base64, and vectors are arrays of numbers.
type jsonWriter struct {
	w     io.Writer
	array bool
	begun bool
}

// Write writes the rows of a batch.
func (j *jsonWriter) Write(batch arrow.RecordBatch) error {
	if !j.array {
		return rowjson.Write(j.w, batch)
	}
	return rowjson.Write((*arrayItems)(j), batch)
}

// Close writes the end of the array.
func (j *jsonWriter) Close() (err error) {
	switch {
	case j.array && !j.begun:
		_, err = io.WriteString(j.w, "[]\n")
	case j.array:
		_, err = io.WriteString(j.w, "\n]\n")
	}
	return err
}

// arrayItems makes items of an array from lines. rowjson writes each line at once.
type arrayItems jsonWriter

// Write writes one line, without its line feed, as the next item.
func (a *arrayItems) Write(line []byte) (int, error) {
	separator := ",\n"
	if !a.begun {
		separator, a.begun = "[\n", true
	}
	if _, err := io.WriteString(a.w, separator); err != nil {
		return 0, err
	}
	_, err := a.w.Write(bytes.TrimSuffix(line, []byte("\n")))
	return len(line), err
}

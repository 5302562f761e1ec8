package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"

	"tiltyard/shared/arrow/rowjson"
	"tiltyard/shared/client"
)

// maxRowBytes bounds the rows of an answer as JSON: about 20,000 tokens, which clients accept.
const maxRowBytes = 48 << 10

// An answer holds the rows that a query has found, as objects.
type answer struct {
	Table   string            `json:"table"`
	Version int64             `json:"version"` // of the table that was read
	Rows    []json.RawMessage `json:"rows"`
	// OmittedColumns are the columns of vectors and bytes that the query did not name, with their types.
	OmittedColumns []string `json:"omitted_columns,omitempty"`
	// RowsLeftOut counts the rows within the limit that exceeded the size of the answer.
	RowsLeftOut int64 `json:"rows_left_out,omitempty"`
	// NextOffset is where the next page begins. Nil: there are no more rows.
	NextOffset *int64 `json:"next_offset,omitempty"`
	Note       string `json:"note,omitempty"`
}

// take reads up to limit rows from offset on, of which the query has one more if there is a next page.
// Rows that exceed the size of the answer are counted.
func (a *answer) take(rows *client.Rows, offset, limit int64) error {
	a.Version = rows.Version
	lines := &lines{most: limit, kept: []json.RawMessage{}}
	for batch, err := range rows.Batches() {
		if err == nil {
			err = rowjson.Write(lines, batch)
		}
		if err != nil {
			return err
		}
	}
	a.Rows = lines.kept
	if len(a.Rows) == 0 && lines.all > 0 {
		return fmt.Errorf("row %d alone has %d bytes as JSON, and an answer at most %d; name fewer columns, or shorten one: short=left(body, 1000)", offset, lines.first, maxRowBytes)
	}
	kept := int64(len(a.Rows))
	if lines.all == kept {
		return nil
	}
	a.NextOffset = new(offset + kept)
	a.Note = fmt.Sprintf("there are more rows: repeat the call with offset %d and version %d", *a.NextOffset, a.Version)
	if a.RowsLeftOut = min(lines.all, limit) - kept; a.RowsLeftOut > 0 {
		a.Note = fmt.Sprintf("%d of %d rows are left out, because an answer has at most %d bytes of rows: repeat the call with offset %d and version %d, or name fewer columns",
			a.RowsLeftOut, min(lines.all, limit), maxRowBytes, *a.NextOffset, a.Version)
	}
	return nil
}

// lines keeps rows that are written to it one by one, until they are too many or too large, and
// counts the others.
type lines struct {
	most  int64 // rows
	kept  []json.RawMessage
	bytes int
	full  bool
	all   int64
	first int // bytes of the first row
}

// Write takes one row.
func (l *lines) Write(line []byte) (int, error) {
	if l.all++; l.full || l.all > l.most {
		l.full = true
		return len(line), nil
	}
	row, err := unescaped(line)
	if err != nil {
		return 0, err
	}
	if l.all == 1 {
		l.first = len(row)
	}
	if l.full = l.bytes+len(row) > maxRowBytes; !l.full {
		l.kept, l.bytes = append(l.kept, row), l.bytes+len(row)
	}
	return len(line), nil
}

// unescaped returns an object in which <, > and & are not escaped. The Arrow library escapes them.
func unescaped(object []byte) (json.RawMessage, error) {
	decoder := json.NewDecoder(bytes.NewReader(object))
	decoder.UseNumber()
	var fields map[string]any
	if err := decoder.Decode(&fields); err != nil {
		return nil, err
	}
	text, err := encode(fields)
	return json.RawMessage(text), err
}

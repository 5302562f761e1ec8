package protocol

import (
	"context"
	"strconv"
)

// FetchTableBlobsRequest asks for whole values of a blob column.
type FetchTableBlobsRequest struct {
	Common
	Version *int64   `json:"version"` // nil: the latest
	Branch  string   `json:"branch"`
	Column  string   `json:"column"`  // or the path of a member of structs
	RowIDs  []uint64 `json:"row_ids"` // may repeat
}

// Validate refuses negative versions and a request without a column.
func (r *FetchTableBlobsRequest) Validate() error {
	if r.Column == "" {
		return Errorf(InvalidInput, "column is required")
	}
	return notNegative("version", r.Version)
}

// ReadTableBlobRequest asks for one value of a blob column, or for a part of it, which a
// header says.
type ReadTableBlobRequest struct {
	Common
	Version *int64 `json:"-" query:"version"` // nil: the latest
	Branch  string `json:"-" query:"branch"`
	Column  string `json:"-" path:"column"`
	RowID   string `json:"-" path:"row_id"` // a number
	// SourceURI, RowIsAddress and SourceCommitMicros describe a value that a query in SQL found. Such queries are
	// not served, so the value would be one of another table or of another row.
	SourceURI          string `json:"-" query:"source_uri"`
	RowIsAddress       bool   `json:"-" query:"row_is_address"`
	SourceCommitMicros *int64 `json:"-" query:"source_commit_micros"`
}

// Row returns the id of the row.
func (r *ReadTableBlobRequest) Row() (uint64, error) {
	id, err := strconv.ParseUint(r.RowID, 10, 64)
	if err != nil {
		return 0, Errorf(InvalidInput, "row_id is %.80q; it must be a number", r.RowID)
	}
	return id, nil
}

// Validate refuses negative versions, ids that are no numbers, and descriptors of queries in SQL.
func (r *ReadTableBlobRequest) Validate() error {
	if r.SourceURI != "" || r.RowIsAddress || r.SourceCommitMicros != nil {
		return Errorf(Unsupported, "source_uri, row_is_address and source_commit_micros describe values that a query in SQL found, which is not served here; name the table, the column and a row id")
	}
	if _, err := r.Row(); err != nil {
		return err
	}
	return notNegative("version", r.Version)
}

// Bytes is an answer made of bytes, which are read as they are asked for.
type Bytes struct {
	Version int64 // of the table that they were read from
	Null    bool  // there is no value; the rest means nothing then
	Size    int64
	// Read returns size bytes from the offset from on, all of which there must be.
	Read func(ctx context.Context, from, size int64) ([]byte, error)
}

// AtVersion returns the version of the table that was read.
func (b *Bytes) AtVersion() int64 { return b.Version }

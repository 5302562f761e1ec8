package queryapi

import (
	"strconv"

	"tiltyard/shared/protocol"
)

// FetchBlobsRequest asks for whole values of a blob column.
type FetchBlobsRequest struct {
	protocol.Common
	Version *int64   `json:"version"` // nil: the latest
	Branch  string   `json:"branch"`
	Column  string   `json:"column"`  // or the path of a member of structs
	RowIDs  []uint64 `json:"row_ids"` // may repeat
}

// Validate refuses negative versions and a request without a column.
func (r *FetchBlobsRequest) Validate() error {
	if r.Column == "" {
		return protocol.Errorf(protocol.InvalidInput, "column is required")
	}
	return protocol.NotNegative("version", r.Version)
}

// ReadBlobRequest asks for one value of a blob column, or for a part of it, which a
// header says.
type ReadBlobRequest struct {
	protocol.Common
	Version *int64 `json:"-" query:"version"` // nil: the latest
	Branch  string `json:"-" query:"branch"`
	Column  string `json:"-" path:"column"`
	RowID   string `json:"-" path:"row_id"` // a number
	// SourceURI, RowIsAddress and SourceCommitMicros describe a value that was found by SQL over Flight. That is
	// not served, so the value would be one of another table or of another row.
	SourceURI          string `json:"-" query:"source_uri"`
	RowIsAddress       bool   `json:"-" query:"row_is_address"`
	SourceCommitMicros *int64 `json:"-" query:"source_commit_micros"`
}

// Row returns the id of the row.
func (r *ReadBlobRequest) Row() (uint64, error) {
	id, err := strconv.ParseUint(r.RowID, 10, 64)
	if err != nil {
		return 0, protocol.Errorf(protocol.InvalidInput, "row_id is %.80q; it must be a number", r.RowID)
	}
	return id, nil
}

// Validate refuses negative versions, ids that are no numbers, and descriptors of answers over Flight.
func (r *ReadBlobRequest) Validate() error {
	if r.SourceURI != "" || r.RowIsAddress || r.SourceCommitMicros != nil {
		return protocol.Errorf(protocol.Unsupported, "source_uri, row_is_address and source_commit_micros describe values that were found by SQL over Flight, which is not served here; name the table, the column and a row id")
	}
	if _, err := r.Row(); err != nil {
		return err
	}
	return protocol.NotNegative("version", r.Version)
}

package queryapi

import "tiltyard/shared/protocol"

// StoredResult is an answer with rows that its caller takes from storage. Nobody else can read it. The
// header X-Tiltyard-Result asks for it.
type StoredResult struct {
	ID       string `json:"id"`       // names the answer to ReadTableResult
	Location string `json:"location"` // URI, for programs that have credentials of their own
	// URL is where the bytes can be read. In S3 it is signed, and needs no token until URLExpiresAtMillis.
	// Otherwise it is relative to the URL of the request, and needs the token of the caller.
	URL                string `json:"url"`
	URLExpiresAtMillis int64  `json:"url_expires_at_millis,omitempty"` // in milliseconds since 1970; ReadTableResult gives a new URL after that
	ExpiresAtMillis    int64  `json:"expires_at_millis"`               // when the answer is deleted, in milliseconds since 1970
	ContentType        string `json:"content_type"`                    // Arrow file or Arrow stream
	Rows               int64  `json:"rows"`
	Bytes              int64  `json:"bytes"`
	Version            int64  `json:"version"` // of the table that was read
}

// AtVersion returns the version of the table that was read.
func (r *StoredResult) AtVersion() int64 { return r.Version }

// ReadResultRequest asks for an answer that was stored, or for a part of it, which a header says.
type ReadResultRequest struct {
	protocol.Common
	ResultID string `json:"-" path:"result_id"`
}

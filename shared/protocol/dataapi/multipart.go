package dataapi

import "tiltyard/shared/protocol"

// CreateMultipartWriteRequest asks to begin a multipart write: rows that come as the bodies of
// several inserts and become one version.
type CreateMultipartWriteRequest struct {
	protocol.Common
	Branch string `json:"-" query:"branch"`
}

// CreateMultipartWriteResponse has the id that the parts name.
type CreateMultipartWriteResponse struct {
	UploadID string `json:"upload_id"`
}

// EndMultipartWriteRequest asks to complete or to abort a multipart write.
type EndMultipartWriteRequest struct {
	protocol.Common
	UploadID string `json:"-" query:"upload_id"`
	Branch   string `json:"-" query:"branch"` // empty: that of the upload
}

// Validate requires an upload.
func (r *EndMultipartWriteRequest) Validate() error {
	return protocol.RequireText("upload_id", r.UploadID)
}

// CompleteMultipartWriteResponse has the version that holds the rows.
type CompleteMultipartWriteResponse struct {
	TransactionID string `json:"transaction_id,omitempty"`
	Version       int64  `json:"version"`
}

// AbortMultipartWriteResponse is an empty object.
type AbortMultipartWriteResponse struct{}

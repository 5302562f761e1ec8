package dataapi

import (
	"encoding/json"
	"slices"
	"time"

	"tiltyard/shared/protocol"
)

// Operations are the rows of the operations that write rows.
var Operations = []protocol.Operation{
	{
		Name: "CreateTable", Methods: protocol.ByPost, Path: "/v1/table/{id}/create", Group: protocol.GroupData, Access: protocol.Write, Origin: protocol.Spec,
		Request: new(CreateTableRequest), Response: new(CreateTableResponse), Summary: "Create a table from an Arrow stream",
		ArrowBody: true,
		Note:      "The body is an Arrow IPC stream; one without rows creates an empty table.",
	},
	{
		Name: "InsertIntoTable", Methods: protocol.ByPost, Path: "/v1/table/{id}/insert", Group: protocol.GroupData, Access: protocol.Write, Origin: protocol.Spec,
		Request: new(InsertRequest), Response: new(InsertResponse), Summary: "Add the rows of an Arrow stream",
		ArrowBody: true,
		Note:      "The body is an Arrow IPC stream. Columns are matched by name; nullable columns may be missing.",
	},
	{
		Name: "MergeInsertIntoTable", Methods: protocol.ByPost, Path: "/v1/table/{id}/merge_insert", Group: protocol.GroupData, Access: protocol.Write, Origin: protocol.Spec,
		Request: new(MergeInsertRequest), Response: new(MergeInsertResponse), Summary: "Merge the rows of an Arrow stream by key columns",
		ArrowBody: true,
		Note:      "The body is an Arrow IPC stream. Without an action the merge changes nothing.",
	},
	{
		Name: "UpdateTable", Methods: protocol.ByPost, Path: "/v1/table/{id}/update", Group: protocol.GroupData, Access: protocol.Write, Origin: protocol.Spec,
		Request: new(UpdateRequest), Response: new(UpdateResponse), Summary: "Set columns to SQL expressions in the rows that match",
		LeastBody: `{"updates":[["a","1"]]}`,
	},
	{
		Name: "DeleteFromTable", Methods: protocol.ByPost, Path: "/v1/table/{id}/delete", Group: protocol.GroupData, Access: protocol.Write, Origin: protocol.Spec,
		Request: new(DeleteRequest), Response: new(DeleteResponse), Summary: "Delete the rows that match",
		LeastBody: `{"predicate":"a"}`,
	},
	{
		Name: "CreateMultipartWrite", Methods: protocol.ByPost, Path: "/v1/table/{id}/multipart_write/create", Group: protocol.GroupData, Access: protocol.Write, Origin: protocol.LanceDB,
		Request: new(CreateMultipartWriteRequest), Response: new(CreateMultipartWriteResponse), Summary: "Begin a write of several parts",
		Permission: "InsertIntoTable",
		Note:       "The rows come as inserts with its upload_id and different upload_part_ids, and become one version.",
	},
	{
		Name: "CompleteMultipartWrite", Methods: protocol.ByPost, Path: "/v1/table/{id}/multipart_write/complete", Group: protocol.GroupData, Access: protocol.Write, Origin: protocol.LanceDB,
		Request: new(EndMultipartWriteRequest), Response: new(CompleteMultipartWriteResponse), Summary: "Make one version of the parts of a write",
		Permission: "InsertIntoTable",
	},
	{
		Name: "AbortMultipartWrite", Methods: protocol.ByPost, Path: "/v1/table/{id}/multipart_write/abort", Group: protocol.GroupData, Access: protocol.Write, Origin: protocol.LanceDB,
		Request: new(EndMultipartWriteRequest), Response: new(AbortMultipartWriteResponse), Summary: "Abandon a write of several parts",
		Permission: "InsertIntoTable",
	},
}

// CreateTableRequest asks for a table with the schema and rows of the Arrow stream.
type CreateTableRequest struct {
	protocol.Common
	protocol.Upload
	Mode           protocol.CreateMode `json:"-" query:"mode"`
	Properties     map[string]string   `json:"-" query:"properties"`      // a JSON object in the query string
	StorageOptions map[string]string   `json:"-" query:"storage_options"` // the same
}

// CreateTableResponse has the location of the table.
type CreateTableResponse struct {
	TransactionID  string              `json:"transaction_id,omitempty"`
	Location       string              `json:"location"`
	Version        int64               `json:"version"`
	StorageOptions map[string]string   `json:"storage_options,omitempty"`
	Properties     protocol.Properties `json:"properties"`
}

// InsertRequest asks to add the rows of the Arrow stream, whose columns are
// matched by name; nullable columns may be missing.
type InsertRequest struct {
	protocol.Common
	protocol.Upload
	Mode   InsertMode `json:"-" query:"mode"`
	Branch string     `json:"-" query:"branch"`
	// UploadID and UploadPartID mark a part of a multipart write.
	UploadID     string `json:"-" query:"upload_id"`
	UploadPartID string `json:"-" query:"upload_part_id"`
}

// Validate requires both ids of a part, or none.
func (r *InsertRequest) Validate() error {
	if (r.UploadID == "") != (r.UploadPartID == "") {
		return protocol.Errorf(protocol.InvalidInput, "upload_id and upload_part_id belong together: send both or none")
	}
	return nil
}

// InsertResponse has the version that holds the rows. The rows of a part of a multipart
// write are in no version yet, which is then 0.
type InsertResponse struct {
	TransactionID   string `json:"transaction_id,omitempty"`
	NumInsertedRows int64  `json:"num_inserted_rows"`
	Version         int64  `json:"version"`
}

// MergeInsertRequest asks to merge the rows of the Arrow stream into the table.
// A filter implies its action. All actions default to no.
type MergeInsertRequest struct {
	protocol.Common
	protocol.Upload
	On                                 []string       `json:"-" query:"on"` // key columns, at least one
	WhenMatchedUpdateAll               bool           `json:"-" query:"when_matched_update_all"`
	WhenMatchedUpdateAllFilter         string         `json:"-" query:"when_matched_update_all_filt"`
	WhenNotMatchedInsertAll            bool           `json:"-" query:"when_not_matched_insert_all"`
	WhenNotMatchedBySourceDelete       bool           `json:"-" query:"when_not_matched_by_source_delete"`
	WhenNotMatchedBySourceDeleteFilter string         `json:"-" query:"when_not_matched_by_source_delete_filt"`
	Timeout                            *time.Duration `json:"-" query:"timeout"`   // zero has passed
	UseIndex                           *bool          `json:"-" query:"use_index"` // nil is true
	protocol.LogUse
	Branch string `json:"-" query:"branch"`
}

// Validate requires key columns. The same one may be named twice.
func (r *MergeInsertRequest) Validate() error {
	if len(r.On) == 0 {
		return protocol.Errorf(protocol.InvalidInput, "on is required: name the columns that match rows")
	}
	if slices.Contains(r.On, "") {
		return protocol.Errorf(protocol.InvalidInput, "on names an empty column")
	}
	return nil
}

// MergeInsertResponse counts what the merge did. The clients of LanceDB also read how many rows
// it wrote, and how often it was tried.
type MergeInsertResponse struct {
	TransactionID   string `json:"transaction_id,omitempty"`
	NumUpdatedRows  int64  `json:"num_updated_rows"`
	NumInsertedRows int64  `json:"num_inserted_rows"`
	NumDeletedRows  int64  `json:"num_deleted_rows"`
	NumRows         int64  `json:"num_rows"`     // updated and inserted
	NumAttempts     int64  `json:"num_attempts"` // 1, and one more for each newer version of others that was met
	Version         int64  `json:"version"`
}

// UpdateRequest asks to set columns to SQL expressions in the rows that match.
type UpdateRequest struct {
	protocol.Common
	Updates    [][]string        `json:"updates"`   // pairs of column and SQL expression
	Predicate  string            `json:"predicate"` // empty: all rows
	Branch     string            `json:"branch"`
	Properties map[string]string `json:"properties"`
}

// Validate requires pairs with different columns.
func (r *UpdateRequest) Validate() error {
	if len(r.Updates) == 0 {
		return protocol.Errorf(protocol.InvalidInput, "updates is required: pairs of column and SQL expression")
	}
	seen := make(map[string]bool, len(r.Updates))
	for i, pair := range r.Updates {
		switch {
		case len(pair) != 2 || pair[0] == "" || pair[1] == "":
			return protocol.Errorf(protocol.InvalidInput, "updates[%d] is not a pair of column and SQL expression", i)
		case seen[pair[0]]:
			return protocol.Errorf(protocol.InvalidInput, "updates names column %s twice", protocol.QuoteShort(pair[0]))
		}
		seen[pair[0]] = true
	}
	return nil
}

// UpdateResponse has the number of updated rows. LanceDB clients read it as rows_updated.
type UpdateResponse struct {
	Dialect       protocol.Dialect    `json:"-"`
	TransactionID string              `json:"transaction_id,omitempty"`
	UpdatedRows   int64               `json:"updated_rows"`
	Version       int64               `json:"version"`
	Properties    protocol.Properties `json:"properties"`
}

// MarshalJSON writes the number under one name only. From version 0.41 on, LanceDB clients treat
// the specification's name as an alias of their own, and an answer with both is an error for them.
func (r UpdateResponse) MarshalJSON() ([]byte, error) {
	type specified UpdateResponse
	if r.Dialect != protocol.DialectLanceDB {
		return json.Marshal(specified(r))
	}
	return json.Marshal(struct {
		specified
		UpdatedRows *struct{} `json:"updated_rows,omitempty"` // hides the field of specified
		RowsUpdated int64     `json:"rows_updated"`
	}{specified: specified(r), RowsUpdated: r.UpdatedRows})
}

// DeleteRequest asks to delete the rows that match.
type DeleteRequest struct {
	protocol.Common
	Predicate string `json:"predicate"`
	Branch    string `json:"branch"`
}

// Validate requires a predicate, so that a client that forgets it does not delete all rows.
func (r *DeleteRequest) Validate() error { return protocol.RequireText("predicate", r.Predicate) }

// DeleteResponse has the version without the rows.
type DeleteResponse struct {
	TransactionID  string `json:"transaction_id,omitempty"`
	NumDeletedRows int64  `json:"num_deleted_rows"`
	Version        int64  `json:"version"`
}

// InsertMode is what an insert does with the rows that are there.
type InsertMode uint8

// The insert modes; the first is the default.
const (
	InsertModeAppend    InsertMode = iota // keep them
	InsertModeOverwrite                   // replace them
)

var insertModes = protocol.NewEnum("mode", "Append", "Overwrite")

// String returns the PascalCase spelling.
func (m InsertMode) String() string { return insertModes.Text(uint8(m)) }

// MarshalText writes the same text as String. The error is for an unknown value.
func (m InsertMode) MarshalText() ([]byte, error) { return insertModes.Marshal(uint8(m)) }

// UnmarshalText accepts PascalCase and snake_case in any case.
func (m *InsertMode) UnmarshalText(text []byte) error { return insertModes.Parse(text, (*uint8)(m)) }

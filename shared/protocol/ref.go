package protocol

import (
	"encoding/json"
	"net/http"
)

// refOperations are the rows of the operations on tags and branches.
var refOperations = []Operation{
	{
		Name: "ListTableTags", Methods: listByPost, Path: "/v1/table/{id}/tags/list", Group: GroupRef, Access: Read, Origin: Spec,
		Request: new(ListTableTagsRequest), Response: new(ListTableTagsResponse), Summary: "List the tags of a table",
	},
	{
		Name: "GetTableTagVersion", Methods: post, Path: "/v1/table/{id}/tags/version", Group: GroupRef, Access: Read, Origin: Spec,
		Request: new(GetTableTagVersionRequest), Response: new(GetTableTagVersionResponse), Summary: "Describe a tag",
		LeastBody: `{"tag":"a"}`,
	},
	{
		Name: "CreateTableTag", Methods: post, Path: "/v1/table/{id}/tags/create", Group: GroupRef, Access: Write, Origin: Spec,
		Request: new(SetTableTagRequest), Response: new(SetTableTagResponse), Summary: "Create a tag",
		LeastBody: `{"tag":"a","version":1}`,
	},
	{
		Name: "UpdateTableTag", Methods: post, Path: "/v1/table/{id}/tags/update", Group: GroupRef, Access: Write, Origin: Spec,
		Request: new(SetTableTagRequest), Response: new(SetTableTagResponse), Summary: "Let a tag name another version",
		LeastBody: `{"tag":"a","version":1}`,
	},
	{
		Name: "DeleteTableTag", Methods: post, Path: "/v1/table/{id}/tags/delete", Group: GroupRef, Access: Write, Origin: Spec,
		Request: new(DeleteTableTagRequest), Response: new(SetTableTagResponse), Summary: "Delete a tag",
		LeastBody: `{"tag":"a"}`,
	},
	{
		Name: "ListTableBranches", Methods: listByPost, Path: "/v1/table/{id}/branches/list", Group: GroupRef, Access: Read, Origin: Spec,
		Request: new(ListTableBranchesRequest), Response: new(ListTableBranchesResponse), Summary: "List the branches of a table",
	},
	{
		Name: "CreateTableBranch", Methods: post, Path: "/v1/table/{id}/branches/create", Group: GroupRef, Access: Write, Origin: Spec,
		Request: new(CreateTableBranchRequest), Response: new(CreateTableBranchResponse), Summary: "Create a branch",
		LeastBody: `{"name":"a"}`,
	},
	{
		Name: "DeleteTableBranch", Methods: post, Path: "/v1/table/{id}/branches/delete", Group: GroupRef, Access: Write, Origin: Spec,
		Request: new(DeleteTableBranchRequest), Response: new(DeleteTableBranchResponse), Summary: "Delete a branch and its versions",
		Frees: true, LeastBody: `{"name":"a"}`,
	},
	{
		Name: "DiffTableBranches", Methods: post, Path: "/v1/table/{id}/branches/diff", Group: GroupRef, Access: Read, Origin: LanceDB,
		Request: new(DiffTableBranchesRequest), Response: new(BranchDiff), Summary: "Compare a branch with its table",
		LeastBody: `{"from_branch":"a"}`,
	},
	{
		Name: "CherryPickTableBranch", Methods: post, Path: "/v1/table/{id}/branches/cherry_pick", Group: GroupRef, Access: Write, Origin: LanceDB,
		Request: new(CherryPickTableBranchRequest), Response: new(CherryPickTableBranchResponse), Summary: "Take over the columns that a branch has added",
		LeastBody: `{"from_branch":"a"}`,
		Statuses:  []int{http.StatusOK, http.StatusConflict},
	},
}

// ListTableTagsRequest asks for the tags of a table.
type ListTableTagsRequest struct {
	Common
	Page
}

// ListTableTagsResponse holds the tags by name.
type ListTableTagsResponse struct {
	Tags      map[string]TagContents
	PageToken string
	Dialect   Dialect
}

// TagContents says what a tag names. LanceDB clients refuse other fields than these.
type TagContents struct {
	Version      int64  `json:"version"`
	ManifestSize int64  `json:"manifestSize"`
	Branch       string `json:"branch,omitempty"`
}

// MarshalJSON writes the tags in an envelope, but for LanceDB clients.
func (r ListTableTagsResponse) MarshalJSON() ([]byte, error) {
	tags := r.Tags
	if tags == nil {
		tags = map[string]TagContents{}
	}
	if r.Dialect == DialectLanceDB {
		return json.Marshal(tags)
	}
	return json.Marshal(struct {
		Tags      map[string]TagContents `json:"tags"`
		PageToken string                 `json:"page_token,omitempty"`
	}{tags, r.PageToken})
}

// UnmarshalJSON reads the form with an envelope.
func (r *ListTableTagsResponse) UnmarshalJSON(data []byte) error {
	var envelope struct {
		Tags      map[string]TagContents `json:"tags"`
		PageToken string                 `json:"page_token"`
	}
	if err := json.Unmarshal(data, &envelope); err != nil {
		return err
	}
	*r = ListTableTagsResponse{Tags: envelope.Tags, PageToken: envelope.PageToken}
	return nil
}

// GetTableTagVersionRequest asks what a tag names.
type GetTableTagVersionRequest struct {
	Common
	Tag string `json:"tag"`
}

// Validate requires a tag.
func (r *GetTableTagVersionRequest) Validate() error { return requireText("tag", r.Tag) }

// GetTableTagVersionResponse says what a tag names; no branch is the table itself.
type GetTableTagVersionResponse struct {
	Version int64  `json:"version"`
	Branch  string `json:"branch,omitempty"`
}

// SetTableTagRequest asks to make a tag, or to let one name another version.
type SetTableTagRequest struct {
	Common
	Tag     string `json:"tag"`
	Version *int64 `json:"version"`
	Branch  string `json:"branch"`
}

// Validate requires a tag and a version.
func (r *SetTableTagRequest) Validate() error {
	if err := requireText("tag", r.Tag); err != nil {
		return err
	}
	if r.Version == nil || *r.Version < 1 {
		return Errorf(InvalidInput, "version is required, and at least 1")
	}
	return nil
}

// SetTableTagResponse answers a change of a tag.
type SetTableTagResponse struct {
	TransactionID string `json:"transaction_id,omitempty"`
}

// DeleteTableTagRequest asks to remove a tag.
type DeleteTableTagRequest struct {
	Common
	Tag string `json:"tag"`
}

// Validate requires a tag.
func (r *DeleteTableTagRequest) Validate() error { return requireText("tag", r.Tag) }

// ListTableBranchesRequest asks for the branches of a table.
type ListTableBranchesRequest struct {
	Common
	Page
}

// ListTableBranchesResponse holds the branches by name.
type ListTableBranchesResponse struct {
	Branches  map[string]BranchContents `json:"branches"`
	PageToken string                    `json:"page_token,omitempty"`
}

// BranchContents says where a branch comes from; no parent branch is the table itself.
type BranchContents struct {
	ParentBranch  string            `json:"parentBranch,omitempty"`
	ParentVersion int64             `json:"parentVersion"`
	CreateAt      int64             `json:"createAt"` // seconds since 1970
	ManifestSize  int64             `json:"manifestSize"`
	Metadata      map[string]string `json:"metadata,omitempty"`
}

// CreateTableBranchRequest asks for a branch of a version: the newest one of the branch
// FromBranch when FromVersion is nil.
type CreateTableBranchRequest struct {
	Common
	Name        string `json:"name"`
	FromBranch  string `json:"from_branch"`
	FromVersion *int64 `json:"from_version"`
}

// Validate requires a name.
func (r *CreateTableBranchRequest) Validate() error {
	if r.FromVersion != nil && *r.FromVersion < 1 {
		return Errorf(InvalidInput, "from_version is %d; versions begin at 1", *r.FromVersion)
	}
	return requireText("name", r.Name)
}

// CreateTableBranchResponse answers the making of a branch.
type CreateTableBranchResponse struct {
	TransactionID string `json:"transaction_id,omitempty"`
}

// DeleteTableBranchRequest asks to remove a branch and its versions.
type DeleteTableBranchRequest struct {
	Common
	Name string `json:"name"`
}

// Validate requires a name.
func (r *DeleteTableBranchRequest) Validate() error { return requireText("name", r.Name) }

// DeleteTableBranchResponse answers the removal of a branch.
type DeleteTableBranchResponse struct {
	TransactionID string `json:"transaction_id,omitempty"`
}

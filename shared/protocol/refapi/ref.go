package refapi

import (
	"encoding/json"
	"net/http"

	"tiltyard/shared/protocol"
)

// Operations are the rows of the operations on tags and branches.
var Operations = []protocol.Operation{
	{
		Name: "ListTableTags", Methods: protocol.ByPostOrGet, Path: "/v1/table/{id}/tags/list", Group: protocol.GroupRef, Access: protocol.Read, Origin: protocol.Spec,
		Request: new(ListTagsRequest), Response: new(ListTagsResponse), Summary: "List the tags of a table",
	},
	{
		Name: "GetTableTagVersion", Methods: protocol.ByPost, Path: "/v1/table/{id}/tags/version", Group: protocol.GroupRef, Access: protocol.Read, Origin: protocol.Spec,
		Request: new(GetTagVersionRequest), Response: new(GetTagVersionResponse), Summary: "Describe a tag",
		LeastBody: `{"tag":"a"}`,
	},
	{
		Name: "CreateTableTag", Methods: protocol.ByPost, Path: "/v1/table/{id}/tags/create", Group: protocol.GroupRef, Access: protocol.Write, Origin: protocol.Spec,
		Request: new(SetTagRequest), Response: new(SetTagResponse), Summary: "Create a tag",
		LeastBody: `{"tag":"a","version":1}`,
	},
	{
		Name: "UpdateTableTag", Methods: protocol.ByPost, Path: "/v1/table/{id}/tags/update", Group: protocol.GroupRef, Access: protocol.Write, Origin: protocol.Spec,
		Request: new(SetTagRequest), Response: new(SetTagResponse), Summary: "Let a tag name another version",
		LeastBody: `{"tag":"a","version":1}`,
	},
	{
		Name: "DeleteTableTag", Methods: protocol.ByPost, Path: "/v1/table/{id}/tags/delete", Group: protocol.GroupRef, Access: protocol.Write, Origin: protocol.Spec,
		Request: new(DeleteTagRequest), Response: new(SetTagResponse), Summary: "Delete a tag",
		LeastBody: `{"tag":"a"}`,
	},
	{
		Name: "ListTableBranches", Methods: protocol.ByPostOrGet, Path: "/v1/table/{id}/branches/list", Group: protocol.GroupRef, Access: protocol.Read, Origin: protocol.Spec,
		Request: new(ListBranchesRequest), Response: new(ListBranchesResponse), Summary: "List the branches of a table",
	},
	{
		Name: "CreateTableBranch", Methods: protocol.ByPost, Path: "/v1/table/{id}/branches/create", Group: protocol.GroupRef, Access: protocol.Write, Origin: protocol.Spec,
		Request: new(CreateBranchRequest), Response: new(CreateBranchResponse), Summary: "Create a branch",
		LeastBody: `{"name":"a"}`,
	},
	{
		Name: "DeleteTableBranch", Methods: protocol.ByPost, Path: "/v1/table/{id}/branches/delete", Group: protocol.GroupRef, Access: protocol.Write, Origin: protocol.Spec,
		Request: new(DeleteBranchRequest), Response: new(DeleteBranchResponse), Summary: "Delete a branch and its versions",
		Frees: true, LeastBody: `{"name":"a"}`,
	},
	{
		Name: "DiffTableBranches", Methods: protocol.ByPost, Path: "/v1/table/{id}/branches/diff", Group: protocol.GroupRef, Access: protocol.Read, Origin: protocol.LanceDB,
		Request: new(DiffBranchesRequest), Response: new(BranchDiff), Summary: "Compare a branch with its table",
		LeastBody: `{"from_branch":"a"}`,
	},
	{
		Name: "CherryPickTableBranch", Methods: protocol.ByPost, Path: "/v1/table/{id}/branches/cherry_pick", Group: protocol.GroupRef, Access: protocol.Write, Origin: protocol.LanceDB,
		Request: new(CherryPickRequest), Response: new(CherryPickResponse), Summary: "Take over the columns that a branch has added",
		LeastBody: `{"from_branch":"a"}`,
		Statuses:  []int{http.StatusOK, http.StatusConflict},
	},
}

// ListTagsRequest asks for the tags of a table.
type ListTagsRequest struct {
	protocol.Common
	protocol.Page
}

// ListTagsResponse holds the tags by name.
type ListTagsResponse struct {
	Tags      map[string]TagContents
	PageToken string
	Dialect   protocol.Dialect
}

// TagContents says what a tag names. LanceDB clients refuse other fields than these.
type TagContents struct {
	Version      int64  `json:"version"`
	ManifestSize int64  `json:"manifestSize"`
	Branch       string `json:"branch,omitempty"`
}

// MarshalJSON writes the tags in an envelope, but for LanceDB clients.
func (r ListTagsResponse) MarshalJSON() ([]byte, error) {
	tags := r.Tags
	if tags == nil {
		tags = map[string]TagContents{}
	}
	if r.Dialect == protocol.DialectLanceDB {
		return json.Marshal(tags)
	}
	return json.Marshal(struct {
		Tags      map[string]TagContents `json:"tags"`
		PageToken string                 `json:"page_token,omitempty"`
	}{tags, r.PageToken})
}

// UnmarshalJSON reads the form with an envelope.
func (r *ListTagsResponse) UnmarshalJSON(data []byte) error {
	var envelope struct {
		Tags      map[string]TagContents `json:"tags"`
		PageToken string                 `json:"page_token"`
	}
	if err := json.Unmarshal(data, &envelope); err != nil {
		return err
	}
	*r = ListTagsResponse{Tags: envelope.Tags, PageToken: envelope.PageToken}
	return nil
}

// GetTagVersionRequest asks what a tag names.
type GetTagVersionRequest struct {
	protocol.Common
	Tag string `json:"tag"`
}

// Validate requires a tag.
func (r *GetTagVersionRequest) Validate() error { return protocol.RequireText("tag", r.Tag) }

// GetTagVersionResponse says what a tag names; no branch is the table itself.
type GetTagVersionResponse struct {
	Version int64  `json:"version"`
	Branch  string `json:"branch,omitempty"`
}

// SetTagRequest asks to make a tag, or to let one name another version.
type SetTagRequest struct {
	protocol.Common
	Tag     string `json:"tag"`
	Version *int64 `json:"version"`
	Branch  string `json:"branch"`
}

// Validate requires a tag and a version.
func (r *SetTagRequest) Validate() error {
	if err := protocol.RequireText("tag", r.Tag); err != nil {
		return err
	}
	if r.Version == nil || *r.Version < 1 {
		return protocol.Errorf(protocol.InvalidInput, "version is required, and at least 1")
	}
	return nil
}

// SetTagResponse answers a change of a tag.
type SetTagResponse struct {
	TransactionID string `json:"transaction_id,omitempty"`
}

// DeleteTagRequest asks to remove a tag.
type DeleteTagRequest struct {
	protocol.Common
	Tag string `json:"tag"`
}

// Validate requires a tag.
func (r *DeleteTagRequest) Validate() error { return protocol.RequireText("tag", r.Tag) }

// ListBranchesRequest asks for the branches of a table.
type ListBranchesRequest struct {
	protocol.Common
	protocol.Page
}

// ListBranchesResponse holds the branches by name.
type ListBranchesResponse struct {
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

// CreateBranchRequest asks for a branch of a version: the newest one of the branch
// FromBranch when FromVersion is nil.
type CreateBranchRequest struct {
	protocol.Common
	Name        string `json:"name"`
	FromBranch  string `json:"from_branch"`
	FromVersion *int64 `json:"from_version"`
}

// Validate requires a name.
func (r *CreateBranchRequest) Validate() error {
	if r.FromVersion != nil && *r.FromVersion < 1 {
		return protocol.Errorf(protocol.InvalidInput, "from_version is %d; versions begin at 1", *r.FromVersion)
	}
	return protocol.RequireText("name", r.Name)
}

// CreateBranchResponse answers the making of a branch.
type CreateBranchResponse struct {
	TransactionID string `json:"transaction_id,omitempty"`
}

// DeleteBranchRequest asks to remove a branch and its versions.
type DeleteBranchRequest struct {
	protocol.Common
	Name string `json:"name"`
}

// Validate requires a name.
func (r *DeleteBranchRequest) Validate() error { return protocol.RequireText("name", r.Name) }

// DeleteBranchResponse answers the removal of a branch.
type DeleteBranchResponse struct {
	TransactionID string `json:"transaction_id,omitempty"`
}

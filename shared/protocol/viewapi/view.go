package viewapi

import "tiltyard/shared/protocol"

// Operations are the rows of the operations on plain views, which store no rows.
var Operations = []protocol.Operation{
	{
		Name: "CreateView", Methods: protocol.ByPost, Path: "/v1/view/{id}/create", Group: protocol.GroupView, Access: protocol.Write, Origin: protocol.LanceDB,
		Request: new(CreateRequest), Response: new(DescribeResponse), Summary: "Create a view without rows of its own",
		LeastBody: `{"query":"SELECT a FROM t"}`,
	},
	{
		Name: "DescribeView", Methods: protocol.ByPost, Path: "/v1/view/{id}/describe", Group: protocol.GroupView, Access: protocol.Read, Origin: protocol.LanceDB,
		Request: new(Request), Response: new(DescribeResponse), Summary: "Describe a view",
	},
	{
		Name: "DropView", Methods: protocol.ByPost, Path: "/v1/view/{id}/drop", Group: protocol.GroupView, Access: protocol.Write, Origin: protocol.LanceDB,
		Request: new(Request), Response: new(DropResponse), Summary: "Drop a view",
		Frees: true,
	},
	{
		Name: "ListViews", Methods: protocol.ByGetOrPost, Path: "/v1/namespace/{id}/view/list", Group: protocol.GroupView, Access: protocol.Read, Origin: protocol.LanceDB,
		Request: new(ListRequest), Response: new(ListResponse), Summary: "List the views in a namespace",
	},
}

// CreateRequest asks for a view without rows of its own: a name for a query.
type CreateRequest struct {
	protocol.Common
	Query string `json:"query"`
}

// Validate requires a query.
func (r *CreateRequest) Validate() error { return protocol.RequireText("query", r.Query) }

// Request names a view.
type Request struct {
	protocol.Common
}

// DescribeResponse describes a view, and is the answer to its creation, too. LanceDB clients take
// the schema in the words of the Lance Namespace protocol here.
type DescribeResponse struct {
	Name             string                `json:"name"`
	Namespace        protocol.List[string] `json:"namespace"`
	Query            string                `json:"query"`
	DefaultDatabase  string                `json:"default_database"`
	DefaultNamespace protocol.List[string] `json:"default_namespace"` // in which the query finds a table without namespace
	Schema           *protocol.JSONSchema  `json:"schema"`            // when the view was created
}

// DropResponse is an empty object: the view is gone.
type DropResponse struct{}

// ListRequest asks for the names of the views in a namespace that have no rows of their own.
type ListRequest struct {
	protocol.Common
	protocol.Page
}

// ListResponse has names, relative to the namespace.
type ListResponse struct {
	Views     protocol.List[string] `json:"views"`
	PageToken string                `json:"page_token,omitempty"`
}

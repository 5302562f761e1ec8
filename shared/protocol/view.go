package protocol

// viewOperations are the rows of the operations on views without rows of their own.
var viewOperations = []Operation{
	{
		Name: "CreateView", Methods: post, Path: "/v1/view/{id}/create", Group: GroupView, Access: Write, Origin: LanceDB,
		Request: new(CreateViewRequest), Response: new(DescribeViewResponse), Summary: "Create a view without rows of its own",
		LeastBody: `{"query":"SELECT a FROM t"}`,
	},
	{
		Name: "DescribeView", Methods: post, Path: "/v1/view/{id}/describe", Group: GroupView, Access: Read, Origin: LanceDB,
		Request: new(ViewRequest), Response: new(DescribeViewResponse), Summary: "Describe a view",
	},
	{
		Name: "DropView", Methods: post, Path: "/v1/view/{id}/drop", Group: GroupView, Access: Write, Origin: LanceDB,
		Request: new(ViewRequest), Response: new(DropViewResponse), Summary: "Drop a view",
		Frees: true,
	},
	{
		Name: "ListViews", Methods: list, Path: "/v1/namespace/{id}/view/list", Group: GroupView, Access: Read, Origin: LanceDB,
		Request: new(ListViewsRequest), Response: new(ListViewsResponse), Summary: "List the views in a namespace",
	},
}

// CreateViewRequest asks for a view without rows of its own: a name for a query.
type CreateViewRequest struct {
	Common
	Query string `json:"query"`
}

// Validate checks that there is a query.
func (r *CreateViewRequest) Validate() error { return requireText("query", r.Query) }

// ViewRequest names a view.
type ViewRequest struct {
	Common
}

// DescribeViewResponse describes a view, and is the answer to its creation, too. LanceDB clients take
// the schema in the words of the Lance Namespace protocol here.
type DescribeViewResponse struct {
	Name             string       `json:"name"`
	Namespace        List[string] `json:"namespace"`
	Query            string       `json:"query"`
	DefaultDatabase  string       `json:"default_database"`
	DefaultNamespace List[string] `json:"default_namespace"` // in which the query finds a table without namespace
	Schema           *JSONSchema  `json:"schema"`            // when the view was created
}

// DropViewResponse is an empty object: the view is gone.
type DropViewResponse struct{}

// ListViewsRequest asks for the names of the views in a namespace that have no rows of their own.
type ListViewsRequest struct {
	Common
	Page
}

// ListViewsResponse has names, relative to the namespace.
type ListViewsResponse struct {
	Views     List[string] `json:"views"`
	PageToken string       `json:"page_token,omitempty"`
}

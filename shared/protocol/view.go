package protocol

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

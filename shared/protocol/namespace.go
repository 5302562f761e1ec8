package protocol

import "net/http"

// namespaceOperations are the rows of the operations on namespaces.
var namespaceOperations = []Operation{
	{
		Name: "CreateNamespace", Methods: post, Path: "/v1/namespace/{id}/create", Group: GroupNamespace, Access: Write, Origin: Spec,
		Request: new(CreateNamespaceRequest), Response: new(CreateNamespaceResponse), Summary: "Create a namespace",
	},
	{
		Name: "ListNamespaces", Methods: list, Path: "/v1/namespace/{id}/list", Group: GroupNamespace, Access: Read, Origin: Spec,
		Request: new(ListNamespacesRequest), Response: new(ListNamespacesResponse), Summary: "List the namespaces in a namespace",
	},
	{
		Name: "DescribeNamespace", Methods: post, Path: "/v1/namespace/{id}/describe", Group: GroupNamespace, Access: Read, Origin: Spec,
		Request: new(DescribeNamespaceRequest), Response: new(DescribeNamespaceResponse), Summary: "Describe a namespace",
	},
	{
		Name: "DropNamespace", Methods: post, Path: "/v1/namespace/{id}/drop", Group: GroupNamespace, Access: Write, Origin: Spec,
		Request: new(DropNamespaceRequest), Response: new(DropNamespaceResponse), Summary: "Drop a namespace",
		Frees:     true,
		Note:      "An answer with a transaction_id means that a job goes on to drop what is in the namespace.",
		Statuses:  []int{http.StatusOK, http.StatusNoContent},
		NoContent: "There was no such namespace, and the mode is Skip.",
	},
	{
		Name: "NamespaceExists", Methods: post, Path: "/v1/namespace/{id}/exists", Group: GroupNamespace, Access: Read, Origin: Spec,
		Request: new(NamespaceExistsRequest), Response: new(Empty), Summary: "Ask whether a namespace exists",
		Note: "The answer is NamespaceNotFound if there is none.",
	},
	{
		Name: "ListDropped", Methods: list, Path: "/v1/namespace/{id}/dropped/list", Group: GroupNamespace, Access: Read, Origin: Own,
		Request: new(ListDroppedRequest), Response: new(ListDroppedResponse), Summary: "List what was dropped in a namespace and can be restored",
	},
	{
		Name: "UndropNamespace", Methods: post, Path: "/v1/namespace/{id}/undrop", Group: GroupNamespace, Access: Write, Origin: Own,
		Request: new(UndropNamespaceRequest), Response: new(UndropNamespaceResponse), Summary: "Restore a dropped namespace with what was dropped with it",
	},
}

// CreateNamespaceRequest asks for a namespace.
type CreateNamespaceRequest struct {
	Common
	Mode       CreateMode        `json:"mode"`
	Properties map[string]string `json:"properties"`
}

// CreateNamespaceResponse has the properties after creation.
type CreateNamespaceResponse struct {
	TransactionID string     `json:"transaction_id,omitempty"`
	Properties    Properties `json:"properties"`
}

// ListNamespacesRequest asks for the children of a namespace.
type ListNamespacesRequest struct {
	Common
	Page
}

// ListNamespacesResponse holds child names, relative to the namespace, in byte order.
type ListNamespacesResponse struct {
	Namespaces List[string] `json:"namespaces"`
	PageToken  string       `json:"page_token,omitempty"` // the last name when there are more
}

// DescribeNamespaceRequest asks about a namespace. The root always exists.
type DescribeNamespaceRequest struct {
	Common
}

// DescribeNamespaceResponse has the properties of a namespace.
type DescribeNamespaceResponse struct {
	Properties Properties `json:"properties"`
}

// DropNamespaceRequest asks to remove a namespace.
type DropNamespaceRequest struct {
	Common
	Mode     DropMode     `json:"mode"`
	Behavior DropBehavior `json:"behavior"`
}

// DropNamespaceResponse has the properties of the dropped namespace. There is none when there
// was nothing to drop and the mode was Skip.
type DropNamespaceResponse struct {
	Properties Properties `json:"properties"`
	// TransactionID is the id of a drop that goes on after the answer. It is an array
	// here, and only here.
	TransactionID []string `json:"transaction_id,omitempty"`
	// DropID and RestorableUntilMillis are there if the namespace was dropped with the answer, and can be
	// restored.
	DropID                string `json:"drop_id,omitempty"`
	RestorableUntilMillis int64  `json:"restorable_until_millis,omitempty"`
}

// NamespaceExistsRequest asks whether a namespace exists. The answer is [Empty].
type NamespaceExistsRequest struct {
	Common
}

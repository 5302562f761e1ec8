package protocol

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

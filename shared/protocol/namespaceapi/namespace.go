package namespaceapi

import (
	"net/http"

	"tiltyard/shared/protocol"
)

// Operations are the rows of the operations on namespaces.
var Operations = []protocol.Operation{
	{
		Name: "CreateNamespace", Methods: protocol.ByPost, Path: "/v1/namespace/{id}/create", Group: protocol.GroupNamespace, Access: protocol.Write, Origin: protocol.Spec,
		Request: new(CreateRequest), Response: new(CreateResponse), Summary: "Create a namespace",
	},
	{
		Name: "ListNamespaces", Methods: protocol.ByGetOrPost, Path: "/v1/namespace/{id}/list", Group: protocol.GroupNamespace, Access: protocol.Read, Origin: protocol.Spec,
		Request: new(ListRequest), Response: new(ListResponse), Summary: "List the namespaces in a namespace",
	},
	{
		Name: "DescribeNamespace", Methods: protocol.ByPost, Path: "/v1/namespace/{id}/describe", Group: protocol.GroupNamespace, Access: protocol.Read, Origin: protocol.Spec,
		Request: new(DescribeRequest), Response: new(DescribeResponse), Summary: "Describe a namespace",
	},
	{
		Name: "DropNamespace", Methods: protocol.ByPost, Path: "/v1/namespace/{id}/drop", Group: protocol.GroupNamespace, Access: protocol.Write, Origin: protocol.Spec,
		Request: new(DropRequest), Response: new(DropResponse), Summary: "Drop a namespace",
		Frees:     true,
		Note:      "An answer with a transaction_id means that a job goes on to drop what is in the namespace.",
		Statuses:  []int{http.StatusOK, http.StatusNoContent},
		NoContent: "There was no such namespace, and the mode is Skip.",
	},
	{
		Name: "NamespaceExists", Methods: protocol.ByPost, Path: "/v1/namespace/{id}/exists", Group: protocol.GroupNamespace, Access: protocol.Read, Origin: protocol.Spec,
		Request: new(ExistsRequest), Response: new(protocol.Empty), Summary: "Ask whether a namespace exists",
		Note: "The answer is NamespaceNotFound if there is none.",
	},
	{
		Name: "ListDropped", Methods: protocol.ByGetOrPost, Path: "/v1/namespace/{id}/dropped/list", Group: protocol.GroupNamespace, Access: protocol.Read, Origin: protocol.Own,
		Request: new(ListDroppedRequest), Response: new(ListDroppedResponse), Summary: "List what was dropped in a namespace and can be restored",
	},
	{
		Name: "UndropNamespace", Methods: protocol.ByPost, Path: "/v1/namespace/{id}/undrop", Group: protocol.GroupNamespace, Access: protocol.Write, Origin: protocol.Own,
		Request: new(UndropRequest), Response: new(UndropResponse), Summary: "Restore a dropped namespace with what was dropped with it",
	},
}

// CreateRequest asks for a namespace.
type CreateRequest struct {
	protocol.Common
	Mode       protocol.CreateMode `json:"mode"`
	Properties map[string]string   `json:"properties"`
}

// CreateResponse has the properties after creation.
type CreateResponse struct {
	TransactionID string              `json:"transaction_id,omitempty"`
	Properties    protocol.Properties `json:"properties"`
}

// ListRequest asks for the children of a namespace.
type ListRequest struct {
	protocol.Common
	protocol.Page
}

// ListResponse holds child names, relative to the namespace, in byte order.
type ListResponse struct {
	Namespaces protocol.List[string] `json:"namespaces"`
	PageToken  string                `json:"page_token,omitempty"` // the last name when there are more
}

// DescribeRequest asks about a namespace. The root always exists.
type DescribeRequest struct {
	protocol.Common
}

// DescribeResponse has the properties of a namespace.
type DescribeResponse struct {
	Properties protocol.Properties `json:"properties"`
}

// DropRequest asks to remove a namespace.
type DropRequest struct {
	protocol.Common
	Mode     DropMode     `json:"mode"`
	Behavior DropBehavior `json:"behavior"`
}

// DropResponse has the properties of the dropped namespace. There is none when there
// was nothing to drop and the mode was Skip.
type DropResponse struct {
	Properties protocol.Properties `json:"properties"`
	// TransactionID is the id of a drop that goes on after the answer. It is an array
	// here, and only here.
	TransactionID []string `json:"transaction_id,omitempty"`
	// DropID and RestorableUntilMillis are there if the namespace was dropped with the answer, and can be
	// restored.
	DropID                string `json:"drop_id,omitempty"`
	RestorableUntilMillis int64  `json:"restorable_until_millis,omitempty"`
}

// ExistsRequest asks whether a namespace exists. The answer is [protocol.Empty].
type ExistsRequest struct {
	protocol.Common
}

// DropMode is what to do when the namespace to be dropped does not exist.
type DropMode uint8

// The drop modes; the first is the default.
const (
	DropModeFail DropMode = iota
	DropModeSkip          // nothing
)

var dropModes = protocol.NewEnum("mode", "Fail", "Skip")

// String returns the PascalCase spelling.
func (m DropMode) String() string { return dropModes.Text(uint8(m)) }

// MarshalText writes the same text as String. The error is for an unknown value.
func (m DropMode) MarshalText() ([]byte, error) { return dropModes.Marshal(uint8(m)) }

// UnmarshalText accepts PascalCase and snake_case in any case.
func (m *DropMode) UnmarshalText(text []byte) error { return dropModes.Parse(text, (*uint8)(m)) }

// DropBehavior is what to do when the namespace to be dropped is not empty.
type DropBehavior uint8

// The drop behaviors; the first is the default.
const (
	DropBehaviorRestrict DropBehavior = iota // fail
	DropBehaviorCascade                      // drop the contents first
)

var dropBehaviors = protocol.NewEnum("behavior", "Restrict", "Cascade")

// String returns the PascalCase spelling.
func (b DropBehavior) String() string { return dropBehaviors.Text(uint8(b)) }

// MarshalText writes the same text as String. The error is for an unknown value.
func (b DropBehavior) MarshalText() ([]byte, error) { return dropBehaviors.Marshal(uint8(b)) }

// UnmarshalText accepts PascalCase and snake_case in any case.
func (b *DropBehavior) UnmarshalText(text []byte) error {
	return dropBehaviors.Parse(text, (*uint8)(b))
}

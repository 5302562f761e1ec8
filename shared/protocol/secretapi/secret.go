package secretapi

import (
	"fmt"
	"io"
	"strings"

	"tiltyard/shared/protocol"
)

// Operations are the rows of the operations on secrets.
var Operations = []protocol.Operation{
	{
		Name: "CreateSecret", Methods: protocol.ByPost, Path: "/v1/secret/{id}/create", Group: protocol.GroupSecret, Access: protocol.Write, Origin: protocol.LanceDB,
		Request: new(WriteRequest), Response: new(protocol.Empty), Summary: "Create a secret",
		LeastBody: `{"value":"w"}`,
	},
	{
		Name: "AlterSecret", Methods: protocol.ByPost, Path: "/v1/secret/{id}/alter", Group: protocol.GroupSecret, Access: protocol.Write, Origin: protocol.LanceDB,
		Request: new(WriteRequest), Response: new(protocol.Empty), Summary: "Replace the value of a secret",
		LeastBody: `{"value":"w"}`,
	},
	{
		Name: "DescribeSecret", Methods: protocol.ByPost, Path: "/v1/secret/{id}/describe", Group: protocol.GroupSecret, Access: protocol.Read, Origin: protocol.LanceDB,
		Request: new(Request), Response: new(DescribeResponse), Summary: "Describe a secret, without its value",
	},
	{
		Name: "DropSecret", Methods: protocol.ByPost, Path: "/v1/secret/{id}/drop", Group: protocol.GroupSecret, Access: protocol.Write, Origin: protocol.LanceDB,
		Request: new(Request), Response: new(protocol.Empty), Summary: "Drop a secret",
		Frees: true,
	},
	{
		Name: "ListSecrets", Methods: protocol.ByGetOrPost, Path: "/v1/namespace/{id}/secret/list", Group: protocol.GroupSecret, Access: protocol.Read, Origin: protocol.LanceDB,
		Request: new(ListRequest), Response: new(ListResponse), Summary: "List the secrets in a namespace",
	},
}

// The limits of secrets. In the name of a secret, "." and "-" take three bytes each.
const (
	MaxNameBytes = 255
	MaxBytes     = 64 << 10
)

// A Concealed is text that is never shown: every form of it that fmt, encoding/json or log/slog
// write is "***".
type Concealed string

// Format writes "***".
func (Concealed) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "***") }

// MarshalText returns "***".
func (Concealed) MarshalText() ([]byte, error) { return []byte("***"), nil }

// UnmarshalText sets the text.
func (c *Concealed) UnmarshalText(text []byte) error {
	*c = Concealed(text)
	return nil
}

// Request names a secret.
type Request struct {
	protocol.Common
}

// Validate checks the name.
func (r *Request) Validate() error {
	if err := protocol.RequireName(r.ID); err != nil {
		return err
	}
	name := r.ID[len(r.ID)-1]
	if protocol.EscapedBytes(name) > MaxNameBytes || strings.ContainsFunc(name, func(c rune) bool { return !inName(c) }) {
		return protocol.Errorf(protocol.InvalidInput, "%s cannot name a secret: names consist of letters of ASCII, digits, _, . and -, and have at most %d bytes, of which . and - take three each",
			protocol.QuoteShort(name), MaxNameBytes)
	}
	return nil
}

// inName reports whether a character is allowed in the name of a secret.
func inName(c rune) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '.' || c == '-'
}

// WriteRequest names a secret and has its new value.
type WriteRequest struct {
	Request
	Value Concealed `json:"value"`
}

// Validate checks the name and the length of the value. Errors quote nothing of the value.
func (r *WriteRequest) Validate() error {
	if err := r.Request.Validate(); err != nil {
		return err
	}
	if len(r.Value) > MaxBytes {
		return protocol.Errorf(protocol.InvalidInput, "value has %d bytes; at most %d are possible", len(r.Value), MaxBytes)
	}
	return protocol.RequireText("value", string(r.Value))
}

// DescribeResponse has all that can be read of a secret.
type DescribeResponse struct {
	Name      string `json:"name"`
	CreatedAt int64  `json:"created_at_millis"`
	UpdatedAt int64  `json:"updated_at_millis"` // when the value was last replaced
}

// ListRequest asks for the names of the secrets in a namespace.
type ListRequest struct {
	protocol.Common
	protocol.Page
}

// ListResponse has names, relative to the namespace.
type ListResponse struct {
	Secrets   protocol.List[Listed] `json:"secrets"`
	PageToken string                `json:"page_token,omitempty"`
}

// A Listed is an entry of a list.
type Listed struct {
	Name string `json:"name"`
}

package protocol

import (
	"fmt"
	"io"
	"strings"
)

// secretOperations are the rows of the operations on secrets.
var secretOperations = []Operation{
	{
		Name: "CreateSecret", Methods: post, Path: "/v1/secret/{id}/create", Group: GroupSecret, Access: Write, Origin: LanceDB,
		Request: new(WriteSecretRequest), Response: new(Empty), Summary: "Create a secret",
		LeastBody: `{"value":"w"}`,
	},
	{
		Name: "AlterSecret", Methods: post, Path: "/v1/secret/{id}/alter", Group: GroupSecret, Access: Write, Origin: LanceDB,
		Request: new(WriteSecretRequest), Response: new(Empty), Summary: "Replace the value of a secret",
		LeastBody: `{"value":"w"}`,
	},
	{
		Name: "DescribeSecret", Methods: post, Path: "/v1/secret/{id}/describe", Group: GroupSecret, Access: Read, Origin: LanceDB,
		Request: new(SecretRequest), Response: new(DescribeSecretResponse), Summary: "Describe a secret, without its value",
	},
	{
		Name: "DropSecret", Methods: post, Path: "/v1/secret/{id}/drop", Group: GroupSecret, Access: Write, Origin: LanceDB,
		Request: new(SecretRequest), Response: new(Empty), Summary: "Drop a secret",
		Frees: true,
	},
	{
		Name: "ListSecrets", Methods: list, Path: "/v1/namespace/{id}/secret/list", Group: GroupSecret, Access: Read, Origin: LanceDB,
		Request: new(ListSecretsRequest), Response: new(ListSecretsResponse), Summary: "List the secrets in a namespace",
	},
}

// The limits of secrets. In the name of a secret, "." and "-" take three bytes each.
const (
	MaxSecretNameBytes = 255
	MaxSecretBytes     = 64 << 10
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

// SecretRequest names a secret.
type SecretRequest struct {
	Common
}

// Validate checks the name.
func (r *SecretRequest) Validate() error {
	if err := RequireName(r.ID); err != nil {
		return err
	}
	name := r.ID[len(r.ID)-1]
	if escapedBytes(name) > MaxSecretNameBytes || strings.ContainsFunc(name, func(c rune) bool { return !inSecretName(c) }) {
		return Errorf(InvalidInput, "%s cannot name a secret: names consist of letters of ASCII, digits, _, . and -, and have at most %d bytes, of which . and - take three each",
			quoteShort(name), MaxSecretNameBytes)
	}
	return nil
}

// escapedBytes returns how many bytes a name of letters of ASCII, digits, _, . and - takes in a key.
func escapedBytes(name string) int {
	return len(name) + 2*(strings.Count(name, ".")+strings.Count(name, "-"))
}

func inSecretName(c rune) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '.' || c == '-'
}

// WriteSecretRequest names a secret and has its new value.
type WriteSecretRequest struct {
	SecretRequest
	Value Concealed `json:"value"`
}

// Validate checks the name and the length of the value. Errors quote nothing of the value.
func (r *WriteSecretRequest) Validate() error {
	if err := r.SecretRequest.Validate(); err != nil {
		return err
	}
	if len(r.Value) > MaxSecretBytes {
		return Errorf(InvalidInput, "value has %d bytes; at most %d are possible", len(r.Value), MaxSecretBytes)
	}
	return requireText("value", string(r.Value))
}

// DescribeSecretResponse has all that can be read of a secret.
type DescribeSecretResponse struct {
	Name      string `json:"name"`
	CreatedAt int64  `json:"created_at_millis"`
	UpdatedAt int64  `json:"updated_at_millis"` // when the value was last replaced
}

// ListSecretsRequest asks for the names of the secrets in a namespace.
type ListSecretsRequest struct {
	Common
	Page
}

// ListSecretsResponse has names, relative to the namespace.
type ListSecretsResponse struct {
	Secrets   List[ListedSecret] `json:"secrets"`
	PageToken string             `json:"page_token,omitempty"`
}

// A ListedSecret is an entry of a list.
type ListedSecret struct {
	Name string `json:"name"`
}

package protocol

import (
	"encoding/json"
	"io"
)

// Dialect is the family of the client, as far as answers depend on it.
type Dialect uint8

// The dialects. Table paths with a slash at the end are LanceDB's.
const (
	DialectNamespace Dialect = iota
	DialectLanceDB
)

// String names the dialect for logs and test failures.
func (d Dialect) String() string {
	if d == DialectLanceDB {
		return "lancedb"
	}
	return "namespace"
}

// Request is any request of this package: something that embeds [Common].
type Request interface{ RequestCommon() *Common }

// Common is the part that all requests share.
type Common struct {
	// ID is the path of the object: the namespaces and then the name, checked by
	// [CheckID]. It is empty for the root namespace and for operations without {id}.
	ID []string `json:"id"`
	// Identity is never a credential, and gone before a service sees the request.
	Identity Identity `json:"identity"`
	// Context holds what the client sent as context, in the body or in x-svc-ctx-
	// headers. No operation depends on it.
	Context map[string]string `json:"context"`
	// Delimiter is the one that the path id was written with; answers that join ids
	// join them with it.
	Delimiter string `json:"-"`
	// Database is what LanceDB clients are connected to. It has no meaning here.
	Database string `json:"-"`
	// Dialect chooses among the spellings of the answer.
	Dialect Dialect `json:"-"`
}

// RequestCommon returns c. It makes every struct that embeds Common a [Request].
func (c *Common) RequestCommon() *Common { return c }

// Identity is what some clients put into bodies beside the header that signs them in.
type Identity struct {
	APIKey    string `json:"api_key"`
	AuthToken string `json:"auth_token"`
}

// Upload is the part of a request that is not JSON: its body is an Arrow IPC stream.
type Upload struct {
	// Body is the stream, not yet read and not to be trusted; it ends with an error
	// when it is longer than the server accepts. It belongs to the request and is
	// valid until the service returns.
	Body io.Reader `json:"-"`
}

// RequestUpload returns u itself.
func (u *Upload) RequestUpload() *Upload { return u }

// Page is the part of a request that lists something.
type Page struct {
	// PageToken is the last name of the page before, exclusive. Empty: from the start.
	PageToken string `json:"page_token" query:"page_token"`
	// Limit is the greatest number of results. Nil: all of them. Zero: none.
	Limit *int64 `json:"limit" query:"limit"`
}

// Bound returns the maximum number of results, and false if there is none. A negative limit counts
// as none.
func (p Page) Bound() (int64, bool) {
	if p.Limit == nil || *p.Limit < 0 {
		return 0, false
	}
	return *p.Limit, true
}

// List is a JSON array also when it is nil, because clients do not accept null there.
type List[T any] []T

// MarshalJSON writes [] for a nil list.
func (l List[T]) MarshalJSON() ([]byte, error) {
	if l == nil {
		return []byte("[]"), nil
	}
	return json.Marshal([]T(l))
}

// Properties is a JSON object of strings also when it is nil: null would tell clients
// that properties are not supported here.
type Properties map[string]string

// MarshalJSON writes {} for nil properties.
func (p Properties) MarshalJSON() ([]byte, error) {
	if p == nil {
		return []byte("{}"), nil
	}
	return json.Marshal(map[string]string(p))
}

// Empty is the answer of operations that answer 200 without a body.
type Empty struct{}

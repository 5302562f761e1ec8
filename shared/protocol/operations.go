package protocol

import (
	"net/http"
	"reflect"
)

// Group names a family of operations: the package under shared/service that answers them.
type Group string

// The groups of the operations.
const (
	GroupNamespace   Group = "namespace"
	GroupAccess      Group = "access"
	GroupTable       Group = "table"
	GroupSchema      Group = "schema"
	GroupData        Group = "data"
	GroupQuery       Group = "query"
	GroupSQL         Group = "sql"
	GroupIndex       Group = "index"
	GroupVersion     Group = "version"
	GroupRef         Group = "ref"
	GroupTransaction Group = "transaction"
	GroupJob         Group = "job"
	GroupEvent       Group = "event"
	GroupView        Group = "view"
	GroupFunction    Group = "function"
	GroupSecret      Group = "secret"
)

// Access reports whether an operation may change anything.
type Access string

// The kinds of access. Write implies that the caller may also read.
const (
	Read  Access = "read"
	Write Access = "write"
)

// Operation is one row of the operation table.
type Operation struct {
	Name    string   // as in the public specification: CreateNamespace
	Methods []string // allowed methods, the specification's own first
	Path    string   // with {id} and other parameters, without trailing slash
	Group   Group
	Access  Access
	Origin  Origin
	// Request and Response point to zero values of the types that the service takes and returns.
	Request  Request
	Response any
	Summary  string // a line for documentation, without a full stop

	// The other fields are zero in most rows.

	// Function is the folder under functions: the unit of deployment and of the roles in AWS, and what policies,
	// metrics and the documentation group operations by. The package operations sets it.
	Function string
	// Permission is the name of the operation that the caller must be permitted; in a row empty for its own.
	Permission string
	// ArrowBody means that the body of a request is an Arrow IPC stream, and never JSON.
	ArrowBody bool
	// Frees means that the operation deletes stored data, or begins a job that does. It must be possible on a full disk.
	Frees bool
	// MayWrite means that a request may change something although the operation reads: it then performs another one, whose
	// rights it needs as well.
	MayWrite bool
	// LeastBody is the shortest valid body, as JSON; in a row empty for {}.
	LeastBody string
	// Refused is the answer for every existing table, because the service lacks what the operation is about.
	Refused *Error
	// NoMethod is the reason why the Go client has no method for the operation.
	NoMethod string
	Note     string // sentences for documentation
	// Statuses are those of the answers where they differ among answers; else the type of the response has the only one.
	Statuses  []int
	NoContent string // the meaning of status 204, a sentence for documentation
}

// RequestType returns the struct type of the requests.
func (o Operation) RequestType() reflect.Type { return reflect.TypeOf(o.Request).Elem() }

// ResponseType returns the type of the answers.
func (o Operation) ResponseType() reflect.Type { return reflect.TypeOf(o.Response).Elem() }

// NewRequest returns an empty request.
func (o Operation) NewRequest() Request { return reflect.New(o.RequestType()).Interface().(Request) }

// IsJSON reports whether the operation is one from a JSON object to another, or to an empty answer.
func (o Operation) IsJSON() bool {
	if o.ArrowBody {
		return false
	}
	switch o.Response.(type) {
	case *Rows, *Bytes:
		return false
	}
	return true
}

// Origin says where an operation is defined.
type Origin string

// The origins of operations.
const (
	Spec    Origin = "spec"    // the public Lance Namespace specification, 0.13
	LanceDB Origin = "lancedb" // only the LanceDB clients call it
	Own     Origin = "own"     // this service, beside all specifications
)

// These are the methods of a row, the specification's own first.
var (
	ByPost      = []string{http.MethodPost}
	ByGet       = []string{http.MethodGet}
	ByGetOrPost = []string{http.MethodGet, http.MethodPost}
	ByPostOrGet = []string{http.MethodPost, http.MethodGet}
)

// SpecificationVersion is the implemented version of the public specification.
const SpecificationVersion = "0.13"

// RemoteVersion is the feature level that LanceDB's remote clients assume of this server. From 0.3.0 on
// they send structured text queries and several vectors, and from 0.4.0 on multipart writes; from 0.5.0
// on they fetch blobs, and from 0.6.0 on they search for elements of lists.
const RemoteVersion = "0.6.0"

package accessapi

import "tiltyard/shared/protocol"

// Operations are the rows of the operations on access.
var Operations = []protocol.Operation{
	{
		Name: "ExplainAccess", Methods: protocol.ByPost, Path: "/v1/access/explain", Group: protocol.GroupAccess, Access: protocol.Read, Origin: protocol.Own,
		Request: new(ExplainRequest), Response: new(ExplainResponse), Summary: "Explain what a subject may do with an object",
	},
}

// ExplainRequest asks what a subject may do with a table, a view or a namespace.
type ExplainRequest struct {
	protocol.Common
	ObjectID []string `json:"object_id"` // empty: the root namespace
	Kind     Object   `json:"kind"`
	// Subject is whose access it is. Empty: the caller's. Only an administrator may ask about others: who has the
	// action ExplainOthers on the root namespace by a policy, or the scope to write if there are no policies.
	Subject Subject `json:"subject"`
}

// Validate checks the id and the size of the subject.
func (r *ExplainRequest) Validate() error {
	if err := protocol.CheckID(r.ObjectID); err != nil {
		return protocol.Errorf(protocol.InvalidInput, "object_id: %w", err)
	}
	s := r.Subject
	names := len(s.Groups) + len(s.Roles) + len(s.Scopes)
	if s.Subject == "" && (names > 0 || s.Issuer != "") {
		return protocol.Errorf(protocol.InvalidInput, "subject.subject is required beside the other claims of a subject")
	}
	if names > maxSubjectNames {
		return protocol.Errorf(protocol.InvalidInput, "subject has %d groups, roles and scopes; at most %d are possible", names, maxSubjectNames)
	}
	return nil
}

// OfNamespace reports whether the object is a namespace.
func (r *ExplainRequest) OfNamespace() bool {
	return r.Kind == Namespace || len(r.ObjectID) == 0
}

// Other returns the subject, or nil if it is the caller.
func (r *ExplainRequest) Other() *Subject {
	if r.Subject.Subject == "" {
		return nil
	}
	return &r.Subject
}

const maxSubjectNames = 1000

// Object is a kind of objects that policies are about.
type Object uint8

// The kinds of objects; the first is the default.
const (
	Table Object = iota // also views
	Namespace
)

var objects = protocol.NewEnum("kind", "Table", "Namespace")

// String returns the PascalCase spelling.
func (o Object) String() string { return objects.Text(uint8(o)) }

// MarshalText writes the same text as String. The error is for an unknown value.
func (o Object) MarshalText() ([]byte, error) { return objects.Marshal(uint8(o)) }

// UnmarshalText accepts PascalCase and snake_case in any case.
func (o *Object) UnmarshalText(text []byte) error {
	return objects.Parse(text, (*uint8)(o))
}

// Subject is the holder of a token, as policies see it: the claims of the token.
type Subject struct {
	Subject string   `json:"subject"`
	Issuer  string   `json:"issuer,omitempty"` // empty for API keys, whose subjects are key:<name>
	Groups  []string `json:"groups,omitempty"`
	Roles   []string `json:"roles,omitempty"`
	Scopes  []string `json:"scopes,omitempty"`
}

// ExplainResponse has a decision about each operation on the object.
type ExplainResponse struct {
	Subject Subject `json:"subject"`
	// ByPolicies means that policies decide. Otherwise the scopes of the token decide, equally for all objects.
	ByPolicies bool `json:"by_policies"`
	// Visible means that the subject may see the object, which need not exist.
	Visible bool `json:"visible"`
	// Administrator means that the caller may ask about other subjects.
	Administrator bool                    `json:"administrator"`
	Operations    protocol.List[Decision] `json:"operations"`
}

// Decision records whether a subject may perform an operation.
type Decision struct {
	Operation string          `json:"operation"`
	Access    protocol.Access `json:"access"`
	Allowed   bool            `json:"allowed"`
	// Policies lists the policies that decided the operation. It is empty if no policy applies. Only
	// administrators see it.
	Policies []DecidingPolicy `json:"policies,omitempty"`
}

// DecidingPolicy is a policy that has decided about an operation.
type DecidingPolicy struct {
	ID     string `json:"id"`     // the annotation id of the policy, or its number as policy<n>, from 0 on
	Effect string `json:"effect"` // permit or forbid
	Line   int    `json:"line"`   // in the text of the policies, from 1 on
}

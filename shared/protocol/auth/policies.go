package auth

import (
	"context"
	"time"

	cedar "github.com/cedar-policy/cedar-go"
)

// Policies are access rules in the Cedar language. An action is allowed if a policy permits it and
// no policy forbids it.
//
//	permit (
//	    principal in Group::"analysts",
//	    action in [Action::"read", Action::"InsertIntoTable"],
//	    resource in Namespace::"sales$eu"
//	);
//
// The principal of a token is User::"<issuer>#<subject>", a member of Group, Role and Scope by its
// claims groups, roles and scope, with the attributes subject and issuer. An API key is
// User::"key:<name>", and the single token of a local server User::"token".
//
// An action is an operation by its name. It is in Action::"read" or Action::"write", and in the
// group of its endpoint, such as Action::"query".
//
// A resource is a Table, a Secret, a Function or a Namespace. Its id is the path of names with "$"
// between them, and it has the attribute name. It is in each namespace above it, up to
// Namespace::"$".
//
// Three actions are checked in addition to that of the operation:
//
//   - Action::"UseLocation", in Action::"write", for a location that a client chooses for a table.
//     Location::"s3://bucket/landing" contains everything below it.
//   - Action::"UseSecret", in Action::"write", for a secret whose value a function receives.
//   - Action::"ExplainOthers", in no other action, on Namespace::"$" for a request that asks for the
//     rights of other principals.
//
// An object that the principal may not describe does not exist for it.
type Policies struct{ fetched[cedar.PolicySet] }

// OpenPolicies returns policies in a remote text. It fetches the text on first use, and again after
// a minute, because it can change.
func OpenPolicies(fetch func(context.Context) ([]byte, error), now func() time.Time) *Policies {
	return &Policies{fetched[cedar.PolicySet]{name: "policies", fetch: fetch, parse: parsePolicies, now: now}}
}

// parsePolicies parses policies in the Cedar language.
func parsePolicies(text []byte) (*cedar.PolicySet, error) {
	return cedar.NewPolicySetFromBytes("policies", text)
}

// CheckPolicies returns an error if the text is no text of policies.
func CheckPolicies(text []byte) error {
	_, err := parsePolicies(text)
	return err
}

// Check fetches and parses the policies now, and returns an error if they are malformed.
func (p *Policies) Check(ctx context.Context) error {
	_, err := p.read(ctx)
	return err
}

package auth

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	cedar "github.com/cedar-policy/cedar-go"
)

// Policies say who may do what to which object, in the Cedar language: nothing is allowed
// but what a policy permits, and what one forbids is not allowed whatever the others say.
//
//	permit (
//	    principal in Group::"analysts",
//	    action in [Action::"read", Action::"InsertIntoTable"],
//	    resource in Namespace::"sales$eu"
//	);
//
// The principal is User::"<issuer>#<subject>" of a token, in Group, Role and Scope by its
// claims groups, roles and scope, with the attributes subject and issuer; User::"key:<name>"
// for an API key and User::"token" for the one token. An action is an operation by its name,
// in Action::"read" or Action::"write" and in the group of its endpoint, such as
// Action::"query". A resource is a Table, a Secret, a Function or a Namespace by its id with "$"
// between the parts, in the namespaces above it up to Namespace::"$", with the attribute name. The
// action Action::"UseLocation", in Action::"write", is asked about for the places that clients name
// for tables: Location::"s3://bucket/landing" holds what is below it. Action::"UseSecret", in
// Action::"write", is asked about for secrets whose values a function gets.
//
// An object that the principal may not describe does not exist for it.
type Policies struct {
	fetch func(context.Context) ([]byte, error)
	now   func() time.Time

	mu      sync.Mutex
	set     *cedar.PolicySet
	fetched time.Time // when set came
	asked   time.Time
	failure error // of the last attempt
}

const (
	maxPolicyBytes = 1 << 20
	// policiesAge is how long policies count before they are asked for again, policiesLast
	// how long they count when they cannot be had.
	policiesAge  = time.Minute
	policiesLast = 15 * time.Minute
)

// OpenPolicies returns the policies of a text that fetch gets. It is asked for when first
// needed, and again after a minute, so that it can change.
func OpenPolicies(fetch func(context.Context) ([]byte, error), now func() time.Time) *Policies {
	return &Policies{fetch: fetch, now: now}
}

// Check reads the policies now, and says what is wrong with them.
func (p *Policies) Check(ctx context.Context) error {
	_, err := p.read(ctx)
	return err
}

// current returns the policies as they are, or ServiceUnavailable: without policies nobody is
// allowed anything, but that is no decision.
func (p *Policies) current(ctx context.Context) (*cedar.PolicySet, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	if p.set != nil && now.Sub(p.fetched) < policiesAge {
		return p.set, nil
	}
	if p.asked.IsZero() || now.Sub(p.asked).Abs() >= refreshPause {
		p.asked = now
		set, err := p.read(context.WithoutCancel(ctx)) // it is for all requests
		if p.failure = err; err == nil {
			p.set, p.fetched = set, now
		}
	}
	if p.set == nil || now.Sub(p.fetched) >= policiesLast {
		return nil, unavailable("the policies cannot be had at present", p.failure)
	}
	return p.set, nil
}

func (p *Policies) read(ctx context.Context) (*cedar.PolicySet, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	text, err := p.fetch(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the policies: %w", err)
	}
	if len(text) > maxPolicyBytes {
		return nil, errors.New("the policies are larger than 1 MiB")
	}
	set, err := cedar.NewPolicySetFromBytes("policies", text)
	if err != nil {
		return nil, fmt.Errorf("parse the policies: %w", err)
	}
	return set, nil
}

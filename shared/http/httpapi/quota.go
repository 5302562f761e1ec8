package httpapi

import (
	"strings"

	"tiltyard/shared/http/quota"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/protocol/operations"
)

// limit applies the quotas of the sender and of its tenant.
func (c *call) limit() (err error) {
	c.admission, err = c.Quotas.Admit(c.ctx(), c.principal)
	c.setLimits()
	return err
}

// enter applies the quotas of the namespaces of an object. Namespaces that policies hide from the sender, or that it may not
// use, have no quotas for it: it could otherwise find them, or use up what is meant for others.
func (c *call) enter(op protocol.Operation, id []string) error {
	return c.enterWith(op, id, quota.Adds(op.Name))
}

// enterTargets applies the quotas of the namespaces of the other objects of a request.
func (c *call) enterTargets(req protocol.Request) error {
	several, ok := req.(interface{ Targets() []protocol.Target })
	if !ok || !c.admission.OfNamespaces() {
		return nil
	}
	for _, t := range several.Targets() {
		op, _ := operations.Lookup(t.Operation)
		// A table that moves within its first namespace adds nothing to it.
		moves := len(c.id) > 1 && len(t.ID) > 1 && c.id[0] == t.ID[0]
		if err := c.enterWith(op, t.ID, quota.Adds(op.Name) && !moves); err != nil {
			return err
		}
	}
	return nil
}

// enterWith is enter for an operation that adds data to the object, or does not.
func (c *call) enterWith(op protocol.Operation, id []string, adds bool) error {
	if !c.admission.OfNamespaces() || len(id) == 0 {
		return nil
	}
	if object, ok := auth.ObjectOf(op, id); !ok || !auth.Permits(c.ctx(), op.Permission, object) {
		return nil
	}
	if !strings.HasPrefix(op.Path, "/v1/namespace/") {
		id = id[:len(id)-1]
	}
	err := c.admission.Enter(c.ctx(), id, adds)
	c.setLimits()
	return err
}

// setLimits describes the quotas in the header of the answer, and bounds the parts of a query.
func (c *call) setLimits() {
	if most := c.admission.Parts(); most > 0 {
		c.tally.LimitParts(most)
	}
	if policy, limit := c.admission.Header(); policy != "" {
		c.w.Header().Set("RateLimit-Policy", policy)
		c.w.Header().Set("RateLimit", limit)
	}
}

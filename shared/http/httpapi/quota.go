package httpapi

import (
	"strings"

	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/auth"
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
	if !c.admission.OfNamespaces() || len(id) == 0 {
		return nil
	}
	if object, ok := auth.ObjectOf(op, id); !ok || !auth.Permits(c.ctx(), op.Permission, object) {
		return nil
	}
	if !strings.HasPrefix(op.Path, "/v1/namespace/") {
		id = id[:len(id)-1]
	}
	err := c.admission.Enter(c.ctx(), id)
	c.setLimits()
	return err
}

// setLimits describes the quotas in the header of the answer.
func (c *call) setLimits() {
	if policy, limit := c.admission.Header(); policy != "" {
		c.w.Header().Set("RateLimit-Policy", policy)
		c.w.Header().Set("RateLimit", limit)
	}
}

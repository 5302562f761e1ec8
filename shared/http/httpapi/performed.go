package httpapi

import (
	"context"

	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/auth"
)

// A performance is what a request does by another operation than its own: a statement in SQL deletes rows as
// DeleteFromTable does.
type performance struct {
	operation protocol.Operation // the zero value if the request does nothing by another operation
	id        []string
}

type performedKey struct{}

// Performs tells the handler of a request that it performs another operation on an object, so that the audit has a line
// with their names. Call it before the rights to the operation are checked. The last call counts.
func Performs(ctx context.Context, op protocol.Operation, id []string) {
	if p, ok := ctx.Value(performedKey{}).(*performance); ok {
		p.operation, p.id = op, id
	}
}

// perform completes the description of a request that has performed another operation.
func (s *Served) perform(ctx context.Context, p *performance, limited bool) {
	if p.operation.Name == "" {
		return
	}
	s.Performed, s.Object = p.operation, protocol.JoinID(p.id, protocol.DefaultDelimiter)
	s.Hidden = s.Err != nil && limited && auth.Hides(ctx, p.operation, p.id)
}

// effect returns the operation that the audit names.
func (s *Served) effect() protocol.Operation {
	if s.Performed.Name != "" {
		return s.Performed
	}
	return s.Operation
}

package httpapi

import (
	"context"
	"slices"
	"strings"

	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/protocol/operations"
)

// A performance is what a request does by other operations than its own: a statement in SQL deletes rows as
// DeleteFromTable does, or reads tables as QueryTable does.
type performance struct {
	use         // the zero value if the request only reads
	reads []use // tables that it reads
	enter func(op protocol.Operation, id []string) error
}

// A use is an operation on an object.
type use struct {
	operation protocol.Operation
	id        []string
}

type performedKey struct{}

// Performs tells the handler of a request that it performs another operation on an object, so that the audit has a line
// with their names. Call it before the rights to the operation are checked. The last call counts. The error is that of a
// quota of the object's namespace.
func Performs(ctx context.Context, op protocol.Operation, id []string) error {
	p, ok := ctx.Value(performedKey{}).(*performance)
	if !ok {
		return nil
	}
	p.use = use{op, id}
	return p.enter(op, id)
}

// Reads adds a table to the objects of a request, which reads it with the right to another operation. Call it before that
// right is checked. The error is as for Performs.
func Reads(ctx context.Context, operation string, id []string) error {
	p, ok := ctx.Value(performedKey{}).(*performance)
	if !ok {
		return nil
	}
	op, _ := operations.Lookup(operation)
	p.reads = append(p.reads, use{op, id})
	return p.enter(op, id)
}

// maxObjects bounds the names in the line of a request.
const maxObjects = 20

// perform completes the description of a request that has performed other operations.
func (s *Served) perform(ctx context.Context, p *performance, limited bool) {
	uses := p.reads
	if s.Performed = p.operation; s.Performed.Name != "" {
		uses = append([]use{p.use}, uses...)
	}
	var objects []string
	for _, u := range uses {
		if object := protocol.JoinID(u.id, protocol.DefaultDelimiter); !slices.Contains(objects, object) {
			objects = append(objects, object)
		}
		s.Hidden = s.Hidden || s.Err != nil && limited && auth.Hides(ctx, u.operation, u.id)
	}
	if len(objects) > maxObjects {
		objects = append(objects[:maxObjects], "…")
	}
	if objects != nil {
		s.Object = strings.Join(objects, ", ")
	}
}

// effect returns the operation that the audit names.
func (s *Served) effect() protocol.Operation {
	if s.Performed.Name != "" {
		return s.Performed
	}
	return s.Operation
}

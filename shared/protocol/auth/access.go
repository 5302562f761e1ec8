package auth

import (
	"context"
	"fmt"
	"strings"

	cedar "github.com/cedar-policy/cedar-go"

	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/operations"
)

// An Access evaluates the policies for one principal during one request. After [Access.Admit] and
// [Access.AdmitTargets] it is safe for concurrent use.
type Access struct {
	policies *cedar.PolicySet
	user     cedar.Entity
	admitted map[Object]bool // the objects that the request itself names
}

// Access returns the access of a principal. The error is ServiceUnavailable if the policies cannot
// be fetched.
func (p *Policies) Access(ctx context.Context, principal *Principal) (*Access, error) {
	current, err := p.current(ctx)
	return &Access{policies: current, user: principal.entity(), admitted: map[Object]bool{}}, err
}

// entity is the principal as policies see it.
func (p *Principal) entity() cedar.Entity {
	var parents []cedar.EntityUID
	for kind, names := range map[cedar.EntityType][]string{typeGroup: p.Groups, typeRole: p.Roles, typeScope: p.Scopes} {
		for _, name := range names {
			parents = append(parents, cedar.NewEntityUID(kind, cedar.String(name)))
		}
	}
	return cedar.Entity{
		UID:     cedar.NewEntityUID(typeUser, cedar.String(p.String())),
		Parents: cedar.NewEntityUIDSet(parents...),
		Attributes: cedar.NewRecord(cedar.RecordMap{
			"subject": cedar.String(p.Subject), "issuer": cedar.String(p.Issuer),
		}),
	}
}

// Admit decides whether an operation on the object in the request's path is allowed. The error is
// PermissionDenied. For a hidden object Admit returns no error, unless the operation would create
// it: the service finds by [Sees] that it is hidden, and answers as for a missing object.
func (a *Access) Admit(op protocol.Operation, id []string) error {
	object, ok := ObjectOf(op, id)
	if !ok {
		return nil
	}
	return a.admit(op, object)
}

// AdmitTargets makes the same decision for the other objects of a request.
func (a *Access) AdmitTargets(targets []protocol.Target) error {
	for _, target := range targets {
		work, known := operations.Lookup(target.Operation)
		if !known {
			return fmt.Errorf("no operation is called %s", target.Operation)
		}
		object, _ := ObjectOf(work, target.ID)
		if err := a.admit(work, object); err != nil {
			return err
		}
	}
	return nil
}

// admit checks one operation on one object, and records the objects that are admitted.
func (a *Access) admit(op protocol.Operation, object Object) error {
	if a.permits(op.Permission, object) {
		a.admitted[object] = true
		return nil
	}
	if op.Makes() || a.sees(object) {
		return Denied(op.Permission, object)
	}
	return nil
}

// Denied is the error for an action that no policy permits on an object that the caller may see.
func Denied(action string, object Object) error {
	return &protocol.Error{
		Code:    protocol.PermissionDenied,
		Message: fmt.Sprintf("no policy permits %s on %s %s", action, object.kind, object.name),
	}
}

// sees reports whether the object is visible to the principal. The root is visible to all
// principals.
func (a *Access) sees(object Object) bool {
	return object.isRoot() || a.admitted[object] || a.permits(object.describe(), object)
}

// permits evaluates the policies for one action on one object.
func (a *Access) permits(action string, object Object) bool {
	decision, _ := cedar.Authorize(a.policies, entities{a}, a.request(action, object))
	return decision == cedar.Allow
}

// request returns the input of Cedar for an action on an object.
func (a *Access) request(action string, object Object) cedar.Request {
	return cedar.Request{Principal: a.user.UID, Action: actionUID(action), Resource: object.uid(), Context: cedar.NewRecord(nil)}
}

// entities resolves the principal, actions and objects for the policies, by their names.
type entities struct{ access *Access }

// Get computes the entity of Cedar with the given id.
func (e entities) Get(uid cedar.EntityUID) (cedar.Entity, bool) {
	switch uid.Type {
	case typeNamespace, typeTable, typeSecret, typeFunction, typeLocation:
		return Object{uid.Type, string(uid.ID)}.entity(), true
	case typeAction:
		return actionEntity(uid), true
	}
	return e.access.user, uid == e.access.user.UID
}

// These are actions that are no operations: naming a place for the data of a table, and giving the value
// of a secret to a function.
const (
	useLocation = "UseLocation"
	useSecret   = "UseSecret"
)

func actionUID(name string) cedar.EntityUID {
	return cedar.NewEntityUID(typeAction, cedar.String(name))
}

// actionEntity puts an operation into its access and its group.
func actionEntity(uid cedar.EntityUID) cedar.Entity {
	e := cedar.Entity{UID: uid}
	if op, known := operations.Lookup(string(uid.ID)); known {
		e.Parents = cedar.NewEntityUIDSet(actionUID(string(op.Access)), actionUID(op.Function))
	} else if uid.ID == useLocation || uid.ID == useSecret {
		e.Parents = cedar.NewEntityUIDSet(actionUID(string(protocol.Write)))
	}
	return e
}

type accessKey struct{}

// WithAccess returns a context with the access of the request's sender.
func WithAccess(ctx context.Context, a *Access) context.Context {
	return context.WithValue(ctx, accessKey{}, a)
}

// Unlimited returns a context without policies, for work that an allowed request requires.
func Unlimited(ctx context.Context) context.Context { return WithAccess(ctx, nil) }

// limits returns the access of the request, or nil where no policies apply, as for jobs.
func limits(ctx context.Context) *Access {
	a, _ := ctx.Value(accessKey{}).(*Access)
	return a
}

// Hides reports whether policies hide the object of an operation from the sender of the request.
func Hides(ctx context.Context, op protocol.Operation, id []string) bool {
	object, ok := ObjectOf(op, id)
	return ok && !Sees(ctx, object)
}

// Sees reports whether an object is visible to the sender of the request.
func Sees(ctx context.Context, object Object) bool {
	a := limits(ctx)
	return a == nil || a.sees(object)
}

// Limited reports whether policies may hide objects from the sender of the request.
func Limited(ctx context.Context) bool { return limits(ctx) != nil }

// Permits reports whether the policies permit an operation on an object that is not in the request;
// without policies it is true. [Access.Admit] checks the objects in the request.
func Permits(ctx context.Context, operation string, object Object) bool {
	a := limits(ctx)
	return a == nil || a.permits(operation, object)
}

// Check returns nil if there are no policies, or they permit an operation on an object. Otherwise it returns missing for
// an object that is hidden from the sender, and PermissionDenied for any other.
func Check(ctx context.Context, operation string, object Object, missing error) error {
	switch {
	case !Sees(ctx, object):
		return missing
	case !Permits(ctx, operation, object):
		return Denied(operation, object)
	}
	return nil
}

// Admit makes the decision of [Access.Admit] for an object that a request names elsewhere than in its path. Call it before
// the context is used concurrently.
func Admit(ctx context.Context, operation string, id []string) error {
	a := limits(ctx)
	if a == nil {
		return nil
	}
	return a.AdmitTargets([]protocol.Target{{Operation: operation, ID: id}})
}

// CheckLocation checks that the sender of the request may name a place for the data of a
// table; the error is PermissionDenied.
func CheckLocation(ctx context.Context, uri string) error {
	if object := Location(uri); !Permits(ctx, useLocation, object) {
		return Denied(useLocation, object)
	}
	return nil
}

// CheckSecret checks that the sender of the request may pass the value of a secret to a function.
// The error is PermissionDenied.
func CheckSecret(ctx context.Context, id []string) error {
	if object := Secret(id); !Permits(ctx, useSecret, object) {
		return Denied(useSecret, object)
	}
	return nil
}

// CheckReads checks that the principal of the context may read all rows of a table, whatever the way; the error is
// PermissionDenied.
func CheckReads(ctx context.Context, table []string) error {
	if reads, _ := DataAccess(ctx, table); !reads {
		return Denied("QueryTable", Table(table))
	}
	return nil
}

// DataAccess reports whether the sender of a request may read all rows of a table and change
// everything stored of it, by whatever operation.
func DataAccess(ctx context.Context, table []string) (reads, writes bool) {
	principal := FromContext(ctx)
	if principal == nil {
		return false, false
	}
	reads, writes = true, true
	for _, op := range operations.All {
		if !ofData(op) {
			continue
		}
		allowed := Permits(ctx, op.Permission, Table(table))
		if limits(ctx) == nil {
			allowed = Authorize(principal, op) == nil
		}
		if !allowed && op.Access == protocol.Read {
			return false, false
		}
		writes = writes && allowed
	}
	return reads, writes
}

// ofData reports whether an operation works on the stored data of an existing table.
func ofData(op protocol.Operation) bool {
	if op.Makes() || op.Origin == protocol.Own || !strings.HasPrefix(op.Path, "/v1/table/{id}/") {
		return false
	}
	switch op.Group {
	case protocol.GroupSchema, protocol.GroupData, protocol.GroupQuery, protocol.GroupIndex, protocol.GroupVersion, protocol.GroupRef:
		return true
	}
	return op.Name == "DropTable"
}

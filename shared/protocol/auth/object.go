package auth

import (
	"strings"

	cedar "github.com/cedar-policy/cedar-go"

	"tiltyard/shared/protocol"
)

// An Object is the resource of a policy decision: a namespace, a table, a secret, a function, or a
// location.
type Object struct {
	kind cedar.EntityType
	name string
}

// The entity types of policies.
const (
	typeUser      cedar.EntityType = "User"
	typeGroup     cedar.EntityType = "Group"
	typeRole      cedar.EntityType = "Role"
	typeScope     cedar.EntityType = "Scope"
	typeAction    cedar.EntityType = "Action"
	typeNamespace cedar.EntityType = "Namespace"
	typeTable     cedar.EntityType = "Table"
	typeSecret    cedar.EntityType = "Secret"
	typeFunction  cedar.EntityType = "Function"
	typeLocation  cedar.EntityType = "Location"
)

// Namespace is the namespace of an id; the empty id is the root, Namespace::"$".
func Namespace(id []string) Object {
	return Object{typeNamespace, protocol.JoinID(id, protocol.DefaultDelimiter)}
}

// Table returns the object of a table. Components of ids never contain the delimiter, so no two ids
// have the same name.
func Table(id []string) Object {
	return Object{typeTable, protocol.JoinID(id, protocol.DefaultDelimiter)}
}

// Secret returns the object of a secret, named by its id like a table.
func Secret(id []string) Object {
	return Object{typeSecret, protocol.JoinID(id, protocol.DefaultDelimiter)}
}

// Function returns the object of a function, named by its id like a table.
func Function(id []string) Object {
	return Object{typeFunction, protocol.JoinID(id, protocol.DefaultDelimiter)}
}

// Location is a place of data by its canonical URI, without a slash at the end.
func Location(uri string) Object { return Object{typeLocation, uri} }

// ObjectOf returns the object in the path of an operation. ok is false if policies do not apply to
// the path.
func ObjectOf(op protocol.Operation, id []string) (Object, bool) {
	switch {
	case !strings.Contains(op.Path, "{id}"), strings.HasPrefix(op.Path, "/v1/transaction/"):
		return Object{}, false
	case strings.HasPrefix(op.Path, "/v1/namespace/"):
		return Namespace(id), true
	case strings.HasPrefix(op.Path, "/v1/secret/"):
		return Secret(id), true
	case strings.HasPrefix(op.Path, "/v1/function/"):
		return Function(id), true
	}
	return Table(id), true
}

func (o Object) uid() cedar.EntityUID { return cedar.NewEntityUID(o.kind, cedar.String(o.name)) }

// isRoot reports whether the object is the root namespace, which is always visible.
func (o Object) isRoot() bool {
	return o.kind == typeNamespace && o.name == protocol.DefaultDelimiter
}

// parent returns the namespace or the location that contains the object. ok is false for the root
// namespace and for the first component of a location.
func (o Object) parent() (Object, bool) {
	if o.kind == typeLocation {
		cut := strings.LastIndexByte(o.name, '/')
		if cut < 0 || strings.HasSuffix(o.name[:cut], "/") {
			return Object{}, false
		}
		return Location(o.name[:cut]), true
	}
	if o.isRoot() {
		return Object{}, false
	}
	cut := strings.LastIndex(o.name, protocol.DefaultDelimiter)
	if cut < 0 {
		return Namespace(nil), true
	}
	return Object{typeNamespace, o.name[:cut]}, true
}

// describe returns the operation whose permission makes the object visible.
func (o Object) describe() string {
	switch o.kind {
	case typeNamespace:
		return "DescribeNamespace"
	case typeTable:
		return "DescribeTable"
	case typeSecret:
		return "DescribeSecret"
	case typeFunction:
		return "DescribeFunction"
	}
	return ""
}

// entity is the object as policies see it: its name is the last part.
func (o Object) entity() cedar.Entity {
	e := cedar.Entity{UID: o.uid()}
	last := o.name
	if parent, ok := o.parent(); ok {
		e.Parents = cedar.NewEntityUIDSet(parent.uid())
		last = strings.TrimPrefix(strings.TrimPrefix(o.name, parent.name), protocol.DefaultDelimiter)
	}
	e.Attributes = cedar.NewRecord(cedar.RecordMap{"name": cedar.String(last)})
	return e
}

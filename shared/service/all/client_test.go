package all_test

import (
	"reflect"
	"testing"
	"time"

	"tiltyard/shared/arrow/arrowipc"
	"tiltyard/shared/client"
	"tiltyard/shared/protocol/operations"
	"tiltyard/shared/service/all"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/memstore"
	"tiltyard/shared/tables"
)

func TestRoutesHaveTheTypesOfTheirOperations(t *testing.T) {
	roots, err := objectstore.NewRoots(objectstore.Root{URI: "memory://test", Store: memstore.New()})
	if err != nil {
		t.Fatal(err)
	}
	routes := all.Routes(tables.Stores{Objects: roots, Now: time.Now}, arrowipc.Limits{})
	for _, route := range routes {
		shape := route.Shape()
		op, _ := operations.Lookup(shape.Operation)
		if shape.Request != op.RequestType() || shape.Response != op.ResponseType() {
			t.Errorf("%s is served from %s to %s, want from %s to %s", op.Name, shape.Request, shape.Response, op.RequestType(), op.ResponseType())
		}
	}
	if len(routes) != len(operations.All) {
		t.Errorf("%d routes, want %d", len(routes), len(operations.All))
	}
}

func TestGoClientHasEachOperation(t *testing.T) {
	methods := reflect.TypeFor[*client.Client]()
	for _, op := range operations.All {
		if _, has := methods.MethodByName(op.Name); has == (op.NoMethod != "") {
			t.Errorf("%s has a method: %v; the reason to have none is %q", op.Name, has, op.NoMethod)
		}
	}
}

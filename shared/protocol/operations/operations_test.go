package operations_test

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"testing"

	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/operations"
)

func TestOperationsAgreeWithTheSpecification(t *testing.T) {
	f, err := os.Open("testdata/paths.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	inSpec := map[string]bool{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var name, method, path string
		if _, err := fmt.Sscan(lines.Text(), &name, &method, &path); err != nil {
			t.Fatalf("parse %q: %v", lines.Text(), err)
		}
		inSpec[name] = true
		op, ok := operations.Lookup(name)
		if !ok {
			t.Errorf("no operation %s", name)
			continue
		}
		if op.Path != path || op.Methods[0] != method || op.Origin != protocol.Spec {
			t.Errorf("%s is %v %s (%s), want %s %s (spec)", name, op.Methods, op.Path, op.Origin, method, path)
		}
	}
	if len(inSpec) != 54 {
		t.Errorf("%d operations in the specification, want 54", len(inSpec))
	}
	for _, op := range operations.All {
		if op.Origin == protocol.Spec && !inSpec[op.Name] {
			t.Errorf("%s is not in the specification", op.Name)
		}
	}
}

func TestOperationsAreDistinct(t *testing.T) {
	names, paths := map[string]bool{}, map[string]bool{}
	for _, op := range operations.All {
		if names[op.Name] || paths[op.Path] {
			t.Errorf("%s %s is there twice", op.Name, op.Path)
		}
		names[op.Name], paths[op.Path] = true, true
		if len(op.Methods) == 0 || strings.HasSuffix(op.Path, "/") || (op.Access != protocol.Read && op.Access != protocol.Write) {
			t.Errorf("%+v is not whole", op)
		}
	}
	if _, ok := operations.Lookup("NoSuchThing"); ok {
		t.Error("Lookup finds NoSuchThing")
	}
}

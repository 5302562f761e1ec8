package command_test

import (
	"strings"
	"testing"

	"tiltyard/shared/protocol/operations"
)

// Each operation from JSON to JSON can be called, and its answer is that of the server.
func TestCallSendsAnyOperation(t *testing.T) {
	setUp(t)
	for _, c := range []struct {
		args  []string
		wants string // a part of the output
		code  int
	}{
		{[]string{"CreateNamespace", "sales", "--body", `{"properties":{"owner":"me"}}`}, `"owner": "me"`, 0},
		{[]string{"NamespaceExists", "sales"}, "", 0},
		{[]string{"ListAllTables"}, `"tables": []`, 0},
		{[]string{"NamespaceExists", "none"}, "namespace none does not exist", 3},
		{[]string{"ListAllTables", "sales"}, "/v1/table", 2},
		{[]string{"DescribeNamespace"}, "/v1/namespace/{id}/describe", 2},
		{[]string{"QueryTable", "sales/t"}, "takes or answers with rows", 6},
		{[]string{"SellTable", "sales/t"}, `"SellTable"`, 2},
		{[]string{"ListTables", "sales", "--body", `{`}, "--body", 2},
	} {
		out, errs, code := tiltyard(t, "", append([]string{"call"}, c.args...)...)
		if code != c.code || !strings.Contains(out+errs, c.wants) {
			t.Errorf("%q: exit code %d, want %d with %q: %s%s", c.args, code, c.code, c.wants, out, errs)
		}
	}
	for _, op := range operations.All {
		_, errs, code := tiltyard(t, "", "call", op.Name)
		if usage := strings.Contains(errs, "give a name"); usage != strings.Contains(op.Path, "{id}") || strings.Contains(op.Path, "{id}") && code != 2 {
			t.Errorf("%s: exit code %d: %s", op.Name, code, errs)
		}
	}
}

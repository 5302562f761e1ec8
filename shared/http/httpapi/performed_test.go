package httpapi

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/operations"
	"tiltyard/shared/protocol/queryapi"
)

// A request that reads tables has their names in its lines: after the object that it changes, and once each.
func TestReadTablesAreLogged(t *testing.T) {
	many := "t0"
	for i := 1; i < maxObjects; i++ {
		many += fmt.Sprint(", t", i)
	}
	for _, c := range []struct {
		performed string
		reads     int
		object    string
		audited   bool
	}{{"", 0, "", false}, {"", 2, "t0, t1", false}, {"", 100, many + ", …", false}, {"InsertIntoTable", 1, "a$t, t0", true}} {
		told := newTold(&service{}, Options{})
		told.handler = Handler([]Route{Arrow("ExecuteStatement", func(ctx context.Context, _ *queryapi.StatementRequest) (*protocol.Rows, error) {
			var wrong error
			if op, ok := operations.Lookup(c.performed); ok {
				wrong = Performs(ctx, op, []string{"a", "t"})
			}
			for i := range c.reads {
				wrong = errors.Join(wrong, Reads(ctx, "QueryTable", []string{fmt.Sprint("t", i)}), Reads(ctx, "QueryTable", []string{"t0"}))
			}
			if wrong != nil {
				t.Error(wrong)
			}
			return nil, &protocol.Error{Code: protocol.TableNotFound}
		})}, told.handler.(*handler).Options)
		request{path: "/v1/sql", body: `{"query":"SELECT 1"}`, header: map[string]string{"Authorization": "Bearer " + testToken}}.do(t, told.handler)
		if want := fmt.Sprintf("object=%q", c.object); !strings.Contains(told.log.String(), want) && !strings.Contains(told.log.String(), strings.ReplaceAll(want, `"`, "")) {
			t.Errorf("the log has %s, want %s", told.log.String(), want)
		}
		if got := told.audit.String() != ""; got != c.audited {
			t.Errorf("%s: the audit has %q", c.object, told.audit.String())
		}
	}
}

// A request that performs another operation is audited under the name of that one, if it writes.
func TestPerformedOperationsAreAudited(t *testing.T) {
	for performed, want := range map[string]string{
		"DeleteFromTable": "outcome=failed principal=ada remote=192.0.2.1:1234 operation=DeleteFromTable object=a$t status=404 request_id=generated code=table-not-found\n",
		"DescribeTable":   "",
	} {
		told := newTold(&service{}, Options{})
		told.handler = Handler([]Route{Arrow("ExecuteStatement", func(ctx context.Context, _ *queryapi.StatementRequest) (*protocol.Rows, error) {
			op, _ := operations.Lookup(performed)
			if err := Performs(ctx, op, []string{"a", "t"}); err != nil {
				return nil, err
			}
			return nil, &protocol.Error{Code: protocol.TableNotFound}
		})}, told.handler.(*handler).Options)
		request{path: "/v1/sql", body: `{"query":"DELETE FROM a.t WHERE true"}`, header: map[string]string{"Authorization": "Bearer " + testToken}}.do(t, told.handler)
		if got := told.audit.String(); got != want {
			t.Errorf("%s: got %q, want %q", performed, got, want)
		}
		if !strings.Contains(told.log.String(), "operation=ExecuteStatement object=a$t") {
			t.Errorf("%s: the log has %s", performed, told.log.String())
		}
	}
}

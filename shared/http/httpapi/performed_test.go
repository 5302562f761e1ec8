package httpapi

import (
	"context"
	"strings"
	"testing"

	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/operations"
	"tiltyard/shared/protocol/queryapi"
)

// A request that performs another operation is audited under the name of that one, if it writes.
func TestPerformedOperationsAreAudited(t *testing.T) {
	for performed, want := range map[string]string{
		"DeleteFromTable": "outcome=failed principal=ada remote=192.0.2.1:1234 operation=DeleteFromTable object=a$t status=404 request_id=generated code=table-not-found\n",
		"DescribeTable":   "",
	} {
		told := newTold(&service{}, Options{})
		told.handler = Handler([]Route{Arrow("ExecuteStatement", func(ctx context.Context, _ *queryapi.StatementRequest) (*protocol.Rows, error) {
			op, _ := operations.Lookup(performed)
			Performs(ctx, op, []string{"a", "t"})
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

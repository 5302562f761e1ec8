package all_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tiltyard/shared/protocol/functionapi"
)

// A column of a function is filled as long as whoever declared it may use the function and its secret, whoever asks for
// that. What may no longer be used fails one job without a request, and goes on when the right is back.
func TestFunctionsAreCalledWithTheRightsOfTheirColumns(t *testing.T) {
	const uses, gives = `permit (principal in Group::"bob", action == Action::"DescribeFunction", resource == Function::"plus");`,
		`permit (principal in Group::"bob", action in [Action::"UseSecret", Action::"DescribeSecret"], resource == Secret::"key");`
	for what, taken := range map[string]string{"function": uses, "secret": gives} {
		synctest.Test(t, func(t *testing.T) {
			w := openStaffedServer(t)
			all := w.policies + `permit (principal in Group::"bob", action, resource in Namespace::"bob");` + uses + gives
			w.policies = all
			time.Sleep(2 * time.Minute)
			w.must("/v1/namespace/bob/create", nil)
			w.must("/v1/secret/key/create", map[string]any{"value": "v"})
			code := []byte("n + 1")
			w.must("/v1/function/plus/create", map[string]any{
				"artifact":        map[string]any{"kind": "sql_expression", "digest": functionapi.DigestOf(code), "content": map[string]any{"encoding": "base64", "data": base64.StdEncoding.EncodeToString(code)}},
				"signature":       map[string]any{"inputs": []any{numberField}, "output": map[string]any{"kind": "scalar", "arrow_type": "int64", "nullable": false}},
				"runtime":         map[string]any{"kind": "sql"},
				"secret_bindings": []any{map[string]any{"kind": "env", "variable": "KEY", "secret_ref": map[string]any{"name": "key"}}},
			})
			w.work(0)
			var f functionapi.Version
			text, _ := json.Marshal(w.must("/v1/function/plus/describe", map[string]any{"version": "1"}))
			if err := json.Unmarshal(text, &f); err != nil {
				t.Fatal(err)
			}
			w.create("bob$t", nil, 1, 2)
			w.must("/v1/table/bob$t/alter_columns", map[string]any{"alterations": []any{map[string]any{"path": "id", "rename": "n"}}})
			declaration := column("r", f)
			declaration["auto_refresh_enabled"] = true
			body, _ := json.Marshal(declaration)
			if status, answer := w.send("bob", "/v1/table/bob$t/add_columns", body); status != http.StatusOK {
				t.Fatalf("%s: add the column: %d %v", what, status, answer)
			}
			missing := func() int { return w.count("bob$t", "r IS NULL") }
			w.work(time.Hour)
			if n := missing(); n != 0 {
				t.Fatalf("%s: %d rows lack a value before anything is taken away", what, n)
			}

			w.policies = strings.ReplaceAll(all, taken, "")
			time.Sleep(2 * time.Minute)
			insert := func(n int64) {
				if status, answer := w.send("admin", "/v1/table/bob$t/insert", encodedNumbers(t, "n", nil, n)); status != http.StatusOK {
					t.Fatalf("insert: %d %v", status, answer)
				}
			}
			insert(3)
			w.work(5 * time.Hour)
			var refused []string
			for _, one := range w.must("/v1/jobs/list", map[string]any{})["jobs"].([]any) {
				id := one.(map[string]any)["job_id"]
				_, told := w.sent("/v1/jobs/describe", map[string]any{"job_id": id})
				if told["job_state"] == "FAILED" {
					refused = append(refused, fmt.Sprint(told["failure"]))
				}
			}
			if n := missing(); n != 1 || len(refused) != 1 || !strings.Contains(refused[0], `column "r" of table bob$t`) {
				t.Errorf("%s: %d rows lack a value after it is taken away, and the jobs that failed tell %q", what, n, refused)
			}
			begun := w.must("/v1/table/bob$t/backfill_column", map[string]any{"column": "r"}) // by the administrator
			w.work(time.Minute)
			if _, told := w.sent("/v1/jobs/describe", map[string]any{"job_id": begun["job_id"]}); told["job_state"] != "FAILED" || missing() != 1 {
				t.Errorf("%s: a job of somebody who may use it is %v", what, told)
			}

			w.policies = all
			time.Sleep(2 * time.Minute)
			insert(4)
			w.work(time.Hour)
			if n := missing(); n != 0 {
				t.Errorf("%s: %d rows lack a value after it is given back", what, n)
			}
		})
	}
}

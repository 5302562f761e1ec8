package command_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"tiltyard/local/command"
	"tiltyard/shared/service/all/alltest"
)

// newDoctor returns the command doctor, which says that it looks at a root.
func newDoctor() *cobra.Command {
	cmd := &cobra.Command{Use: "doctor", Short: "Find", RunE: func(cmd *cobra.Command, _ []string) error {
		_, err := fmt.Fprintln(cmd.OutOrStdout(), "a root")
		return err
	}}
	cmd.Flags().Bool("fix", false, "")
	cmd.Flags().Bool("json", false, "")
	return cmd
}

// fixed answers of a server by path; the others are those of a real server.
func answering(answers map[string]string) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			answer, ok := answers[r.URL.Path]
			if !ok {
				next.ServeHTTP(w, r)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			if strings.Contains(answer, `"code"`) {
				w.WriteHeader(http.StatusInternalServerError)
			}
			fmt.Fprint(w, answer)
		})
	}
}

// Each fault is planted in a sound service and found there; those that can be mended are.
func TestFaultsOfAService(t *testing.T) {
	begun := time.Now().Add(-3 * time.Hour).UnixMilli()
	const id = "00000000000000000000000000000001"
	for _, test := range []struct {
		name    string
		answers map[string]string
		plant   []string // commands
		want    string
		fixed   bool
	}{
		{name: "none"},
		{name: "an index is behind", want: "stale-index: sales$points: index id_idx lacks 2 of 4 rows, which each search reads", fixed: true, plant: []string{
			"index create sales/points id --type BTREE --wait", "insert sales/points --format csv",
		}},
		{
			name: "a table cannot be read", want: "unreadable-table: sales$points: DescribeTable: no such file; tiltyard doctor --root",
			answers: map[string]string{"/v1/table/sales$points/describe": `{"error":"no such file","code":18}`},
		},
		{
			name: "an index cannot be read", want: "damaged-index: sales$points: ListTableIndices: broken; drop the index",
			answers: map[string]string{"/v1/table/sales$points/index/list": `{"error":"broken","code":18}`},
		},
		{
			name: "a job that no worker takes", want: "stuck-job: " + id + " of sales$points: refresh was begun at ",
			answers: map[string]string{"/v1/jobs/list": fmt.Sprintf(`{"jobs":[{"job_id":%q,"table":"sales$points","job_type":"refresh","state":"IN_PROGRESS","created_at_millis":%d}]}`, id, begun)},
		},
		{
			name: "jobs that go on or have ended",
			answers: map[string]string{
				"/v1/jobs/list":     fmt.Sprintf(`{"jobs":[{"job_id":%q,"state":"IN_PROGRESS","created_at_millis":%d,"progress":{}},{"job_id":"2","state":"DONE"},{"job_id":"3","state":"FAILED"}]}`, id, begun),
				"/v1/jobs/describe": `{"job_state":"FAILED","failure":{"phase":"p","message":"m"}}`,
			},
		},
		{
			name: "a job that is set aside", want: "set-aside-job: " + id + " of t: refresh was set aside in stage p: m; mend the reason and then tiltyard job resume " + id,
			answers: map[string]string{
				"/v1/jobs/list":     fmt.Sprintf(`{"jobs":[{"job_id":%q,"table":"t","job_type":"refresh","state":"FAILED"}]}`, id),
				"/v1/jobs/describe": `{"job_state":"FAILED","failure":{"phase":"p","message":"m","retryable":true}}`,
			},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			server := serve(t, answering(test.answers))
			do := func(line string) {
				t.Helper()
				if _, stderr, code := tiltyard(t, "id,name\n3,three\n4,four\n", strings.Fields(line)...); code != 0 {
					t.Fatalf("%s: %s", line, stderr)
				}
			}
			do("ns create sales")
			do("insert sales/points " + points(t) + " --create")
			for _, line := range test.plant {
				do(line)
			}
			for _, flags := range [][]string{nil, {"--fix"}, nil} {
				stdout, stderr, code := tiltyard(t, "", append([]string{"doctor", "--url", server.URL}, flags...)...)
				want, wantCode := test.want, command.ExitFaults
				switch {
				case want == "":
					wantCode = 0
				case test.fixed && flags != nil:
					want, wantCode = want+" (mended)", 0
					test.want = ""
				}
				if code != wantCode || !strings.HasPrefix(stdout, want) || strings.Count(stdout, "\n") != min(len(want), 1) {
					t.Errorf("doctor %v: exit code %d, got\n%s%s\nwant %d and\n%s", flags, code, stdout, stderr, wantCode, want)
				}
			}
		})
	}
}

func TestDoctorOfServiceReportsAMissingServer(t *testing.T) {
	server := setUp(t)
	t.Setenv("TILTYARD_URL", "")
	if stdout, _, code := tiltyard(t, "", "doctor"); stdout != "a root\n" || code != 0 {
		t.Errorf("without a server: exit code %d, %s", code, stdout)
	}
	t.Setenv("TILTYARD_TOKEN", "wrong")
	if _, _, code := tiltyard(t, "", "doctor", "--url", server.URL); code != command.ExitDenied {
		t.Errorf("with a wrong token: exit code %d, want %d", code, command.ExitDenied)
	}
	server.Close()
	t.Setenv("TILTYARD_TOKEN", alltest.Token)
	if _, _, code := tiltyard(t, "", "doctor", "--url", server.URL, "--json"); code != command.ExitUnavailable {
		t.Errorf("without a server: exit code %d, want %d", code, command.ExitUnavailable)
	}
}

func TestDoctorLooksWhereOtherCommandsGo(t *testing.T) {
	server := setUp(t)
	looks := func(where string, args ...string) {
		t.Helper()
		stdout, stderr, code := tiltyard(t, "", append([]string{"doctor"}, args...)...)
		if code != 0 || !strings.Contains(stdout+stderr, where) {
			t.Errorf("doctor %v: exit code %d, %s%s; want it to look at %s", args, code, stdout, stderr, where)
		}
	}
	looks("looking at the server " + server.URL)
	t.Setenv("TILTYARD_ROOT", t.TempDir())
	looks("a root")
	t.Setenv("TILTYARD_ROOT", "")
	t.Setenv("TILTYARD_URL", "")
	if _, stderr, code := tiltyard(t, alltest.Token, "login", "local", "--url", server.URL); code != 0 {
		t.Fatal(stderr)
	}
	looks("looking at the server " + server.URL)
	tiltyard(t, "", "context", "remove", "local")
	looks("a root")
}

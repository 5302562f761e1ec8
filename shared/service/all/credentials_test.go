package all_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Credentials open what the service would let their holder read and write, and no more.
func TestCredentialsAllowWhatTheHolderMayDo(t *testing.T) {
	s := serveLimited(t)
	s.populate()
	cases := []struct {
		name, group, path, body string
		write                   string // "" is no credentials
	}{
		{"who may do everything", "admins", "/v1/table/oak$t/describe", `{"vend_credentials":true}`, "true"},
		{"who may write the table", "writers", "/v1/table/oak$t/describe", `{"vend_credentials":true}`, "true"},
		{"who may read the table", "readers", "/v1/table/oak$t/describe", `{"vend_credentials":true}`, "false"},
		{"who may do so to the name only", "listers", "/v1/table/t2/describe", `{"vend_credentials":true}`, "false"},
		{"who may describe and no more", "viewers", "/v1/table/oak$t/describe", `{"vend_credentials":true}`, ""},
		{"who does not ask", "readers", "/v1/table/oak$t/describe", `{}`, "false"},
		{"who wants none", "readers", "/v1/table/oak$t/describe", `{"vend_credentials":false}`, ""},
		{"who declares", "writers", "/v1/table/oak$new/declare", `{"vend_credentials":true}`, "true"},
		{"who declares and does not ask", "writers", "/v1/table/oak$other/declare", `{}`, "true"},
		{"who declares and wants none", "writers", "/v1/table/oak$third/declare", `{"vend_credentials":false}`, ""},
		{"who may declare and no more", "makers", "/v1/table/oak$fourth/declare", `{"vend_credentials":true}`, ""},
	}
	s.must("admins", "/v1/table/t2/declare", "{}")
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			status, text := s.as(c.group, http.MethodPost, c.path, c.body)
			var answer struct {
				Location string            `json:"location"`
				Options  map[string]string `json:"storage_options"`
			}
			if status != http.StatusOK {
				t.Fatalf("%d %s", status, text)
			}
			if err := json.Unmarshal([]byte(text), &answer); err != nil {
				t.Fatal(err)
			}
			var want map[string]string
			if c.write != "" {
				want = map[string]string{"location": answer.Location, "write": c.write, "holder": "iss#sub-" + c.group, "table": strings.Split(c.path, "/")[3]}
			}
			if diff := cmp.Diff(want, answer.Options); diff != "" {
				t.Errorf("storage options (-want +got):\n%s", diff)
			}
		})
	}
}

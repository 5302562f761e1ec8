package main

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"
)

// send returns status and body of a request with a token.
func (r running) send(t *testing.T, method, path, token, body string) (status int, answer string) {
	t.Helper()
	bearer := ""
	if token != "" {
		bearer = "Bearer " + token
	}
	return r.ask(t, method, path, "Authorization", bearer, body)
}

func TestConsoleLinkSignsInOnce(t *testing.T) {
	r := start(t, "--root", t.TempDir(), "--token", "a-secret", "--base-path", "/lance", "--console-link", "on")
	link := regexp.MustCompile(`console: (\S+)/console/#code=([A-Z2-7]{26})\n`).FindStringSubmatch(r.stderr.String())
	if link == nil || link[1] != r.url {
		t.Fatalf("no link in what the server printed:\n%s", r.stderr)
	}
	status, body := r.send(t, http.MethodPost, "/console/session", "", `{"code":"`+link[2]+`"}`)
	token := regexp.MustCompile(`"token":"([A-Z2-7]+)"`).FindStringSubmatch(body)
	if status != 200 || token == nil {
		t.Fatalf("got %d %s", status, body)
	}
	if status, body := r.send(t, http.MethodPost, "/console/session", "", `{"code":"`+link[2]+`"}`); status != 401 {
		t.Errorf("a second time: got %d %s", status, body)
	}
	if status, body := r.send(t, http.MethodPost, "/v1/namespace/n/create", token[1], "{}"); status != 200 {
		t.Errorf("the session creates a namespace: got %d %s", status, body)
	}
	if !strings.Contains(r.stderr.String(), "msg=audit outcome=done principal=token") {
		t.Errorf("no line of the audit names the principal:\n%s", r.stderr)
	}
	if status, _ := r.send(t, http.MethodDelete, "/console/session", token[1], ""); status != 204 {
		t.Errorf("end: got %d", status)
	}
	for token, want := range map[string]int{token[1]: 401, "a-secret": 200} {
		if status, _ := r.get(t, "/v1/table/", token); status != want {
			t.Errorf("after the end: got %d, want %d", status, want)
		}
	}
	if strings.Contains(r.stderr.String(), token[1]) {
		t.Errorf("the log has the token of the session:\n%s", r.stderr)
	}
}

func TestLogFilesGetNoConsoleLink(t *testing.T) {
	r := start(t, "--root", t.TempDir(), "--token", "a-secret")
	if strings.Contains(r.stderr.String(), "code=") {
		t.Errorf("the server printed a code:\n%s", r.stderr)
	}
	if status, body := r.send(t, http.MethodPost, "/console/session", "", `{"code":""}`); status != 401 {
		t.Errorf("got %d %s", status, body)
	}
}

func TestSampleIsMadeWithTheRightsOfTheSender(t *testing.T) {
	r := start(t, "--root", t.TempDir(), "--token", "a-secret")
	for _, test := range []struct {
		name, method, token string
		status              int
		want                string
	}{
		{"available", http.MethodGet, "", 200, `{"available":true}`},
		{"no token", http.MethodPost, "", 401, "no credentials"},
		{"wrong token", http.MethodPost, "other", 401, "the token is not known"},
		{"made", http.MethodPost, "a-secret", 200, `{"table":["sample","films"]}`},
		{"again", http.MethodPost, "a-secret", 409, "drop the table to make the sample again"},
	} {
		began := time.Now()
		if status, body := r.send(t, test.method, "/console/sample", test.token, ""); status != test.status || !strings.Contains(body, test.want) {
			t.Errorf("%s: got %d %s, want %d with %s", test.name, status, body, test.status, test.want)
		}
		t.Logf("%s: %s", test.name, time.Since(began))
	}
	for path, want := range map[string]string{
		"/v1/table/sample$films/count_rows":                       "1200",
		"/v1/table/sample$recent_favourites/count_rows":           "",
		"/v1/table/sample$films/index/list":                       `"genre_idx"`,
		"/v1/table/sample$films/version/list":                     `"version":7`,
		"/v1/materialized_view/sample$recent_favourites/describe": "",
	} {
		if status, body := r.send(t, http.MethodPost, path, "a-secret", "{}"); status != 200 || !strings.Contains(body, want) {
			t.Errorf("%s: got %d %s, want %s", path, status, body, want)
		}
	}
}

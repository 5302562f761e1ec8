package httpapi

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A gateway sends a path without a route to a handler without routes, whose answer names what is
// wrong with the path.
func TestHandlerWithoutRoutesNamesWhatIsWrong(t *testing.T) {
	h := Handler(nil, Options{Verifier: verifier{}})
	cases := []struct {
		method, path string
		status       int
		text         string
	}{
		{"POST", "/v1/table/t/describe/", http.StatusNotImplemented, "DescribeTable"},
		{"POST", "/v1//table/t/describe/", http.StatusNotImplemented, "two slashes in a row"},
		{"DELETE", "/v1/table/t/describe/", http.StatusMethodNotAllowed, "POST"},
		{"POST", "/v1/table/t/nothing/", http.StatusNotImplemented, "/v1/table/t/nothing/"},
		{"POST", "/nowhere", http.StatusNotFound, "/nowhere"},
		{"POST", "/admin/authz/acl/list", http.StatusNotImplemented, "/v1/access/explain"},
	}
	for _, c := range cases {
		r := httptest.NewRequest(c.method, c.path, nil)
		r.Header.Set("Authorization", "Bearer "+testToken)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.text) {
			t.Errorf("%s %s: got %d %s, want %d and %q", c.method, c.path, w.Code, w.Body, c.status, c.text)
		}
	}
}

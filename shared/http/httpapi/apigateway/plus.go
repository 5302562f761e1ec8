package apigateway

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// undecode restores a path that an HTTP API has decoded. A plus sign in such a path is either part
// of a name, which clients send as %2B, or a space, which some clients send as a plus sign. Most
// requests also name their object in the body, which decides between the two. Without that the path
// is ambiguous and is refused, because one client's p+q would be another's "p q". The other
// gateways do not decode paths.
func undecode(r *http.Request, path, query string) (sent string, ambiguous bool, err error) {
	if !strings.Contains(path, "+") {
		return path, false, nil
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return "", false, fmt.Errorf("read the body of the event: %w", err)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	var named struct {
		ID []string `json:"id"`
	}
	if json.Unmarshal(body, &named) != nil || len(named.ID) == 0 {
		return path, true, nil //nolint:nilerr // a body that names nothing leaves the path ambiguous
	}
	delimiter := "$"
	if values, err := url.ParseQuery(query); err == nil && values.Get("delimiter") != "" {
		delimiter = values.Get("delimiter")
	}
	id := strings.Join(named.ID, delimiter)
	segments := strings.Split(path, "/")
	for i, segment := range segments {
		// The percent sign is the only character that stays encoded.
		if spaced(strings.ReplaceAll(segment, "%25", "%")) == spaced(id) {
			segments[i] = url.QueryEscape(id)
		}
	}
	sent = strings.Join(segments, "/")
	return sent, strings.Contains(strings.ReplaceAll(sent, url.QueryEscape(id), ""), "+"), nil
}

// spaced returns a name with spaces in place of its plus signs.
func spaced(name string) string { return strings.ReplaceAll(name, "+", " ") }

// ambiguousPath is the answer to an ambiguous path.
func ambiguousPath(r *http.Request) *recorder {
	return problem(r, nil, http.StatusBadRequest, 13, "ambiguous-path",
		"the path contains a plus sign or a space, and the gateway does not show which",
		"HTTP APIs decode paths: send the id in the body as well, or use a REST API or a function URL")
}

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

// undecode undoes what an HTTP API does to paths: it hands them over decoded. A plus sign is
// then either the one of a name, which clients send as %2B, or a space, which some of them
// write as a plus sign. Most requests name their object in the body, too, and that settles it.
// Else the path is ambiguous, and must not be taken for either: one client's p+q would be
// another's "p q". The other gateways hand paths over as they were sent.
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
		// A percent sign is the one character that stays encoded.
		if spaced(strings.ReplaceAll(segment, "%25", "%")) == spaced(id) {
			segments[i] = url.QueryEscape(id)
		}
	}
	sent = strings.Join(segments, "/")
	return sent, strings.Contains(strings.ReplaceAll(sent, url.QueryEscape(id), ""), "+"), nil
}

// spaced is a name with spaces in place of its plus signs.
func spaced(name string) string { return strings.ReplaceAll(name, "+", " ") }

// ambiguousPath is the answer to a path that may stand for several.
func ambiguousPath(r *http.Request) *recorder {
	return problem(r, nil, http.StatusBadRequest, 13, "ambiguous-path",
		"the path holds a plus sign or a space, and the gateway does not say which",
		"HTTP APIs decode paths: put the id into the body, too, or send the request to a REST API or a function URL")
}

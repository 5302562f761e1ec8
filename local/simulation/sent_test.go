package simulation_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"strings"
)

// A sent is a request on the wire.
type sent struct {
	method string
	url    *url.URL
	header http.Header
	body   []byte
	text   string   // see String
	by     string   // the operation that it belongs to: see [whoKey]
	call   callKind // of one instance by another
}

// isRecord reports whether it is one to DynamoDB.
func (r *sent) isRecord() bool { return r.header.Get("X-Amz-Target") != "" }

func (r *sent) isWrite() bool {
	if r.isRecord() {
		return r.operation() == "PutItem" || r.operation() == "DeleteItem"
	}
	return r.method == http.MethodPut || r.method == http.MethodDelete
}

func (r *sent) isConditional() bool {
	return r.header.Get("If-Match") != "" || r.header.Get("If-None-Match") != ""
}

// random is what differs in keys when the same seed is run in another process.
var random = regexp.MustCompile(`[01]{24}[0-9a-f]{26}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{24,}|[0-9]{15,20}(\.arrow|\.bin)`)

// String tells what a request is about. It is asked for in one goroutine first.
func (r *sent) String() string {
	if r.text == "" {
		r.text = r.describe()
	}
	return r.text
}

func (r *sent) describe() string {
	if r.isRecord() {
		var in tableRequest
		_ = json.Unmarshal(r.body, &in)
		key := in.Item
		if key == nil {
			key = in.Key
		}
		return r.operation() + " " + key["folder"]["S"] + "/" + random.ReplaceAllString(key["name"]["S"], "*")
	}
	text := r.method + " " + random.ReplaceAllString(strings.TrimPrefix(r.url.Path, "/bucket/"), "*")
	if prefix := r.url.Query().Get("prefix"); prefix != "" {
		text = "LIST " + random.ReplaceAllString(prefix, "*")
	}
	for _, name := range []string{"If-Match", "If-None-Match"} {
		if r.header.Get(name) != "" {
			text += " " + strings.ToLower(name)
		}
	}
	return text
}

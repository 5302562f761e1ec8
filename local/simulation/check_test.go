package simulation_test

import (
	"fmt"
	"net/http"
	"net/url"
	"testing"
)

// An episode is an operation that ended within two steps, with an answer.
type episode struct {
	op     *op
	from   int64
	to     int64
	status int
	body   string
	late   int
}

// The model of tags and branches accepts the histories that the storage can lead to, and no others.
func TestModelOfRefs(t *testing.T) {
	c := (&history{world: newWorld(1)}).newClient(1, 1)
	c.world.wired = false
	next := func() *client { c.sent++; return c }
	const missing, exists = `{"code":8}`, `{"code":9}`
	made := func(name string, from int64) episode {
		return episode{op: next().createRef("tag", name, 1), from: from, to: from + 1}
	}
	deleted := func(name string, from int64) episode {
		return episode{op: next().deleteRef("tag", name), from: from, to: from + 1}
	}
	moved := func(name string, from int64) episode {
		return episode{op: updateTag(name, 3), from: from, to: from + 1}
	}
	list := func(from, to int64, body string) episode {
		return episode{op: listRefs("tag"), from: from, to: to, body: `{"tags":` + body + `}`}
	}
	late := made("a", 10)
	late.late = 1
	const settled = 100
	cases := []struct {
		name    string
		history []episode
		right   bool
	}{
		{"a list during changes of two tags", []episode{made("a", 1), made("b", 3), deleted("a", 11), moved("b", 21), list(10, 30, `{"a":{"version":1},"b":{"version":3}}`)}, true},
		{"a list after the change of one of them", []episode{made("a", 1), made("b", 3), deleted("a", 11), moved("b", 21), list(15, 30, `{"a":{"version":1},"b":{"version":3}}`)}, false},
		{"a list without a tag", []episode{made("a", 1), made("b", 3), list(15, 30, `{"a":{"version":1}}`)}, false},
		{"a list of a tag that was never made", []episode{made("a", 1), list(15, 30, `{"a":{"version":1},"c":{"version":1}}`)}, false},
		{"a tag that is there again", []episode{made("a", 10), deleted("a", 20), list(30, 31, `{"a":{"version":1}}`)}, false},
		{"a tag that a late put makes again", []episode{late, deleted("a", 20), list(30, 31, `{"a":{"version":1}}`)}, true},
		{"a late put, and one more that was none", []episode{late, deleted("a", 20), list(30, 31, `{"a":{"version":1}}`), deleted("a", 40), list(50, 51, `{"a":{"version":1}}`)}, false},
		{"a late put after the world has settled", []episode{late, deleted("a", 20), list(110, 111, `{}`), list(120, 121, `{"a":{"version":1}}`)}, false},
		{"a late put of another version", []episode{late, deleted("a", 20), list(30, 31, `{"a":{"version":2}}`)}, false},
		{"a refusal for a tag that a late put has made", []episode{late, deleted("a", 20), {op: next().createRef("tag", "a", 2), from: 30, to: 31, status: http.StatusConflict, body: exists}}, true},
		{"a refusal for a tag that is not there", []episode{made("a", 10), deleted("a", 20), {op: next().createRef("tag", "a", 2), from: 30, to: 31, status: http.StatusConflict, body: exists}}, false},
		{"a tag that is gone without a deletion", []episode{made("a", 10), {op: tagVersion("a"), from: 30, to: 31, status: http.StatusNotFound, body: missing}}, false},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			var events []event
			for _, e := range test.history {
				status := max(e.status, http.StatusOK)
				outcome := classify(response{status: status, body: []byte(e.body)})
				events = append(events, event{op: e.op, call: e.from, end: e.to, outcome: outcome, late: e.late})
			}
			if wrong := check(events, settled); (wrong == "") != test.right {
				t.Errorf("got %q, want it to be right: %v", wrong, test.right)
			}
		})
	}
}

// A world comes to rest after any number of late writes, and the scheduler reports a client whose operation
// never ends.
func TestWorldsComeToRest(t *testing.T) {
	settleDown(t)
	within(t, 1, func(w *world) {
		const late = 200
		for n := range late {
			path := fmt.Sprintf("/bucket/late-%03d", n)
			w.ghosts = append(w.ghosts, &sent{method: http.MethodPut, url: &url.URL{Path: path}, header: http.Header{}})
		}
		w.calm = true
		h := &history{world: w}
		if err := h.settle(); err != nil || len(w.bucket.keys) != late {
			t.Errorf("got %d late writes and error %v, want %d and none", len(w.bucket.keys), err, late)
		}
		never := make(chan bool)
		if err := h.together(1, func(int) { <-never }); err == nil {
			t.Error("got no error of a client that waits forever")
		}
		close(never)
		w.end()
	})
}

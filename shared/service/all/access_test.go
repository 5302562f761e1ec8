package all_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"tiltyard/shared/protocol/accessapi"
	"tiltyard/shared/protocol/operations"
)

// What an explanation says about an operation is what the operation does, about oneself and, for an administrator,
// about others.
func TestExplanationMatchesThePolicies(t *testing.T) {
	s := serveLimited(t)
	s.populate()
	for _, group := range []string{"readers", "writers", "viewers", "askers", "nobody"} {
		for id, kind := range map[string]string{"oak$t": "Table", "oak$secret": "Table", "elm$x": "Table", "oak": "Namespace", "oak$in": "Namespace", "elm": "Namespace"} {
			ids, err := json.Marshal(strings.Split(id, "$"))
			if err != nil {
				t.Fatal(err)
			}
			of := fmt.Sprintf(`"object_id":%s,"kind":%q`, ids, kind)
			other := fmt.Sprintf(`{%s,"subject":{"subject":"sub-%s","issuer":"iss","groups":[%q]}}`, of, group, group)
			var told accessapi.ExplainResponse
			if err := json.Unmarshal([]byte(s.must("admins", "/v1/access/explain", other)), &told); err != nil {
				t.Fatal(err)
			}
			if !told.ByPolicies || !told.Administrator || len(told.Operations) < 5 {
				t.Fatalf("got %+v", told)
			}
			if status, answer := s.as(group, http.MethodPost, "/v1/access/explain", other); status != http.StatusForbidden {
				t.Errorf("%s asks about others: %d %s", group, status, answer)
			}
			s.checkOwn(group, id, of, &told)
		}
	}
}

// checkOwn compares the explanation that an administrator gets with the one that the group gets itself, and with
// what the operations do.
func (s *limited) checkOwn(group, id, of string, told *accessapi.ExplainResponse) {
	s.t.Helper()
	status, answer := s.as(group, http.MethodPost, "/v1/access/explain", "{"+of+"}")
	if !told.Visible {
		missing := strings.ReplaceAll(of, `"x"`, `"z"`)
		missing = strings.ReplaceAll(strings.ReplaceAll(missing, `"secret"`, `"zzzzzz"`), `"elm"`, `"yew"`)
		_, want := s.as(group, http.MethodPost, "/v1/access/explain", "{"+missing+"}")
		got := strings.NewReplacer("elm$x", "yew$z", "oak$secret", "oak$zzzzzz", "elm", "yew", "oak$t ", "oak$t ").Replace(answer)
		if status != http.StatusNotFound {
			s.t.Errorf("%s asks about %s, which is hidden: %d %s", group, id, status, answer)
		}
		if id != "oak$t" && id != "oak" && id != "oak$in" && got != want {
			s.t.Errorf("%s sees that %s is hidden:\n%s\n%s", group, id, got, want)
		}
		return
	}
	var own accessapi.ExplainResponse
	if err := json.Unmarshal([]byte(answer), &own); err != nil || status != http.StatusOK {
		s.t.Fatalf("%s asks about %s: %d %s", group, id, status, answer)
	}
	for i, one := range own.Operations {
		if one.Allowed != told.Operations[i].Allowed || len(one.Policies) > 0 || own.Administrator {
			s.t.Errorf("%s is told of %s %+v, an administrator %+v", group, id, one, told.Operations[i])
		}
		op, known := operations.Lookup(one.Operation)
		if !known || one.Allowed {
			continue
		}
		path, body := request(op, id)
		if status, answer := s.as(group, op.Methods[0], path, body); status != http.StatusForbidden && !strings.Contains(answer, "not supported") {
			s.t.Errorf("%s may not %s %s, which is answered with %d %s", group, op.Name, id, status, answer)
		}
	}
}

// An administrator sees which policies have decided.
func TestExplanationNamesPolicies(t *testing.T) {
	s := serveLimited(t)
	var told accessapi.ExplainResponse
	answer := s.must("admins", "/v1/access/explain", `{"object_id":["oak","secret"],"subject":{"subject":"eve","groups":["readers"]}}`)
	if err := json.Unmarshal([]byte(answer), &told); err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(told.Operations, func(d accessapi.Decision) bool { return d.Operation == "QueryTable" })
	want := accessapi.DecidingPolicy{ID: "policy3", Effect: "forbid", Line: 5}
	if at < 0 || told.Operations[at].Allowed || !slices.Equal(told.Operations[at].Policies, []accessapi.DecidingPolicy{want}) {
		t.Errorf("got %+v, want it forbidden by %+v", told.Operations, want)
	}
	for body, want := range map[string]int{
		`{}`: 200, `{"subject":{}}`: 200, `{"kind":"Secret","object_id":["x"]}`: 400, `{"object_id":["a"],"subject":{"groups":["b"]}}`: 400,
		`{"object_id":[""]}`: 400,
	} {
		if status, answer := s.as("admins", http.MethodPost, "/v1/access/explain", body); status != want {
			t.Errorf("%s: %d %s, want %d", body, status, answer, want)
		}
	}
}

package main

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"tiltyard/shared/catalog/result"
)

// rightsFile lists what the operations of each group, and jobs, ask of the stores and of the queue. A test of
// shared/service/all finds that out and keeps the file.
const rightsFile = "../shared/service/all/testdata/rights.golden"

// ofResults marks an action that is allowed for stored answers only.
const ofResults = " of results"

// actionsFor has the actions that are needed for what is asked.
var actionsFor = map[string][]string{
	"objects get":           {"s3:GetObject", "s3:ListBucket"}, // who may not list is told that a missing object is forbidden
	"objects list":          {"s3:ListBucket"},
	"objects put":           {"s3:PutObject"},
	"objects upload":        {"s3:PutObject", "s3:AbortMultipartUpload"},
	"objects upload result": {"s3:PutObject" + ofResults, "s3:AbortMultipartUpload" + ofResults},
	"objects copy":          {"s3:GetObject", "s3:PutObject", "s3:AbortMultipartUpload"},
	"objects delete":        {"s3:DeleteObject"},
	"records get":           {"dynamodb:GetItem", "dynamodb:Query"}, // a role reads both ways or not at all
	"records list":          {"dynamodb:Query"},
	"records put":           {"dynamodb:PutItem"},
	"records delete":        {"dynamodb:DeleteItem"},
	"queue send":            {"sqs:SendMessage"},
}

// A departure is a difference between what a role allows and what is asked.
type departure struct {
	roles   string // their names, or * for all
	actions string
	reason  string
}

func (d departure) covers(role, action string) bool {
	return (d.roles == "*" || slices.Contains(strings.Fields(d.roles), role)) && slices.Contains(strings.Fields(d.actions), action)
}

// beyond is what roles allow without that it is asked of the stores.
var beyond = []departure{
	{"*", "logs:CreateLogStream logs:PutLogEvents", "A function writes its own log."},
	{"Worker", "sqs:ChangeMessageVisibility sqs:DeleteMessage sqs:GetQueueAttributes sqs:GetQueueUrl sqs:ReceiveMessage", "The queue calls the worker."},
	{"Query Sql Stream", "lambda:InvokeFunction", "Parts of large queries run in instances of the query function."},
	{"Sql", "dynamodb:DeleteItem", "A role changes records or does not; no statement is entered in the ledger of repeated requests yet."},
	{"Clock", "sqs:SendMessage", "A schedule and no function: it sends the messages that begin regular jobs."},
	{"Clock", "lambda:InvokeFunction", "It asks a function for its readiness."},
}

// withheld is what is asked and not allowed, because what asks for it can do without.
var withheld = []departure{
	{"Query Transaction", "s3:PutObject s3:DeleteObject", "A batch that a dead process has left is carried out by the next request that may write."},
}

// Each role allows what its group asks for, and nothing else but what has a reason.
func TestRolesAllowWhatIsAskedOfTheStores(t *testing.T) {
	asked := readAsked(t)
	_, service := synthesize(t, map[string]any{"allow-locations": "s3://lake/tables, s3://other", "stream": "true"})
	used := map[departure]bool{}
	excused := func(list []departure, role, action string) bool {
		found := false
		for _, d := range list {
			if d.covers(role, action) {
				found, used[d] = true, true
			}
		}
		return found
	}
	allowedTo := map[string]map[string]bool{} // by role, which may have several policies
	for id, p := range service.all("AWS::IAM::Policy") {
		role, _, _ := strings.Cut(id, "Role")
		if allowedTo[role] == nil {
			allowedTo[role] = map[string]bool{}
		}
		maps.Copy(allowedTo[role], allowedBy(t, p))
	}
	for role, allowed := range allowedTo {
		needed := asked[role]
		maps.DeleteFunc(needed, func(action string, _ bool) bool { return excused(withheld, role, action) })
		for action := range needed {
			anywhere := strings.TrimSuffix(action, ofResults)
			if !allowed[action] && !allowed[anywhere] {
				t.Errorf("%s needs %s, which its role does not allow", role, action)
			}
		}
		for action := range allowed {
			if !needed[action] && !excused(beyond, role, action) {
				t.Errorf("%s may %s, and does not need it", role, action)
			}
		}
	}
	for name := range functions {
		if allowedTo[title(name)] == nil {
			t.Errorf("%s has no policy", name)
		}
	}
	for _, d := range slices.Concat(beyond, withheld) {
		if !used[d] {
			t.Errorf("no role departs by %s for %s any more", d.actions, d.roles)
		}
	}
}

// readAsked returns the actions that each role needs by what is asked. The function that streams serves all groups.
func readAsked(t *testing.T) map[string]map[string]bool {
	t.Helper()
	file, err := os.ReadFile(rightsFile)
	if err != nil {
		t.Fatal(err)
	}
	asked := map[string]map[string]bool{"Stream": {}}
	for line := range strings.Lines(string(file)) {
		group, verb, _ := strings.Cut(strings.TrimSpace(line), " ")
		actions, known := actionsFor[verb]
		if n, isFunction := functions[group]; !known || !isFunction || n.url {
			t.Fatalf("%s has %q, which is no group with a verb that is known", rightsFile, line)
		}
		role := title(group)
		if asked[role] == nil {
			asked[role] = map[string]bool{}
		}
		for _, action := range actions {
			asked[role][action] = true
			if !functions[group].worker {
				asked["Stream"][action] = true
			}
		}
	}
	return asked
}

// allowedBy returns the actions that a policy allows. Those for stored answers only are marked.
func allowedBy(t *testing.T, policy map[string]any) map[string]bool {
	t.Helper()
	allowed := map[string]bool{}
	for _, s := range statements(policy["PolicyDocument"]) {
		resource, err := json.Marshal(s["Resource"])
		if err != nil {
			t.Fatal(err)
		}
		mark := ""
		if _, several := s["Resource"].([]any); !several && strings.Contains(string(resource), result.Folder) {
			mark = ofResults
		}
		for _, action := range texts(s["Action"]) {
			allowed[action+mark] = true
		}
	}
	return allowed
}

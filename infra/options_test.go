package main

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tiltyard/shared/events/outbox/forward"
)

// environments are the variables of the functions, by their folders.
func environments(service template) map[string]map[string]any {
	found := map[string]map[string]any{}
	for id, p := range service.all("AWS::Lambda::Function") {
		name, _, _ := strings.Cut(id, "Function")
		found[strings.ToLower(name)], _ = p["Environment"].(map[string]any)["Variables"].(map[string]any)
	}
	return found
}

func TestATrailWatchesVendedCredentials(t *testing.T) {
	_, service := synthesize(t, map[string]any{"vending": "true"})
	if got := service.all("AWS::CloudTrail::Trail"); len(got) > 0 {
		t.Errorf("there is a trail without the option: %v", got)
	}
	_, service = synthesize(t, map[string]any{"vending": "true", "vend-trail": "true"})
	trails := service.all("AWS::CloudTrail::Trail")
	if len(trails) != 1 {
		t.Fatalf("got %d trails, want 1", len(trails))
	}
	for _, trail := range trails {
		if trail["EventSelectors"] != nil {
			t.Errorf("it records other events: %v", trail["EventSelectors"])
		}
		text, err := json.Marshal(trail["AdvancedEventSelectors"])
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{`["Data"]`, `"AWS::S3::Object"`, "VendRole", "assumed-role"} {
			if !strings.Contains(string(text), want) {
				t.Errorf("the events of the trail are %s, without %s", text, want)
			}
		}
	}
}

func TestVendedCredentialsAreThoseOfOneRole(t *testing.T) {
	_, service := synthesize(t, map[string]any{"vending": "true", "kms": "true", "allow-locations": "s3://lake/tables"})
	const vend = "VendRole"
	role := service.all("AWS::IAM::Role")[vend]
	if role == nil {
		t.Fatal("there is no role to vend")
	}

	// Who may assume it is trusted by it, and told of it, and nobody else.
	want := []string{"table"}
	var trusted, allowed, told []string
	for _, s := range statements(role["AssumeRolePolicyDocument"]) {
		principal, _ := s["Principal"].(map[string]any)
		name, _, _ := strings.Cut(reference(t, principal["AWS"]), "Role")
		trusted = append(trusted, strings.ToLower(name))
	}
	for id, p := range service.all("AWS::IAM::Policy") {
		for _, s := range statements(p["PolicyDocument"]) {
			if slices.Contains(texts(s["Action"]), "sts:AssumeRole") {
				name, _, _ := strings.Cut(id, "Role")
				allowed = append(allowed, strings.ToLower(name))
				if got := reference(t, s["Resource"]); got != vend {
					t.Errorf("%s may assume %s", name, got)
				}
			}
		}
	}
	for name, variables := range environments(service) {
		if variables["TILTYARD_VEND_ROLE"] != nil {
			told = append(told, name)
		}
	}
	for what, got := range map[string][]string{"trusted": trusted, "allowed": allowed, "told": told} {
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
}

// Sessions have tags only by an option, which makes the right to them on both sides.
func TestTagsOfVendedCredentialsAreARight(t *testing.T) {
	for _, option := range []string{"false", "true"} {
		_, service := synthesize(t, map[string]any{"vending": "true", "vend-tags": option, "stream": "true"})
		tagging := func(document any) (all bool) {
			for _, s := range statements(document) {
				if actions := texts(s["Action"]); slices.Contains(actions, "sts:AssumeRole") && slices.Contains(actions, "sts:TagSession") {
					all = true
				}
			}
			return all
		}
		want := option == "true"
		if got := tagging(service.all("AWS::IAM::Role")["VendRole"]["AssumeRolePolicyDocument"]); got != want {
			t.Errorf("vend-tags=%s: the role trusts sessions with tags: %v", option, got)
		}
		for id, p := range service.all("AWS::IAM::Policy") {
			name, _, _ := strings.Cut(id, "Role")
			vends := name == "Table" || name == "Stream"
			if got := tagging(p["PolicyDocument"]); got != (want && vends) {
				t.Errorf("vend-tags=%s: %s may tag sessions: %v", option, name, got)
			}
		}
		for name, variables := range environments(service) {
			vends := name == "table" || name == "stream"
			if got := variables["TILTYARD_VEND_TAGS"] == "on"; got != (want && vends) {
				t.Errorf("vend-tags=%s: %s is told of tags: %v", option, name, got)
			}
		}
	}
}

// The functions that answer with rows keep ranges of files for each other, and no others get a right to do so.
func TestRangesOfFilesAreKeptByFunctionsOfRows(t *testing.T) {
	for place, want := range map[string]string{
		"s3://near/ranges/":                 "s3:GetObject s3:ListBucket s3:PutObject",
		"s3://near--euc1-az1--x-s3/ranges/": "s3express:CreateSession",
	} {
		_, service := synthesize(t, map[string]any{"cache-bucket": place, "cache-disk": "/tmp/tiltyard", "stream": "true"})
		granted := map[string][]string{}
		for id, p := range service.all("AWS::IAM::Policy") {
			name, _, _ := strings.Cut(id, "Role")
			for _, s := range statements(p["PolicyDocument"]) {
				if resources, err := json.Marshal(s["Resource"]); err != nil || strings.Contains(string(resources), "near") {
					granted[name] = append(granted[name], texts(s["Action"])...)
				}
			}
		}
		for name, variables := range environments(service) {
			keeps := slices.Contains([]string{"data", "query", "sql", "schema", "stream"}, name)
			actions := granted[title(name)]
			slices.Sort(actions)
			if got := strings.Join(actions, " "); keeps && got != want || !keeps && got != "" {
				t.Errorf("%s: %s may %q, want %q for functions of rows", place, name, got, want)
			}
			if got := variables["TILTYARD_CACHE_BUCKET"]; keeps != (got == strings.TrimSuffix(place, "/")) {
				t.Errorf("%s: %s has the bucket %v", place, name, got)
			}
			if got := variables["TILTYARD_CACHE_DISK"]; keeps != (got == "/tmp/tiltyard") {
				t.Errorf("%s: %s has the folder %v", place, name, got)
			}
		}
	}
}

// The worker, and no other function, calls the executors, and no other functions. Those that answer whether a
// function runs know of them.
func TestExecutorsAreCalledByTheWorker(t *testing.T) {
	const one, two = "arn:aws:lambda:eu-central-1:123456789012:function:run", "arn:aws:lambda:eu-central-1:123456789012:function:run:gpu"
	text := "a=lambda:" + one + " python=3.12 packages=x|lambda:y,b=https://x.example/=lambda key=secret:k, c=lambda:" + two
	_, service := synthesize(t, map[string]any{"executors": text})
	called := map[string][]string{}
	for id, p := range service.all("AWS::IAM::Policy") {
		for _, s := range statements(p["PolicyDocument"]) {
			if slices.Contains(texts(s["Action"]), "lambda:InvokeFunction") && !strings.HasPrefix(id, "Clock") {
				name, _, _ := strings.Cut(id, "Role")
				// Functions of the stack, which run parts of queries, have no text as their ARN.
				if arns := texts(s["Resource"]); len(arns) > 0 {
					called[name] = append(called[name], arns...)
				}
			}
		}
	}
	if got := called["Worker"]; len(called) != 1 || !slices.Equal(got, []string{one, two}) {
		t.Errorf("got the rights %v", called)
	}
	for name, variables := range environments(service) {
		if got, isTold := variables["TILTYARD_EXECUTOR"]; isTold != slices.Contains([]string{"worker", "view", "schema", "sql", "stream"}, name) || isTold && got != text {
			t.Errorf("%s has %v", name, got)
		}
	}
	if _, service := synthesize(t, nil); environments(service)["worker"]["TILTYARD_EXECUTOR"] != nil {
		t.Error("there are executors that nobody configured")
	}
}

// Functions that clients call seal secrets and open none; the worker opens them. The key is one of its own.
func TestWorkerAloneOpensSecrets(t *testing.T) {
	storage, service := synthesize(t, map[string]any{"secrets": "true", "stream": "true"})
	if keys := storage.all("AWS::KMS::Key"); len(keys) != 1 {
		t.Fatalf("got the keys %v", keys)
	}
	may := map[string][]string{}
	for id, p := range service.all("AWS::IAM::Policy") {
		for _, s := range statements(p["PolicyDocument"]) {
			for _, action := range texts(s["Action"]) {
				if strings.HasPrefix(action, "kms:") {
					may[action] = append(may[action], strings.Split(id, "Role")[0])
				}
			}
		}
	}
	slices.Sort(may["kms:GenerateDataKey"])
	if want := map[string][]string{"kms:GenerateDataKey": {"Stream", "View"}, "kms:Decrypt": {"Worker"}}; !maps.EqualFunc(may, want, slices.Equal) {
		t.Errorf("got the rights %v, want %v", may, want)
	}
	for name, variables := range environments(service) {
		if isTold := variables["TILTYARD_SECRETS"] != nil; isTold != slices.Contains([]string{"stream", "view", "worker"}, name) {
			t.Errorf("%s has TILTYARD_SECRETS: %v", name, isTold)
		}
	}
	for _, context := range []map[string]any{nil, {"kms": "true"}} {
		_, service := synthesize(t, context)
		if environments(service)["view"]["TILTYARD_SECRETS"] != nil {
			t.Errorf("%v: there are secrets that nobody configured", context)
		}
	}
}

// What a client gets opens data of tables, and not what the catalog keeps beside it.
func TestVendedCredentialsDoNotOpenTheCatalog(t *testing.T) {
	_, service := synthesize(t, map[string]any{"vending": "true"})
	var rights []map[string]any
	for _, p := range service.all("AWS::IAM::Role")["VendRole"]["Policies"].([]any) {
		rights = append(rights, statements(p.(map[string]any)["PolicyDocument"])...)
	}
	allowed, denied := map[string]bool{}, ""
	for _, s := range rights {
		for _, action := range texts(s["Action"]) {
			switch s["Effect"] {
			case "Allow":
				allowed[action] = true
			case "Deny":
				walk(s["Resource"], func(join map[string]any) {
					if parts, ok := join["Fn::Join"].([]any); ok {
						denied += " " + strings.Join(texts(parts[1]), "")
					}
				})
			}
		}
	}
	want := []string{"s3:AbortMultipartUpload", "s3:DeleteObject", "s3:GetObject", "s3:ListBucket", "s3:PutObject"}
	if got := slices.Sorted(maps.Keys(allowed)); !slices.Equal(got, want) {
		t.Errorf("the role may %v, want %v", got, want)
	}
	// Everything of the catalog's own begins in this way, and no table may.
	if !strings.HasSuffix(strings.TrimSpace(denied), "/_*") {
		t.Errorf("the role may use what the catalog keeps; denied are %s", denied)
	}
}

// The folders of the catalog's own are called so that the role cannot use them.
func TestOwnFoldersBeginWithAnUnderscore(t *testing.T) {
	own := ownFoldersInSource(t)
	if len(own) < 5 || !slices.Contains(own, "_results") {
		t.Fatalf("the source has the folders %v", own)
	}
	for _, folder := range own {
		if !strings.HasPrefix(folder, "_") {
			t.Errorf("%s is open to clients with credentials of a table", folder)
		}
	}
}

// ownFoldersInSource finds the constants that name them.
func ownFoldersInSource(t *testing.T) []string {
	t.Helper()
	constant := regexp.MustCompile(`(?m)^(?:const)?\s*\w*(?:[pP]refix|Folder)\s+= "(\w+)/`)
	var found []string
	for _, pattern := range []string{"../shared/catalog/*.go", "../shared/catalog/*/*.go", "../shared/storage/record/*/*.go", "../shared/catalog/result/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, match := range constant.FindAllSubmatch(text, -1) {
				found = append(found, string(match[1]))
			}
		}
	}
	return found
}

func TestVendingIsOffUnlessConfigured(t *testing.T) {
	_, service := synthesize(t, nil)
	if service.all("AWS::IAM::Role")["VendRole"] != nil {
		t.Error("there is a role to vend")
	}
	for name, variables := range environments(service) {
		if variables["TILTYARD_VEND_ROLE"] != nil || variables["TILTYARD_STREAM"] != nil {
			t.Errorf("%s is told %v", name, variables)
		}
	}
}

func TestStreamFunctionAloneHasItsOwnURL(t *testing.T) {
	_, service := synthesize(t, map[string]any{"stream": "true"})
	urls := service.all("AWS::Lambda::Url")
	for id, p := range urls {
		if p["InvokeMode"] != "RESPONSE_STREAM" || !strings.HasPrefix(reference(t, p["TargetFunctionArn"]), "Stream") {
			t.Errorf("%s: %v", id, p)
		}
	}
	if len(urls) != 1 || service.outputs["StreamUrl"] == nil {
		t.Errorf("%d URLs, outputs %v", len(urls), slices.Sorted(maps.Keys(service.outputs)))
	}
	if environments(service)["stream"]["TILTYARD_STREAM"] != "on" {
		t.Error("the function is not told to stream")
	}
	if _, service := synthesize(t, nil); len(service.all("AWS::Lambda::Url")) != 0 {
		t.Error("a function has a URL that nobody asked for")
	}
}

const (
	queueARN = "arn:aws:sqs:eu-central-1:123456789012:events"
	busARN   = "arn:aws:events:eu-central-1:123456789012:event-bus/lake"
)

// The worker, and no other function, forwards events, may send them to the target alone, and an alarm tells when that
// does not take them.
func TestEventsAreForwardedByTheWorker(t *testing.T) {
	for target, right := range map[string]string{
		queueARN: "sqs:SendMessage", busARN: "events:PutEvents", "https://x.example/hook": "s3:GetObject",
	} {
		options := map[string]any{"events": "urn:lake", "event-target": target}
		resource := target
		if strings.HasPrefix(target, "https:") {
			options["event-key"], resource = "s3://rules/event-key", ":s3:::rules/event-key"
		}
		_, service := synthesize(t, options)
		var holders []string
		for id, p := range service.all("AWS::IAM::Policy") {
			for _, s := range statements(p["PolicyDocument"]) {
				on, _ := json.Marshal(s["Resource"])
				if slices.Contains(texts(s["Action"]), right) && strings.Contains(string(on), resource) {
					name, _, _ := strings.Cut(id, "Role")
					holders = append(holders, name)
				}
			}
		}
		if !slices.Equal(holders, []string{"Worker"}) {
			t.Errorf("%s on %s is allowed to %v", right, resource, holders)
		}
		for name, variables := range environments(service) {
			if got, isTold := variables["TILTYARD_EVENT_TARGET"]; isTold != (name == "worker") || isTold && got != target {
				t.Errorf("%s forwards to %v", name, got)
			}
		}
		watched := 0
		for _, p := range service.all("AWS::Logs::MetricFilter") {
			if p["FilterPattern"] == `"`+forward.FailedMessage+`"` {
				watched++
			}
		}
		if watched != 1 {
			t.Errorf("%d filters look for events that are not forwarded", watched)
		}
	}
}

// The mains of functions open tables alike, so a function that may write no records must not be told to announce
// what it changes, nor one that may send no messages of a queue.
func TestVariablesAreThoseThatRolesAllowToUse(t *testing.T) {
	_, service := synthesize(t, full())
	for name, variables := range environments(service) {
		for variable, want := range map[string]bool{
			"TILTYARD_EVENTS": functions[name].records, "TILTYARD_JOBS": functions[name].enqueues, "TILTYARD_VEND_ROLE": functions[name].vends,
			"TILTYARD_EXECUTOR": functions[name].declares, "TILTYARD_HEAVY_JOBS": functions[name].worker,
		} {
			if told := variables[variable] != nil; told != want {
				t.Errorf("%s has %s: %t, want %t", name, variable, told, want)
			}
		}
	}
}

package main

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tiltyard/shared/boot"
)

var update = flag.Bool("update", false, "write the tables of docs again")

// full is a configuration with a value for each setting that functions can be given.
func full() map[string]any {
	context := maps.Clone(variants["everything"])
	for _, s := range passed() {
		context[s.Name] = s.Default
	}
	context["traces"], context["cache-disk"] = "http://localhost:4318", "/tmp/tiltyard"
	delete(context, "authorizer") // an authorizer of the gateway knows no API keys
	context["api-keys"], context["jwt-type"], context["events"] = "s3://rules/keys", "at+jwt", "urn:lake:test"
	context["event-target"], context["event-key"] = "https://example.com/hook", "s3://rules/event-key"
	maps.Copy(context, map[string]any{"issuer": "https://id.example.com", "audience": "tiltyard", "jwks": "https://id.example.com/keys"})
	return context
}

// Each row of the table of settings reaches functions, or stands in a list with the reason why not.
func TestSettingsOfTheServerReachFunctions(t *testing.T) {
	page, err := os.ReadFile("../docs/settings.md")
	if err != nil {
		t.Fatal(err)
	}
	_, service := synthesize(t, full())
	reached := map[string]int{}
	for _, variables := range environments(service) {
		for name := range variables {
			reached[name]++
		}
	}
	rows := regexp.MustCompile("(?m)^\\| `--([a-z0-9-]+)` \\| `(TILTYARD_[A-Z0-9_]+)` ").FindAllStringSubmatch(string(page), -1)
	if len(rows) != len(boot.Settings) {
		t.Fatalf("the page has %d settings, the server %d", len(rows), len(boot.Settings))
	}
	for _, row := range rows {
		name, variable := row[1], row[2]
		if reason := meaningless[name]; (reason != "") == (reached[variable] > 0) {
			t.Errorf("%s reaches %d functions; it is listed as meaningless for them: %q", variable, reached[variable], reason)
		}
	}
	for _, list := range []map[string]string{made, meaningless} {
		for name := range list {
			if !slices.ContainsFunc(boot.Settings, func(s boot.Setting) bool { return s.Name == name }) {
				t.Errorf("%s is listed and is no setting", name)
			}
		}
	}
	if reached["TILTYARD_LOG_LEVEL"] != len(environments(service)) || environments(service)["namespace"]["TILTYARD_CACHE_BYTES"] != nil {
		t.Errorf("the log level reaches %d of %d functions, and the cache for rows that of names: %v",
			reached["TILTYARD_LOG_LEVEL"], len(environments(service)), environments(service)["namespace"])
	}
}

// Functions get rights to the documents that they read, and for quotas to the records with their state.
func TestDocumentsCanBeReadByTheFunctionsThatNeedThem(t *testing.T) {
	keys := file(t, "ada "+strings.Repeat("0", 64)+"\n")
	_, service := synthesize(t, map[string]any{"api-keys": keys, "policies": "s3://rules/tiltyard.cedar", "quotas": "s3://rules/quotas.json"})
	for name, variables := range environments(service) {
		if variables["TILTYARD_API_KEYS"] == nil || variables["TILTYARD_JWKS"] != nil {
			t.Errorf("%s signs clients in by %v", name, variables)
		}
		if (variables["TILTYARD_POLICIES"] == "s3://rules/tiltyard.cedar") != (name != "default") {
			t.Errorf("%s has the policies %v", name, variables["TILTYARD_POLICIES"])
		}
		if (variables["TILTYARD_QUOTAS"] == "s3://rules/quotas.json") == (name == "default" || name == "worker") {
			t.Errorf("%s has the quotas %v", name, variables["TILTYARD_QUOTAS"])
		}
	}
	for id, p := range service.all("AWS::IAM::Policy") {
		document := fmt.Sprint(p["PolicyDocument"])
		if strings.HasPrefix(id, "Clock") || strings.HasPrefix(id, "QueryRoleParts") {
			continue
		}
		if !strings.Contains(document, "cdk-hnb659fds-assets") {
			t.Errorf("%s cannot read the API keys: %s", id, document)
		}
		if strings.Contains(document, "rules/tiltyard.cedar") == strings.HasPrefix(id, "Default") {
			t.Errorf("%s and the policies: %s", id, document)
		}
		limits := !strings.HasPrefix(id, "Default") && !strings.HasPrefix(id, "Worker")
		if strings.Contains(document, "rules/quotas.json") != limits || limits && !strings.Contains(document, "dynamodb:PutItem") {
			t.Errorf("%s and the quotas: %s", id, document)
		}
	}
}

// Quotas of stored bytes need the metering of usage and maintenance.
func TestQuotasOfStoredBytesNeedMetering(t *testing.T) {
	quotas := file(t, `{"quotas": [{"name": "store", "namespace": "*", "stored_bytes": "1TiB"}]}`)
	for usage, maintenance := range map[string]string{"": "", "off": "", "on": "off"} {
		_, err := ReadConfig(map[string]any{"quotas": quotas, "usage": usage, "maintenance": maintenance})
		if err == nil || !strings.Contains(err.Error(), `quota "store": stored_bytes needs the metering of usage`) {
			t.Errorf("usage %q, maintenance %q: got %v", usage, maintenance, err)
		}
	}
	if _, err := ReadConfig(map[string]any{"quotas": quotas, "usage": "on"}); err != nil && strings.Contains(err.Error(), "quota") {
		t.Error(err)
	}
}

func TestRowsWaitInTemporaryFiles(t *testing.T) {
	_, service := synthesize(t, variants["everything"])
	for id, p := range service.all("AWS::Lambda::Function") {
		name, _, _ := strings.Cut(id, "Function")
		size, _ := p["EphemeralStorage"].(map[string]any)
		if (size["Size"] == 2048.0) != functions[strings.ToLower(name)].rows {
			t.Errorf("%s has %v for temporary files", id, size)
		}
	}
}

// The page lists the options as they are read, with the meanings from the comments of Config.
func TestOptionsPageListsTheOptions(t *testing.T) {
	_, r := readConfig(map[string]any{})
	meanings := meaningsOfOptions(t)
	for _, s := range passed() {
		meanings[s.Name] = s.Help
	}
	var b strings.Builder
	b.WriteString("| option | value | default | meaning |\n| --- | --- | --- | --- |\n")
	for _, o := range r.options {
		if meanings[o.name] == "" {
			t.Errorf("no comment of Config begins with %s:", o.name)
		}
		fmt.Fprintf(&b, "%s %s |\n", o, meanings[o.name])
	}
	checkSection(t, "options", b.String())
	b.Reset()
	b.WriteString("| setting | reason |\n| --- | --- |\n")
	for _, s := range boot.Settings {
		if reason := meaningless[s.Name]; reason != "" {
			fmt.Fprintf(&b, "| `%s` | %s |\n", s.Name, reason)
		}
	}
	checkSection(t, "meaningless", b.String())
}

// meaningsOfOptions reads the comments of the fields of Config, "name: meaning".
func meaningsOfOptions(t *testing.T) map[string]string {
	t.Helper()
	source, err := parser.ParseFile(token.NewFileSet(), "config.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	meanings := map[string]string{}
	ast.Inspect(source, func(n ast.Node) bool {
		if f, ok := n.(*ast.Field); ok && f.Comment != nil {
			if name, meaning, found := strings.Cut(strings.TrimSpace(f.Comment.Text()), ": "); found {
				meanings[name] = meaning
			}
		}
		return true
	})
	return meanings
}

const optionsPage = "../docs/aws-options.md"

// checkSection compares the text between two markers of the page with the text that should be there.
func checkSection(t *testing.T, name, want string) {
	t.Helper()
	data, err := os.ReadFile(optionsPage)
	if err != nil {
		t.Fatal(err)
	}
	begin, end := "<!-- "+name+" -->\n", "<!-- end of "+name+" -->\n"
	before, rest, hasBegin := strings.Cut(string(data), begin)
	got, after, hasEnd := strings.Cut(rest, end)
	if !hasBegin || !hasEnd {
		t.Fatalf("%s has no section %s", optionsPage, name)
	}
	if *update {
		if err := os.WriteFile(optionsPage, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if got != want {
		t.Errorf("%s differs; go test -update writes it again:\n%s", optionsPage, want)
	}
}

// The examples of the page can be deployed as they stand: the command lines are read from the page.
func TestOptionsPageHasExamplesThatSynthesize(t *testing.T) {
	page, err := os.ReadFile(optionsPage)
	if err != nil {
		t.Fatal(err)
	}
	keys := file(t, "ci "+strings.Repeat("0", 64)+"\n")
	commands := regexp.MustCompile(`(?ms)^    make deploy ARGS='(.*?)'`).FindAllStringSubmatch(string(page), -1)
	if len(commands) != 3 {
		t.Fatalf("the page has %d examples, want those of a small team, of many tenants and of a private network", len(commands))
	}
	for i, command := range commands {
		context := map[string]any{"functions": builtFunctions}
		for _, pair := range regexp.MustCompile(`-c (\S+?)=(\S+)`).FindAllStringSubmatch(command[1], -1) {
			context[pair[1]] = strings.ReplaceAll(pair[2], "../keys.txt", keys)
		}
		storage, service := synthesize(t, context)
		for _, stack := range []template{storage, service} {
			checkPolicies(t, stack)
		}
		if placed := service.all("AWS::EC2::VPC"); (len(placed) == 1) != (i == 2) {
			t.Errorf("example %d makes %d networks", i+1, len(placed))
		}
	}
}

func TestFunctionsRunInTheirNetwork(t *testing.T) {
	for name, context := range map[string]map[string]any{
		"new":      variants["private"],
		"existing": {"vpc": "vpc-0123456789abcdef0", "subnets": "subnet-0123456789abcdef0,subnet-0123456789abcdef1"},
	} {
		_, service := synthesize(t, context)
		for id, p := range service.all("AWS::Lambda::Function") {
			config, _ := p["VpcConfig"].(map[string]any)
			if subnets, _ := config["SubnetIds"].([]any); len(subnets) != 2 {
				t.Errorf("%s: %s runs in %v", name, id, config)
			}
		}
		for id, p := range service.all("AWS::IAM::Policy") {
			if strings.Contains(fmt.Sprint(p), "ec2:CreateNetworkInterface") == strings.HasPrefix(id, "Clock") {
				t.Errorf("%s: %s and network interfaces: %v", name, id, p)
			}
		}
		endpoints := map[string]int{}
		for _, p := range service.all("AWS::EC2::VPCEndpoint") {
			service := fmt.Sprint(p["ServiceName"])
			endpoints[service[strings.LastIndex(service, ".")+1:]]++
		}
		want := map[string]int{}
		if name == "new" {
			want = map[string]int{"s3]]]": 1, "dynamodb]]]": 1, "sqs]]]": 1, "sts]]]": 1, "kms]]]": 1}
		}
		if !maps.Equal(endpoints, want) {
			t.Errorf("%s: endpoints lead to %v, want %v", name, endpoints, want)
		}
		for id, p := range service.all("AWS::EC2::VPCEndpoint") {
			for _, s := range statements(p["PolicyDocument"]) {
				if text := fmt.Sprint(s["Resource"]); text == "*" || !strings.Contains(text, "arn") && !strings.Contains(text, "Arn") {
					t.Errorf("%s: %s lets through requests to %s", name, id, text)
				}
			}
			if name == "new" && len(statements(p["PolicyDocument"])) != 1 {
				t.Errorf("%s has the policy %v", id, p["PolicyDocument"])
			}
		}
		if gates := len(service.all("AWS::EC2::InternetGateway")) + len(service.all("AWS::EC2::NatGateway")); gates != 0 {
			t.Errorf("%s: the network has %d ways to the internet", name, gates)
		}
	}
}

package main

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tiltyard/shared/protocol/operations"
)

func TestFoldersAndTableOfFunctionsAgree(t *testing.T) {
	mains, err := filepath.Glob("../functions/*/main.go")
	if err != nil {
		t.Fatal(err)
	}
	var folders []string
	for _, main := range mains {
		folders = append(folders, filepath.Base(filepath.Dir(main)))
	}
	if got := slices.Sorted(maps.Keys(functions)); !slices.Equal(got, folders) {
		t.Errorf("the table has %v, functions/ has %v", got, folders)
	}
}

func TestRoutesLeadEachOperationToItsGroup(t *testing.T) {
	_, service := synthesize(t, nil)
	integrations := map[string]string{} // logical id to function
	for id, p := range service.all("AWS::ApiGatewayV2::Integration") {
		integrations[id] = reference(t, p["IntegrationUri"])
	}
	got := map[string]string{}
	for _, p := range service.all("AWS::ApiGatewayV2::Route") {
		target := p["Target"].(map[string]any)["Fn::Join"].([]any)[1].([]any)[1]
		got[p["RouteKey"].(string)] = integrations[reference(t, target)]
	}
	for _, op := range operations.All {
		for _, method := range op.Methods {
			for _, end := range []string{"", "/{proxy+}"} { // the second is for LanceDB's slash
				function, ok := got[method+" "+op.Path+end]
				switch _, served := functions[op.Function]; {
				case served && !strings.HasPrefix(function, title(op.Function)):
					t.Errorf("%s%s goes to %q, want that of %s", op.Name, end, function, op.Function)
				case !served && ok:
					t.Errorf("%s%s goes to %q, which does not serve it", op.Name, end, function)
				}
			}
		}
	}
	for key := range got {
		if strings.HasSuffix(key, "/") {
			t.Errorf("%q ends in a slash, which an HTTP API refuses", key)
		}
	}
	if len(got) > 300 {
		t.Errorf("%d routes; an HTTP API takes 300", len(got))
	}
	if !strings.HasPrefix(got["$default"], "Default") {
		t.Errorf("what has no route goes to %q", got["$default"])
	}
}

// reference is the logical id that a value refers to.
func reference(t *testing.T, value any) string {
	t.Helper()
	switch v := value.(type) {
	case map[string]any:
		if id, ok := v["Ref"].(string); ok {
			return id
		}
		if path, ok := v["Fn::GetAtt"].([]any); ok {
			return path[0].(string)
		}
	}
	t.Fatalf("%v refers to nothing", value)
	return ""
}

func TestGatewayAuthorizerAloneAsksForTokens(t *testing.T) {
	_, service := synthesize(t, map[string]any{"authorizer": "gateway"})
	for id, p := range service.all("AWS::ApiGatewayV2::Route") {
		want := "JWT"
		if opens(p["RouteKey"].(string)) {
			want = "NONE"
		}
		if p["AuthorizationType"] != want {
			t.Errorf("%s %v: authorization %v, want %s", id, p["RouteKey"], p["AuthorizationType"], want)
		}
	}
}

// What the gateway has no route for reaches a function that can do no more than log it.
func TestDefaultReachesNoStore(t *testing.T) {
	for name, context := range variants {
		_, service := synthesize(t, context)
		for id, p := range service.all("AWS::IAM::Policy") {
			if !strings.HasPrefix(id, "DefaultRole") {
				continue
			}
			for _, s := range statements(p["PolicyDocument"]) {
				for _, action := range texts(s["Action"]) {
					if !strings.HasPrefix(action, "logs:") && !strings.HasPrefix(action, "xray:") && !strings.HasPrefix(action, "ec2:") && (action != "s3:GetObject" || context["api-keys"] == nil) {
						t.Errorf("%s: default may %s", name, action)
					}
				}
			}
		}
		if variables := environments(service)["default"]; variables["TILTYARD_VEND_ROLE"] != nil || variables["TILTYARD_JOBS"] != nil || variables["TILTYARD_SECRETS"] != nil {
			t.Errorf("%s: default is told %v", name, variables)
		}
	}
}

func statements(document any) []map[string]any {
	var all []map[string]any
	for _, s := range document.(map[string]any)["Statement"].([]any) {
		all = append(all, s.(map[string]any))
	}
	return all
}

// texts are a text or several.
func texts(value any) []string {
	list, ok := value.([]any)
	if !ok {
		list = []any{value}
	}
	var all []string
	for _, item := range list {
		if text, ok := item.(string); ok {
			all = append(all, text)
		}
	}
	return all
}

// variants are configurations that change which resources there are.
var variants = map[string]map[string]any{
	"plain": nil,
	"everything": {
		"authorizer": "gateway", "tracing": true, "kms": "true", "domain": "api.example.com",
		"certificate": "arn:aws:acm:eu-central-1:123456789012:certificate/c", "provisioned-concurrency": "2",
		"alarm-topic": "arn:aws:sns:eu-central-1:123456789012:alarms", "image": "example.com/tiltyard:1", "job-image": "example.com/tiltyard:1",
		"allow-locations": "s3://lake/tables", "architecture": "amd64", "jwt-type": "at+jwt",
		"policies": "s3://rules/tiltyard.cedar", "quotas": "s3://rules/quotas.json", "tmp": "2048", "cache-bucket": "s3://near--euc1-az1--x-s3/ranges",
		"traces": "http://localhost:4318", "traces-layer": "arn:aws:lambda:eu-central-1:123456789012:layer:collector:7",
		"vending": "true", "vend-tags": "true", "stream": "true", "secrets": "true", "executors": "a=lambda:arn:aws:lambda:eu-central-1:123456789012:function:run",
	},
	"rest": {
		"gateway": "rest", "stream": "true", "web-acl": "arn:aws:wafv2:eu-central-1:123456789012:regional/webacl/w/1",
		"domain": "api.example.com", "certificate": "arn:aws:acm:eu-central-1:123456789012:certificate/c",
	},
	"private": {
		"gateway": "rest", "vpc": "new", "api-keys": "s3://rules/keys", "secrets": "true", "vending": "true", "kms": "true", "cache-bucket": "s3://near/ranges/",
	},
}

func TestPoliciesAreNeitherPublicNorWide(t *testing.T) {
	for name, context := range variants {
		t.Run(name, func(t *testing.T) {
			storage, service := synthesize(t, context)
			for _, stack := range []template{storage, service} {
				if len(stack.resources) > 480 {
					t.Errorf("%d resources; CloudFormation takes 500", len(stack.resources))
				}
				checkPolicies(t, stack)
			}
		})
	}
}

// checkPolicies looks at every statement in the template, wherever it stands.
func checkPolicies(t *testing.T, stack template) {
	t.Helper()
	for id, resource := range stack.resources {
		if resource.(map[string]any)["Type"] == "AWS::KMS::Key" {
			continue // its policy is about itself: the account's roles may use it
		}
		walk(resource, func(s map[string]any) {
			if s["Effect"] != "Allow" {
				return
			}
			// Any principal of the account may use an endpoint; its own policies decide what for.
			ofAccount := strings.Contains(fmt.Sprint(s["Condition"]), "StringEquals:map[aws:PrincipalAccount:map[Ref:AWS::AccountId]]")
			if principal, ok := s["Principal"]; ok && !ofAccount && (principal == "*" || principal.(map[string]any)["AWS"] == "*") {
				t.Errorf("%s lets anybody in: %v", id, s)
			}
			for _, action := range texts(s["Action"]) {
				if strings.Contains(action, "*") {
					t.Errorf("%s allows %s", id, action)
				}
				tracing := strings.HasPrefix(action, "xray:")
				interfaces := strings.HasPrefix(action, "ec2:") && (strings.HasSuffix(action, "NetworkInterface") ||
					strings.HasSuffix(action, "PrivateIpAddresses") || strings.HasPrefix(action, "ec2:Describe"))
				registry := action == "ecr:GetAuthorizationToken"
				if slices.Contains(texts(s["Resource"]), "*") && !tracing && !registry && !interfaces {
					t.Errorf("%s allows %s everywhere", id, action)
				}
			}
		})
	}
	for id, p := range stack.all("AWS::Lambda::Permission") {
		// Who calls the URL is asked for a token by the function.
		byURL := p["FunctionUrlAuthType"] == "NONE" || p["InvokedViaFunctionUrl"] == true
		if byURL && strings.HasPrefix(reference(t, p["FunctionName"]), "Stream") {
			continue
		}
		if principal := p["Principal"]; principal != "apigateway.amazonaws.com" || p["SourceArn"] == nil {
			t.Errorf("%s lets %v call", id, principal)
		}
	}
}

// walk visits every object in a value.
func walk(value any, visit func(map[string]any)) {
	switch v := value.(type) {
	case map[string]any:
		visit(v)
		for _, item := range v {
			walk(item, visit)
		}
	case []any:
		for _, item := range v {
			walk(item, visit)
		}
	}
}

func TestStoresAreEncryptedAndKept(t *testing.T) {
	for name, context := range variants {
		t.Run(name, func(t *testing.T) {
			storage, _ := synthesize(t, context)
			for id, p := range storage.all("AWS::S3::Bucket") {
				block := p["PublicAccessBlockConfiguration"].(map[string]any)
				for _, what := range []string{"BlockPublicAcls", "BlockPublicPolicy", "IgnorePublicAcls", "RestrictPublicBuckets"} {
					if block[what] != true {
						t.Errorf("%s: %s is %v", id, what, block[what])
					}
				}
				if p["BucketEncryption"] == nil || p["LifecycleConfiguration"] == nil {
					t.Errorf("%s: encryption %v, lifecycle %v", id, p["BucketEncryption"], p["LifecycleConfiguration"])
				}
				if status := p["VersioningConfiguration"].(map[string]any)["Status"]; status != "Enabled" {
					t.Errorf("%s: versioning %v", id, status)
				}
			}
			for id, p := range storage.all("AWS::DynamoDB::Table") {
				if p["SSESpecification"].(map[string]any)["SSEEnabled"] != true || p["BillingMode"] != "PAY_PER_REQUEST" ||
					p["PointInTimeRecoverySpecification"].(map[string]any)["PointInTimeRecoveryEnabled"] != true ||
					p["DeletionProtectionEnabled"] != true || p["TimeToLiveSpecification"].(map[string]any)["AttributeName"] != "expires" {
					t.Errorf("%s: %v", id, p)
				}
			}
			for id, p := range storage.all("AWS::SQS::Queue") {
				if p["SqsManagedSseEnabled"] != true && p["KmsMasterKeyId"] == nil {
					t.Errorf("%s is not encrypted: %v", id, p)
				}
			}
			insecure := 0
			for _, kind := range []string{"AWS::S3::BucketPolicy", "AWS::SQS::QueuePolicy"} {
				for _, p := range storage.all(kind) {
					for _, s := range statements(p["PolicyDocument"]) {
						condition, _ := s["Condition"].(map[string]any)["Bool"].(map[string]any)
						if s["Effect"] == "Deny" && condition["aws:SecureTransport"] == "false" {
							insecure++
						}
					}
				}
			}
			if want := len(storage.all("AWS::S3::Bucket")) + len(storage.all("AWS::SQS::Queue")); insecure != want {
				t.Errorf("%d policies refuse plain HTTP, want those of all %d buckets and queues", insecure, want)
			}
			for id, resource := range storage.resources {
				r := resource.(map[string]any)
				if kind := r["Type"]; (kind == "AWS::S3::Bucket" || kind == "AWS::DynamoDB::Table") && r["DeletionPolicy"] != "Retain" {
					t.Errorf("%s goes with the stack", id)
				}
			}
		})
	}
}

func TestFunctionsAreBounded(t *testing.T) {
	_, service := synthesize(t, nil)
	made := service.all("AWS::Lambda::Function")
	if want := len(functions) - 1; len(made) != want {
		t.Errorf("%d functions, want %d: all but the one that streams", len(made), want)
	}
	for id, p := range made {
		if p["Runtime"] != "provided.al2023" || !slices.Equal(texts(p["Architectures"]), []string{"arm64"}) {
			t.Errorf("%s runs on %v %v", id, p["Runtime"], p["Architectures"])
		}
		want := float64(gatewaySeconds)
		if strings.HasPrefix(id, "Worker") {
			want = jobMinutes * 60
		}
		if p["Timeout"] != want {
			t.Errorf("%s has %v s, want %v", id, p["Timeout"], want)
		}
		if reserved, isWorker := p["ReservedConcurrentExecutions"], strings.HasPrefix(id, "Worker"); isWorker != (reserved == 12.0) {
			t.Errorf("%s has the concurrency %v for itself", id, reserved)
		}
		if p["LoggingConfig"] == nil {
			t.Errorf("%s logs where nobody bounds it", id)
		}
	}
}

// Logs outlast the service, also those that the gateway makes.
func TestLogsAreKept(t *testing.T) {
	for name, context := range variants {
		storage, service := synthesize(t, context)
		for _, stack := range []template{storage, service} {
			for id, resource := range stack.resources {
				r := resource.(map[string]any)
				if r["Type"] != "AWS::Logs::LogGroup" {
					continue
				}
				p := r["Properties"].(map[string]any)
				if r["DeletionPolicy"] != "Retain" || p["RetentionInDays"] != 30.0 || (p["KmsKeyId"] != nil) != (context["kms"] == "true") {
					t.Errorf("%s: %s is kept as %v: %v", name, id, r["DeletionPolicy"], p)
				}
			}
		}
		if want := len(service.all("AWS::Lambda::Function")) + 1; len(storage.all("AWS::Logs::LogGroup")) < want {
			t.Errorf("%s: %d logs, want %d of the functions and the gateway", name, len(storage.all("AWS::Logs::LogGroup")), want)
		}
	}
}

func TestRESTAPIHasTheSameTable(t *testing.T) {
	_, service := synthesize(t, variants["rest"])
	for _, p := range service.all("AWS::ApiGateway::RestApi") {
		body := p["Body"].(map[string]any)
		paths := body["paths"].(map[string]any)
		for _, r := range routes() {
			methods, _ := paths[r.Path].(map[string]any)
			if r.Slash {
				if methods != nil {
					t.Errorf("%s: the slash is dropped before the gateway looks for a path", r.Path)
				}
				continue
			}
			method, _ := methods[strings.ToLower(r.Method)].(map[string]any)
			if method == nil {
				t.Errorf("no %s %s", r.Method, r.Path)
				continue
			}
			called := ""
			walk(method["x-amazon-apigateway-integration"], func(value map[string]any) {
				if at, ok := value["Fn::GetAtt"].([]any); ok {
					called = at[0].(string)
				}
			})
			if !strings.HasPrefix(called, title(r.Function)) {
				t.Errorf("%s %s goes to %q, want that of %s", r.Method, r.Path, called, r.Function)
			}
		}
		if paths["/{path+}"] == nil {
			t.Error("nothing takes what has no route")
		}
		walk(paths, func(value map[string]any) {
			integration, _ := value["x-amazon-apigateway-integration"].(map[string]any)
			if integration != nil && integration["responseTransferMode"] != "STREAM" {
				t.Errorf("%v does not stream", integration)
			}
		})
		return
	}
	t.Error("no REST API")
}

func TestStacksPrintTheirURL(t *testing.T) {
	for name, context := range variants {
		if _, service := synthesize(t, context); service.outputs["Url"] == nil {
			t.Errorf("%s: no URL among %v", name, slices.Sorted(maps.Keys(service.outputs)))
		}
	}
}

// opens reports whether a browser or a probe, which has no token, asks for the route.
func opens(key string) bool {
	path, _ := strings.CutPrefix(key, "GET ")
	return slices.Contains([]string{
		"/healthz", "/readyz", "/version", "/console", "/console/{path+}", "/docs", "/docs/{path+}", "/openapi.json", "/llms.txt",
	}, path)
}

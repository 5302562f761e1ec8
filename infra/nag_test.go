package main

import (
	"maps"
	"regexp"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
	"github.com/cdklabs/cdk-nag-go/cdknag/v2"
)

// An exception is a finding of cdk-nag that the stacks live with.
type exception struct {
	rule     string
	detail   string // pattern of what the rule names in brackets
	resource string // pattern of the construct's path, without that of its stack
	reason   string
}

// exceptions are all there are. One that no configuration needs any more fails the test.
var exceptions = []exception{
	{
		rule: "AwsSolutions-S1", resource: `Catalog/Resource`,
		reason: "Logs of every request to S3 cost storage for ever, and requests are what the service has most of. Versions " +
			"of objects are kept, and the service logs its own requests; who needs more adds data events of CloudTrail.",
	},
	{
		rule: "AwsSolutions-IAM5", detail: `Resource::<Catalog\w+\.Arn>/\*`,
		resource: `\w+Role(/DefaultPolicy/Resource)?`,
		reason: "The objects of one bucket, which holds nothing but the catalog and its tables. Their keys are made as tables " +
			"are, and the functions check who may use which table. Actions are single ones.",
	},
	{
		rule: "AwsSolutions-IAM5", detail: `Resource::arn:<AWS::Partition>:s3:::lake/tables/\*`,
		resource: `\w+Role(/DefaultPolicy/Resource)?`,
		reason:   "The objects below one prefix, which allow-locations names: who deploys decided that tables may lie there.",
	},
	{
		rule: "AwsSolutions-IAM5", detail: `Resource::\*`, resource: `\w+Role/DefaultPolicy/Resource`,
		reason: "X-Ray, and the log-in to a registry of images, know no resources. TestNothingIsPublicOrWide sees to it that " +
			"no other action is allowed everywhere.",
	},
	{
		rule: "AwsSolutions-IAM4", detail: `Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AmazonAPIGatewayPushToCloudWatchLogs`,
		resource: `RestApi/CloudWatchRole/Resource`,
		reason:   "The role with which API Gateway itself writes logs, for all APIs of the account; AWS keeps this policy for it.",
	},
	{
		rule: "AwsSolutions-APIG4", resource: `Route\w+`,
		reason: "Functions verify tokens in any case. An authorizer in front of them would turn away clients that send their " +
			"token as x-api-key, as LanceDB's do; authorizer=gateway adds one. Probes are open.",
	},
	{
		rule: "AwsSolutions-APIG2", resource: `RestApi/Resource`,
		reason: "Functions check requests, and answer what is wrong with them in the form that clients read. Bodies with rows " +
			"are Arrow, of which the gateway knows nothing.",
	},
	{
		rule: "AwsSolutions-APIG3", resource: `RestApi/DeploymentStage\.dev/Resource`,
		reason: "A web ACL is billed by the month, and its rules are a matter of who deploys: web-acl puts one in front.",
	},
	{
		rule: "AwsSolutions-EC23", resource: `Containers/LB/SecurityGroup/Resource`,
		reason: "The load balancer is where clients from anywhere connect to, by TLS only. Containers verify tokens as functions do.",
	},
	{
		rule: "AwsSolutions-ELB2", resource: `Containers/LB/Resource`,
		reason: "The containers log each request themselves, with who made it. Logs of the load balancer would need another bucket.",
	},
	{
		rule: "AwsSolutions-ECS2", resource: `(Containers/TaskDef|HeavyTask)/Resource`,
		reason: "The variables are names of resources and who issues tokens. None is secret: the service holds no secrets.",
	},
	{
		rule: "AwsSolutions-ECS4", resource: `(EcsDefaultCluster\w+|HeavyCluster)/Resource`,
		reason: "Container Insights is billed by metric. There is one task, or one for each heavy job, whose use of processor and memory ECS measures anyway.",
	},
	{
		rule: "AwsSolutions-VPC7", resource: `Network/Resource`,
		reason: "There is nothing in the network but the load balancer and its task, which takes connections from that alone and " +
			"logs each request, and tasks that nobody connects to. Logs of flows are billed by volume, most of it that of strangers who try ports.",
	},
}

// A finding is what cdk-nag says of one resource.
type finding struct {
	rule, detail, resource, message string
}

func (e exception) covers(f finding) bool {
	matches := func(pattern, text string) bool { return regexp.MustCompile("^(" + pattern + ")$").MatchString(text) }
	return e.rule == f.rule && matches(e.detail, f.detail) && matches(e.resource, f.resource)
}

// The checks are those of cdk-nag for solutions on AWS. They are in the test and not in the
// app, where they would come along with every deployment.
func TestCDKNagFindsNothingUnexplained(t *testing.T) {
	configurations := maps.Clone(variants)
	configurations["rest without a web ACL"] = map[string]any{"gateway": "rest"}
	used := make([]bool, len(exceptions))
	for name, context := range configurations {
		storage, _ := newStacks(t, context)
		app := awscdk.Stage_Of(storage.Stack)
		checks := cdknag.NewAwsSolutionsChecks(&cdknag.NagPackProps{Reports: jsii.Bool(false)})
		awscdk.Aspects_Of(app).Add(checks, nil)
		app.Synth(nil)
		for _, f := range findings(app) {
			explained := false
			for i, e := range exceptions {
				if e.covers(f) {
					explained, used[i] = true, true
				}
			}
			if !explained {
				t.Errorf("%s: %s: %s", name, f.resource, f.message)
			}
		}
	}
	for i, e := range exceptions {
		if !used[i] {
			t.Errorf("nothing is found any more that is excepted by %s[%s] for %s", e.rule, e.detail, e.resource)
		}
	}
}

var (
	findingForm = regexp.MustCompile(`(?s)^(AwsSolutions-\w+|CdkNagValidationFailure)(?:\[(.*?)\])?: `)
	stackOfPath = regexp.MustCompile(`^[^/]+/`)
)

// findings are the errors and warnings of cdk-nag in an app, also that a check could not
// be made. Those of the CDK itself are left out.
func findings(app awscdk.Stage) []finding {
	var found []finding
	for _, c := range *app.Node().FindAll(constructs.ConstructOrder_PREORDER) {
		for _, m := range *c.Node().Metadata() {
			if *m.Type != "aws:cdk:error" && *m.Type != "aws:cdk:warning" {
				continue
			}
			message, _ := m.Data.(string)
			if parts := findingForm.FindStringSubmatch(message); parts != nil {
				path := stackOfPath.ReplaceAllString(*c.Node().Path(), "")
				found = append(found, finding{rule: parts[1], detail: parts[2], resource: path, message: message})
			}
		}
	}
	return found
}

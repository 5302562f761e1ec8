package main

import (
	"fmt"
	"regexp"
	"slices"
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
		rule: "AwsSolutions-S1", resource: `(Catalog|AuditStore)/Resource`,
		reason: "Logs of every request to S3 cost storage for ever, and requests are what the service has most of. Versions " +
			"of objects are kept, and the service logs its own requests; who needs more adds data events of CloudTrail.",
	},
	{
		rule: "AwsSolutions-IAM5", detail: `Resource::<(Catalog|AuditStore)\w+\.Arn>/\*`,
		resource: `\w+Role(/DefaultPolicy/Resource)?`,
		reason: "The objects of one bucket, which holds nothing but the catalog and its tables, or nothing but lines of the audit. Their keys are made as tables " +
			"are, and the functions check who may use which table. Actions are single ones.",
	},
	{
		rule: "AwsSolutions-IAM5", detail: `Resource::<Catalog\w+\.Arn>/_results/\*`,
		resource: `QueryRole/DefaultPolicy/Resource`,
		reason:   "The answers that wait for their callers, under names that are made as queries come. The function writes nowhere else.",
	},
	{
		rule: "AwsSolutions-IAM5", detail: `Resource::arn:<AWS::Partition>:s3:::lake/tables/\*`,
		resource: `\w+Role(/DefaultPolicy/Resource)?`,
		reason:   "The objects below one prefix, which allow-locations names: who deploys decided that tables may lie there.",
	},
	{
		rule: "AwsSolutions-IAM5", detail: `Resource::arn:<AWS::Partition>:s3:::near/ranges/\*`,
		resource: `(Data|Query|Sql|Schema|Stream|Containers)Role/DefaultPolicy/Resource`,
		reason:   "The entries below one prefix, which cache-bucket names. Their names are digests.",
	},
	{
		rule: "AwsSolutions-IAM5", detail: `Resource::\*`, resource: `\w+Role/DefaultPolicy/Resource`,
		reason: "X-Ray, the log-in to a registry of images, and the network interfaces that Lambda makes know no resources. TestPoliciesAreNeitherPublicNorWide sees to it that " +
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
		rule: "AwsSolutions-IAM4", detail: `Policy::arn:<AWS::Partition>:iam::aws:policy/(service-role/)?AWSBackupServiceRolePolicyFor\w+`,
		resource: `BackupRole/Resource`,
		reason:   "AWS keeps these policies for its own service of backups; what it needs to read changes with the service.",
	},
	{
		rule: "AwsSolutions-VPC7", resource: `(Network|Private)/Resource`,
		reason: "There is nothing in the network but the load balancer and its task, which takes connections from that alone and " +
			"logs each request, and tasks that nobody connects to. Logs of flows are billed by volume, most of it that of strangers who try ports. A private " +
			"network has no way in or out but the endpoints of AWS.",
	},
}

// exceptionsNIST are those of NIST 800-53, whose rules also ask for what AwsSolutions leaves open.
var exceptionsNIST = []exception{
	{
		rule: "NIST.800.53.R5-IAMNoInlinePolicy", resource: `(\w+Role(/DefaultPolicy/Resource|Parts/Resource)?|(Containers/TaskDef|HeavyTask)/ExecutionRole/DefaultPolicy/Resource)`,
		reason: "Each role has one policy for one function, and goes with it; that of the function which calls itself has a second one. Policies that several roles share would give each of them the rights of the others.",
	},
	{
		rule: "NIST.800.53.R5-LambdaDLQ", resource: `\w+Function/Resource`,
		reason: "A queue of dead letters is for calls that nobody waits for. The gateway waits for these, and the worker's queue has dead letters itself.",
	},
	{
		rule: "NIST.800.53.R5-LambdaConcurrency", resource: `\w+Function/Resource`,
		reason: "The gateway limits requests by the route. A limit for each function would take from the others what it does not use; the worker has one.",
	},
	{
		rule: "NIST.800.53.R5-LambdaInsideVPC", resource: `\w+Function/Resource`,
		reason: "Functions call services of AWS and the issuer, by TLS. Where they must not reach more, vpc puts them into a network.",
	},
	{
		rule: "NIST.800.53.R5-LambdaFunctionPublicAccessProhibited", resource: `Stream(Function|Live)/invoke-function(-url)?`,
		reason: "The URL for large answers is as public as the gateway. The function verifies tokens.",
	},
	{
		rule: "NIST.800.53.R5-CloudWatchLogGroupEncrypted", resource: `\w+Log/Resource`,
		reason: "CloudWatch encrypts logs by a key of its own; kms takes the key of the deployment.",
	},
	{
		rule: "NIST.800.53.R5-S3DefaultEncryptionKMS", resource: `(Catalog|AuditStore)/Resource`,
		reason: "S3 encrypts objects by a key of its own; kms takes the key of the deployment, which costs for each request without a bucket key.",
	},
	{
		rule: "NIST.800.53.R5-S3BucketLoggingEnabled", resource: `(Catalog|AuditStore)/Resource`,
		reason: "As for AwsSolutions-S1: the service logs its requests, and data events of CloudTrail record those of others.",
	},
	{
		rule: "NIST.800.53.R5-S3BucketReplicationEnabled", resource: `(Catalog|AuditStore)/Resource`,
		reason: "Which region may hold a copy is for who deploys to decide: replica names its bucket. Daily backups are made in any case.",
	},
	{
		rule: "NIST.800.53.R5-CloudWatchAlarmAction", resource: `\w+Alarm/Resource`,
		reason: "alarm-topic names who hears of alarms; a deployment without it warns that nobody does.",
	},
	{
		rule: "NIST.800.53.R5-APIGWAssociatedWithWAF", resource: `RestApi/DeploymentStage\.dev/Resource`,
		reason: "As for AwsSolutions-APIG3: web-acl puts a web ACL in front.",
	},
	{
		rule: "NIST.800.53.R5-ALBWAFEnabled", resource: `Containers/LB/Resource`,
		reason: "The load balancer is for uploads beyond what gateways take, of which a web ACL reads the first 8 KB.",
	},
	{
		rule: "NIST.800.53.R5-APIGWCacheEnabledAndEncrypted", resource: `RestApi/DeploymentStage\.dev/Resource`,
		reason: "Answers depend on who asks and on the latest version of a table. A cache would answer with those of others, or with old ones.",
	},
	{
		rule: "NIST.800.53.R5-APIGWSSLEnabled", resource: `RestApi/DeploymentStage\.dev/Resource`,
		reason: "The certificate is one that the gateway shows to a server behind it. Behind this one are functions, which it calls by their roles.",
	},
	{
		rule: "NIST.800.53.R5-ELBLoggingEnabled", resource: `Containers/LB/Resource`,
		reason: "As for AwsSolutions-ELB2: the containers log each request themselves.",
	},
	{
		rule: "NIST.800.53.R5-ELBDeletionProtectionEnabled", resource: `Containers/LB/Resource`,
		reason: "The load balancer keeps nothing, and the stack of the service is made to be replaced.",
	},
	{
		rule: "NIST.800.53.R5-VPCFlowLogsEnabled", resource: `(Network|Private)/Resource`,
		reason: "As for AwsSolutions-VPC7.",
	},
	{
		rule: "NIST.800.53.R5-VPCDefaultSecurityGroupClosed", resource: `(Network|Private)/Resource`,
		reason: "Nothing is in the default security group. CloudFormation cannot change it without a function that has the rights to change others.",
	},
	{
		rule: "NIST.800.53.R5-VPCNoUnrestrictedRouteToIGW", resource: `Network/publicSubnet[12]/DefaultRoute`,
		reason: "Clients from anywhere reach the load balancer, and the task the issuer of tokens.",
	},
	{
		rule: "NIST.800.53.R5-VPCSubnetAutoAssignPublicIpDisabled", resource: `Network/publicSubnet[12]/Subnet`,
		reason: "The task takes connections from the load balancer alone. Its address lets it reach the issuer without a NAT gateway.",
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

// The checks are those of cdk-nag for solutions on AWS, and for NIST 800-53, revision 5. They are in the
// test and not in the app, where they would come along with every deployment.
func TestCDKNagFindsNothingUnexplained(t *testing.T) {
	exceptions := append(slices.Clone(exceptions), exceptionsNIST...)
	used := make([]bool, len(exceptions))
	for name, context := range variants {
		synthesize(t, context)
		for _, f := range found[fmt.Sprint(context)] {
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

// addChecks lets both packs look at an app when it is synthesized.
func addChecks(app awscdk.Stage) {
	props := &cdknag.NagPackProps{Reports: jsii.Bool(false)}
	awscdk.Aspects_Of(app).Add(cdknag.NewAwsSolutionsChecks(props), nil)
	awscdk.Aspects_Of(app).Add(cdknag.NewNIST80053R5Checks(props), nil)
}

var (
	findingForm = regexp.MustCompile(`(?s)^(AwsSolutions-\w+|NIST\.800\.53\.R5-\w+|CdkNagValidationFailure)(?:\[(.*?)\])?: `)
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

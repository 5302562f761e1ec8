package main

import (
	"regexp"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsec2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/jsii-runtime-go"
)

// A network is the VPC in which functions run.
type network struct {
	vpc     awsec2.IVpc
	subnets *awsec2.SubnetSelection
	group   awsec2.SecurityGroup
}

// newVPC is the option value for a VPC that the stack creates.
const newVPC = "new"

// newNetwork returns the configured network, or nil if there is none. A new network has no internet
// access: its endpoints lead to the AWS services that the functions call.
func (s *Service) newNetwork() *network {
	if s.config.VPC == "" {
		return nil
	}
	n := &network{}
	if s.config.VPC == newVPC {
		n.vpc = awsec2.NewVpc(s.Stack, jsii.String("Private"), &awsec2.VpcProps{
			MaxAzs: jsii.Number(2), NatGateways: jsii.Number(0),
			SubnetConfiguration: &[]*awsec2.SubnetConfiguration{{Name: jsii.String("functions"), SubnetType: awsec2.SubnetType_PRIVATE_ISOLATED}},
		})
		n.subnets = &awsec2.SubnetSelection{SubnetType: awsec2.SubnetType_PRIVATE_ISOLATED}
	} else {
		var zones, subnets []*string
		for i, id := range s.config.Subnets {
			// No resource depends on the zone of a subnet, so any zone will do.
			zones = append(zones, awscdk.Fn_Select(jsii.Number(i), awscdk.Fn_GetAzs(nil)))
			subnets = append(subnets, &id)
		}
		n.vpc = awsec2.Vpc_FromVpcAttributes(s.Stack, jsii.String("Private"), &awsec2.VpcAttributes{
			VpcId: &s.config.VPC, AvailabilityZones: &zones, PrivateSubnetIds: &subnets,
		})
		n.subnets = &awsec2.SubnetSelection{SubnetType: awsec2.SubnetType_PRIVATE_WITH_EGRESS}
	}
	n.group = awsec2.NewSecurityGroup(s.Stack, jsii.String("FunctionsGroup"), &awsec2.SecurityGroupProps{
		Vpc: n.vpc, Description: jsii.String("Tiltyard: functions, which only call others"), AllowAllOutbound: jsii.Bool(false),
	})
	n.group.AddEgressRule(awsec2.Peer_AnyIpv4(), awsec2.Port_HTTPS(), jsii.String("services of AWS, and the issuer of tokens"), nil)
	if s.config.VPC == newVPC {
		s.addEndpoints(n)
	}
	return n
}

// addEndpoints adds the endpoints, each only if a function calls its service: those of S3 and DynamoDB, which cost
// nothing, and those that are billed by the hour. The policy of an endpoint lets through requests of this account to the
// resources of the deployment alone, so that no data leaves by it for another place.
func (s *Service) addEndpoints(n *network) {
	allow := func(endpoint awsec2.VpcEndpoint, actions string, resources ...*string) {
		endpoint.AddToPolicy(awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{
			Principals: &[]awsiam.IPrincipal{awsiam.NewAnyPrincipal()}, Actions: jsii.Strings(strings.Fields(actions)...), Resources: &resources,
			Conditions: &map[string]any{"StringEquals": map[string]any{"aws:PrincipalAccount": s.Account()}},
		}))
	}
	through := func(id string, service awsec2.GatewayVpcEndpointAwsService) awsec2.VpcEndpoint {
		return n.vpc.AddGatewayEndpoint(jsii.String(id), &awsec2.GatewayVpcEndpointOptions{Service: service})
	}
	allow(through("s3", awsec2.GatewayVpcEndpointAwsService_S3()), "s3:ListBucket s3:GetObject s3:PutObject s3:DeleteObject s3:AbortMultipartUpload",
		s.reachedObjects()...)
	allow(through("dynamodb", awsec2.GatewayVpcEndpointAwsService_DYNAMODB()), "dynamodb:GetItem dynamodb:Query dynamodb:PutItem dynamodb:DeleteItem",
		s.storage.Records.TableArn())
	add := func(id, actions string, service awsec2.IInterfaceVpcEndpointService, resources ...*string) {
		group := awsec2.NewSecurityGroup(s.Stack, jsii.String(id+"Group"), &awsec2.SecurityGroupProps{
			Vpc: n.vpc, Description: jsii.String("Tiltyard: takes calls of functions"), AllowAllOutbound: jsii.Bool(false),
		})
		group.AddIngressRule(n.group, awsec2.Port_HTTPS(), jsii.String("functions"), nil)
		allow(awsec2.NewInterfaceVpcEndpoint(s.Stack, jsii.String(id), &awsec2.InterfaceVpcEndpointProps{
			Vpc: n.vpc, Service: service, Subnets: n.subnets, SecurityGroups: &[]awsec2.ISecurityGroup{group}, Open: jsii.Bool(false),
		}), actions, resources...)
	}
	queues := []*string{s.storage.Jobs.QueueArn()}
	if s.config.EventTarget != "" {
		queues = append(queues, &s.config.EventTarget) // checkNetwork and checkEvents let no other kind through
	}
	add("QueueEndpoint", "sqs:SendMessage sqs:GetQueueUrl", awsec2.InterfaceVpcEndpointAwsService_SQS(), queues...)
	if s.config.Vending {
		add("TokenEndpoint", "sts:AssumeRole sts:TagSession", awsec2.InterfaceVpcEndpointAwsService_STS(), s.vend.arn)
	}
	if s.config.Secrets {
		add("KeyEndpoint", "kms:GenerateDataKey kms:Decrypt", awsec2.InterfaceVpcEndpointAwsService_KMS(), s.storage.SecretsKey.KeyArn())
	}
	if s.config.Executors != "" {
		add("FunctionEndpoint", "lambda:InvokeFunction", awsec2.InterfaceVpcEndpointAwsService_LAMBDA(), s.config.executorARNs()...)
	}
}

// reachedObjects returns the ARNs of the buckets and objects that functions read or write.
func (s *Service) reachedObjects() []*string {
	reached := []*string{s.storage.Bucket.BucketArn(), s.storage.Bucket.ArnForObjects(jsii.String("*"))}
	for _, location := range s.config.AllowLocations {
		bucket, prefix := splitLocation(location)
		reached = append(reached, s.objectsARN(bucket), s.objectsARN(bucket+"/"+prefix+"*"))
	}
	if bucket, prefix := splitLocation(s.config.CacheBucket); bucket != "" {
		reached = append(reached, s.objectsARN(bucket), s.objectsARN(bucket+"/"+prefix+"*"))
	}
	for _, d := range []*document{s.apiKeys, s.policies} {
		if d != nil {
			reached = append(reached, d.arn)
		}
	}
	return reached
}

// place puts a function into the network, if there is one.
func (n *network) place(props *awslambda.FunctionProps) {
	if n != nil {
		props.Vpc, props.VpcSubnets, props.SecurityGroups = n.vpc, n.subnets, &[]awsec2.ISecurityGroup{n.group}
	}
}

var (
	vpcForm    = regexp.MustCompile(`^(new|vpc-[0-9a-f]+)$`)
	subnetForm = regexp.MustCompile(`^subnet-[0-9a-f]+$`)
)

// subnets reads a list of subnet ids.
func (r *reader) subnets(name string) []string {
	text := r.text(name, "subnet-…, with commas", "")
	if text == "" {
		return nil
	}
	ids := strings.Split(text, ",")
	for i, id := range ids {
		if ids[i] = strings.TrimSpace(id); !subnetForm.MatchString(ids[i]) {
			r.fail(name, "%q is not the id of a subnet", id)
		}
	}
	return ids
}

// checkNetwork records an error for services that functions could not call from the network.
func (r *reader) checkNetwork(c Config) {
	r.forbid((c.VPC != "" && c.VPC != newVPC) != (len(c.Subnets) > 0), "vpc, subnets: an existing network needs both, and a new one has its own subnets")
	r.forbid(len(c.Subnets) > 6, "subnets: at most 6")
	isolated := c.VPC == newVPC
	r.forbid(isolated && c.JWKS != "", "vpc: functions in a new network reach no issuer; take api-keys, or an existing network with a way to it")
	r.forbid(isolated && strings.Contains(c.Executors, "=https://"), "vpc: functions in a new network reach no executor at https://")
}

package main

import (
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/jsii-runtime-go"
)

// A vendRole is the role whose credentials clients get. The functions that vend them restrict them
// to one table each.
type vendRole struct {
	arn   *string
	trust awsiam.PolicyDocument
}

// newVendRole creates the role. It permits operations on the data of tables; allowVending adds the
// roles that may assume it.
func (s *Service) newVendRole() *vendRole {
	trust, rights := awsiam.NewPolicyDocument(nil), awsiam.NewPolicyDocument(nil)
	add := func(effect awsiam.Effect, resources []*string, actions ...string) {
		rights.AddStatements(awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{
			Effect: effect, Actions: jsii.Strings(actions...), Resources: &resources,
		}))
	}
	allow := func(resources []*string, actions ...string) { add(awsiam.Effect_ALLOW, resources, actions...) }
	s.allowObjects(allow, write, true)
	if s.storage.Key != nil {
		allow([]*string{s.storage.Key.KeyArn()}, "kms:Decrypt", "kms:GenerateDataKey")
	}
	// The bucket also contains the records of the catalog, function modules, and query results. Their
	// names begin with an underscore, unlike the folders of tables.
	add(awsiam.Effect_DENY, []*string{s.storage.Bucket.ArnForObjects(jsii.String("_*"))}, "s3:*")
	// The construct for roles requires a principal, and there is none yet.
	role := awsiam.NewCfnRole(s.Stack, jsii.String("VendRole"), &awsiam.CfnRoleProps{
		Description:              jsii.String("tiltyard: temporary credentials for single tables"),
		AssumeRolePolicyDocument: trust,
		Policies: []any{&awsiam.CfnRole_PolicyProperty{
			PolicyName: jsii.String("tables"), PolicyDocument: rights,
		}},
	})
	return &vendRole{arn: role.AttrArn(), trust: trust}
}

// allowVending permits one of the service's roles to assume the vending role, with session tags if they are configured.
func (s *Service) allowVending(role awsiam.Role) {
	actions := jsii.Strings("sts:AssumeRole")
	if s.config.VendTags {
		actions = jsii.Strings("sts:AssumeRole", "sts:TagSession")
	}
	role.AddToPolicy(awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{
		Actions: actions, Resources: &[]*string{s.vend.arn},
	}))
	s.vend.trust.AddStatements(awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{
		Actions: actions, Principals: &[]awsiam.IPrincipal{awsiam.NewArnPrincipal(role.RoleArn())},
	}))
}

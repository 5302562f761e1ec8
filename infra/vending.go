package main

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudtrail"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awss3"
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
	if s.config.VendTrail {
		s.watchVended(role.Ref())
	}
	return &vendRole{arn: role.AttrArn(), trust: trust}
}

// watchVended records requests for objects of the bucket by sessions of the vending role. It records no others: those of
// the service are in its own logs, and each event costs more than the request.
func (s *Service) watchVended(role *string) {
	bucket := awss3.NewBucket(s.Stack, jsii.String("VendTrailStore"), &awss3.BucketProps{
		BlockPublicAccess: awss3.BlockPublicAccess_BLOCK_ALL(),
		ObjectOwnership:   awss3.ObjectOwnership_BUCKET_OWNER_ENFORCED,
		EnforceSSL:        jsii.Bool(true),
		Encryption:        awss3.BucketEncryption_S3_MANAGED,
		LifecycleRules:    &[]*awss3.LifecycleRule{{Expiration: awscdk.Duration_Days(jsii.Number(s.config.LogDays))}},
		RemovalPolicy:     s.config.removal(),
	})
	trail := awscloudtrail.NewTrail(s.Stack, jsii.String("VendTrail"), &awscloudtrail.TrailProps{
		Bucket: bucket, EnableFileValidation: jsii.Bool(true),
		IncludeGlobalServiceEvents: jsii.Bool(false), IsMultiRegionTrail: jsii.Bool(false),
	})
	events := func(field, by string, value *string) map[string]any {
		return map[string]any{"Field": field, by: []*string{value}}
	}
	sessions := awscdk.Fn_Sub(jsii.String("arn:${AWS::Partition}:sts::${AWS::AccountId}:assumed-role/${Role}/"), &map[string]*string{"Role": role})
	resource := trail.Node().DefaultChild().(awscloudtrail.CfnTrail)
	resource.AddPropertyDeletionOverride(jsii.String("EventSelectors"))
	resource.AddPropertyOverride(jsii.String("AdvancedEventSelectors"), []any{map[string]any{"FieldSelectors": []any{
		events("eventCategory", "Equals", jsii.String("Data")),
		events("resources.type", "Equals", jsii.String("AWS::S3::Object")),
		events("resources.ARN", "StartsWith", s.storage.Bucket.ArnForObjects(jsii.String(""))),
		events("userIdentity.arn", "StartsWith", sessions),
	}}})
	output(s.Stack, "VendTrailBucket", "what is read and written with vended credentials", bucket.BucketName())
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

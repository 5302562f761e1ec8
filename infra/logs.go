package main

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awskinesisfirehose"
	"github.com/aws/aws-cdk-go/awscdk/v2/awskms"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/aws-cdk-go/awscdk/v2/awss3"
	"github.com/aws/jsii-runtime-go"
)

// A logRoom describes how the logs of a deployment are stored.
type logRoom struct {
	days    int
	key     awskms.IKey // nil if CloudWatch encrypts with its own key
	removal awscdk.RemovalPolicy
}

// newLog creates a log group.
func (l logRoom) newLog(stack awscdk.Stack, id string, name *string) awslogs.LogGroup {
	return awslogs.NewLogGroup(stack, &id, &awslogs.LogGroupProps{
		LogGroupName: name, Retention: retentions[l.days], EncryptionKey: l.key, RemovalPolicy: l.removal,
	})
}

// newLogs creates the logs of everything in the service stack. They belong to the storage stack, so
// that they remain when the service stack is destroyed and created again.
func (s *Storage) newLogs(c Config) {
	s.logs = logRoom{days: c.LogDays, removal: c.removal()}
	if s.Key != nil {
		s.logs.key = s.Key
		s.allowLogs()
	}
	add := func(name string) {
		s.Logs[name] = s.logs.newLog(s.Stack, title(name)+"Log", jsii.String("/tiltyard/"+c.Stage+"/"+name))
	}
	for name, n := range functions {
		if !n.url || c.streamURL() {
			add(name)
		}
	}
	add("gateway")
	if c.Image != "" {
		add("containers")
	}
	if c.JobImage != "" {
		add("heavy")
	}
}

// allowLogs permits CloudWatch to use the key for logs of this account.
func (s *Storage) allowLogs() {
	logs := joined(jsii.String("logs."), s.Region(), jsii.String("."), s.UrlSuffix())
	s.Key.AddToResourcePolicy(awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{
		Principals: &[]awsiam.IPrincipal{awsiam.NewServicePrincipal(logs, nil)},
		Actions:    jsii.Strings("kms:Encrypt", "kms:Decrypt", "kms:ReEncrypt*", "kms:GenerateDataKey*", "kms:Describe*"),
		Resources:  jsii.Strings("*"),
		Conditions: &map[string]any{"ArnLike": map[string]any{"kms:EncryptionContext:aws:logs:arn": joined(
			jsii.String("arn:"), s.Partition(), jsii.String(":logs:"), s.Region(), jsii.String(":"), s.Account(), jsii.String(":*"))}},
	}), nil)
}

// auditPattern matches audit log lines. docs/audit.md describes their fields.
const auditPattern = `{ $.msg = "audit" }`

// keepAudit continuously copies audit lines from the logs to a separate bucket, in which nobody can
// delete or overwrite an object before the given number of days has passed.
func (s *Storage) keepAudit(days int) {
	if days == 0 {
		return
	}
	bucket := s.newAuditBucket(days)
	deliver := s.newRole("AuditDelivery", "firehose.amazonaws.com")
	allow(deliver, []*string{bucket.BucketArn()}, "s3:GetBucketLocation", "s3:ListBucket", "s3:ListBucketMultipartUploads")
	allow(deliver, []*string{bucket.ArnForObjects(jsii.String("*"))}, "s3:PutObject", "s3:GetObject", "s3:AbortMultipartUpload")
	if s.Key != nil {
		allow(deliver, []*string{s.Key.KeyArn()}, "kms:Decrypt", "kms:GenerateDataKey")
	}
	processor := func(kind, name, value string) any {
		return &awskinesisfirehose.CfnDeliveryStream_ProcessorProperty{
			Type: &kind, Parameters: []any{&awskinesisfirehose.CfnDeliveryStream_ProcessorParameterProperty{ParameterName: &name, ParameterValue: &value}},
		}
	}
	stream := awskinesisfirehose.NewCfnDeliveryStream(s.Stack, jsii.String("Audit"), &awskinesisfirehose.CfnDeliveryStreamProps{
		DeliveryStreamType: jsii.String("DirectPut"),
		DeliveryStreamEncryptionConfigurationInput: &awskinesisfirehose.CfnDeliveryStream_DeliveryStreamEncryptionConfigurationInputProperty{
			KeyType: jsii.String("AWS_OWNED_CMK"),
		},
		ExtendedS3DestinationConfiguration: &awskinesisfirehose.CfnDeliveryStream_ExtendedS3DestinationConfigurationProperty{
			BucketArn: bucket.BucketArn(), RoleArn: deliver.RoleArn(), CompressionFormat: jsii.String("GZIP"),
			Prefix: jsii.String("audit/"), ErrorOutputPrefix: jsii.String("failed/"),
			BufferingHints: &awskinesisfirehose.CfnDeliveryStream_BufferingHintsProperty{IntervalInSeconds: jsii.Number(60), SizeInMBs: jsii.Number(5)},
			// CloudWatch sends compressed batches; these processors extract the lines.
			ProcessingConfiguration: &awskinesisfirehose.CfnDeliveryStream_ProcessingConfigurationProperty{
				Enabled: jsii.Bool(true), Processors: []any{
					processor("Decompression", "CompressionFormat", "GZIP"),
					processor("CloudWatchLogProcessing", "DataMessageExtraction", "true"),
				},
			},
		},
	})
	stream.Node().AddDependency(deliver)
	s.Audit = stream.Ref()
	send := s.newRole("AuditSource", "logs.amazonaws.com")
	allow(send, []*string{stream.AttrArn()}, "firehose:PutRecord", "firehose:PutRecordBatch")
	for name, log := range s.Logs {
		if name == "gateway" || name == "heavy" || functions[name].worker {
			continue // contains no audit lines
		}
		filter := awslogs.NewCfnSubscriptionFilter(s.Stack, jsii.String(title(name)+"Audit"), &awslogs.CfnSubscriptionFilterProps{
			LogGroupName: log.LogGroupName(), FilterPattern: jsii.String(auditPattern),
			DestinationArn: stream.AttrArn(), RoleArn: send.RoleArn(),
		})
		filter.Node().AddDependency(send)
	}
	output(s.Stack, "AuditBucket", "the lines of the audit; tiltyard audit verify checks them", bucket.BucketName())
}

// newAuditBucket creates the bucket for audit lines, with an object lock.
func (s *Storage) newAuditBucket(days int) awss3.Bucket {
	encryption, key := bucketEncryption(s.Key)
	return awss3.NewBucket(s.Stack, jsii.String("AuditStore"), &awss3.BucketProps{
		BlockPublicAccess: awss3.BlockPublicAccess_BLOCK_ALL(),
		ObjectOwnership:   awss3.ObjectOwnership_BUCKET_OWNER_ENFORCED,
		EnforceSSL:        jsii.Bool(true),
		Encryption:        encryption, EncryptionKey: key, BucketKeyEnabled: keyed(s.Key),
		Versioned: jsii.Bool(true), ObjectLockEnabled: jsii.Bool(true),
		ObjectLockDefaultRetention: awss3.ObjectLockRetention_Governance(awscdk.Duration_Days(jsii.Number(days))),
		LifecycleRules: &[]*awss3.LifecycleRule{{
			Expiration: awscdk.Duration_Days(jsii.Number(days + 1)), NoncurrentVersionExpiration: awscdk.Duration_Days(jsii.Number(1)),
		}},
		RemovalPolicy: awscdk.RemovalPolicy_RETAIN,
	})
}

// newRole creates a role that a service can assume.
func (s *Storage) newRole(id, service string) awsiam.Role {
	return awsiam.NewRole(s.Stack, jsii.String(id+"Role"), &awsiam.RoleProps{AssumedBy: awsiam.NewServicePrincipal(&service, nil)})
}

// allow adds permissions to a role.
func allow(role awsiam.Role, resources []*string, actions ...string) {
	role.AddToPolicy(awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{Actions: jsii.Strings(actions...), Resources: &resources}))
}

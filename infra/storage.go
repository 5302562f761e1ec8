package main

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/aws-cdk-go/awscdk/v2/awskms"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/aws-cdk-go/awscdk/v2/awss3"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"tiltyard/shared/catalog/result"
)

// Storage is the stack that keeps state. When it is destroyed its contents stay, unless
// configured otherwise.
type Storage struct {
	awscdk.Stack
	Bucket      awss3.Bucket      // of the catalog and its tables
	Records     awsdynamodb.Table // of transactions and of answers
	Jobs        awssqs.Queue      // of work that outlasts a request
	HeavyJobs   awssqs.Queue      // of work that no function has the time or the memory for; nil when functions do all
	DeadLetters awssqs.Queue      // of messages that no worker could make anything of; it ends their jobs
	Key         awskms.Key        // nil when the services' own keys encrypt
	SecretsKey  awskms.Key        // seals the values of secrets; nil when there are none

	Logs map[string]awslogs.LogGroup // by function, and of the gateway and the containers
	logs logRoom
}

// jobMinutes is how long a worker may take for one message: the longest timeout of a
// function. Longer jobs continue with another message.
const jobMinutes = 15

// NewStorage makes the stack.
func NewStorage(app constructs.Construct, c Config) *Storage {
	stack := newStack(app, c, "storage", "Tiltyard: catalog, tables and transactions", !c.Throw)
	s := &Storage{Stack: stack, Logs: map[string]awslogs.LogGroup{}}
	removal := c.removal()
	if c.KMS {
		s.Key = awskms.NewKey(stack, jsii.String("Key"), &awskms.KeyProps{
			EnableKeyRotation: jsii.Bool(true), RemovalPolicy: removal,
		})
	}
	if c.Secrets {
		s.SecretsKey = awskms.NewKey(stack, jsii.String("SecretsKey"), &awskms.KeyProps{
			Description:       jsii.String("tiltyard: seals the values of secrets"),
			EnableKeyRotation: jsii.Bool(true), RemovalPolicy: removal,
		})
	}
	s.Bucket = s.newBucket(c)
	s.Records = s.newRecords(c)
	s.newLogs(c)
	s.keepAudit(c.AuditDays)
	s.backUp(c.BackupDays)
	// SQS requires a queue that calls a function to hide messages for as long as the
	// function may run. The worker shortens that to two minutes and extends it while it
	// works.
	visibility := awscdk.Duration_Minutes(jsii.Number(jobMinutes + 1))
	s.DeadLetters = s.newQueue("DeadLetters", &awssqs.QueueProps{
		VisibilityTimeout: visibility,
		RetentionPeriod:   awscdk.Duration_Days(jsii.Number(14)),
	})
	s.Jobs = s.newQueue("Jobs", &awssqs.QueueProps{
		VisibilityTimeout: visibility,
		RetentionPeriod:   awscdk.Duration_Days(jsii.Number(14)),
		// If a job ends the worker's process repeatedly, the worker gives it up earlier
		// than this.
		DeadLetterQueue: &awssqs.DeadLetterQueue{Queue: s.DeadLetters, MaxReceiveCount: jsii.Number(10)},
	})
	if c.JobImage != "" {
		s.HeavyJobs = s.newQueue("HeavyJobs", &awssqs.QueueProps{
			VisibilityTimeout: awscdk.Duration_Minutes(jsii.Number(heavyHoldMinutes)),
			RetentionPeriod:   awscdk.Duration_Days(jsii.Number(14)),
			DeadLetterQueue:   &awssqs.DeadLetterQueue{Queue: s.DeadLetters, MaxReceiveCount: jsii.Number(10)},
		})
	}
	output(stack, "Bucket", "the catalog and its tables", s.Bucket.BucketName())
	return s
}

// newBucket keeps overwritten and deleted objects for a month. Objects of a table are never
// overwritten, so this costs storage for dropped and cleaned up data only.
func (s *Storage) newBucket(c Config) awss3.Bucket {
	encryption, key := bucketEncryption(s.Key)
	return awss3.NewBucket(s.Stack, jsii.String("Catalog"), &awss3.BucketProps{
		BlockPublicAccess: awss3.BlockPublicAccess_BLOCK_ALL(),
		ObjectOwnership:   awss3.ObjectOwnership_BUCKET_OWNER_ENFORCED,
		EnforceSSL:        jsii.Bool(true),
		Encryption:        encryption,
		EncryptionKey:     key,
		BucketKeyEnabled:  keyed(s.Key),
		Versioned:         jsii.Bool(true),
		ReplicationRules:  s.replication(c.Replica),
		LifecycleRules: &[]*awss3.LifecycleRule{{
			AbortIncompleteMultipartUploadAfter: awscdk.Duration_Days(jsii.Number(7)),
			NoncurrentVersionExpiration:         awscdk.Duration_Days(jsii.Number(30)),
			ExpiredObjectDeleteMarker:           jsii.Bool(true),
		}, {
			// Answers that waited for their callers cannot be had back.
			Prefix:                              jsii.String(result.Folder),
			Expiration:                          awscdk.Duration_Days(jsii.Number(result.Lifetime.Hours() / 24)),
			NoncurrentVersionExpiration:         awscdk.Duration_Days(jsii.Number(1)),
			AbortIncompleteMultipartUploadAfter: awscdk.Duration_Days(jsii.Number(1)),
		}},
		RemovalPolicy: c.removal(),
	})
}

// removal is what becomes of the things that are kept when their stack is destroyed.
func (c Config) removal() awscdk.RemovalPolicy {
	if c.Throw {
		return awscdk.RemovalPolicy_DESTROY
	}
	return awscdk.RemovalPolicy_RETAIN
}

// bucketEncryption is that of buckets, by the key when there is one.
func bucketEncryption(key awskms.Key) (awss3.BucketEncryption, awskms.IKey) {
	if key == nil {
		return awss3.BucketEncryption_S3_MANAGED, nil
	}
	return awss3.BucketEncryption_KMS, key
}

func keyed(key awskms.Key) *bool {
	if key == nil {
		return nil
	}
	return jsii.Bool(true)
}

// newRecords makes the table that shared/storage/record/dynamorecord requires. It uses the older
// resource type, because emulators do not support the newer one, which is for several
// regions.
func (s *Storage) newRecords(c Config) awsdynamodb.Table {
	encryption := awsdynamodb.TableEncryption_AWS_MANAGED
	if s.Key != nil {
		encryption = awsdynamodb.TableEncryption_CUSTOMER_MANAGED
	}
	return awsdynamodb.NewTable(s.Stack, jsii.String("Records"), &awsdynamodb.TableProps{
		PartitionKey:        &awsdynamodb.Attribute{Name: jsii.String("folder"), Type: awsdynamodb.AttributeType_STRING},
		SortKey:             &awsdynamodb.Attribute{Name: jsii.String("name"), Type: awsdynamodb.AttributeType_STRING},
		TimeToLiveAttribute: jsii.String("expires"),
		BillingMode:         awsdynamodb.BillingMode_PAY_PER_REQUEST,
		Encryption:          encryption,
		EncryptionKey:       s.Key,
		PointInTimeRecoverySpecification: &awsdynamodb.PointInTimeRecoverySpecification{
			PointInTimeRecoveryEnabled: jsii.Bool(true),
		},
		DeletionProtection: jsii.Bool(!c.Throw),
		RemovalPolicy:      c.removal(),
	})
}

func (s *Storage) newQueue(id string, props *awssqs.QueueProps) awssqs.Queue {
	props.EnforceSSL = jsii.Bool(true)
	props.Encryption = awssqs.QueueEncryption_SQS_MANAGED
	if s.Key != nil {
		props.Encryption, props.EncryptionMasterKey = awssqs.QueueEncryption_KMS, s.Key
	}
	return awssqs.NewQueue(s.Stack, &id, props)
}

func newStack(app constructs.Construct, c Config, name, description string, protected bool) awscdk.Stack {
	stack := awscdk.NewStack(app, jsii.String("tiltyard-"+c.Stage+"-"+name), &awscdk.StackProps{
		Description: &description, TerminationProtection: &protected,
	})
	awscdk.Tags_Of(stack).Add(jsii.String("application"), jsii.String("tiltyard"), nil)
	awscdk.Tags_Of(stack).Add(jsii.String("stage"), &c.Stage, nil)
	return stack
}

func output(stack awscdk.Stack, name, description string, value *string) {
	awscdk.NewCfnOutput(stack, &name, &awscdk.CfnOutputProps{Value: value, Description: &description})
}

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

// Storage is the stack with the state. When it is destroyed, its contents remain, unless configured
// otherwise.
type Storage struct {
	awscdk.Stack
	Bucket      awss3.Bucket      // catalog and tables
	Records     awsdynamodb.Table // transactions, jobs and answers
	Jobs        awssqs.Queue      // messages of jobs
	HeavyJobs   awssqs.Queue      // messages of heavy jobs; nil if functions run all jobs
	DeadLetters awssqs.Queue      // messages that no worker could process; the worker ends their jobs
	Key         awskms.Key        // nil if the services encrypt with their own keys
	SecretsKey  awskms.Key        // encrypts secrets; nil if they are disabled
	Vault       *string           // name of the vault of backups; nil if there are none
	Audit       *string           // name of the stream of audit lines; nil if they stay in the logs

	Logs map[string]awslogs.LogGroup // by function, and for the gateway and the containers
	logs logRoom
}

// jobMinutes bounds the time of a worker for one message: the longest timeout of a Lambda function.
// Longer jobs continue with another message.
const jobMinutes = 15

// NewStorage creates the stack.
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
	s.backUp(c)
	// SQS requires that a queue of a Lambda function hides messages for at least the function's
	// timeout. The worker shortens that to two minutes and extends it while it works.
	visibility := awscdk.Duration_Minutes(jsii.Number(jobMinutes + 1))
	s.DeadLetters = s.newQueue("DeadLetters", &awssqs.QueueProps{
		VisibilityTimeout: visibility,
		RetentionPeriod:   awscdk.Duration_Days(jsii.Number(14)),
	})
	s.Jobs = s.newQueue("Jobs", &awssqs.QueueProps{
		VisibilityTimeout: visibility,
		RetentionPeriod:   awscdk.Duration_Days(jsii.Number(14)),
		// If a job ends the worker's process repeatedly, the worker sets it aside earlier than this.
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

// newBucket creates the bucket. It retains overwritten and deleted objects for a month. Objects of
// a table are never overwritten, so only dropped and cleaned up data takes further space.
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
			// Answers for callers need not be recoverable.
			Prefix:                              jsii.String(result.Folder),
			Expiration:                          awscdk.Duration_Days(jsii.Number(result.Lifetime.Hours() / 24)),
			NoncurrentVersionExpiration:         awscdk.Duration_Days(jsii.Number(1)),
			AbortIncompleteMultipartUploadAfter: awscdk.Duration_Days(jsii.Number(1)),
		}},
		RemovalPolicy: c.removal(),
	})
}

// removal returns what happens to the state when its stack is destroyed.
func (c Config) removal() awscdk.RemovalPolicy {
	if c.Throw {
		return awscdk.RemovalPolicy_DESTROY
	}
	return awscdk.RemovalPolicy_RETAIN
}

// bucketEncryption returns the encryption of buckets, with the key if there is one.
func bucketEncryption(key awskms.Key) (awss3.BucketEncryption, awskms.IKey) {
	if key == nil {
		return awss3.BucketEncryption_S3_MANAGED, nil
	}
	return awss3.BucketEncryption_KMS, key
}

// keyed enables bucket keys, which reduce calls of KMS, if there is a key.
func keyed(key awskms.Key) *bool {
	if key == nil {
		return nil
	}
	return jsii.Bool(true)
}

// newRecords creates the table that shared/storage/record/dynamorecord requires. It uses the older
// resource type, because emulators do not support the newer one, which is for several regions.
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

// newQueue creates an encrypted queue.
func (s *Storage) newQueue(id string, props *awssqs.QueueProps) awssqs.Queue {
	props.EnforceSSL = jsii.Bool(true)
	props.Encryption = awssqs.QueueEncryption_SQS_MANAGED
	if s.Key != nil {
		props.Encryption, props.EncryptionMasterKey = awssqs.QueueEncryption_KMS, s.Key
	}
	return awssqs.NewQueue(s.Stack, &id, props)
}

// newStack creates a tagged stack.
func newStack(app constructs.Construct, c Config, name, description string, protected bool) awscdk.Stack {
	stack := awscdk.NewStack(app, jsii.String("tiltyard-"+c.Stage+"-"+name), &awscdk.StackProps{
		Description: &description, TerminationProtection: &protected,
	})
	awscdk.Tags_Of(stack).Add(jsii.String("application"), jsii.String("tiltyard"), nil)
	awscdk.Tags_Of(stack).Add(jsii.String("stage"), &c.Stage, nil)
	return stack
}

// output adds an output to a stack.
func output(stack awscdk.Stack, name, description string, value *string) {
	awscdk.NewCfnOutput(stack, &name, &awscdk.CfnOutputProps{Value: value, Description: &description})
}

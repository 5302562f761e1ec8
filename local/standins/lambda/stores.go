package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"tiltyard/shared/storage/objectstore/s3store"
	"tiltyard/shared/storage/record/dynamorecord"
)

// stores contains the stores of the functions, which all have one name.
type stores struct {
	name string
	sqs  *sqs.Client
	jobs queue
	dead queue // messages that no worker could process; the worker ends their jobs
}

// A queue is an SQS queue.
type queue struct{ url, arn string }

// mostReceives is the number of deliveries after which a message moves to the dead-letter queue.
// The deployed stacks use the same number.
const mostReceives = 10

// openStores creates the bucket, the table and the queues, unless they exist.
func openStores(ctx context.Context, name string) (*stores, error) {
	if os.Getenv("AWS_ENDPOINT_URL") == "" {
		return nil, errors.New("AWS_ENDPOINT_URL is not set: this is for servers that stand in for AWS")
	}
	cfg, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, fmt.Errorf("configuration of AWS: %w", err)
	}
	bucket := s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = true })
	if err := s3store.CreateBucket(ctx, bucket, name); err != nil {
		return nil, err
	}
	if err := dynamorecord.CreateTable(ctx, dynamodb.NewFromConfig(cfg), name); err != nil {
		return nil, err
	}
	s := &stores{name: name, sqs: sqs.NewFromConfig(cfg)}
	if s.dead, err = s.createQueue(ctx, name+"-dead"); err != nil {
		return nil, err
	}
	if s.jobs, err = s.createQueue(ctx, name); err != nil {
		return nil, err
	}
	policy, err := json.Marshal(map[string]any{"deadLetterTargetArn": s.dead.arn, "maxReceiveCount": mostReceives})
	if err != nil {
		return nil, err
	}
	_, err = s.sqs.SetQueueAttributes(ctx, &sqs.SetQueueAttributesInput{
		QueueUrl: &s.jobs.url, Attributes: map[string]string{string(sqstypes.QueueAttributeNameRedrivePolicy): string(policy)},
	})
	if err != nil {
		return nil, fmt.Errorf("let queue %s give up messages: %w", name, err)
	}
	return s, nil
}

// createQueue creates a queue unless it exists.
func (s *stores) createQueue(ctx context.Context, name string) (queue, error) {
	made, err := s.sqs.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: &name, Attributes: map[string]string{
		string(sqstypes.QueueAttributeNameVisibilityTimeout): fmt.Sprint(int((workerTimeout + time.Minute).Seconds())),
	}})
	if err != nil {
		return queue{}, fmt.Errorf("create queue %s: %w", name, err)
	}
	arn := sqstypes.QueueAttributeNameQueueArn
	found, err := s.sqs.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{
		QueueUrl: made.QueueUrl, AttributeNames: []sqstypes.QueueAttributeName{arn},
	})
	if err != nil {
		return queue{}, fmt.Errorf("look at queue %s: %w", name, err)
	}
	return queue{url: *made.QueueUrl, arn: found.Attributes[string(arn)]}, nil
}

// environment returns the environment of the functions: the environment of this program, and the
// names of the stores.
func (s *stores) environment() []string {
	return append(os.Environ(),
		"TILTYARD_ROOT=s3://"+s.name,
		"TILTYARD_RECORDS=dynamodb://"+s.name,
		"TILTYARD_JOBS="+s.jobs.url,
	)
}

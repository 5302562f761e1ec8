package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	dynamotypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// stores are what the functions share, under one name.
type stores struct {
	name     string
	queue    *sqs.Client
	queueURL string
}

// openStores makes what is missing of the bucket, the table and the queue.
func openStores(ctx context.Context, name string) (*stores, error) {
	if os.Getenv("AWS_ENDPOINT_URL") == "" {
		return nil, errors.New("AWS_ENDPOINT_URL is not set: this is for servers that stand in for AWS")
	}
	cfg, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, fmt.Errorf("configuration of AWS: %w", err)
	}
	bucket := s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = true })
	var taken *s3types.BucketAlreadyOwnedByYou
	if _, err := bucket.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: &name}); err != nil && !errors.As(err, &taken) {
		return nil, fmt.Errorf("create bucket %s: %w", name, err)
	}
	if err := createTable(ctx, dynamodb.NewFromConfig(cfg), name); err != nil {
		return nil, fmt.Errorf("create table %s: %w", name, err)
	}
	s := &stores{name: name, queue: sqs.NewFromConfig(cfg)}
	made, err := s.queue.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: &name, Attributes: map[string]string{
		"VisibilityTimeout": fmt.Sprint(int((workerTimeout + time.Minute).Seconds())),
	}})
	if err != nil {
		return nil, fmt.Errorf("create queue %s: %w", name, err)
	}
	s.queueURL = *made.QueueUrl
	return s, nil
}

// createTable makes the table that package dynamorecord describes, if there is none.
func createTable(ctx context.Context, client *dynamodb.Client, name string) error {
	text := dynamotypes.ScalarAttributeTypeS
	_, err := client.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName: &name, BillingMode: dynamotypes.BillingModePayPerRequest,
		AttributeDefinitions: []dynamotypes.AttributeDefinition{
			{AttributeName: aws.String("folder"), AttributeType: text}, {AttributeName: aws.String("name"), AttributeType: text},
		},
		KeySchema: []dynamotypes.KeySchemaElement{
			{AttributeName: aws.String("folder"), KeyType: dynamotypes.KeyTypeHash},
			{AttributeName: aws.String("name"), KeyType: dynamotypes.KeyTypeRange},
		},
	})
	var taken *dynamotypes.ResourceInUseException
	if errors.As(err, &taken) {
		return nil
	}
	if err != nil {
		return err
	}
	return dynamodb.NewTableExistsWaiter(client).Wait(ctx, &dynamodb.DescribeTableInput{TableName: &name}, time.Minute)
}

// environment is what tells the functions of the stores, after the environment of this
// program.
func (s *stores) environment() []string {
	return append(os.Environ(),
		"TILTYARD_ROOT=s3://"+s.name,
		"TILTYARD_RECORDS=dynamodb://"+s.name,
		"TILTYARD_JOBS="+s.queueURL,
	)
}

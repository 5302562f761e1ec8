package sqsqueue_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"tiltyard/shared/jobs"
	"tiltyard/shared/jobs/queuetest"
	"tiltyard/shared/jobs/sqsqueue"
)

// TILTYARD_TEST_SQS is the endpoint of a server of the protocol, one that anything may be done
// to.
func TestSQSIsAQueue(t *testing.T) {
	endpoint := os.Getenv("TILTYARD_TEST_SQS")
	if endpoint == "" {
		t.Skip("TILTYARD_TEST_SQS names no endpoint: SQS WAS NOT TESTED")
	}
	client := sqs.New(sqs.Options{
		BaseEndpoint: &endpoint, Region: "us-east-1",
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "test", SecretAccessKey: "test"}, nil
		}),
	})
	queuetest.Run(t, queuetest.InRealTime, func(t *testing.T) jobs.Queue {
		name := "jobs-" + strings.ReplaceAll(time.Now().Format("150405.000000000"), ".", "-")
		made, err := client.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: &name})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if _, err := client.DeleteQueue(context.WithoutCancel(t.Context()), &sqs.DeleteQueueInput{QueueUrl: made.QueueUrl}); err != nil {
				t.Errorf("delete the queue: %v", err)
			}
		})
		return sqsqueue.New(client, *made.QueueUrl)
	})
}

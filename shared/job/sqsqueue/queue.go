// Package sqsqueue carries messages of jobs in a queue of SQS, and serves the function that
// such a queue calls with them.
package sqsqueue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"tiltyard/shared/job"
)

// A Queue is a standard queue of SQS.
type Queue struct {
	client *sqs.Client
	url    string
}

var _ job.Queue = (*Queue)(nil)

// Open returns the queue of a URL. It sends nothing.
func Open(client *sqs.Client, url string) *Queue { return &Queue{client: client, url: url} }

// Send implements job.Queue.
func (q *Queue) Send(ctx context.Context, m job.Message, after time.Duration) error {
	body, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("send a message of a job: %w", err)
	}
	_, err = q.client.SendMessage(ctx, &sqs.SendMessageInput{
		QueueUrl: &q.url, MessageBody: aws.String(string(body)), DelaySeconds: seconds(min(after, job.MaxDelay)),
	})
	if err != nil {
		return fmt.Errorf("send a message of a job: %w", err)
	}
	return nil
}

// waitSeconds is how long one request waits for a message. SQS has no more.
const waitSeconds = 20

// Receive implements job.Queue. A message that is none of a job is deleted: it would come
// again and again.
func (q *Queue) Receive(ctx context.Context, hold time.Duration) (job.Delivery, error) {
	for {
		got, err := q.client.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
			QueueUrl: &q.url, MaxNumberOfMessages: 1, WaitTimeSeconds: waitSeconds, VisibilityTimeout: seconds(hold),
		})
		if ended := ctx.Err(); ended != nil {
			return job.Delivery{}, ended // what was received comes again
		}
		if err != nil {
			return job.Delivery{}, fmt.Errorf("receive a message of a job: %w", err)
		}
		if len(got.Messages) == 0 {
			continue
		}
		d := job.Delivery{Receipt: aws.ToString(got.Messages[0].ReceiptHandle)}
		if d.Message, err = job.Parse([]byte(aws.ToString(got.Messages[0].Body))); err == nil {
			return d, nil
		}
		return job.Delivery{}, errors.Join(err, q.Done(ctx, d))
	}
}

// Extend implements job.Queue.
func (q *Queue) Extend(ctx context.Context, d job.Delivery, hold time.Duration) error {
	_, err := q.client.ChangeMessageVisibility(ctx, &sqs.ChangeMessageVisibilityInput{
		QueueUrl: &q.url, ReceiptHandle: &d.Receipt, VisibilityTimeout: seconds(hold),
	})
	if err != nil {
		return fmt.Errorf("hold a message of a job: %w", err)
	}
	return nil
}

// Done implements job.Queue.
func (q *Queue) Done(ctx context.Context, d job.Delivery) error {
	_, err := q.client.DeleteMessage(ctx, &sqs.DeleteMessageInput{QueueUrl: &q.url, ReceiptHandle: &d.Receipt})
	var bad *types.ReceiptHandleIsInvalid
	if err != nil && !errors.As(err, &bad) { // which it is when it was received again meanwhile
		return fmt.Errorf("delete a message of a job: %w", err)
	}
	return nil
}

// seconds rounds up: a message may come later than asked for.
func seconds(d time.Duration) int32 { return int32(math.Ceil(max(d, 0).Seconds())) }

// Package sqsqueue implements [jobs.Queue] with SQS, and the Lambda function that such a queue
// invokes.
package sqsqueue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"golang.org/x/sync/errgroup"

	"tiltyard/shared/jobs"
	"tiltyard/shared/process/backoff"
	"tiltyard/shared/storage/format"
)

// A Queue is a standard SQS queue.
type Queue struct {
	client *sqs.Client
	url    string
}

var _ jobs.Queue = (*Queue)(nil)

// Open is New with a client of its own.
func Open(c aws.Config, url string) jobs.Queue { return New(sqs.NewFromConfig(c), url) }

// New returns the queue with a URL. It sends no request.
func New(client *sqs.Client, url string) *Queue { return &Queue{client: client, url: url} }

const (
	// maxBatch is the limit of SQS for messages in one request.
	maxBatch = 10
	// sendFanOut bounds the parallel requests. A stage may have a thousand parts, and a page of the
	// catalog a thousand tables.
	sendFanOut = 8
	// sendAttempts bounds the attempts for messages that SQS refuses while it accepts others of the
	// same request. The SDK client repeats requests that fail as a whole.
	sendAttempts = 3
)

// Send implements jobs.Queue.
func (q *Queue) Send(ctx context.Context, after time.Duration, messages ...jobs.Message) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(sendFanOut)
	for batch := range slices.Chunk(messages, maxBatch) {
		group.Go(func() error { return q.sendBatch(ctx, after, batch) })
	}
	if err := group.Wait(); err != nil {
		return fmt.Errorf("send messages of jobs: %w", err)
	}
	return nil
}

// sendBatch sends up to maxBatch messages and repeats the refused ones, unless SQS blames the sender.
func (q *Queue) sendBatch(ctx context.Context, after time.Duration, messages []jobs.Message) error {
	for attempt := 0; ; attempt++ {
		refused, err := q.sendOnce(ctx, after, messages)
		if err != nil {
			return err
		}
		if len(refused) == 0 {
			return nil
		}
		var left []jobs.Message
		for _, r := range refused {
			n, err := strconv.Atoi(aws.ToString(r.Id))
			// Another attempt would not help.
			if err != nil || n < 0 || n >= len(messages) || r.SenderFault || attempt+1 == sendAttempts {
				return fmt.Errorf("%d of %d were refused: %s: %s", len(refused), len(messages), aws.ToString(r.Code), aws.ToString(r.Message))
			}
			left = append(left, messages[n])
		}
		if messages = left; backoff.Wait(ctx, 50*time.Millisecond, time.Second, attempt) != nil {
			return ctx.Err()
		}
	}
}

// sendOnce sends one request and returns the messages that SQS refused.
func (q *Queue) sendOnce(ctx context.Context, after time.Duration, messages []jobs.Message) ([]types.BatchResultErrorEntry, error) {
	in := &sqs.SendMessageBatchInput{QueueUrl: &q.url}
	for i, m := range messages {
		body, err := json.Marshal(m)
		if err != nil {
			return nil, err
		}
		in.Entries = append(in.Entries, types.SendMessageBatchRequestEntry{
			Id: aws.String(strconv.Itoa(i)), MessageBody: aws.String(string(body)), DelaySeconds: seconds(min(after, jobs.MaxDelay)),
		})
	}
	out, err := q.client.SendMessageBatch(ctx, in)
	if err != nil {
		return nil, err
	}
	return out.Failed, nil
}

// waitSeconds is the time for which one request waits for a message, the maximum of SQS.
const waitSeconds = 20

// Receive implements jobs.Queue. It deletes a malformed message, which would otherwise be delivered
// again and again. A message from a newer release is delivered again.
func (q *Queue) Receive(ctx context.Context, hold time.Duration) (jobs.Delivery, error) {
	for {
		got, err := q.client.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
			QueueUrl: &q.url, MaxNumberOfMessages: 1, WaitTimeSeconds: waitSeconds, VisibilityTimeout: seconds(hold),
		})
		if ended := ctx.Err(); ended != nil {
			return jobs.Delivery{}, ended // SQS delivers the received message again
		}
		if err != nil {
			return jobs.Delivery{}, fmt.Errorf("receive a message of a job: %w", err)
		}
		if len(got.Messages) == 0 {
			continue
		}
		d := jobs.Delivery{Receipt: aws.ToString(got.Messages[0].ReceiptHandle)}
		if d.Message, err = jobs.Parse([]byte(aws.ToString(got.Messages[0].Body))); err == nil {
			return d, nil
		}
		if format.Newer(err) {
			return jobs.Delivery{}, err
		}
		return jobs.Delivery{}, errors.Join(err, q.Done(ctx, d))
	}
}

// Extend implements jobs.Queue.
func (q *Queue) Extend(ctx context.Context, d jobs.Delivery, hold time.Duration) error {
	_, err := q.client.ChangeMessageVisibility(ctx, &sqs.ChangeMessageVisibilityInput{
		QueueUrl: &q.url, ReceiptHandle: &d.Receipt, VisibilityTimeout: seconds(hold),
	})
	if err != nil {
		return fmt.Errorf("hold a message of a job: %w", err)
	}
	return nil
}

// Done implements jobs.Queue.
func (q *Queue) Done(ctx context.Context, d jobs.Delivery) error {
	_, err := q.client.DeleteMessage(ctx, &sqs.DeleteMessageInput{QueueUrl: &q.url, ReceiptHandle: &d.Receipt})
	var bad *types.ReceiptHandleIsInvalid
	if err != nil && !errors.As(err, &bad) { // a receipt becomes invalid when the message is received again
		return fmt.Errorf("delete a message of a job: %w", err)
	}
	return nil
}

// seconds rounds up, since a message may come late but not early.
func seconds(d time.Duration) int32 { return int32(math.Ceil(max(d, 0).Seconds())) }

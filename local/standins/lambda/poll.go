package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"tiltyard/local/standins/runtimeapi"
)

// workerName is the folder of the function that the queue invokes.
const workerName = "worker"

// workerTimeout is the worker's time for a message. It is shorter than in Lambda, so that long jobs
// have to continue with another message here, too.
const workerTimeout = time.Minute

// poll passes messages of a queue to the worker until the context ends, like an SQS event source:
// it deletes the messages that the worker does not report as failed.
func (s *stores) poll(ctx context.Context, from queue, worker *runtimeapi.Function, log *slog.Logger) {
	for ctx.Err() == nil {
		got, err := s.sqs.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
			QueueUrl: &from.url, MaxNumberOfMessages: 1, WaitTimeSeconds: 5,
			MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll},
		})
		if err == nil && len(got.Messages) > 0 {
			err = s.deliver(ctx, from, worker, got.Messages)
		}
		if err != nil && ctx.Err() == nil {
			log.Error("jobs", "error", err)
			pause(ctx, time.Second)
		}
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// deliver invokes the worker with messages, and deletes the processed ones.
func (s *stores) deliver(ctx context.Context, from queue, worker *runtimeapi.Function, messages []types.Message) error {
	var event events.SQSEvent
	for _, m := range messages {
		event.Records = append(event.Records, events.SQSMessage{
			MessageId: aws.ToString(m.MessageId), ReceiptHandle: aws.ToString(m.ReceiptHandle), Body: aws.ToString(m.Body),
			Attributes: m.Attributes, EventSource: "aws:sqs", EventSourceARN: from.arn,
		})
	}
	payload, err := json.Marshal(event)
	if err != nil {
		return err
	}
	answer, err := worker.Invoke(ctx, payload)
	if err != nil {
		return err // they come again
	}
	var response events.SQSEventResponse
	if err := json.Unmarshal(answer, &response); err != nil {
		return fmt.Errorf("answer of the worker: %w", err)
	}
	failed := map[string]bool{}
	for _, f := range response.BatchItemFailures {
		failed[f.ItemIdentifier] = true
	}
	for _, m := range messages {
		if failed[aws.ToString(m.MessageId)] {
			continue
		}
		if _, err := s.sqs.DeleteMessage(ctx, &sqs.DeleteMessageInput{QueueUrl: &from.url, ReceiptHandle: m.ReceiptHandle}); err != nil {
			return err
		}
	}
	return nil
}

package awstarget

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"tiltyard/shared/events/outbox/forward"
	"tiltyard/shared/protocol/eventapi"
)

// queue is an SQS queue. Each event is a message. In a FIFO queue all events belong to one message group, and SQS drops an
// event that was sent before within five minutes.
type queue struct {
	client *sqs.Client
	at     forward.Address

	mu  sync.Mutex
	url string // "" before the first use
}

// Send implements forward.Target.
func (q *queue) Send(ctx context.Context, events []eventapi.Event) error {
	url, err := q.find(ctx)
	if err != nil {
		return err
	}
	batches, err := forward.Batches(events, maxBatch, maxBytes)
	if err != nil {
		return err
	}
	sent := 0
	for _, batch := range batches {
		in := &sqs.SendMessageBatchInput{QueueUrl: &url}
		for i, text := range batch {
			entry := types.SendMessageBatchRequestEntry{Id: aws.String(strconv.Itoa(i)), MessageBody: aws.String(string(text))}
			if strings.HasSuffix(q.at.Name, ".fifo") {
				sum := sha256.Sum256([]byte(events[sent+i].ID))
				entry.MessageGroupId, entry.MessageDeduplicationId = aws.String("events"), aws.String(hex.EncodeToString(sum[:]))
			}
			in.Entries = append(in.Entries, entry)
		}
		out, err := q.client.SendMessageBatch(ctx, in)
		if err != nil {
			return fmt.Errorf("send events to SQS: %w", err)
		}
		if len(out.Failed) > 0 {
			first := out.Failed[0]
			return fmt.Errorf("send events to SQS: %d of %d were refused: %s: %s", len(out.Failed), len(batch), aws.ToString(first.Code), aws.ToString(first.Message))
		}
		sent += len(batch)
	}
	return nil
}

// find returns the URL of the queue, which it looks up once.
func (q *queue) find(ctx context.Context) (string, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.url == "" {
		found, err := q.client.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: &q.at.Name, QueueOwnerAWSAccountId: &q.at.Account})
		if err != nil {
			return "", fmt.Errorf("find the queue of events: %w", err)
		}
		q.url = aws.ToString(found.QueueUrl)
	}
	return q.url, nil
}

package awstarget

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"

	"tiltyard/shared/events/outbox/forward"
	"tiltyard/shared/protocol/eventapi"
)

// bus is an EventBridge event bus. The event is the detail of an entry, and its type the detail
// type.
type bus struct {
	client *eventbridge.Client
	arn    string
}

// Send implements forward.Target.
func (b *bus) Send(ctx context.Context, events []eventapi.Event) error {
	batches, err := forward.Batches(events, maxBatch, maxBytes)
	if err != nil {
		return err
	}
	sent := 0
	for _, batch := range batches {
		in := new(eventbridge.PutEventsInput)
		for i, text := range batch {
			e := &events[sent+i]
			in.Entries = append(in.Entries, types.PutEventsRequestEntry{
				EventBusName: &b.arn, Source: &e.Source, DetailType: aws.String(string(e.Type)), Time: &e.Time, Detail: aws.String(string(text)),
			})
		}
		out, err := b.client.PutEvents(ctx, in)
		if err != nil {
			return fmt.Errorf("send events to EventBridge: %w", err)
		}
		for _, entry := range out.Entries {
			if entry.ErrorCode != nil {
				return fmt.Errorf("send events to EventBridge: %d of %d were refused: %s: %s", out.FailedEntryCount, len(batch), *entry.ErrorCode, aws.ToString(entry.ErrorMessage))
			}
		}
		sent += len(batch)
	}
	return nil
}

// Package awstarget sends events to SQS and to EventBridge.
package awstarget

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"tiltyard/shared/events/outbox/forward"
	"tiltyard/shared/storage/cloud"
)

const (
	// maxBatch is the maximum number of events per request of both services. maxBytes is below their
	// limits in bytes.
	maxBatch = 10
	maxBytes = 200_000
)

// Open opens the target at an address. load returns the configuration of AWS, and key the key that signs requests to a
// webhook; a target uses one of them. Open sends no request.
func Open(load func() (aws.Config, error), address string, key func(ctx context.Context) ([]byte, error)) (forward.Target, error) {
	at, err := forward.ParseAddress(address)
	if err != nil {
		return nil, err
	}
	if at.Kind == forward.Webhook {
		if key == nil {
			return nil, errors.New("a webhook needs a key")
		}
		return forward.NewWebhook(at, key), nil
	}
	with, err := load()
	if err != nil {
		return nil, fmt.Errorf("target of events: %w", err)
	}
	// The target may be in another region than this program.
	with.Region = at.Region
	return openIn(with, at), nil
}

// openIn opens an AWS target with a configuration.
func openIn(with aws.Config, at forward.Address) forward.Target {
	service := cloud.Service{Name: "EventBridge", What: "the event bus in EventBridge", Attempt: cloud.UsualAttempt}
	if at.Kind == forward.SQS {
		service.Name, service.What = "SQS", "the queue of events in SQS"
		return &queue{client: sqs.NewFromConfig(service.Client(with)), at: at}
	}
	return &bus{client: eventbridge.NewFromConfig(service.Client(with)), arn: at.Text}
}

// Package awstarget sends events to SQS and to EventBridge.
package awstarget

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"tiltyard/shared/event/forward"
)

const (
	// maxBatch is how many events both services take in one request, and maxBytes less than how many bytes.
	maxBatch = 10
	maxBytes = 200_000
)

// Open opens the target at an address. key returns the key that the requests to a webhook are signed with. Open sends
// no request; the credentials are those of the environment.
func Open(address string, key func(ctx context.Context) ([]byte, error)) (forward.Target, error) {
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
	with, err := config.LoadDefaultConfig(context.Background(), config.WithRegion(at.Region))
	if err != nil {
		return nil, fmt.Errorf("target of events: %w", err)
	}
	return openIn(with, at), nil
}

func openIn(with aws.Config, at forward.Address) forward.Target {
	if at.Kind == forward.SQS {
		return &queue{client: sqs.NewFromConfig(with), at: at}
	}
	return &bus{client: eventbridge.NewFromConfig(with), arn: at.Text}
}

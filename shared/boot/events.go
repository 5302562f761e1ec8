package boot

import (
	"context"
	"fmt"
	"os"

	"github.com/aws/aws-sdk-go-v2/aws"

	"tiltyard/shared/events/outbox/forward"
)

// parseEventTarget accepts where events are forwarded to.
func parseEventTarget(text string) (string, error) {
	_, err := forward.ParseAddress(text)
	return text, err
}

// OpenEventTarget opens the target for forwarded events, or returns nil if none is configured. open is awstarget.Open, a
// parameter so that only programs that forward events link the AWS clients. OpenEventTarget reads the key file once to
// report mistakes at once; the key is read again for each use. It sends no request.
func (e *Env) OpenEventTarget(open func(load func() (aws.Config, error), address string, key func(ctx context.Context) ([]byte, error)) (forward.Target, error)) (forward.Target, error) {
	if e.EventTarget == "" {
		return nil, nil
	}
	key := func(context.Context) ([]byte, error) { return os.ReadFile(e.EventKey) }
	var err error
	switch {
	case e.EventKey == "":
	case isBucket(e.EventKey):
		key, err = objectIn(e.EventKey, e.Clients, e.Logger)
	default:
		_, err = key(context.Background())
	}
	if err != nil {
		return nil, fmt.Errorf("event-key: %w", err)
	}
	target, err := open(e.AWS, e.EventTarget, key)
	if err != nil {
		return nil, fmt.Errorf("event-target: %w", err)
	}
	return target, nil
}

package boot

import (
	"context"
	"fmt"
	"os"

	"tiltyard/shared/event/forward"
)

// parseEventTarget accepts where events are forwarded to.
func parseEventTarget(text string) (string, error) {
	_, err := forward.ParseAddress(text)
	return text, err
}

// OpenEventTarget opens what events are forwarded to, nil when that is nothing. open is awstarget.Open: it is passed so
// that only the programs that forward events contain the clients of AWS. It reads a key in a file, so that mistakes are
// reported at once, and again for each use, and sends no request.
func (e *Env) OpenEventTarget(open func(address string, key func(ctx context.Context) ([]byte, error)) (forward.Target, error)) (forward.Target, error) {
	if e.EventTarget == "" {
		return nil, nil
	}
	key := func(context.Context) ([]byte, error) { return os.ReadFile(e.EventKey) }
	var err error
	switch {
	case e.EventKey == "":
	case isBucket(e.EventKey):
		key, err = objectIn(e.EventKey, e.Logger)
	default:
		_, err = key(context.Background())
	}
	if err != nil {
		return nil, fmt.Errorf("event-key: %w", err)
	}
	target, err := open(e.EventTarget, key)
	if err != nil {
		return nil, fmt.Errorf("event-target: %w", err)
	}
	return target, nil
}

package forward

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"tiltyard/shared/engine/udf/executor"
	"tiltyard/shared/process/backoff"
	"tiltyard/shared/protocol/eventapi"
)

// ContentType is the media type of a batch of events.
const ContentType = "application/cloudevents-batch+json"

const (
	maxWebhookEvents = 100
	maxWebhookBytes  = 256 << 10
	webhookTimeout   = 30 * time.Second
	webhookAttempts  = 3
	minKeyBytes      = 16
	maxAnswerBytes   = 64 << 10
)

// webhook is a target that receives POST requests. They are signed in the same way as calls of
// executors.
type webhook struct {
	url    string
	key    func(ctx context.Context) ([]byte, error)
	client *http.Client
}

// NewWebhook returns the target at a URL. key returns the key that signs the requests.
func NewWebhook(address Address, key func(ctx context.Context) ([]byte, error)) Target {
	return &webhook{url: address.Text, key: key, client: &http.Client{
		Timeout:       webhookTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Send implements Target. A status of 200 to 299 means that the webhook has accepted the events of the request.
func (w *webhook) Send(ctx context.Context, events []eventapi.Event) error {
	key, err := w.key(ctx)
	// A key file often ends with a line break.
	if key = bytes.TrimSpace(key); err == nil && len(key) < minKeyBytes {
		err = fmt.Errorf("it has %d bytes, and needs %d", len(key), minKeyBytes)
	}
	if err != nil {
		return fmt.Errorf("key of the webhook: %w", err)
	}
	batches, err := Batches(events, maxWebhookEvents, maxWebhookBytes)
	if err != nil {
		return err
	}
	for _, batch := range batches {
		body, err := json.Marshal(batch)
		if err != nil {
			return err
		}
		if err := w.post(ctx, key, body); err != nil {
			return fmt.Errorf("send %d events to the webhook: %w", len(batch), err)
		}
	}
	return nil
}

// post sends a request, and repeats it a few times if the webhook is busy or unreachable.
func (w *webhook) post(ctx context.Context, key, body []byte) error {
	for attempt := 1; ; attempt++ {
		again, err := w.postOnce(ctx, key, body)
		if err == nil || !again || attempt == webhookAttempts {
			return err
		}
		if err := backoff.Wait(ctx, 100*time.Millisecond, 2*time.Second, attempt); err != nil {
			return err
		}
	}
}

// postOnce sends a request. again reports whether a repetition may succeed.
func (w *webhook) postOnce(ctx context.Context, key, body []byte) (again bool, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url, bytes.NewReader(body))
	if err != nil {
		return false, err
	}
	sum := sha256.Sum256(body)
	now, digest := strconv.FormatInt(time.Now().Unix(), 10), hex.EncodeToString(sum[:])
	req.Header.Set("Content-Type", ContentType)
	req.Header.Set(executor.TimeHeader, now)
	req.Header.Set(executor.DigestHeader, digest)
	req.Header.Set("Authorization", executor.Scheme+" "+executor.Sign(key, req.Method, req.URL.EscapedPath(), now, digest))
	resp, err := w.client.Do(req)
	if err != nil {
		var wrapped *url.Error
		if errors.As(err, &wrapped) {
			err = wrapped.Err // drop the URL from the message, because its path may be a secret
		}
		return true, err
	}
	defer func() { _ = resp.Body.Close() }()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, maxAnswerBytes)) // so that the connection can be reused
	if resp.StatusCode >= 200 && resp.StatusCode < 300 {
		return false, nil
	}
	again = resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode >= 500
	return again, fmt.Errorf("it answered with the status %d", resp.StatusCode)
}

package tracing

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

// A sender collects spans and sends them in batches. It does not retry: spans that the collector does not
// accept are dropped.
type sender struct {
	url     string
	headers map[string]string
	client  *http.Client
	log     *slog.Logger
	about   []property   // of the process
	failed  atomic.Int64 // time of the last failure, in nanoseconds since 1970; 0 after a success

	spans   chan *Span
	flushes chan chan struct{}
	stop    chan struct{}
	stopped chan struct{}
	closed  atomic.Bool
}

const (
	// sendEvery is the maximal wait of a span for others of its batch.
	sendEvery = 2 * time.Second
	// batchSize is the number of spans per request, and queueSize the number of waiting spans; more are
	// dropped. Spans take about 1 KiB each, and up to 10 KiB with the longest texts.
	batchSize, queueSize = 512, 2048
	// sendTimeout is the timeout of a batch.
	sendTimeout = 5 * time.Second
	// failurePause is the time after a failure during which no function waits for the collector.
	failurePause = 30 * time.Second
	// maxReplyBytes bounds the read part of a response, whose content is ignored.
	maxReplyBytes = 64 << 10
)

// startSender starts the goroutine that sends spans. Redirects are not followed, because the headers may
// contain credentials.
func startSender(o Options) *sender {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 1
	s := &sender{
		url: strings.TrimSuffix(o.Collector, "/") + "/v1/traces", headers: o.Headers, log: o.Logger,
		about: []property{{name: "service.name", text: o.Service}, {name: "service.version", text: o.Release}},
		client: &http.Client{
			Transport: transport, Timeout: sendTimeout,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		spans: make(chan *Span, queueSize), flushes: make(chan chan struct{}), stop: make(chan struct{}), stopped: make(chan struct{}),
	}
	if o.Function != "" {
		s.about = append(s.about, property{name: "faas.name", text: o.Function})
	}
	go s.run()
	return s
}

// take queues a span that has ended, or drops it. It never waits.
func (s *sender) take(span *Span) {
	if s.closed.Load() {
		return
	}
	select {
	case s.spans <- span:
	default:
	}
}

// run sends batches until the sender is closed.
func (s *sender) run() {
	defer close(s.stopped)
	tick := time.NewTicker(sendEvery)
	defer tick.Stop()
	var batch []*Span
	for {
		select {
		case span := <-s.spans:
			if batch = append(batch, span); len(batch) < batchSize {
				continue
			}
			s.send(batch)
			batch = nil
		case <-tick.C:
			s.send(batch)
			batch = nil
		case done := <-s.flushes:
			s.sendAll(batch)
			batch = nil
			close(done)
		case <-s.stop:
			s.sendAll(batch)
			s.client.CloseIdleConnections()
			return
		}
	}
}

// sendAll sends a batch and the queued spans. It gives up after a failure.
func (s *sender) sendAll(batch []*Span) {
	for {
		select {
		case span := <-s.spans:
			if batch = append(batch, span); len(batch) < batchSize {
				continue
			}
			if !s.send(batch) {
				return
			}
			batch = nil
		default:
			s.send(batch)
			return
		}
	}
}

// flush sends the spans queued so far, and waits for the result.
func (s *sender) flush(ctx context.Context) error {
	done := make(chan struct{})
	select {
	case s.flushes <- done:
	case <-s.stopped:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *sender) close(ctx context.Context) error {
	if !s.closed.Swap(true) {
		close(s.stop)
	}
	select {
	case <-s.stopped:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// send sends a batch, and reports whether the collector has taken it.
func (s *sender) send(batch []*Span) bool {
	if len(batch) == 0 {
		return true
	}
	if err := s.post(batch); err != nil {
		s.fail(err)
		return false
	}
	if s.failed.Swap(0) != 0 {
		s.log.Info("the collector of traces takes spans again")
	}
	return true
}

// post sends one batch to the collector.
func (s *sender) post(batch []*Span) error {
	body, err := encode(s.about, batch)
	if err != nil {
		return err
	}
	ctx, done := context.WithTimeout(context.Background(), sendTimeout)
	defer done()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	for name, value := range s.headers {
		req.Header.Set(name, value)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := s.client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, maxReplyBytes)) // so that the connection can be used again
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("the collector of traces answered with status %d", resp.StatusCode)
	}
	return nil
}

// fail notes a failure. Only the first of several has a line in the log.
func (s *sender) fail(err error) {
	if s.failed.Swap(time.Now().UnixNano()) != 0 {
		return
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = errors.New("the collector did not answer in time")
	}
	s.log.Warn("spans of traces are dropped", "error", err)
}

// failing reports whether the collector has failed a short time ago, and not worked since then.
func (s *sender) failing() bool {
	at := s.failed.Load()
	return at != 0 && time.Since(time.Unix(0, at)) < failurePause
}

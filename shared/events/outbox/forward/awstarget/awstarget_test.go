package awstarget

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	ebtypes "github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"tiltyard/shared/events/outbox/forward"
	"tiltyard/shared/protocol/eventapi"
)

// served returns how the server at TILTYARD_TEST_SQS is reached, which also has event buses; anything may be done to
// it.
func served(t *testing.T) aws.Config {
	t.Helper()
	endpoint := os.Getenv("TILTYARD_TEST_SQS")
	if endpoint == "" {
		t.Skip("TILTYARD_TEST_SQS names no endpoint: SQS AND EVENTBRIDGE WERE NOT TESTED")
	}
	return aws.Config{BaseEndpoint: &endpoint, Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("test", "test", "")}
}

// newQueue makes a queue and returns its URL and its address.
func newQueue(t *testing.T, client *sqs.Client, suffix string, attributes map[string]string) (string, forward.Address) {
	t.Helper()
	name := "events-" + strings.ToLower(rand.Text()) + suffix
	made, err := client.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: &name, Attributes: attributes})
	if err != nil {
		t.Fatal(err)
	}
	got, err := client.GetQueueAttributes(t.Context(), &sqs.GetQueueAttributesInput{QueueUrl: made.QueueUrl, AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameQueueArn}})
	if err != nil {
		t.Fatal(err)
	}
	at, err := forward.ParseAddress(got.Attributes["QueueArn"])
	if err != nil {
		t.Fatal(err)
	}
	return *made.QueueUrl, at
}

// receive returns the bodies of as many messages as are wanted.
func receive(t *testing.T, client *sqs.Client, url string, want int) (bodies []string) {
	t.Helper()
	for try := 0; len(bodies) < want && try < 20; try++ {
		got, err := client.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: &url, MaxNumberOfMessages: 10, WaitTimeSeconds: 1})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range got.Messages {
			bodies = append(bodies, *m.Body)
			if _, err := client.DeleteMessage(t.Context(), &sqs.DeleteMessageInput{QueueUrl: &url, ReceiptHandle: m.ReceiptHandle}); err != nil {
				t.Fatal(err)
			}
		}
	}
	return bodies
}

// some returns events, of which one is nearly as large as a request may be.
func some(n int) (events []eventapi.Event) {
	for i := range n {
		e := eventapi.Event{
			SpecVersion: "1.0", ID: fmt.Sprintf("uid/version/%d", i), Source: "urn:test", Type: eventapi.TableCommitted, Subject: "ns$t",
			Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Data: eventapi.Data{ID: []string{"ns", "t"}, Version: int64(i)},
		}
		if i == 3 {
			e.Data.Message = strings.Repeat("m", 150_000)
		}
		events = append(events, e)
	}
	return events
}

// checkIDs checks that bodies are those of events, in any order.
func checkIDs(t *testing.T, bodies []string, events []eventapi.Event) {
	t.Helper()
	var got, want []string
	for _, body := range bodies {
		var e eventapi.Event
		if err := json.Unmarshal([]byte(body), &e); err != nil {
			t.Fatal(err)
		}
		got = append(got, e.ID)
	}
	for _, e := range events {
		want = append(want, e.ID)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestQueueGetsEachEvent(t *testing.T) {
	with := served(t)
	client := sqs.NewFromConfig(with)
	url, at := newQueue(t, client, "", nil)
	events := some(25)
	if err := openIn(with, at).Send(t.Context(), events); err != nil {
		t.Fatal(err)
	}
	checkIDs(t, receive(t, client, url, len(events)), events)
}

// A FIFO queue keeps the order, and leaves out what comes again.
func TestFIFOQueueGetsEachEventOnce(t *testing.T) {
	with := served(t)
	client := sqs.NewFromConfig(with)
	url, at := newQueue(t, client, ".fifo", map[string]string{"FifoQueue": "true"})
	events := some(15)
	target := openIn(with, at)
	for range 2 {
		if err := target.Send(t.Context(), events); err != nil {
			t.Fatal(err)
		}
	}
	checkIDs(t, receive(t, client, url, len(events)+1), events)
}

func TestBusGetsEachEvent(t *testing.T) {
	with := served(t)
	queues, buses := sqs.NewFromConfig(with), eventbridge.NewFromConfig(with)
	url, queueAt := newQueue(t, queues, "", nil)
	name := "events-" + strings.ToLower(rand.Text())
	_, err := buses.CreateEventBus(t.Context(), &eventbridge.CreateEventBusInput{Name: &name})
	if taken := new(ebtypes.ResourceAlreadyExistsException); err != nil && !errors.As(err, &taken) { // by a try whose answer was lost
		t.Fatal(err)
	}
	made, err := buses.DescribeEventBus(t.Context(), &eventbridge.DescribeEventBusInput{Name: &name})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := buses.PutRule(t.Context(), &eventbridge.PutRuleInput{
		Name: &name, EventBusName: &name, EventPattern: aws.String(`{"source":["urn:test"],"detail-type":["tiltyard.table.committed"]}`),
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := buses.PutTargets(t.Context(), &eventbridge.PutTargetsInput{
		Rule: &name, EventBusName: &name, Targets: []ebtypes.Target{{Id: aws.String("queue"), Arn: &queueAt.Text}},
	}); err != nil {
		t.Fatal(err)
	}
	at, err := forward.ParseAddress(*made.Arn)
	if err != nil {
		t.Fatal(err)
	}
	events := some(12)
	if err := openIn(with, at).Send(t.Context(), events); err != nil {
		t.Fatal(err)
	}
	var details []string
	for _, body := range receive(t, queues, url, len(events)) {
		var wrapped struct {
			Detail json.RawMessage
		}
		if err := json.Unmarshal([]byte(body), &wrapped); err != nil {
			t.Fatal(err)
		}
		details = append(details, string(wrapped.Detail))
	}
	checkIDs(t, details, events)
}

// What is not there is an error, and an event is not lost by it.
func TestTargetsThatAreMissing(t *testing.T) {
	with := served(t)
	for _, arn := range []string{"arn:aws:sqs:us-east-1:000000000000:no-such-queue"} {
		at, err := forward.ParseAddress(arn)
		if err != nil {
			t.Fatal(err)
		}
		if err := openIn(with, at).Send(t.Context(), some(1)); err == nil {
			t.Errorf("%s takes events", arn)
		}
	}
}

func TestOpen(t *testing.T) {
	key := func(context.Context) ([]byte, error) { return []byte("a key of the test"), nil }
	load := func() (aws.Config, error) { return aws.Config{}, nil }
	for address, ok := range map[string]bool{
		"arn:aws:sqs:us-east-1:000000000000:queue": true, "arn:aws:events:us-east-1:000000000000:event-bus/bus": true,
		"https://example.com/hook": true, "nowhere": false,
	} {
		if target, err := Open(load, address, key); (err == nil) != ok || (target != nil) != ok {
			t.Errorf("%s: got %v, %v", address, target, err)
		}
	}
	if _, err := Open(load, "https://example.com/hook", nil); err == nil {
		t.Error("a webhook without a key is opened")
	}
}

package sqsqueue

import (
	"context"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"

	"tiltyard/shared/jobs"
	"tiltyard/shared/storage/format"
)

// Serve runs a Lambda function that SQS queues invoke. It does not return. url is the queue to
// which the worker sends; messages from any other queue come from its dead-letter queue. The event
// sources must set ReportBatchItemFailures, so that Serve can report which messages failed. SQS
// requires a visibility timeout of at least the function's timeout; the worker shortens it to its
// heartbeat.
func Serve(w *jobs.Worker, url string) { lambda.Start(Handler(w, url)) }

// lastCall is the time that the function reserves before its deadline. enoughToTry is the remaining
// time that it needs to start another message.
const (
	lastCall    = 5 * time.Second
	enoughToTry = 60 * time.Second
)

// Handler returns the handler that Serve runs.
func Handler(w *jobs.Worker, url string) func(context.Context, events.SQSEvent) (events.SQSEventResponse, error) {
	// The name of the queue ends its URL as well as its ARN.
	ours := url[strings.LastIndexByte(url, '/')+1:]
	return func(ctx context.Context, event events.SQSEvent) (events.SQSEventResponse, error) {
		if end, ok := ctx.Deadline(); ok {
			var done context.CancelFunc
			ctx, done = context.WithDeadline(ctx, end.Add(-lastCall))
			defer done()
		}
		// Lambda freezes the process after the answer, so send the spans before.
		defer w.Traces.Rest(ctx)
		var answer events.SQSEventResponse
		for i, record := range event.Records {
			do := func(ctx context.Context, d jobs.Delivery) error { return w.DoHeld(ctx, w.Queue, d) }
			// The message comes from the dead-letter queue.
			if source := record.EventSourceARN; source[strings.LastIndexByte(source, ':')+1:] != ours {
				do = func(ctx context.Context, d jobs.Delivery) error { return w.Bury(ctx, d.Message) }
			}
			if !handle(ctx, w, record, i == 0, do) {
				answer.BatchItemFailures = append(answer.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: record.MessageId})
			}
		}
		return answer, nil
	}
}

// handle reports whether a message is done. A malformed message is done at once, because no
// delivery could succeed. A message from a newer release waits for a worker of that release.
func handle(ctx context.Context, w *jobs.Worker, record events.SQSMessage, first bool, do func(context.Context, jobs.Delivery) error) bool {
	m, err := jobs.Parse([]byte(record.Body))
	if format.Newer(err) {
		w.Logger.Warn("a message of a job will be delivered again", "message", record.MessageId, "error", err)
		return false
	}
	if err != nil {
		w.Logger.Error("a message is not of a job", "message", record.MessageId, "error", err)
		return true
	}
	if end, ok := ctx.Deadline(); ok && !first && time.Until(end) < enoughToTry {
		return false
	}
	if err := do(ctx, jobs.Delivery{Message: m, Receipt: record.ReceiptHandle}); err != nil {
		w.Logger.Warn("a message of a job will be delivered again", "job", m.Job, "kind", m.Kind, "error", err)
		return false
	}
	return true
}

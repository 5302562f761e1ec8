package sqsqueue

import (
	"context"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"

	"tiltyard/shared/job"
)

// Serve answers the events of a function that queues of SQS call, and does not return. One of
// them is that of the URL, which the worker sends to; what another one brings are messages that
// the first has given up. The event sources must let the function report which messages of a
// batch have failed (ReportBatchItemFailures). SQS wants them to hide messages for as long as the
// function may run; the worker shortens that to what it takes to say that it lives.
func Serve(w *job.Worker, url string) { lambda.Start(Handler(w, url)) }

// lastCall is how long before the end of the function's time it stops to work, and how much
// time there must be for another message.
const (
	lastCall    = 5 * time.Second
	enoughToTry = 60 * time.Second
)

// Handler is what Serve answers with.
func Handler(w *job.Worker, url string) func(context.Context, events.SQSEvent) (events.SQSEventResponse, error) {
	ours := url[strings.LastIndexByte(url, '/')+1:]
	return func(ctx context.Context, event events.SQSEvent) (events.SQSEventResponse, error) {
		if end, ok := ctx.Deadline(); ok {
			var done context.CancelFunc
			ctx, done = context.WithDeadline(ctx, end.Add(-lastCall))
			defer done()
		}
		var answer events.SQSEventResponse
		for i, record := range event.Records {
			do := w.DoHeld
			if source := record.EventSourceARN; source[strings.LastIndexByte(source, ':')+1:] != ours {
				do = func(ctx context.Context, d job.Delivery) error { return w.Bury(ctx, d.Message) }
			}
			if !handle(ctx, w, record, i == 0, do) {
				answer.BatchItemFailures = append(answer.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: record.MessageId})
			}
		}
		return answer, nil
	}
}

// handle says whether a message is done with. What is none of a job never comes to anything.
func handle(ctx context.Context, w *job.Worker, record events.SQSMessage, first bool, do func(context.Context, job.Delivery) error) bool {
	m, err := job.Parse([]byte(record.Body))
	if err != nil {
		w.Logger.Error("a message is none of a job", "message", record.MessageId, "error", err)
		return true
	}
	if end, ok := ctx.Deadline(); ok && !first && time.Until(end) < enoughToTry {
		return false
	}
	if err := do(ctx, job.Delivery{Message: m, Receipt: record.ReceiptHandle}); err != nil {
		w.Logger.Warn("a message of a job will come again", "job", m.Job, "kind", m.Kind, "error", err)
		return false
	}
	return true
}

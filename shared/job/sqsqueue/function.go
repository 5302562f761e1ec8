package sqsqueue

import (
	"context"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"

	"tiltyard/shared/job"
)

// Serve answers the events of a function that a queue of SQS calls, and does not return. The
// event source must let the function report which messages of a batch have failed
// (ReportBatchItemFailures), and hide messages for longer than the function may run.
func Serve(w *job.Worker) { lambda.Start(Handler(w)) }

// lastCall is how long before the end of the function's time it stops to work, and how much
// time there must be for another message.
const (
	lastCall    = 5 * time.Second
	enoughToTry = 60 * time.Second
)

// Handler is what Serve answers with.
func Handler(w *job.Worker) func(context.Context, events.SQSEvent) (events.SQSEventResponse, error) {
	return func(ctx context.Context, event events.SQSEvent) (events.SQSEventResponse, error) {
		if end, ok := ctx.Deadline(); ok {
			var done context.CancelFunc
			ctx, done = context.WithDeadline(ctx, end.Add(-lastCall))
			defer done()
		}
		var answer events.SQSEventResponse
		for i, record := range event.Records {
			if !handle(ctx, w, record, i == 0) {
				answer.BatchItemFailures = append(answer.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: record.MessageId})
			}
		}
		return answer, nil
	}
}

// handle says whether a message is done with. What is none of a job never comes to anything.
func handle(ctx context.Context, w *job.Worker, record events.SQSMessage, first bool) bool {
	m, err := job.Parse([]byte(record.Body))
	if err != nil {
		w.Logger.Error("a message is none of a job", "message", record.MessageId, "error", err)
		return true
	}
	if end, ok := ctx.Deadline(); ok && !first && time.Until(end) < enoughToTry {
		return false
	}
	if err := w.Do(ctx, m); err != nil {
		w.Logger.Warn("a message of a job will come again", "job", m.Job, "kind", m.Kind, "error", err)
		return false
	}
	return true
}

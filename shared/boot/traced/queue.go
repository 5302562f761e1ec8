package traced

import (
	"context"
	"time"

	"tiltyard/shared/jobs"
	"tiltyard/shared/process/tracing"
)

// Queue returns a queue that makes a span for each call of Send.
func Queue(q jobs.Queue) jobs.Queue { return queue{q} }

// A queue makes spans for sent messages.
type queue struct{ jobs.Queue }

func (q queue) Send(ctx context.Context, after time.Duration, messages ...jobs.Message) error {
	ctx, span := tracing.Start(ctx, "queue send", tracing.Sender)
	defer span.End()
	span.Number("queue.messages", int64(len(messages)))
	err := q.Queue.Send(ctx, after, messages...)
	if err != nil {
		span.Fail(why(err))
	}
	return err
}

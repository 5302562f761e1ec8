package traced

import (
	"context"
	"time"

	"tiltyard/shared/job"
	"tiltyard/shared/tracing"
)

// Queue returns a queue that makes a span whenever messages are sent to q.
func Queue(q job.Queue) job.Queue { return queue{q} }

type queue struct{ job.Queue }

func (q queue) Send(ctx context.Context, after time.Duration, messages ...job.Message) error {
	ctx, span := tracing.Start(ctx, "queue send", tracing.Sender)
	defer span.End()
	span.Number("queue.messages", int64(len(messages)))
	err := q.Queue.Send(ctx, after, messages...)
	if err != nil {
		span.Fail(why(err))
	}
	return err
}

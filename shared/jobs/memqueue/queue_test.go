package memqueue_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"tiltyard/shared/jobs"
	"tiltyard/shared/jobs/memqueue"
	"tiltyard/shared/jobs/queuetest"
)

func TestMemoryIsAQueue(t *testing.T) {
	queuetest.Run(t, synctest.Test, func(*testing.T) jobs.Queue { return new(memqueue.Queue) })
}

func TestQueueHoldsAMessageOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q memqueue.Queue
		m := jobs.Message{Kind: "k", Object: []string{"t"}}
		for _, after := range []time.Duration{time.Minute, 0, 0, time.Minute} {
			if err := q.Send(t.Context(), after, m); err != nil {
				t.Fatal(err)
			}
		}
		count := 0
		for {
			ctx, done := context.WithTimeout(t.Context(), 2*time.Minute)
			d, err := q.Receive(ctx, time.Hour)
			done()
			if err != nil {
				break
			}
			if err := q.Done(t.Context(), d); err != nil {
				t.Fatal(err)
			}
			count++
		}
		if count != 2 { // the first, as the second was to come sooner
			t.Errorf("received %d messages, want 2", count)
		}
	})
}

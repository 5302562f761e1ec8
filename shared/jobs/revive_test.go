package jobs_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tiltyard/shared/jobs"
	"tiltyard/shared/jobs/memqueue"
	"tiltyard/shared/jobs/transaction"
	"tiltyard/shared/protocol/transactionapi"
	"tiltyard/shared/storage/objectstore/memstore"
)

// losing loses the messages of some jobs, and notes the jobs of the others.
type losing struct {
	*memqueue.Queue
	lost func(id string) bool
	sent []string
}

func (l *losing) Send(ctx context.Context, after time.Duration, messages ...jobs.Message) error {
	for _, m := range messages {
		if l.lost(m.Job) {
			return errors.New("the queue is out of order")
		}
		l.sent = append(l.sent, m.Job)
	}
	return l.Queue.Send(ctx, after, messages...)
}

// The clock sends for lost messages of young jobs often, and of all jobs now and then. A job that it cannot
// send for keeps no other waiting.
func TestClockSendsForLostMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := func(string) bool { return true }
		queue := &losing{Queue: new(memqueue.Queue), lost: all}
		h := newHouse(memstore.New(), queue, count(func(int) {}))
		begin := func() string {
			_, err := h.Begin(t.Context(), "k", []string{"t"}, 1)
			if err == nil {
				t.Fatal("the queue is not out of order")
			}
			jobs, _, err := h.Transactions.Jobs(t.Context(), "", 1)
			if err != nil {
				t.Fatal(err)
			}
			return jobs[0].ID
		}
		old := begin()
		time.Sleep(30 * time.Hour)
		first := begin()
		time.Sleep(time.Second)
		second := begin()
		time.Sleep(time.Second)
		broken := begin()

		clock := func(kind string) (sent []string, err error) {
			queue.sent = nil
			err = h.Do(t.Context(), jobs.Message{Kind: kind})
			return queue.sent, err
		}
		queue.lost = func(id string) bool { return id == broken }
		if sent, err := clock(jobs.ReviveKind); err != nil || len(sent) > 0 {
			t.Errorf("sent for %v before a message can be lost, %v", sent, err)
		}
		time.Sleep(transaction.Slack)
		sent, err := clock(jobs.ReviveKind)
		if err == nil || !strings.Contains(err.Error(), broken) || strings.Join(sent, " ") != second+" "+first {
			t.Errorf("sent for %v with %v, want both young jobs, and an error about %s", sent, err, broken)
		}
		if sent, err := clock(jobs.ReviveAllKind); err != nil || strings.Join(sent, " ") != old {
			t.Errorf("sent for %v with %v, want the old job alone, as the others were sent for now", sent, err)
		}
		wantEnd(t, h.serve(t, old), transactionapi.Succeeded, "1")
	})
}

// The failure of a job whose message is given up has the reason that its last worker had.
func TestBuryKeepsTheReasonOfTheLastWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(memstore.New(), new(memqueue.Queue), count(func(int) {}))
		begun, err := h.Begin(t.Context(), "unheard-of", []string{"t"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		m := jobs.Message{Job: begun.ID}
		if err := h.Do(t.Context(), m); err == nil {
			t.Fatal("a worker did what it does not know")
		}
		if err := h.Bury(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		got, err := h.Transactions.Job(t.Context(), transaction.Unit{Job: begun.ID})
		const why = `because: the worker does not run jobs of kind "unheard-of"; it is set aside`
		if err != nil || got.Status != transactionapi.Failed || !strings.Contains(got.Failure, why) {
			t.Errorf("the job is %v with %q, %v; want it failed with %q", got.Status, got.Failure, err, why)
		}
	})
}

package sweep_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tiltyard/shared/catalog/keys"
	"tiltyard/shared/jobs"
	"tiltyard/shared/jobs/memqueue"
	"tiltyard/shared/protocol/transactionapi"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/faultstore"
	"tiltyard/shared/storage/objectstore/memstore"
	"tiltyard/shared/storage/record/objectrecord"
	"tiltyard/shared/tables"
	"tiltyard/shared/work/maintain"
	"tiltyard/shared/work/sweep"
)

// counting takes the messages of polls out of a queue, and counts them and what they are sent in.
type counting struct {
	*memqueue.Queue
	polls map[string]int // by table
	sends int
	left  int // sends until the queue is out of order; negative: never
}

func (c *counting) Send(ctx context.Context, after time.Duration, messages ...jobs.Message) error {
	if messages[0].Kind != tables.MaintainKind {
		return c.Queue.Send(ctx, after, messages...)
	}
	if c.left == 0 {
		return errors.New("the queue is out of order")
	}
	c.left--
	c.sends++
	for _, m := range messages {
		c.polls[keys.Display(m.Object)]++
	}
	return nil
}

// A poll of all tables goes on behind the page that it has sent the messages of, whatever happened to its worker,
// and lists no page again.
func TestSweepOfAllTablesGoesOnWhereItWas(t *testing.T) {
	const all, page = 2300, 1000
	synctest.Test(t, func(t *testing.T) {
		lists := 0
		store := faultstore.New(memstore.New(), func(c faultstore.Call) faultstore.Fault {
			if c.Kind == faultstore.List && strings.HasPrefix(c.Key, keys.Records) {
				lists++
			}
			return faultstore.Fault{}
		})
		roots, err := objectstore.NewRoots(objectstore.Root{URI: "memory://test", Store: store})
		if err != nil {
			t.Fatal(err)
		}
		queue := &counting{Queue: new(memqueue.Queue), polls: map[string]int{}, left: -1}
		records := objectrecord.Open(memstore.New(), time.Now)
		on := tables.Open(tables.Stores{Objects: roots, Records: records, Now: time.Now, Queue: queue, Maintain: true})
		for n := range all {
			id := []string{fmt.Sprintf("t%04d", n)}
			if _, err := on.Names.CreateTable(t.Context(), id, on.Names.Places.New(id), 1, nil); err != nil {
				t.Fatal(err)
			}
		}
		names := 0
		worker := &jobs.Worker{
			Starter: *on.Jobs, Now: time.Now, Logger: slog.New(slog.DiscardHandler),
			Name: func() string { names++; return fmt.Sprint(names) },
			Kinds: map[string]jobs.Kind{
				sweep.TablesKind: sweep.Tables(&maintain.Keeper{Tables: on, Records: records, Now: time.Now}),
			},
		}
		serve := func(d time.Duration) {
			ctx, stop := context.WithTimeout(t.Context(), d)
			defer stop()
			worker.Serve(ctx, 1)
		}

		lists, queue.left = 0, 1
		if err := on.Jobs.Suggest(t.Context(), sweep.TablesKind, nil, 0); err != nil {
			t.Fatal(err)
		}
		serve(time.Second) // until the queue is out of order, on the second page
		swept := lists - 2
		if queue.sends != 1 || len(queue.polls) != page {
			t.Errorf("%d polls were sent for in %d pages, want one page of %d", len(queue.polls), queue.sends, page)
		}
		queue.left = -1
		serve(time.Minute)
		jobs, _, err := on.Transactions.Jobs(t.Context(), "", 10)
		if err != nil || len(jobs) != 1 {
			t.Fatalf("%d jobs, %v", len(jobs), err)
		}
		if got := jobs[0]; got.Status != transactionapi.Succeeded || string(got.Result) != `{"looks":2300}` {
			t.Errorf("the job is %v (%s) with %s", got.Status, got.Failure, got.Result)
		}
		if len(queue.polls) != all || queue.sends != 3 || lists-swept != 4 {
			t.Errorf("%d polls in %d pages with %d lists, want %d in 3 with 4", len(queue.polls), queue.sends, lists-swept, all)
		}
		for table, polls := range queue.polls {
			if polls != 1 {
				t.Errorf("%d polls of %s", polls, table)
			}
		}
	})
}

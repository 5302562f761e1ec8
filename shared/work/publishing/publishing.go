// Package publishing runs the jobs that announce changes in the catalog and in tables (package changefeed). A poll after a
// change announces it within seconds. A scheduled job visits all tables and namespaces, and announces changes whose
// message was lost, or that another program made by writing to a table directly.
package publishing

import (
	"context"

	"golang.org/x/sync/errgroup"

	"tiltyard/shared/catalog/lists"
	"tiltyard/shared/events/changefeed"
	"tiltyard/shared/jobs"
)

// kinds implements the kinds of an announcer.
type kinds struct{ *changefeed.Announcer }

// Kinds returns the kinds of jobs and polls, or none if events are disabled.
func Kinds(announcer *changefeed.Announcer) map[string]jobs.Kind {
	if announcer == nil {
		return nil
	}
	a := kinds{announcer}
	return map[string]jobs.Kind{
		changefeed.TableKind:     a.poll(a.Table),
		changefeed.BranchKind:    a.poll(a.branch),
		changefeed.NamespaceKind: a.poll(a.Namespace),
		changefeed.LeftKind:      a.poll(a.left),
		changefeed.JobKind:       a.poll(a.job),
		changefeed.ForwardKind:   {Poll: a.forward},
		changefeed.AllKind:       {Poll: always, Stages: []jobs.Stage{{Name: "announce", Do: a.all}}},
	}
}

// poll returns a kind whose polls do all the work, so that they never begin a job.
func (a kinds) poll(do func(ctx context.Context, object []string) error) jobs.Kind {
	return jobs.Kind{Poll: func(ctx context.Context, object []string) (*jobs.Trigger, error) {
		if len(object) == 0 {
			return nil, nil
		}
		defer a.ForwardSoon(ctx)
		return nil, do(ctx, object)
	}}
}

// maxPages bounds the pages of events that one poll forwards.
const maxPages = 100

// forward sends events to the target until it has them all, or schedules a retry.
func (a kinds) forward(ctx context.Context, _ []string) (*jobs.Trigger, error) {
	if a.Forwarder == nil {
		return nil, nil
	}
	for range maxPages {
		more, retry, err := a.Forwarder.Forward(ctx)
		switch {
		case err != nil:
			return nil, err
		case retry > 0:
			a.ForwardAfter(ctx, retry)
			return nil, nil
		case !more:
			return nil, nil
		}
	}
	a.ForwardAfter(ctx, 0)
	return nil, nil
}

// always begins a job for each message of the schedule.
func always(_ context.Context, object []string) (*jobs.Trigger, error) {
	if len(object) > 0 {
		return nil, nil
	}
	return &jobs.Trigger{Input: struct{}{}}, nil
}

func (a kinds) left(ctx context.Context, lineage []string) error { return a.Left(ctx, lineage[0]) }

func (a kinds) job(ctx context.Context, id []string) error { return a.Job(ctx, id[0]) }

func (a kinds) branch(ctx context.Context, of []string) error {
	last := len(of) - 1
	return a.Branch(ctx, of[:last], of[last])
}

// A state is the position of a job.
type state struct {
	Step  int    `json:"step"`
	After string `json:"after"` // end of the last page of the step; "" before the first
	Count int64  `json:"looked_at"`
}

// atOnce bounds the objects that a job processes in parallel.
const atOnce = 8

// all runs the steps of a job, page by page.
func (a kinds) all(ctx context.Context, r *jobs.Run) (any, error) {
	var at state
	if err := r.State(&at); err != nil {
		return nil, err
	}
	steps := []func(ctx context.Context, after string) (count int, next string, err error){
		a.page(a.every(lists.Tables), a.Family),
		a.page(a.every(lists.Namespaces), a.Namespace),
		a.page(single(a.Leaving), a.left),
		a.page(single(a.Vanished), a.left),
		a.page(single(a.EndedJobs), a.job),
		a.suggestForward,
		a.expire,
	}
	for at.Step < len(steps) {
		count, next, err := steps[at.Step](ctx, at.After)
		if err != nil {
			return nil, err
		}
		at.After, at.Count = next, at.Count+int64(count)
		// The step is complete, and the next one starts with its first page.
		if next == "" {
			at.Step++
		}
		r.Progress(jobs.Progress{Done: at.Count})
		if err := r.Checkpoint(ctx, at); err != nil {
			return nil, err
		}
	}
	return struct {
		Count int64 `json:"looked_at"`
	}{at.Count}, nil
}

// every returns a function that lists all named objects of a kind.
func (a kinds) every(kind lists.Kind) func(ctx context.Context, after string) (ids [][]string, next string, err error) {
	return func(ctx context.Context, after string) ([][]string, string, error) {
		return a.Names.Lists.After(ctx, kind, after)
	}
}

// page returns a step that calls one for each object on a page. It continues after an object that cannot be read.
func (a kinds) page(list func(ctx context.Context, after string) ([][]string, string, error), one func(context.Context, []string) error) func(context.Context, string) (int, string, error) {
	return func(ctx context.Context, after string) (int, string, error) {
		objects, next, err := list(ctx, after)
		if err != nil {
			return 0, "", err
		}
		group, ctx := errgroup.WithContext(ctx)
		group.SetLimit(atOnce)
		for _, object := range objects {
			group.Go(func() error {
				err := one(ctx, object)
				if err != nil && ctx.Err() == nil {
					a.Logger.Warn("could not announce the changes of an object", "object", object, "error", err)
					return nil
				}
				return err
			})
		}
		return len(objects), next, group.Wait()
	}
}

// single adapts a list of names to a list of objects with one name each.
func single(list func(ctx context.Context, after string) ([]string, string, error)) func(context.Context, string) ([][]string, string, error) {
	return func(ctx context.Context, after string) (objects [][]string, next string, err error) {
		found, next, err := list(ctx, after)
		for _, name := range found {
			objects = append(objects, []string{name})
		}
		return objects, next, err
	}
}

// suggestForward is a separate step, so that waiting events are forwarded even without a preceding
// poll.
func (a kinds) suggestForward(ctx context.Context, _ string) (count int, next string, err error) {
	a.ForwardSoon(ctx)
	return 0, "", nil
}

// expire deletes a page of old events.
func (a kinds) expire(ctx context.Context, _ string) (deleted int, next string, err error) {
	const pageSize = 500
	deleted, err = a.Outbox.Expire(ctx, a.Keep, pageSize)
	if deleted == pageSize {
		next = "more"
	}
	return deleted, next, err
}

// Package dropping drops namespaces with all that they hold, by jobs: a cascade of many tables
// takes longer than a request may.
package dropping

import (
	"context"
	"errors"

	"tiltyard/shared/catalog"
	"tiltyard/shared/job"
	"tiltyard/shared/protocol"
	"tiltyard/shared/transaction"
)

// Kind is the kind of jobs that drop a namespace with all that it holds.
const Kind = "drop_namespace"

// An Order is what such a job is begun with.
type Order struct {
	UID string `json:"uid"` // the one that was meant; there may be another of its name later
}

// result is what such a job comes to.
type result struct {
	Dropped int `json:"dropped"` // tables and namespaces
}

// Drop returns what jobs of [Kind] do. A run goes on with what is left.
func Drop(names *catalog.Catalog) job.Kind {
	return job.Single("drop", func(ctx context.Context, r *job.Run) (any, error) {
		var order Order
		var before result
		if err := errors.Join(r.Input(&order), r.State(&before)); err != nil {
			return nil, err
		}
		cascade, err := names.BeginCascade(ctx, r.Object(), order.UID, r.ID())
		if protocol.CodeOf(err) == protocol.NamespaceNotFound {
			return before, nil // by an earlier run, or by somebody else
		}
		if err != nil {
			return nil, err
		}
		now := before
		err = cascade.Run(ctx, func(dropped int) error {
			now.Dropped = before.Dropped + dropped
			r.Progress(job.Progress{Done: int64(now.Dropped)})
			return r.Checkpoint(ctx, now)
		})
		if errors.Is(err, transaction.ErrEnded) || errors.Is(context.Cause(ctx), transaction.ErrEnded) {
			err = errors.Join(err, cascade.Release(context.WithoutCancel(ctx)))
		}
		now.Dropped++ // the namespace itself
		return now, err
	})
}

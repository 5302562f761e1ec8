// Package dropping drops namespaces with their content. It does so in jobs, because dropping many
// tables takes longer than a request may.
package dropping

import (
	"context"
	"errors"

	"tiltyard/shared/catalog"
	"tiltyard/shared/jobs"
	"tiltyard/shared/jobs/transaction"
	"tiltyard/shared/protocol"
	"tiltyard/shared/storage/objectstore"
)

// Kind is the kind of jobs that drop a namespace with its content.
const Kind = "drop_namespace"

// An Order is the input of a job.
type Order struct {
	UID string `json:"uid"` // of the namespace; a later namespace of the same name has another
}

// result is the result of a job.
type result struct {
	Dropped int `json:"dropped"` // counts tables and namespaces
}

// Drop returns the kind of jobs that drop a namespace. An interrupted job continues with the
// remaining tables and namespaces.
func Drop(names *catalog.Catalog) jobs.Kind {
	return jobs.Single("drop", func(ctx context.Context, r *jobs.Run) (any, error) {
		ctx = objectstore.Freeing(ctx)
		var order Order
		var before result
		if err := errors.Join(r.Input(&order), r.State(&before)); err != nil {
			return nil, err
		}
		cascade, err := names.Namespaces.BeginCascade(ctx, r.Object(), order.UID, r.ID())
		if protocol.CodeOf(err) == protocol.NamespaceNotFound {
			return before, nil // an earlier run or another request has dropped it
		}
		if err != nil {
			return nil, err
		}
		now := before
		err = cascade.Run(ctx, func(dropped int) error {
			now.Dropped = before.Dropped + dropped
			r.Progress(jobs.Progress{Done: int64(now.Dropped)})
			return r.Checkpoint(ctx, now)
		})
		if errors.Is(err, transaction.ErrEnded) || errors.Is(context.Cause(ctx), transaction.ErrEnded) {
			err = errors.Join(err, cascade.Release(context.WithoutCancel(ctx)))
		}
		now.Dropped++ // counts the namespace itself
		return now, err
	})
}

package engine

import (
	"context"
	"fmt"

	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/protocol"
)

// maxPlans bounds how often a change is worked out anew because others changed what it
// depends on.
const maxPlans = 25

// change works out a change on the newest version and commits it there. When others
// commit what it depends on before it, it is worked out again. When an earlier attempt has
// made it the error is an [*alreadyMade].
func change[P any](ctx context.Context, t *Table, plan func(context.Context, *dataset.Dataset) (P, error), commit func(P) (dataset.Commit, error)) (P, dataset.Commit, error) {
	var planned P
	if err := t.unmade(ctx); err != nil {
		return planned, dataset.Commit{}, err
	}
	for range maxPlans {
		var err error
		if planned, err = Read(ctx, t, nil, plan); err != nil {
			return planned, dataset.Commit{}, err
		}
		made, err := commit(planned)
		if !dataset.IsRowsChanged(err) {
			return planned, made, t.translate(err)
		}
	}
	return planned, dataset.Commit{}, &protocol.Error{
		Code:    protocol.ConcurrentModification,
		Message: fmt.Sprintf("table %s changes faster than this change of it can be made", t.name),
		Detail:  fmt.Sprintf("other writers changed it %d times while the change was worked out; retry", maxPlans),
	}
}

// alter is change for a change that is worked out and committed in one call.
func (t *Table) alter(ctx context.Context, commit func(context.Context, *dataset.Dataset) (*dataset.Dataset, error)) (Written, error) {
	_, made, err := change(ctx, t,
		func(_ context.Context, d *dataset.Dataset) (*dataset.Dataset, error) { return d, nil },
		func(d *dataset.Dataset) (dataset.Commit, error) {
			made, err := commit(ctx, d)
			return dataset.Commit{Dataset: made}, err
		})
	return already(written(made), err)
}

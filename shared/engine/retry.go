package engine

import (
	"context"
	"fmt"
	"time"

	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/memory"
	"tiltyard/shared/protocol"
)

const (
	// maxPlans bounds how often a change is worked out anew because others changed what it
	// depends on: those in other processes, as it goes before all in this one after having
	// been patient for a few times.
	maxPlans = 25
	patience = 3
	// maxHold bounds how long others in this process wait for a change to be worked out: one
	// that takes longer only hopes.
	maxHold = 10 * time.Second
)

// change works out a change on the newest version and commits it there. When others
// commit what it depends on before it, it is worked out again. When an earlier attempt has
// made it the error is an [*alreadyMade].
//
// What plan takes of the memory share of its context is held until the plan has been committed
// or is dropped, and what commit takes until it ends.
func change[P any](ctx context.Context, t *Table, plan func(context.Context, *dataset.Dataset) (P, error), commit func(context.Context, P) (dataset.Commit, error)) (P, dataset.Commit, error) {
	var planned P
	if err := t.unmade(ctx); err != nil {
		return planned, dataset.Commit{}, err
	}
	var room *memory.Share // of the plan
	defer func() { room.Close() }()
	inRoom := func(ctx context.Context, d *dataset.Dataset) (p P, err error) {
		room.Close()
		if ctx, room, err = memory.Within(ctx); err != nil {
			return p, err
		}
		p, err = plan(ctx, d)
		room.Settle(room.Held()) // without what reading took
		return p, err
	}
	for plans, held := 0, false; plans < maxPlans; plans++ {
		began := time.Now()
		var err error
		if planned, err = Read(ctx, t, nil, inRoom); err != nil {
			return planned, dataset.Commit{}, err
		}
		took := time.Since(began)
		made, err := commitInRoom(ctx, planned, commit)
		if !dataset.IsRowsChanged(err) {
			return planned, made, t.translate(err)
		}
		if held || plans+1 < patience || took > maxHold {
			continue
		}
		first := *t
		var release func()
		if first.data, release, err = t.data.Hold(ctx); err != nil {
			return planned, dataset.Commit{}, t.translate(err)
		}
		defer release()
		t, held = &first, true
	}
	return planned, dataset.Commit{}, &protocol.Error{
		Code:    protocol.ConcurrentModification,
		Message: fmt.Sprintf("table %s changes faster than this change of it can be made", t.name),
		Detail:  fmt.Sprintf("other writers changed it %d times while the change was worked out; retry", maxPlans),
	}
}

func commitInRoom[P any](ctx context.Context, planned P, commit func(context.Context, P) (dataset.Commit, error)) (dataset.Commit, error) {
	ctx, room, err := memory.Within(ctx)
	if err != nil {
		return dataset.Commit{}, err
	}
	defer room.Close()
	return commit(ctx, planned)
}

// alter is change for a change that is worked out and committed in one call.
func (t *Table) alter(ctx context.Context, commit func(context.Context, *dataset.Dataset) (*dataset.Dataset, error)) (Written, error) {
	_, made, err := change(ctx, t,
		func(_ context.Context, d *dataset.Dataset) (*dataset.Dataset, error) { return d, nil },
		func(ctx context.Context, d *dataset.Dataset) (dataset.Commit, error) {
			made, err := commit(ctx, d)
			return dataset.Commit{Dataset: made}, err
		})
	return already(written(made), err)
}

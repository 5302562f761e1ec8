package engine

import (
	"context"
	"fmt"
	"time"

	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/operation"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/protocol"
)

const (
	// maxPlans bounds how often a change is planned again after conflicting commits. Only writers in
	// other processes can cause that many: after patience conflicts, a change takes precedence over all
	// others of its own process.
	maxPlans = 25
	patience = 3
	// maxHold bounds how long other changes in this process wait for one with precedence. A change that
	// takes longer to plan does not get precedence.
	maxHold = 10 * time.Second
)

// change plans a change on the newest version and commits it there. It plans again after a
// conflicting commit. If an earlier attempt has made the change, the error is an [*alreadyMade].
//
// Memory that plan takes from its context is charged until the plan has been committed or dropped.
// Memory that commit takes is charged until commit returns.
func change[P any](ctx context.Context, t *Table, plan func(context.Context, *dataset.Dataset) (P, error), commit func(context.Context, P) (dataset.Commit, error)) (P, dataset.Commit, error) {
	var planned P
	if err := t.unmade(ctx); err != nil {
		return planned, dataset.Commit{}, err
	}
	var room *memory.Share // the memory of the plan
	defer func() { room.Close() }()
	inRoom := func(ctx context.Context, d *dataset.Dataset) (p P, err error) {
		room.Close()
		if ctx, room, err = memory.Within(ctx); err != nil {
			return p, err
		}
		if err = operation.CheckWritable(d.Manifest()); err != nil {
			return p, err
		}
		p, err = plan(ctx, d)
		room.Settle(room.Held()) // release the memory that only reading needed
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
			return planned, made, t.Translate(err)
		}
		if held || plans+1 < patience || took > maxHold {
			continue
		}
		first := *t
		var release func()
		if first.data, release, err = t.data.Hold(ctx); err != nil {
			return planned, dataset.Commit{}, t.Translate(err)
		}
		defer release()
		t, held = &first, true
	}
	return planned, dataset.Commit{}, &protocol.Error{
		Code:    protocol.ConcurrentModification,
		Message: fmt.Sprintf("table %s changes faster than this change can be committed", t.name),
		Detail:  fmt.Sprintf("other writers changed it %d times while the change was planned; retry", maxPlans),
	}
}

// commitInRoom calls commit with memory of its own, which is released afterwards.
func commitInRoom[P any](ctx context.Context, planned P, commit func(context.Context, P) (dataset.Commit, error)) (dataset.Commit, error) {
	ctx, room, err := memory.Within(ctx)
	if err != nil {
		return dataset.Commit{}, err
	}
	defer room.Close()
	return commit(ctx, planned)
}

// Alter plans and commits a change by one call of commit, which it repeats after a conflicting
// commit.
func (t *Table) Alter(ctx context.Context, commit func(ctx context.Context, newest *dataset.Dataset) (*dataset.Dataset, error)) (Written, error) {
	_, made, err := change(ctx, t,
		func(_ context.Context, d *dataset.Dataset) (*dataset.Dataset, error) { return d, nil },
		func(ctx context.Context, d *dataset.Dataset) (dataset.Commit, error) {
			made, err := commit(ctx, d)
			return dataset.Commit{Dataset: made}, err
		})
	return already(written(made), err)
}

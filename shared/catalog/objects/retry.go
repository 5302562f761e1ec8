package objects

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"tiltyard/shared/catalog/keys"
	"tiltyard/shared/process/backoff"
	"tiltyard/shared/protocol"
	"tiltyard/shared/storage/objectstore"
)

const (
	// tries is the default number of attempts of a [Race].
	tries = 5
	// Many is the number of attempts for an object that many writers change at the same time.
	Many = 250

	// FirstPause is the first wait of [Pause].
	FirstPause = 5 * time.Millisecond

	// PageSize is how many keys one LIST request returns.
	PageSize = 1000
)

// A Race is work on an object that other writers may change at the same time. Each attempt reads the
// object, decides what to do, and ends with a write on condition that the object is as it was read.
type Race struct {
	What  string   // kind of the object, for the error
	ID    []string // id of the object, for the error
	Tries int      // maximum number of attempts; 0: five
	Wait  bool     // pause before each further attempt, because the other writer may need time
	Lost  error    // the error after the last attempt; nil: LostRace
}

// Run calls try until it is done or returns an error. attempt counts from 0. try returns done = false if another writer
// was faster: see [Written].
func (r Race) Run(ctx context.Context, try func(attempt int) (done bool, err error)) error {
	for attempt := range cmp.Or(r.Tries, tries) {
		if done, err := try(attempt); done || err != nil {
			return err
		}
		if r.Wait {
			if err := Pause(ctx, attempt); err != nil {
				return err
			}
		}
	}
	if r.Lost != nil {
		return r.Lost
	}
	return LostRace(r.What, r.ID, objectstore.ErrPrecondition)
}

// Written converts the error of a conditional write at the end of an attempt to the attempt's results. The attempt is not
// done if the object has changed.
func Written(err error) (done bool, _ error) {
	if Changed(err) {
		return false, nil
	}
	return true, err
}

// LostRace returns the error for an object that changed between our read and our write.
func LostRace(what string, id []string, err error) error {
	return &protocol.Error{
		Code:    protocol.ConcurrentModification,
		Message: fmt.Sprintf("%s %s was changed by another request", what, keys.Display(id)),
		Detail:  "read it again and retry",
		Err:     err,
	}
}

// Pause waits before another attempt at work that another process blocks. attempt counts from 0,
// and each wait is twice as long as the one before, up to the sixth.
func Pause(ctx context.Context, attempt int) error {
	return backoff.Sleep(ctx, FirstPause<<min(attempt, 5))
}

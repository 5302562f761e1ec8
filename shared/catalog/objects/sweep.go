package objects

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tiltyard/shared/objectstore"
)

// MinSweepAge is the least age of the objects that a sweep deletes. No request runs that long.
const MinSweepAge = time.Hour

// Sweep calls one for each object older than a time, and counts those that one deleted. An error of one
// leaves that object, and is among the [*Unswept] at the end.
func (s Store) Sweep(ctx context.Context, prefix string, oldest time.Time, one func(ctx context.Context, object objectstore.Info) (deleted bool, err error)) (deleted int, err error) {
	left := new(Unswept)
	opts := objectstore.ListOptions{Prefix: prefix, Limit: PageSize}
	for object, err := range objectstore.Objects(ctx, s, opts) {
		if err != nil {
			return deleted, fmt.Errorf("sweep %s: %w", prefix, err)
		}
		if object.Modified.After(oldest) {
			continue
		}
		done, err := one(ctx, object)
		if err != nil {
			if err := left.Add(ctx, fmt.Errorf("sweep %s: %w", object.Key, err)); err != nil {
				return deleted, err
			}
		}
		if done {
			deleted++
		}
	}
	return deleted, left.OrNil()
}

// DeleteSwept deletes an unused object.
func (s Store) DeleteSwept(ctx context.Context, object objectstore.Info) (deleted bool, err error) {
	err = s.Delete(ctx, object.Key, objectstore.Condition{})
	return err == nil, IgnoreMissing(err)
}

// Unswept is the error of a sweep that has dealt with everything but some objects: those that the errors
// name, and what these may refer to.
type Unswept struct{ Errors []error }

// Error joins the errors.
func (u *Unswept) Error() string { return errors.Join(u.Errors...).Error() }

// Unwrap returns the errors.
func (u *Unswept) Unwrap() []error { return u.Errors }

// maxUnswept is how many errors end a sweep: so many are no faults of single objects.
const maxUnswept = 100

// Add takes an error of one object, or those of a part of the sweep. It returns the error if the sweep must end.
func (u *Unswept) Add(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return err
	}
	var more *Unswept
	if errors.As(err, &more) {
		u.Errors = append(u.Errors, more.Errors...)
	} else {
		u.Errors = append(u.Errors, err)
	}
	if len(u.Errors) > maxUnswept {
		return fmt.Errorf("%d objects cannot be swept: %w", len(u.Errors), u)
	}
	return nil
}

// OrNil returns the error, nil if there is none.
func (u *Unswept) OrNil() error {
	if len(u.Errors) == 0 {
		return nil
	}
	return u
}

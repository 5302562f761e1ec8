package objects

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tiltyard/shared/storage/objectstore"
)

// MinSweepAge is the least age of the objects that a sweep deletes. No request runs that long.
const MinSweepAge = time.Hour

// Sweep calls one for each object last modified before a time, and counts the deleted ones. It
// continues after an error of one, and returns these errors as an [*Unswept] at the end.
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

// Unswept is the error of a sweep that could not process some objects. Objects to which these may
// refer were kept, and everything else was swept.
type Unswept struct{ Errors []error }

// Error joins the errors.
func (u *Unswept) Error() string { return errors.Join(u.Errors...).Error() }

// Unwrap returns the errors.
func (u *Unswept) Unwrap() []error { return u.Errors }

// maxUnswept ends a sweep: after so many errors the store itself is the likely cause.
const maxUnswept = 100

// Add adds the error of one object or of a part of the sweep. It returns the error if the sweep must end.
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

// OrNil returns the error, or nil if nothing was added.
func (u *Unswept) OrNil() error {
	if len(u.Errors) == 0 {
		return nil
	}
	return u
}

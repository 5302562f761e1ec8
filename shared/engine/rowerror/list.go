package rowerror

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"tiltyard/shared/process/memory"
	"tiltyard/shared/storage/objectstore"
)

// A Query selects errors.
type Query struct {
	Job    string    // "" means all
	Column string    // "" means all
	Since  time.Time // earlier errors are left out
	Limit  int       // maximum number of rows
}

// A Listing contains errors, first of the newest job, and by fragment within a job.
type Listing struct {
	Units     []*Unit // with at most Limit rows together
	Truncated bool    // there are more rows
}

const (
	// windowUnits is the number of units that are read in parallel.
	windowUnits = 16
	listPage    = 1000
)

// List returns errors. Ids of jobs sort by name from the newest to the oldest.
func (a Area) List(ctx context.Context, q Query) (Listing, error) {
	l := lister{area: a, query: q}
	prefix := a.Prefix + "/" + Folder + "/"
	if q.Job != "" {
		prefix = a.ofJob(q.Job)
	}
	for info, err := range objectstore.Objects(ctx, a.Store, objectstore.ListOptions{Prefix: prefix, Limit: listPage}) {
		if err != nil {
			return l.found, fmt.Errorf("list row errors: %w", err)
		}
		if !strings.HasSuffix(info.Key, suffix) || info.Modified.Before(q.Since) {
			continue
		}
		if l.window = append(l.window, info); len(l.window) < windowUnits {
			continue
		}
		if err := l.read(ctx); err != nil || l.found.Truncated {
			return l.found, err
		}
	}
	// The last window may be smaller.
	err := l.read(ctx)
	return l.found, err
}

// A lister is a running listing.
type lister struct {
	area   Area
	query  Query
	rows   int
	window []objectstore.Info // objects that were listed but not read
	found  Listing
}

// read reads the objects of the window.
func (l *lister) read(ctx context.Context) error {
	units := make([]*Unit, len(l.window))
	group, inner := errgroup.WithContext(ctx)
	for i, info := range l.window {
		group.Go(func() (err error) {
			units[i], err = l.area.get(inner, info)
			return err
		})
	}
	l.window = l.window[:0]
	if err := group.Wait(); err != nil {
		return err
	}
	for _, u := range units {
		if u == nil || l.query.Column != "" && u.Column != l.query.Column || u.At.Before(l.query.Since) {
			continue
		}
		room := l.query.Limit - l.rows
		if len(u.Rows) > room {
			u.Rows, l.found.Truncated = u.Rows[:room], true
		}
		// A unit without rows is listed as well, because it shows how many rows failed.
		if l.rows += len(u.Rows); len(u.Rows) > 0 || !l.found.Truncated {
			l.found.Units = append(l.found.Units, u)
		}
		if l.found.Truncated {
			return nil
		}
	}
	return nil
}

// get reads the object of a unit. It returns nil if the object was deleted, or is damaged, because
// one damaged object must not hide the others.
func (a Area) get(ctx context.Context, info objectstore.Info) (*Unit, error) {
	if info.Size > maxUnitBytes {
		return nil, nil
	}
	held, err := memory.Take(ctx, info.Size)
	if err != nil {
		return nil, err
	}
	defer held.Release()
	object, _, err := a.Store.Get(ctx, info.Key)
	if errors.Is(err, objectstore.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read row errors %s: %w", info.Key, err)
	}
	u, err := Decode(ctx, object)
	if errors.Is(err, ErrMalformed) {
		return nil, nil
	}
	return u, err
}

// Expire deletes the objects that were last written before a time. With dryRun it only counts them.
func (a Area) Expire(ctx context.Context, before time.Time, dryRun bool) (objects int, bytes int64, err error) {
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(windowUnits)
	for info, err := range objectstore.Objects(ctx, a.Store, objectstore.ListOptions{Prefix: a.Prefix + "/" + Folder + "/", Limit: listPage}) {
		if err != nil {
			return objects, bytes, errors.Join(fmt.Errorf("list row errors: %w", err), group.Wait())
		}
		if !info.Modified.Before(before) {
			continue
		}
		objects++
		bytes += info.Size
		if dryRun {
			continue
		}
		group.Go(func() error {
			err := a.Store.Delete(inner, info.Key, objectstore.Condition{})
			if errors.Is(err, objectstore.ErrNotExist) {
				return nil
			}
			return err
		})
	}
	return objects, bytes, group.Wait()
}

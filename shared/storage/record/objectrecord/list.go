package objectrecord

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/record"
)

// maxReads is the number of records that are read in parallel.
const maxReads = 16

// List returns records of a folder.
func (s *Store) List(ctx context.Context, folder, after string, limit int) (record.Page, error) {
	if err := record.CheckList(folder, limit); err != nil {
		return record.Page{}, err
	}
	dir := prefix + folder + "/"
	opts := objectstore.ListOptions{Prefix: dir, Delimiter: "/", Limit: limit}
	if after != "" {
		opts.StartAfter = dir + after
	}
	listed, err := s.objects.List(ctx, opts)
	if err != nil {
		return record.Page{}, fmt.Errorf("list records of %s: %w", folder, err)
	}
	found := make([]record.Record, len(listed.Objects))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxReads)
	for i, object := range listed.Objects {
		group.Go(func() error {
			r, err := s.Get(ctx, strings.TrimPrefix(object.Key, prefix))
			if errors.Is(err, record.ErrNotExist) {
				return nil // deleted since the listing, or expired
			}
			found[i] = r
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return record.Page{}, err
	}
	var page record.Page
	for _, r := range found {
		if r.Key != "" {
			page.Records = append(page.Records, r)
		}
	}
	if listed.More {
		page.Next = strings.TrimPrefix(listed.Last(), dir)
	}
	return page, nil
}

// Sweep deletes expired records that were written longer ago than age, without reading younger ones. It
// only frees space.
func (s *Store) Sweep(ctx context.Context, age time.Duration) (deleted int, err error) {
	const pageSize = 1000
	oldest := s.now().Add(-age)
	opts := objectstore.ListOptions{Prefix: prefix, Limit: pageSize}
	for object, err := range objectstore.Objects(ctx, s.objects, opts) {
		if err != nil {
			return deleted, fmt.Errorf("sweep records: %w", err)
		}
		if object.Modified.After(oldest) {
			continue
		}
		gone, err := s.sweepOne(ctx, strings.TrimPrefix(object.Key, prefix))
		if err != nil {
			return deleted, fmt.Errorf("sweep records: %w", err)
		}
		if gone {
			deleted++
		}
	}
	return deleted, nil
}

// Expired returns the number of records that expired longer ago than age.
func (s *Store) Expired(ctx context.Context, age time.Duration) (records int, err error) {
	const pageSize = 1000
	oldest := s.now().Add(-age)
	for object, err := range objectstore.Objects(ctx, s.objects, objectstore.ListOptions{Prefix: prefix, Limit: pageSize}) {
		if err != nil {
			return records, fmt.Errorf("look for expired records: %w", err)
		}
		if object.Modified.After(oldest) {
			continue
		}
		there, _, err := s.read(ctx, strings.TrimPrefix(object.Key, prefix))
		switch {
		case errors.Is(err, record.ErrNotExist):
		case err != nil:
			return records, fmt.Errorf("look for expired records: %w", err)
		case there.Expired(oldest):
			records++
		}
	}
	return records, nil
}

// sweepOne deletes a record if it has expired and has not changed since it was read.
func (s *Store) sweepOne(ctx context.Context, key string) (deleted bool, err error) {
	there, _, err := s.read(ctx, key)
	if errors.Is(err, record.ErrNotExist) {
		return false, nil
	}
	if err != nil || !there.Expired(s.now()) {
		return false, err
	}
	err = s.Delete(ctx, key, there.Version)
	if errors.Is(err, record.ErrConflict) {
		return false, nil
	}
	return err == nil, err
}

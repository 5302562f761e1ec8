package datasettest

import (
	"context"
	"time"

	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/storage/objectstore"
)

// Aged is a store that lists objects as older by Age.
type Aged struct {
	objectstore.Store
	Age func(key string) time.Duration
}

// List lists objects with their modification times moved back.
func (s Aged) List(ctx context.Context, opts objectstore.ListOptions) (objectstore.ListPage, error) {
	page, err := s.Store.List(ctx, opts)
	for i := range page.Objects {
		page.Objects[i].Modified = page.Objects[i].Modified.Add(-s.Age(page.Objects[i].Key))
	}
	return page, err
}

// Day is the unit of ages.
const Day = 24 * time.Hour

// AllOld returns a store whose objects are eight days old.
func AllOld(inner objectstore.Store) Aged {
	return Aged{inner, func(string) time.Duration { return 8 * Day }}
}

// Keys returns the keys of a store.
func Keys(t Fataler, store objectstore.Store) []string {
	t.Helper()
	page, err := store.List(context.Background(), objectstore.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, info := range page.Objects {
		keys = append(keys, info.Key)
	}
	return keys
}

// Versions lists the versions of a table, newest first.
func Versions(t Fataler, table *dataset.Table) []uint64 {
	t.Helper()
	infos, err := table.Versions(context.Background(), nil, -1)
	if err != nil {
		t.Fatal(err)
	}
	var versions []uint64
	for _, info := range infos {
		versions = append(versions, dataset.VersionOf(info))
	}
	return versions
}

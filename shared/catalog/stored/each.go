package stored

import (
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"tiltyard/shared/catalog/keys"
	"tiltyard/shared/catalog/objects"
	"tiltyard/shared/storage/objectstore"
)

// EachTable calls f with the record of each table, in any state. seen maps keys to ETags: EachTable
// skips records with the same ETag as there, and adds all others.
func EachTable(ctx context.Context, store objects.Store, seen map[string]string, f func(*Table) error) error {
	opts := objectstore.ListOptions{Prefix: keys.Records, Limit: objects.PageSize}
	for page, err := range objectstore.Pages(ctx, store, opts) {
		if err != nil {
			return fmt.Errorf("list tables: %w", err)
		}
		records, err := readRecords(ctx, store, page.Objects, seen)
		if err != nil {
			return err
		}
		for _, record := range records {
			if err := f(record); err != nil {
				return err
			}
		}
	}
	return nil
}

// readFanOut bounds how many records are read in parallel.
const readFanOut = 32

// readRecords reads the records of tables among listed objects, several in parallel, and returns
// them in the order of the list.
func readRecords(ctx context.Context, store objects.Store, listed []objectstore.Info, seen map[string]string) ([]*Table, error) {
	var changed []string
	for _, object := range listed {
		if keys.Tables.Has(object.Key) && (seen[object.Key] == "" || seen[object.Key] != object.ETag) {
			changed = append(changed, object.Key)
			seen[object.Key] = object.ETag
		}
	}
	found := make([]*Table, len(changed))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(readFanOut)
	for i, key := range changed {
		group.Go(func() error {
			record := new(Table)
			if _, err := store.Read(ctx, key, record); err != nil {
				return objects.IgnoreMissing(err)
			}
			found[i] = record
			return nil
		})
	}
	err := group.Wait()
	return slices.DeleteFunc(found, func(r *Table) bool { return r == nil }), err
}

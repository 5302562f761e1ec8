package snapshot

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"golang.org/x/sync/errgroup"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/internal/cache"
	"tiltyard/shared/lance/rowid"
	"tiltyard/shared/process/memory"
)

// TakeIDs takes rows by id. Without stable row ids, ids are addresses.
func (s *Snapshot) TakeIDs(ctx context.Context, columns []string, ids []uint64) (arrow.RecordBatch, error) {
	addresses, err := s.Addresses(ctx, ids)
	if err != nil {
		return nil, err
	}
	for i, address := range addresses {
		if address == NoAddress {
			return nil, fmt.Errorf("no row of id %d in version %d", ids[i], s.Version())
		}
	}
	return s.Take(ctx, columns, addresses)
}

// NoAddress marks an id without a live row.
const NoAddress = 1<<64 - 1

// Addresses returns the addresses of row ids, NoAddress for unknown ids and deleted rows. In a
// table with stable row ids, the first call loads the index of all ids: deletion files and the row
// ids stored outside the manifest.
func (s *Snapshot) Addresses(ctx context.Context, ids []uint64) ([]uint64, error) {
	addresses := make([]uint64, len(ids))
	if !s.manifest.StableRowIDs() {
		for i, id := range ids {
			there, err := s.hasRow(ctx, id)
			if err != nil {
				return nil, err
			}
			if addresses[i] = id; !there {
				addresses[i] = NoAddress
			}
		}
		return addresses, nil
	}
	index, err := s.rowIndex(ctx)
	if err != nil {
		return nil, err
	}
	for i, id := range ids {
		address, ok := index.Address(id)
		if addresses[i] = address; !ok {
			addresses[i] = NoAddress
		}
	}
	return addresses, nil
}

// hasRow reports whether a live row has the address.
func (s *Snapshot) hasRow(ctx context.Context, address uint64) (bool, error) {
	f := s.Fragment(address >> 32)
	row := uint32(address)
	if f == nil || int64(row) >= f.Rows {
		return false, nil
	}
	deleted, err := f.Deletions(ctx)
	return !deleted.Contains(row), err
}

// rowIndexPart is the cache key prefix of the stable row id index.
const rowIndexPart = "row index "

// rowIndex returns the index of the version's stable row ids. Building it charges the context's
// memory budget.
func (s *Snapshot) rowIndex(ctx context.Context) (*rowid.Index, error) {
	kept, part := s.place.Cache, rowIndexPart+s.manifest.Location.Identity()
	if index, ok := cache.Get[*rowid.Index](kept, s.place.Cached, part); ok && !s.isPart {
		return index, nil
	}
	if err := memory.FromContext(ctx).Take(ctx, s.rowIndexBytes()); err != nil {
		return nil, err
	}
	fragments := make([]rowid.Fragment, len(s.fragments()))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(MaxConcurrentReads)
	for i, f := range s.fragments() {
		group.Go(func() (err error) {
			defer lance.Contain(func(e error) { err = e })
			fragments[i], err = f.Indexed(ctx)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	index := rowid.NewIndex(fragments)
	if !s.isPart { // a part has the same manifest location but other fragments
		cache.Put(kept, s.place.Cached, part, index, s.rowIndexBytes())
	}
	return index, nil
}

// rowIndexBytes estimates the size of the index: little if ids form runs, about 12 bytes per id
// otherwise.
func (s *Snapshot) rowIndexBytes() int64 {
	const perFragment, spilledID = 300, 12
	total := int64(0)
	for _, f := range s.fragments() {
		total += perFragment + 2*int64(len(f.Meta.RowIDs))
		if f.Meta.RowIDs == nil {
			total += spilledID * f.Rows
		}
	}
	return total
}

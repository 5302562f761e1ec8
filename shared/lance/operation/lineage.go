package operation

import (
	"fmt"

	"github.com/RoaringBitmap/roaring/v2"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/lance/rowid"
)

// firstVersion is the version that is assumed to have created a row if none is recorded.
const firstVersion = 1

// assignRowIDs gives new ids to the rows of new fragments. A fragment may list ids for its
// first rows, which are rows that moved to it.
func (c *change) assignRowIDs(fragments []*pb.Fragment) error {
	for _, f := range fragments {
		var have *rowid.Sequence
		if f.RowIDs != nil {
			ids, err := rowid.Parse(f.RowIDs)
			if err != nil {
				return fmt.Errorf("row ids of a new fragment: %w", err)
			}
			have = ids
		}
		known := uint64(0)
		if have != nil {
			known = uint64(have.Len())
		}
		switch {
		case known > f.PhysicalRows:
			return invalid("a new fragment of %d rows lists %d row ids", f.PhysicalRows, known)
		case known == f.PhysicalRows:
			continue
		}
		missing := f.PhysicalRows - known
		ids := rowid.Range(c.next.NextRowID, c.next.NextRowID+missing)
		if have != nil {
			ids = rowid.Concat(have, ids)
		}
		f.RowIDs = ids.Encode()
		c.next.NextRowID += missing
	}
	return nil
}

// stampNew records that this version created all rows of a fragment.
func (c *change) stampNew(f *pb.Fragment) {
	f.CreatedAt = rowid.SameVersion(int64(f.PhysicalRows), c.next.Version).Encode()
	f.UpdatedAt = f.CreatedAt
}

// stampChanged records that this version changed all rows of a fragment.
func (c *change) stampChanged(f *pb.Fragment) {
	f.UpdatedAt = rowid.SameVersion(int64(f.PhysicalRows), c.next.Version).Encode()
}

// stampMoved records the creating versions of rows in new fragments. Rows with an old id keep the
// version of their old place; the others are new.
func (c *change) stampMoved(added []*pb.Fragment) error {
	sources, err := c.rowSources()
	if err != nil {
		return err
	}
	for _, f := range added {
		ids, err := rowid.Parse(f.RowIDs)
		if err != nil {
			return err
		}
		versions := make([]uint64, 0, ids.Len())
		for _, id := range ids.IDs() {
			version, err := sources.createdAt(id, c.next.Version)
			if err != nil {
				return err
			}
			versions = append(versions, version)
		}
		f.CreatedAt = rowid.NewVersions(versions).Encode()
		c.stampChanged(f)
	}
	return nil
}

// A rowSources finds rows of a version by their ids.
type rowSources struct {
	index    *rowid.Index
	byID     map[uint64]*pb.Fragment
	versions map[uint64]*rowid.Versions // of the fragments that were needed
}

// rowSources indexes all rows of the base version by their stable id.
func (c *change) rowSources() (*rowSources, error) {
	fragments := make([]rowid.Fragment, 0, len(c.base.Fragments))
	for _, f := range c.base.Fragments {
		ids, err := rowid.Parse(f.RowIDs)
		if err != nil {
			return nil, fmt.Errorf("row ids of fragment %d: %w", f.ID, err)
		}
		fragments = append(fragments, rowid.Fragment{ID: uint32(f.ID), IDs: ids})
	}
	return &rowSources{
		// A deleted copy of a row serves as well as the live one: both record the creating version.
		index:    rowid.NewIndex(fragments),
		byID:     byID(c.base.Fragments),
		versions: map[uint64]*rowid.Versions{},
	}, nil
}

// createdAt returns the version that created a row. It returns fresh for an id that the
// table does not have yet.
func (s *rowSources) createdAt(id, fresh uint64) (uint64, error) {
	address, ok := s.index.Address(id)
	if !ok {
		return fresh, nil
	}
	fragment := s.byID[address>>32]
	if fragment.CreatedAt == nil {
		return firstVersion, nil
	}
	versions := s.versions[fragment.ID]
	if versions == nil {
		var err error
		if versions, err = rowid.ParseVersions(fragment.CreatedAt); err != nil {
			return 0, fmt.Errorf("versions of the rows of fragment %d: %w", fragment.ID, err)
		}
		s.versions[fragment.ID] = versions
	}
	if offset := int64(uint32(address)); offset < versions.Len() {
		return versions.At(offset), nil
	}
	return firstVersion, nil
}

// stampRows records that this version changed some rows of updated fragments. offsets holds
// a portable bitmap of offsets for each fragment id.
func (c *change) stampRows(updated []*pb.Fragment, offsets map[uint64][]byte) error {
	changed := byID(updated)
	for id := range offsets {
		if changed[id] == nil {
			return invalid("changed rows of fragment %d, which is not updated", id)
		}
	}
	for i, f := range c.next.Fragments {
		raw, ok := offsets[f.ID]
		if !ok || f.UpdatedAt == nil {
			continue
		}
		rows, err := bitmap(raw)
		if err != nil {
			return fmt.Errorf("changed rows of fragment %d: %w", f.ID, err)
		}
		if rows.IsEmpty() {
			continue
		}
		if uint64(rows.Maximum()) >= f.PhysicalRows {
			return invalid("changed row %d of fragment %d, which has %d", rows.Maximum(), f.ID, f.PhysicalRows)
		}
		before, err := rowid.ParseVersions(f.UpdatedAt)
		if err != nil {
			return fmt.Errorf("versions of the rows of fragment %d: %w", f.ID, err)
		}
		stamped := *f
		stamped.UpdatedAt = c.stamped(before, int64(f.PhysicalRows), rows).Encode()
		c.next.Fragments[i] = &stamped
	}
	return nil
}

// stamped returns the versions of n rows: those before, overwritten for the rows changed by this
// version.
func (c *change) stamped(before *rowid.Versions, n int64, changed *roaring.Bitmap) *rowid.Versions {
	if missing := n - before.Len(); missing > 0 {
		before = rowid.ConcatVersions(before, rowid.SameVersion(missing, c.base.Version))
	}
	var parts []*rowid.Versions
	at := int64(0)
	for it := changed.Iterator(); it.HasNext(); {
		from := int64(it.Next())
		to := from + 1
		for it.HasNext() && int64(it.PeekNext()) == to {
			it.Next()
			to++
		}
		parts = append(parts, before.Slice(at, from), rowid.SameVersion(to-from, c.next.Version))
		at = to
	}
	return rowid.ConcatVersions(append(parts, before.Slice(at, n))...)
}

// bitmap parses a portable roaring bitmap. The result shares no memory with raw.
func bitmap(raw []byte) (*roaring.Bitmap, error) {
	b := roaring.New()
	if err := b.UnmarshalBinary(raw); err != nil {
		return nil, fmt.Errorf("%w: bitmap: %w", lance.ErrCorrupt, err)
	}
	return b, nil
}

package manifest

import (
	"fmt"
	"math"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/pb"
)

// check returns an error if a manifest breaks rules on which readers rely: unique fragment
// ids, and numbers within their bounds.
func (m *Manifest) check() error {
	ascending, bytes := true, uint64(0)
	for i, f := range m.Fragments {
		if err := m.checkFragment(f); err != nil {
			return err
		}
		for _, file := range f.Files {
			if bytes += min(file.SizeBytes, math.MaxInt64+1); bytes > math.MaxInt64 {
				return m.corrupt("the files up to fragment %d have 2^63 bytes or more", f.ID)
			}
		}
		ascending = ascending && (i == 0 || m.Fragments[i-1].ID < f.ID)
	}
	if ascending {
		return nil // as writers of today leave them
	}
	seen := make(map[uint64]bool, len(m.Fragments))
	for _, f := range m.Fragments {
		if seen[f.ID] {
			return m.corrupt("two fragments %d", f.ID)
		}
		seen[f.ID] = true
	}
	return nil
}

func (m *Manifest) corrupt(format string, args ...any) error {
	return fmt.Errorf("%w: version %d: %s", lance.ErrCorrupt, m.Version, fmt.Sprintf(format, args...))
}

// checkFragment checks a fragment. A row address has 32 bits for the fragment and 32 for
// the offset, which bounds both.
func (m *Manifest) checkFragment(f *pb.Fragment) error {
	if f.ID > math.MaxUint32 || f.PhysicalRows > math.MaxUint32 {
		return m.corrupt("fragment %d of %d rows is past 32 bits", f.ID, f.PhysicalRows)
	}
	if d := f.DeletionFile; d != nil && d.DeletedRows > f.PhysicalRows {
		return m.corrupt("fragment %d has lost %d of %d rows", f.ID, d.DeletedRows, f.PhysicalRows)
	}
	if m.StableRowIDs() && f.RowIDs == nil && m.ReaderFlags&FlagSpilledRowLineage == 0 {
		return m.corrupt("fragment %d has no row ids", f.ID)
	}
	for i := range f.Files {
		file := &f.Files[i]
		version, err := fileVersion(file)
		if err == nil && version != lance.Legacy && len(file.Fields) != len(file.ColumnIndices) {
			return m.corrupt("file %s of fragment %d has %d fields and %d columns", file.Path, f.ID, len(file.Fields), len(file.ColumnIndices))
		}
	}
	return nil
}

// Validate returns an error if native readers or writers would reject a manifest before its commit:
// fragments out of order, unallocated fragment ids, or a field in two files of a fragment.
func (m *Manifest) Validate() error {
	if err := m.check(); err != nil {
		return err
	}
	var checked []int32
	for i, f := range m.Fragments {
		if i > 0 && m.Fragments[i-1].ID >= f.ID {
			return m.corrupt("fragment %d comes after %d", f.ID, m.Fragments[i-1].ID)
		}
		if m.MaxFragmentID == nil || f.ID > uint64(*m.MaxFragmentID) {
			return m.corrupt("fragment %d is above the highest id given out", f.ID)
		}
		if f.PhysicalRows == 0 {
			return m.corrupt("fragment %d has no rows", f.ID)
		}
		var err error
		if checked, err = m.checkFields(f, checked); err != nil {
			return err
		}
	}
	return nil
}

// checkFields returns an error if two files of a fragment hold the same field. Most
// fragments have one file and share its list of fields with the fragment before. That list
// is in checked; it is checked once and returned.
func (m *Manifest) checkFields(f *pb.Fragment, checked []int32) ([]int32, error) {
	if len(f.Files) == 0 {
		return nil, m.corrupt("fragment %d has no files", f.ID)
	}
	first := f.Files[0].Fields
	if len(f.Files) == 1 && len(first) > 0 && len(first) == len(checked) && &first[0] == &checked[0] {
		return checked, nil
	}
	seen := map[int32]bool{}
	for i := range f.Files {
		for _, id := range f.Files[i].Fields {
			if id >= 0 && seen[id] {
				return nil, m.corrupt("two files of fragment %d hold field %d", f.ID, id)
			}
			seen[id] = true
		}
	}
	return first, nil
}

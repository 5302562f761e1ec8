// Package fragreuse reads the fragment reuse index of a table version. A native compaction that
// defers index work leaves index segments with the old row addresses, and records the moves of the
// rows in this entry of the index section. [Moves] translates rows and fragments. For example,
// after a compaction of fragments 1 (rows 0 and 1 live) and 2 (row 0 live) into fragment 5,
//
//	1<<32|0 → 5<<32|0,   1<<32|1 → 5<<32|1,   2<<32|0 → 5<<32|2
//
// Source: crate lance-table 14.0.2, system_index/frag_reuse.rs, and crate lance-core,
// utils/row_addr_remap.rs.
package fragreuse

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"sort"

	"github.com/RoaringBitmap/roaring/v2"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/pb"
)

// Name is the name of the entry in the index section.
const Name = "__lance_frag_reuse"

// Moves holds the compactions of a version, oldest first. The zero value and nil hold none. It is
// immutable and safe for concurrent use.
type Moves struct {
	compactions []map[uint32]*source // by the fragments that each has replaced
	newest      uint64               // version from which the last of them began
}

// A source is a fragment that a compaction has replaced.
type source struct {
	kept   *roaring.Bitmap // its rows that were not deleted
	before uint64          // rows that the sources before it in the group had
	into   *group
}

// A group is a set of fragments that a compaction replaced together.
type group struct {
	sources []uint32
	targets []target
}

// A target is a fragment that replaced others.
type target struct {
	id     uint32
	before uint64 // rows of the targets before it
}

// Parse decodes the entry. A history in a separate file, and moves of other kinds, are
// lance.ErrUnsupported.
func Parse(entry *pb.IndexMetadata) (*Moves, error) {
	var details pb.FragmentReuseDetails
	if entry.Details != nil {
		if err := details.Unmarshal(entry.Details.Value); err != nil {
			return nil, fmt.Errorf("%w: %s: %w", lance.ErrCorrupt, Name, err)
		}
	}
	history := details.Inline
	if history == nil || len(history.Unknown) > 0 || entry.IndexVersion != nil && *entry.IndexVersion > 0 {
		return nil, fmt.Errorf("%w: %s is in a file, or has moves other than those of compactions", lance.ErrUnsupported, Name)
	}
	m := &Moves{}
	for _, v := range history.Versions {
		compaction := map[uint32]*source{}
		for i := range v.Groups {
			if err := read(compaction, &v.Groups[i]); err != nil {
				return nil, fmt.Errorf("%w: %s: version %d: %w", lance.ErrCorrupt, Name, v.DatasetVersion, err)
			}
		}
		m.compactions, m.newest = append(m.compactions, compaction), max(m.newest, v.DatasetVersion)
	}
	return m, nil
}

// read adds the replaced fragments of a group to the sources of a compaction.
func read(compaction map[uint32]*source, g *pb.FragmentReuseGroup) error {
	kept, err := treemap(g.Moved)
	if err != nil {
		return err
	}
	into, rows := &group{}, uint64(0)
	for _, f := range g.Old {
		id := uint32(f.ID)
		if f.ID > math.MaxUint32 || compaction[id] != nil {
			return fmt.Errorf("fragment %d is replaced twice, or cannot have addresses", f.ID)
		}
		s := &source{kept: kept[id], before: rows, into: into}
		if s.kept == nil {
			s.kept = roaring.New()
		}
		if !s.kept.IsEmpty() && uint64(s.kept.Maximum()) >= f.PhysicalRows {
			return fmt.Errorf("row %d of fragment %d, which had %d", s.kept.Maximum(), f.ID, f.PhysicalRows)
		}
		delete(kept, id)
		rows += s.kept.GetCardinality()
		compaction[id], into.sources = s, append(into.sources, id)
	}
	if len(kept) > 0 {
		return fmt.Errorf("rows of %d fragments that are not replaced", len(kept))
	}
	room := uint64(0)
	for _, f := range g.New {
		if f.ID > math.MaxUint32 || f.PhysicalRows > math.MaxUint32 {
			return fmt.Errorf("fragment %d of %d rows cannot have addresses", f.ID, f.PhysicalRows)
		}
		into.targets = append(into.targets, target{uint32(f.ID), room})
		room += f.PhysicalRows
	}
	if room != rows {
		return fmt.Errorf("%d rows have gone to fragments of %d", rows, room)
	}
	return nil
}

// treemap decodes sets of rows by fragment: u64 number of fragments, then for each its u32 id and a
// portable roaring bitmap.
func treemap(data []byte) (map[uint32]*roaring.Bitmap, error) {
	if len(data) < 8 {
		return nil, fmt.Errorf("a set of rows of %d bytes", len(data))
	}
	n, rest := binary.LittleEndian.Uint64(data), bytes.NewReader(data[8:])
	sets := map[uint32]*roaring.Bitmap{}
	for ; n > 0; n-- {
		var id [4]byte
		if _, err := rest.Read(id[:]); err != nil || rest.Len() == 0 {
			return nil, fmt.Errorf("a set of rows is cut off")
		}
		rows := roaring.New()
		if _, err := rows.ReadFrom(rest); err != nil {
			return nil, err
		}
		if !rows.IsEmpty() {
			if err := rows.Validate(); err != nil {
				return nil, err
			}
		}
		sets[binary.LittleEndian.Uint32(id[:])] = rows
	}
	if rest.Len() > 0 {
		return nil, fmt.Errorf("%d bytes after a set of rows", rest.Len())
	}
	return sets, nil
}

// Concern reports whether a segment, built from a version and covering some fragments, may contain
// old row addresses.
func (m *Moves) Concern(version uint64, covered *roaring.Bitmap) bool {
	if m == nil {
		return false
	}
	for _, compaction := range m.compactions {
		for id, s := range compaction {
			if covered.Contains(id) {
				return true
			}
			for _, t := range s.into.targets {
				if version <= m.newest && covered.Contains(t.id) {
					return true
				}
			}
		}
	}
	return false
}

// Address returns where the row is that had an address; false if it was deleted.
func (m *Moves) Address(address uint64) (now uint64, ok bool) {
	if m == nil {
		return address, true
	}
	for _, compaction := range m.compactions {
		s := compaction[uint32(address>>32)]
		if s == nil {
			continue
		}
		row := uint32(address)
		if !s.kept.Contains(row) {
			return 0, false
		}
		at := s.before + s.kept.Rank(row) - 1
		targets := s.into.targets
		t := targets[sort.Search(len(targets), func(i int) bool { return targets[i].before > at })-1]
		address = uint64(t.id)<<32 | (at - t.before)
	}
	return address, true
}

// Follow replaces covered fragments by the fragments that their rows moved to. A rewritten group
// counts as covered only if all of its source fragments were.
func (m *Moves) Follow(covered *roaring.Bitmap) {
	if m == nil {
		return
	}
	for _, compaction := range m.compactions {
		done := map[*group]bool{}
		for _, s := range compaction {
			g := s.into
			if done[g] {
				continue
			}
			done[g] = true
			before := 0
			for _, id := range g.sources {
				if covered.CheckedRemove(id) {
					before++
				}
			}
			if before == len(g.sources) {
				for _, t := range g.targets {
					covered.Add(t.id)
				}
			}
		}
	}
}

package operation

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/pb"
)

// tombstone replaces a field id in a file's field list once a later file of the fragment holds the
// column.
const tombstone = -2

// nextFragmentID returns the first id that has never been allocated, after a check that n
// ids are left.
func (c *change) nextFragmentID(n uint64) (uint64, error) {
	next := uint64(0)
	if c.next.MaxFragmentID != nil {
		next = uint64(*c.next.MaxFragmentID) + 1
	}
	if next+n > math.MaxUint32 {
		return 0, fmt.Errorf("%w: no fragment ids are left", lance.ErrUnsupported)
	}
	return next, nil
}

// numbered returns copies of new fragments with ids. Id 0 becomes the table's next id; any other id
// was reserved before.
func (c *change) numbered(fragments []*pb.Fragment) ([]*pb.Fragment, error) {
	next, err := c.nextFragmentID(uint64(len(fragments)))
	if err != nil {
		return nil, err
	}
	out := make([]*pb.Fragment, len(fragments))
	for i, f := range fragments {
		f := *f
		if err := checkFiles(&f); err != nil {
			return nil, err
		}
		if f.ID == 0 {
			f.ID = next
			raiseMaxFragmentID(c.next, uint32(next))
			next++
		}
		out[i] = &f
	}
	return out, nil
}

// checkFiles rejects a file without columns, because native readers treat such a table as corrupt.
func checkFiles(f *pb.Fragment) error {
	for i := range f.Files {
		if len(f.Files[i].Fields) == 0 {
			return invalid("data file %s holds no field", f.Files[i].Path)
		}
	}
	return nil
}

// add appends fragments with new rows.
func (c *change) add(fragments []*pb.Fragment) error {
	added, err := c.numbered(fragments)
	if err != nil {
		return err
	}
	if c.next.StableRowIDs() {
		if err := c.assignRowIDs(added); err != nil {
			return err
		}
		for _, f := range added {
			c.stampNew(f)
		}
	}
	c.next.Fragments = append(slices.Clip(c.next.Fragments), added...)
	return nil
}

// delete sets the new deletion files of updated fragments and nothing else, because other
// operations may have changed the rest.
func (c *change) delete(op *pb.Delete) error {
	c.keepFragments(op.DeletedFragmentIDs, op.UpdatedFragments, func(now, updated *pb.Fragment) *pb.Fragment {
		f := *now
		f.DeletionFile = updated.DeletionFile
		return &f
	})
	return c.dropOrphanedIndices()
}

// keepFragments removes fragments, and replaces updated ones by the results of replace.
func (c *change) keepFragments(removed []uint64, updated []*pb.Fragment, replace func(now, updated *pb.Fragment) *pb.Fragment) {
	gone := make(map[uint64]bool, len(removed))
	for _, id := range removed {
		gone[id] = true
	}
	changed := byID(updated)
	kept := make([]*pb.Fragment, 0, len(c.next.Fragments))
	for _, f := range c.next.Fragments {
		if gone[f.ID] {
			continue
		}
		if u := changed[f.ID]; u != nil {
			f = replace(f, u)
		}
		kept = append(kept, f)
	}
	c.next.Fragments = kept
}

// byID maps fragments by id. Of equal ids the first one counts.
func byID(fragments []*pb.Fragment) map[uint64]*pb.Fragment {
	m := make(map[uint64]*pb.Fragment, len(fragments))
	for _, f := range fragments {
		if m[f.ID] == nil { // the first counts
			m[f.ID] = f
		}
	}
	return m
}

// update moves changed rows to new fragments (RewriteRows), or replaces columns in existing
// fragments (RewriteColumns).
func (c *change) update(op *pb.Update) error {
	if len(op.CompactedSSTables) > 0 {
		return fmt.Errorf("%w: an update from a write-ahead log", lance.ErrUnsupported)
	}
	if err := c.uncover(op.UpdatedFragments, op.FieldsModified); err != nil {
		return err
	}
	live := c.fieldIDs()
	c.keepFragments(op.RemovedFragmentIDs, op.UpdatedFragments, func(_, updated *pb.Fragment) *pb.Fragment {
		f := *updated
		f.Files = filesWith(f.Files, live) // a column may have been dropped meanwhile
		return &f
	})
	if op.Mode == pb.RewriteColumns && c.next.StableRowIDs() {
		if err := c.stampRows(op.UpdatedFragments, op.UpdatedOffsets); err != nil {
			return err
		}
	}
	added, err := c.numbered(op.NewFragments)
	if err != nil {
		return err
	}
	for _, f := range added {
		f.Files = filesWith(f.Files, live)
	}
	if c.next.StableRowIDs() {
		if err := c.assignRowIDs(added); err != nil {
			return err
		}
		if err := c.stampMoved(added); err != nil {
			return err
		}
		if op.Mode == pb.RewriteRows {
			if err := c.coverMoved(op, added); err != nil {
				return err
			}
		}
	}
	c.next.Fragments = append(c.next.Fragments, added...)
	return c.dropOrphanedIndices()
}

// fieldIDs returns the ids of all fields of the schema.
func (c *change) fieldIDs() map[int32]bool {
	ids := map[int32]bool{}
	for f := range c.next.Schema.All() {
		ids[f.ID] = true
	}
	return ids
}

// filesWith returns the files that hold at least one of the fields. It returns the slice
// itself if that is all of them.
func filesWith(files []pb.DataFile, fields map[int32]bool) []pb.DataFile {
	useless := func(f pb.DataFile) bool {
		return !slices.ContainsFunc(f.Fields, func(id int32) bool { return fields[id] })
	}
	if !slices.ContainsFunc(files, useless) {
		return files
	}
	return slices.DeleteFunc(slices.Clone(files), useless)
}

// rewrite replaces groups of fragments by fragments with the same rows in the same order.
func (c *change) rewrite(op *pb.Rewrite) error {
	replaced := map[uint64]bool{}
	have := byID(c.next.Fragments)
	var fresh []*pb.Fragment
	groups := make([]pb.RewriteGroup, len(op.Groups))
	for i, g := range op.Groups {
		for _, f := range g.OldFragments {
			if have[f.ID] == nil {
				return invalid("there is no fragment %d to be rewritten", f.ID)
			}
			if replaced[f.ID] {
				return invalid("fragment %d is rewritten twice", f.ID)
			}
			replaced[f.ID] = true
		}
		added, err := c.numbered(g.NewFragments)
		if err != nil {
			return err
		}
		if c.next.StableRowIDs() {
			for _, f := range added {
				if f.RowIDs == nil {
					return invalid("a rewritten fragment of a table with stable row ids must list them")
				}
			}
		}
		fresh = append(fresh, added...)
		groups[i] = pb.RewriteGroup{OldFragments: g.OldFragments, NewFragments: added}
	}
	c.keepFragments(slices.Collect(maps.Keys(replaced)), nil, nil)
	c.next.Fragments = append(c.next.Fragments, fresh...)
	return c.followRewrite(groups, op.RewrittenIndices)
}

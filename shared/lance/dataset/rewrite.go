package dataset

import (
	"context"
	"fmt"
	"math"
	"slices"

	"tiltyard/shared/lance/dataset/fragment"
	"tiltyard/shared/lance/operation"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/lance/rowid"
)

// A Rewriting is groups of fragments written anew, without the rows that are deleted, and
// not committed yet. The new fragments have their ids, so that it can be said where rows go.
type Rewriting struct {
	read   *Dataset
	groups []pb.RewriteGroup
	group  map[uint64]int   // of each old fragment
	before map[uint64]int64 // rows that are not deleted in the fragments of its group before it
}

// Rewrite writes groups of fragments of d, named by their ids, anew: the rows of a group
// in their order, as few fragments as they fit in. It commits that fragment ids are taken;
// the rest is for Rewriting.Commit.
func (d *Dataset) Rewrite(ctx context.Context, groups [][]uint64) (*Rewriting, error) {
	r, err := d.rewrite(ctx, groups)
	if err != nil {
		return nil, err
	}
	reserved := uint32(0)
	for _, g := range r.groups {
		reserved += uint32(len(g.NewFragments))
	}
	made, err := d.Commit(ctx, &pb.ReserveFragments{NumFragments: reserved})
	if err != nil {
		return nil, err
	}
	next := uint64(0)
	if highest := made.Manifest().MaxFragmentID; highest != nil {
		next = uint64(*highest) + 1 - uint64(reserved)
	}
	for _, g := range r.groups {
		for _, f := range g.NewFragments {
			f.ID = next
			next++
		}
	}
	return r, nil
}

// rewrite is Rewrite without ids for the new fragments: the commit gives them theirs.
func (d *Dataset) rewrite(ctx context.Context, groups [][]uint64) (*Rewriting, error) {
	if err := operation.CheckWritable(d.Manifest()); err != nil {
		return nil, err
	}
	r := &Rewriting{read: d, group: map[uint64]int{}, before: map[uint64]int64{}}
	for i, ids := range groups {
		group, err := r.write(ctx, i, ids)
		if err != nil {
			return nil, err
		}
		r.groups = append(r.groups, group)
	}
	return r, nil
}

// write writes one group.
func (r *Rewriting) write(ctx context.Context, group int, ids []uint64) (pb.RewriteGroup, error) {
	var out pb.RewriteGroup
	var old []*fragment.Fragment
	before := int64(0)
	for _, id := range ids {
		f := r.read.Fragment(id)
		if _, twice := r.group[id]; f == nil || twice {
			return out, fmt.Errorf("version %d has no fragment %d, or it is named twice", r.read.Version(), id)
		}
		r.group[id], r.before[id] = group, before
		before += f.LiveRows()
		old = append(old, f)
		out.OldFragments = append(out.OldFragments, f.Meta)
	}
	schema, batches, err := r.read.FragmentValues(ctx, old)
	if err != nil {
		return out, err
	}
	files, err := r.read.stageRows(ctx, Rows{Schema: schema, Batches: batches, Trusted: true})
	if err != nil {
		return out, err
	}
	out.NewFragments = files.Fragments
	if r.read.Manifest().StableRowIDs() {
		if err := carryLineage(ctx, old, files.Fragments); err != nil {
			return out, err
		}
	}
	return out, files.Wait()
}

// carryLineage lets the rows of old fragments keep their ids and versions in new ones.
func carryLineage(ctx context.Context, old []*fragment.Fragment, fresh []*pb.Fragment) error {
	var ids, created, updated []uint64
	for _, f := range old {
		deleted, err := f.Deletions(ctx)
		if err != nil {
			return err
		}
		idOf, err := f.RowIDs(ctx)
		if err != nil {
			return err
		}
		createdAt, err := f.CreatedAt(ctx)
		if err != nil {
			return err
		}
		updatedAt, err := f.UpdatedAt(ctx)
		if err != nil {
			return err
		}
		for from, to := range deleted.Live(0, f.Rows) {
			for row := from; row < to; row++ {
				ids, created, updated = append(ids, idOf(row)), append(created, createdAt(row)), append(updated, updatedAt(row))
			}
		}
	}
	for _, f := range fresh {
		n := f.PhysicalRows
		f.RowIDs = rowid.New(ids[:n]).Encode()
		f.CreatedAt, f.UpdatedAt = rowid.NewVersions(created[:n]).Encode(), rowid.NewVersions(updated[:n]).Encode()
		ids, created, updated = ids[n:], created[n:], updated[n:]
	}
	return nil
}

// Groups are the old and the new fragments. They must not be changed.
func (r *Rewriting) Groups() []pb.RewriteGroup { return r.groups }

// Moved returns the new address of a row: the same when its fragment is not rewritten.
// It is false for a row that was deleted.
func (r *Rewriting) Moved(ctx context.Context, address uint64) (uint64, bool, error) {
	id, row := address>>32, int64(address&math.MaxUint32)
	group, ok := r.group[id]
	if !ok {
		return address, true, nil
	}
	deleted, err := r.read.Fragment(id).Deletions(ctx)
	if err != nil || deleted.Deleted(row, row+1) > 0 {
		return 0, false, err
	}
	row += r.before[id] - deleted.Deleted(0, row)
	for _, f := range r.groups[group].NewFragments {
		if row < int64(f.PhysicalRows) {
			return f.ID<<32 | uint64(row), true, nil
		}
		row -= int64(f.PhysicalRows)
	}
	return 0, false, nil
}

// Commit puts the new fragments in the place of the old ones. remapped are segments of
// indices that were built again with the rows' new addresses; other indices of a table
// without stable row ids do not cover the new fragments, which are scanned. Changes of rows by others,
// and new indices on them, make it stale: see IsRowsChanged.
func (r *Rewriting) Commit(ctx context.Context, remapped []pb.RewrittenIndex) (*Dataset, error) {
	return r.read.Commit(ctx, &pb.Rewrite{Groups: slices.Clone(r.groups), RewrittenIndices: remapped})
}

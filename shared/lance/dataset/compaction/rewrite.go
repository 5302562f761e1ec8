package compaction

import (
	"context"
	"fmt"
	"math"
	"slices"

	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/fragment"
	"tiltyard/shared/lance/operation"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/lance/rowid"
)

// A Rewriting holds rewritten groups of fragments before their commit.
type Rewriting struct {
	read   *dataset.Dataset
	groups []pb.RewriteGroup
	group  map[uint64]int   // by old fragment id
	before map[uint64]int64 // by old fragment id: live rows before it in its group
}

// Rewrite rewrites groups of fragments of d, given by id. Each group becomes as few new fragments
// as possible, with its live rows in order. Rewrite commits a reservation of the new fragment ids;
// [Rewriting.Commit] commits the fragments.
func Rewrite(ctx context.Context, d *dataset.Dataset, groups [][]uint64) (*Rewriting, error) {
	r, err := rewrite(ctx, d, groups)
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

// rewrite rewrites groups without reserving fragment ids; the commit assigns them.
func rewrite(ctx context.Context, d *dataset.Dataset, groups [][]uint64) (*Rewriting, error) {
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

// write rewrites one group.
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
	files, err := r.read.Stage(ctx, dataset.Rows{Schema: schema, Batches: batches, Trusted: true})
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

// carryLineage copies the row ids and row versions of old fragments to new ones.
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
	// The new fragments hold the live rows in order, so they take the ids in order.
	for _, f := range fresh {
		n := f.PhysicalRows
		f.RowIDs = rowid.New(ids[:n]).Encode()
		f.CreatedAt, f.UpdatedAt = rowid.NewVersions(created[:n]).Encode(), rowid.NewVersions(updated[:n]).Encode()
		ids, created, updated = ids[n:], created[n:], updated[n:]
	}
	return nil
}

// Groups returns the old and new fragments of each group. They must not be changed.
func (r *Rewriting) Groups() []pb.RewriteGroup { return r.groups }

// Moved returns the new address of a row. Rows of other fragments keep their address. ok is false
// for a deleted row.
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

// Commit replaces the old fragments by the new ones. remapped lists index segments rebuilt with the
// new addresses. Without them, indices of a table without stable row ids do not cover the new
// fragments. Concurrent changes of the rows and new indices on them make it fail with an error for
// which dataset.IsRowsChanged holds.
func (r *Rewriting) Commit(ctx context.Context, remapped []pb.RewrittenIndex) (*dataset.Dataset, error) {
	return r.read.Commit(ctx, &pb.Rewrite{Groups: slices.Clone(r.groups), RewrittenIndices: remapped})
}

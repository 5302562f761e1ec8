package dataset

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/pb"
)

// A segment that finds rows by where they are follows these when fragments are rewritten: it is built
// anew over the fragments that it covers, with the new ones in the place of the old. The rows are read
// from the new fragments before these are committed, so both become one version.

// movedBy returns the segments that have to follow when groups of fragments are rewritten, and the
// groups without those that a segment covers whose files cannot be followed.
func (d *Dataset) movedBy(ctx context.Context, groups [][]uint64, opts CompactionOptions) ([]snapshot.Covering, [][]uint64, error) {
	covered, err := d.indexCoverage(opts)
	if err != nil {
		return nil, nil, err
	}
	var moved []snapshot.Covering
	for _, s := range covered.movable {
		isCovered := func(group []uint64) bool { return s.Live.Contains(uint32(group[0])) }
		if !slices.ContainsFunc(groups, isCovered) {
			continue
		}
		_, err := d.planLike(ctx, d, s.Entry, opts.Extend)
		switch {
		case errors.Is(err, lance.ErrUnsupported) || snapshot.IsDamage(err):
			groups = slices.DeleteFunc(slices.Clone(groups), isCovered)
		case err != nil:
			return nil, nil, err
		default:
			moved = append(moved, s)
		}
	}
	return moved, groups, nil
}

// rewriteAll writes groups of fragments anew, lets segments follow, and commits both.
func (d *Dataset) rewriteAll(ctx context.Context, groups [][]uint64, moved []snapshot.Covering, extend Extender) (*Dataset, *Rewriting, error) {
	ctx, done := context.WithCancel(ctx)
	defer done()
	if len(moved) == 0 {
		r, err := d.rewrite(ctx, groups)
		if err != nil {
			return nil, nil, err
		}
		made, err := r.Commit(ctx, nil)
		return made, r, err
	}
	r, err := d.Rewrite(ctx, groups)
	if err != nil {
		return nil, nil, err
	}
	op := &pb.Rewrite{Groups: slices.Clone(r.groups)}
	files := new(errgroup.Group)
	for _, s := range moved {
		fresh, err := r.follow(ctx, s, extend)
		if err != nil {
			return nil, nil, err
		}
		files.Go(fresh.wait)
		op.RewrittenIndices = append(op.RewrittenIndices, pb.RewrittenIndex{
			OldID: s.Entry.UUID, NewID: fresh.entry.UUID, NewDetails: fresh.entry.Details,
			NewVersion: uint32(*fresh.entry.IndexVersion), NewFiles: fresh.entry.Files,
		})
	}
	made, err := d.table.commit(ctx, &change{read: d, operation: op, wait: files.Wait})
	return made, r, err
}

// follow builds a segment anew over the fragments that it covers once the rewriting is committed.
func (r *Rewriting) follow(ctx context.Context, s snapshot.Covering, extend Extender) (extension, error) {
	var fragments []*pb.Fragment
	for _, f := range r.read.Manifest().Fragments {
		if _, old := r.group[f.ID]; !old && s.Live.Contains(uint32(f.ID)) {
			fragments = append(fragments, f)
		}
	}
	for _, g := range r.groups {
		if s.Live.Contains(uint32(g.OldFragments[0].ID)) {
			fragments = append(fragments, g.NewFragments...)
		}
	}
	part, err := r.read.part(fragments)
	if err != nil {
		return extension{}, err
	}
	fresh, err := r.read.extend(ctx, part, s.Entry, extend)
	if err == nil && len(fresh.entry.Files) == 0 {
		err = fmt.Errorf("index %s: segment %s was built anew without files", s.Entry.Name, s.Entry.UUID)
	}
	return fresh, err
}

package compaction

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/segments"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/pb"
)

// An index segment that stores row addresses is rebuilt when its fragments are rewritten: over the
// fragments that it covers, with the new fragments in place of the old, from the new files before
// their commit. Fragments and segments become one version.

// movedBy returns the segments that must be rebuilt for groups of fragments. It drops the groups
// covered by a segment that cannot be rebuilt.
func movedBy(ctx context.Context, d *dataset.Dataset, groups [][]uint64, opts Options) ([]snapshot.Covering, [][]uint64, error) {
	covered, err := indexCoverage(d, opts)
	if err != nil {
		return nil, nil, err
	}
	var moved []snapshot.Covering
	for _, s := range covered.movable {
		isCovered := func(group []uint64) bool { return s.Live.Contains(uint32(group[0])) }
		if !slices.ContainsFunc(groups, isCovered) {
			continue
		}
		_, err := segments.PlanLike(ctx, d, d, s.Entry, opts.Extend)
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

// rewriteAll rewrites groups, rebuilds the segments over them, and commits both.
func rewriteAll(ctx context.Context, d *dataset.Dataset, groups [][]uint64, moved []snapshot.Covering, extend segments.Extender) (*dataset.Dataset, *Rewriting, error) {
	ctx, done := context.WithCancel(ctx)
	defer done()
	if len(moved) == 0 {
		r, err := rewrite(ctx, d, groups)
		if err != nil {
			return nil, nil, err
		}
		made, err := r.Commit(ctx, nil)
		return made, r, err
	}
	// New segments contain the new addresses, so fragment ids must be reserved first.
	r, err := Rewrite(ctx, d, groups)
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
		files.Go(fresh.Wait)
		op.RewrittenIndices = append(op.RewrittenIndices, pb.RewrittenIndex{
			OldID: s.Entry.UUID, NewID: fresh.Entry.UUID, NewDetails: fresh.Entry.Details,
			NewVersion: uint32(*fresh.Entry.IndexVersion), NewFiles: fresh.Entry.Files,
		})
	}
	made, err := d.Table().Commit(ctx, &dataset.Change{Read: d, Operation: op, Wait: files.Wait})
	return made, r, err
}

// follow rebuilds a segment over the fragments that it covers after the commit.
func (r *Rewriting) follow(ctx context.Context, s snapshot.Covering, extend segments.Extender) (segments.Built, error) {
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
	part, err := segments.PartOf(r.read, fragments)
	if err != nil {
		return segments.Built{}, err
	}
	fresh, err := segments.Extend(ctx, r.read, part, s.Entry, extend)
	if err == nil && len(fresh.Entry.Files) == 0 {
		err = fmt.Errorf("index %s: segment %s was built anew without files", s.Entry.Name, s.Entry.UUID)
	}
	return fresh, err
}

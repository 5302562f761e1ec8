package staleness

import (
	"context"
	"errors"

	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/protocol"
)

// maxCarried bounds the commits that are searched for compactions. LanceDB has the same bound.
const maxCarried = 1024

// isCompacted reports whether a fragment with a signature no longer exists, which means that a
// compaction may have replaced it.
func isCompacted(d *dataset.Dataset, known Signatures) bool {
	for id := range known {
		if d.Fragment(uint64(id)) == nil {
			return true
		}
	}
	return false
}

// carried returns signatures of fragments that compactions have made from fresh fragments since a
// version. Their values are fresh, because a compaction copies all columns. It reads each commit
// since then.
func carried(ctx context.Context, d *dataset.Dataset, known Signatures, inputs Inputs, since uint64, history History) (Signatures, error) {
	if since >= d.Version() || d.Version()-since > maxCarried {
		return nil, nil
	}
	made := Signatures{}
	// A fragment is fresh if it was recorded, or made from fresh ones, and its inputs are unchanged.
	isFresh := func(id uint64, before Signatures) bool {
		signature, ok := made[uint32(id)]
		if !ok {
			signature, ok = known[uint32(id)]
		}
		was, there := before[uint32(id)]
		return ok && there && was == signature
	}
	for version := since + 1; version <= d.Version(); version++ {
		err := history(ctx, version, func(ctx context.Context, after *dataset.Dataset) error {
			txn, err := after.Transaction(ctx)
			if errors.Is(err, dataset.ErrNoTransaction) {
				return nil
			}
			if err != nil {
				return err
			}
			rewrite, ok := txn.Operation.(*pb.Rewrite)
			if !ok {
				return nil
			}
			return history(ctx, version-1, func(_ context.Context, was *dataset.Dataset) error {
				before, now := Now(was, inputs), Now(after, inputs)
				for _, group := range rewrite.Groups {
					// A fragment that is made from a stale one is stale.
					all := len(group.OldFragments) > 0
					for _, old := range group.OldFragments {
						all = all && isFresh(old.ID, before)
					}
					if all {
						carry(after, group.NewFragments, now, made)
					}
				}
				return nil
			})
		})
		// A version that was cleaned up may have been a compaction; its fragments then count as stale.
		if err != nil && !protocol.HasCode(err, protocol.TableVersionNotFound) {
			return nil, err
		}
	}
	return made, nil
}

// carry records the signatures of the fragments that a compaction made. It finds them by their
// files, because the transaction may lack their ids.
func carry(after *dataset.Dataset, fragments []*pb.Fragment, now, made Signatures) {
	paths := map[string]bool{}
	for _, f := range fragments {
		for i := range f.Files {
			paths[f.Files[i].Path] = true
		}
	}
	for _, f := range after.Fragments() {
		if len(f.Meta.Files) == 0 || !paths[f.Meta.Files[0].Path] {
			continue
		}
		if signature, ok := now[uint32(f.Meta.ID)]; ok {
			made[uint32(f.Meta.ID)] = signature
		}
	}
}

package indexing

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/indexbuild"
	"tiltyard/shared/engine/indices"
	"tiltyard/shared/index"
	"tiltyard/shared/jobs"
	"tiltyard/shared/jobs/transaction"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/segments"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/protocol"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/tables"
)

// divide divides all rows of the newest version of a table.
func (b builder) divide(ctx context.Context, r *jobs.Run, order Order) (*division, error) {
	return tables.Read(ctx, b.on.Open(r.Object(), order.Branch), nil, func(ctx context.Context, at tables.Version) (*division, error) {
		v := &division{Place: at.Found.Table.Location.URI, Trained: segments.NewID()}
		return v, b.divideFragments(ctx, v, at.Dataset, order, fragmentsOf(at.Dataset))
	})
}

// fragmentsOf returns the ids of all fragments.
func fragmentsOf(d *dataset.Dataset) *roaring.Bitmap {
	all := roaring.New()
	for _, f := range d.Manifest().Fragments {
		all.Add(uint32(f.ID))
	}
	return all
}

// divideFragments divides the rows of some fragments of the newest version.
func (b builder) divideFragments(ctx context.Context, v *division, d *dataset.Dataset, order Order, fragments *roaring.Bitmap) error {
	v.Version, v.Stage, v.Join, v.Memory = d.Version(), segments.NewID(), int64(b.sizes.Time), b.sizes.Memory
	var err error
	if v.Fragments, err = fragments.ToBytes(); err != nil {
		return err
	}
	n, _, err := v.index(ctx, order, d)
	if err != nil {
		return err
	}
	parts, err := n.Divide(d)
	if err != nil {
		return err
	}
	if _, ok := parts.(index.Whole); ok {
		v.Segment = segments.NewID()
	}
	s, err := v.stretch(d)
	if err != nil {
		return err
	}
	// Shards of some fragments get the same size as shards of all fragments.
	share := float64(s.rows()) / float64(max(d.CountRows(), 1))
	v.Shards = min(max(int(float64(b.sizes.shards(d, parts))*share), 1), transaction.MaxParts)
	return nil
}

// A round is one pass through the shards, join and commit stages.
type round struct {
	builder
	number   int
	division string // the stage whose result is the division
	fold     bool   // set for the only round of a job that merges rows
}

// A work is the input of one part of a round.
type work struct {
	*division
	order   Order
	dataset *dataset.Dataset
	parts   index.Parts
	stretch *stretch
	like    *snapshot.Segment // for a fold: the segment that new ones resemble
}

// open calls f with the version that was divided. The error satisfies [isGone] if a cleanup has
// deleted the version.
func open[T any](ctx context.Context, w round, r *jobs.Run, watch func(rows int64), f func(ctx context.Context, w *work) (T, error)) (T, error) {
	v, err := w.divided(ctx, r)
	if err != nil {
		var none T
		return none, err
	}
	version := int64(v.Version)
	return openAt(ctx, w, r, v, &version, watch, f)
}

// openNewest calls f with the newest version.
func openNewest[T any](ctx context.Context, w round, r *jobs.Run, watch func(rows int64), f func(ctx context.Context, w *work) (T, error)) (T, error) {
	v, err := w.divided(ctx, r)
	if err != nil {
		var none T
		return none, err
	}
	return openAt(ctx, w, r, v, nil, watch, f)
}

// openAt calls f with a version of the table, nil for the newest. It fails if the table was replaced.
func openAt[T any](ctx context.Context, w round, r *jobs.Run, v *division, version *int64, watch func(rows int64), f func(ctx context.Context, w *work) (T, error)) (T, error) {
	var none T
	k := &work{division: v}
	if err := r.Input(&k.order); err != nil {
		return none, err
	}
	return tables.Inspect(ctx, w.on.Open(r.Object(), ""), func(ctx context.Context, main tables.Table) (T, error) {
		// The job must not continue on another table of the same name.
		if main.Found.Table.Location.URI != v.Place {
			return none, errReplaced
		}
		t, err := main.On(ctx, k.order.Branch)
		if err != nil {
			return none, err
		}
		return engine.Read(ctx, t, version, func(ctx context.Context, d *dataset.Dataset) (T, error) {
			n, like, err := v.index(ctx, k.order, d)
			if err != nil {
				return none, err
			}
			k.like, n.Watch = like, watch
			if k.parts, err = n.Divide(d); err != nil {
				return none, err
			}
			k.dataset = d
			if k.stretch, err = v.stretch(d); err != nil {
				return none, err
			}
			return f(ctx, k)
		})
	})
}

// errReplaced ends a job whose table was dropped and replaced by another of that name.
var errReplaced = protocol.Errorf(protocol.TableNotFound, "the table was replaced while the index was built")

// isGone reports whether an error means that a cleanup deleted the version, or files that other parts wrote. The round
// then ends without segments, and the next one begins with the newest version.
func isGone(err error) bool {
	return protocol.HasCode(err, protocol.TableVersionNotFound) || errors.Is(err, objectstore.ErrNotExist)
}

// unlessGone returns the result of work on a version, or the zero value if a cleanup deleted the
// version.
func unlessGone[T any](made T, err error) (T, error) {
	if isGone(err) {
		var none T
		return none, nil
	}
	return made, err
}

// errGone ends a job because in each round the version was deleted before a segment of it was made.
var errGone = &protocol.Error{
	Code: protocol.TableVersionNotFound, Message: fmt.Sprintf("%d versions of the table were deleted, each while the index was built of it", rounds),
	Detail: "delete versions later, and build the index again",
}

// divided returns the division of the round.
func (w round) divided(ctx context.Context, r *jobs.Run) (*division, error) {
	found, err := jobs.ResultsOf[*division](ctx, r, w.division)
	if err != nil {
		return nil, err
	}
	return found[0], nil
}

// staged returns the files of other parts. In a fold, the segment k.like contains the shared model.
func (k *work) staged() index.Staged {
	files := indexbuild.NewStaged(k.dataset, k.Trained, k.Stage)
	if k.like != nil {
		files.Trained = k.like.Open
	}
	return files
}

// train trains the model that all shards use, and returns whether there are enough rows for it. If
// a cleanup deleted the divided version, it trains on the newest one, because a model fits the rows
// of later versions as well.
func (w round) train(ctx context.Context, r *jobs.Run) (any, error) {
	var rows counter
	learn := func(ctx context.Context, k *work) (enough bool, err error) {
		_, err = indexbuild.Stage(ctx, k.dataset, k.Trained, func(ctx context.Context, out index.Output) (err error) {
			enough, err = k.parts.Train(ctx, out)
			return err
		})
		return enough, err
	}
	enough, err := open(ctx, w, r, rows.watch(r), learn)
	// The divided version was deleted; see the comment.
	if isGone(err) {
		rows.begin(0)
		return openNewest(ctx, w, r, rows.watch(r), learn)
	}
	return enough, err
}

// shards returns the number of shards, or 0 if the version no longer exists.
func (w round) shards(ctx context.Context, r *jobs.Run) (int, error) {
	enough, err := w.enough(ctx, r)
	if err != nil || !enough {
		return 0, err
	}
	return unlessGone(open(ctx, w, r, nil, func(_ context.Context, k *work) (int, error) {
		r.Progress(jobs.Progress{Total: k.stretch.rows()})
		return k.Shards, nil
	}))
}

// enough reports whether there are enough rows for the index.
func (w round) enough(ctx context.Context, r *jobs.Run) (bool, error) {
	if w.fold {
		return true, nil
	}
	enough, err := jobs.ResultsOf[bool](ctx, r, trainStage)
	return err == nil && enough[0], err
}

// shard makes one shard. Each run chooses new names for its files. The result is nil if the version
// no longer exists.
func (w round) shard(ctx context.Context, r *jobs.Run) (any, error) {
	var rows counter
	part, _ := r.Part()
	return unlessGone(open(ctx, w, r, rows.watch(r), func(ctx context.Context, k *work) (*index.Shard, error) {
		span, total := k.stretch.span(part-1), int64(0)
		for _, id := range k.stretch.ids {
			from, to := span(uint64(id))
			total += to - from
		}
		rows.begin(total)
		var made index.Shard
		_, err := indexbuild.Stage(ctx, k.dataset, k.Stage, func(ctx context.Context, out index.Output) (err error) {
			made, err = k.parts.Shard(ctx, span, "shard_"+segments.NewID()+".lance", k.staged(), out)
			return err
		})
		return &made, err
	}))
}

// made returns the shards of the round, or none if the version was deleted before all were made.
func (w round) made(ctx context.Context, r *jobs.Run) ([]index.Shard, error) {
	results, err := jobs.ResultsOf[*index.Shard](ctx, r, stageOf(shardsStage, w.number))
	if err != nil || slices.Contains(results, nil) {
		return nil, err
	}
	shards := make([]index.Shard, len(results))
	for i, s := range results {
		shards[i] = *s
	}
	return shards, nil
}

// joins returns the number of joins: one per segment, or several for a single segment.
func (w round) joins(ctx context.Context, r *jobs.Run) (int, error) {
	shards, err := w.made(ctx, r)
	if err != nil || len(shards) == 0 {
		return 0, err
	}
	return unlessGone(open(ctx, w, r, nil, func(_ context.Context, k *work) (int, error) {
		keys := int64(0)
		for _, s := range shards {
			keys += s.Keys
		}
		r.Progress(jobs.Progress{Total: keys})
		return len(k.groups(k.stretch, k.parts, shards)), nil
	}))
}

// joined is the result of a join: a segment, or a part of a segment, which covers no fragments by itself.
type joined struct {
	segments.Staged
	index.Joined
}

// join makes one segment, or a part of one. The result is nil if the version no longer exists.
func (w round) join(ctx context.Context, r *jobs.Run) (any, error) {
	shards, err := w.made(ctx, r)
	if err != nil {
		return nil, err
	}
	var keys counter
	part, of := r.Part()
	return unlessGone(open(ctx, w, r, keys.watch(r), func(ctx context.Context, k *work) (*joined, error) {
		groups := k.groups(k.stretch, k.parts, shards)
		// The groups are computed again, deterministically, from the same shards.
		if len(groups) != of {
			return nil, fmt.Errorf("%d segments of an index, want %d", len(groups), of)
		}
		g := groups[part-1]
		total := int64(0)
		for _, s := range shards[g.from:g.to] {
			total += s.Keys
		}
		keys.begin(total)
		made := &joined{Staged: segments.Staged{UUID: k.Segment, Version: k.Version}}
		var err error
		// Parts of a single segment cover nothing by themselves; complete adds the fragments.
		if k.Segment == "" {
			made.UUID = segments.NewID()
			if made.Covers, err = k.stretch.covers(g); err != nil {
				return nil, err
			}
		}
		made.Files, err = indexbuild.Stage(ctx, k.dataset, made.UUID, func(ctx context.Context, out index.Output) (err error) {
			made.Joined, err = k.parts.Join(ctx, shards[g.from:g.to], k.staged(), out)
			return err
		})
		return made, err
	}))
}

// commit commits the segments of all rounds, which ends the job. If values changed, or a version or
// a segment was lost, and further rounds are possible, it returns the division of the uncovered
// fragments for the next round instead.
func (w round) commit(ctx context.Context, r *jobs.Run) (any, error) {
	v, err := w.divided(ctx, r)
	if err != nil {
		return nil, err
	}
	enough, err := w.enough(ctx, r)
	if err != nil {
		return nil, err
	}
	made, gone, err := w.segments(ctx, r, v)
	if err != nil {
		return nil, err
	}
	var order Order
	if err := r.Input(&order); err != nil {
		return nil, err
	}
	staged := slices.Concat(v.Segments, made)
	var again *division
	done, err := w.change(ctx, r, order.Branch, func(t tables.Table) (engine.Written, error) {
		if again = nil; t.Found.Table.Location.URI != v.Place {
			return engine.Written{}, errReplaced
		}
		return indices.Commit(ctx, t.Table, func(ctx context.Context, newest *dataset.Dataset) (n segments.NewIndex, fit []segments.Staged, err error) {
			if n, err = order.index().Resolve(newest); err != nil {
				return n, nil, err
			}
			// Too few rows for a model: commit the index without segments.
			if !enough {
				return n, nil, nil
			}
			fit, missing, err := fitting(ctx, t.Table, newest, order.Column, staged, gone)
			switch last := w.number == rounds-1; {
			case err != nil || missing.IsEmpty():
				return n, fit, err
			case last && len(fit) == 0:
				return n, nil, errGone
			case last:
				return n, fit, nil
			}
			// The next round divides only the missing fragments, and keeps the trained model.
			again = &division{Place: v.Place, Trained: v.Trained, Segments: fit}
			if err := w.divideFragments(ctx, again, newest, order, missing); err != nil {
				return n, nil, err
			}
			return n, nil, errDivided
		})
	})
	if errors.Is(err, errDivided) {
		return again, nil
	}
	return jobs.End{Result: done}, err
}

// segments returns the segments from the joins of the round. It completes a segment that consists of several parts.
// missing is true if the version was deleted before all were made.
func (w round) segments(ctx context.Context, r *jobs.Run, v *division) (staged []segments.Staged, missing bool, err error) {
	all, err := jobs.ResultsOf[*joined](ctx, r, stageOf(joinStage, w.number))
	if err != nil {
		return nil, false, err
	}
	missing = len(all) == 0 || slices.Contains(all, nil)
	if v.Segment == "" {
		for _, j := range all {
			if j != nil {
				staged = append(staged, j.Staged)
			}
		}
		return staged, missing, nil
	}
	if missing {
		return nil, true, nil
	}
	whole, err := unlessGone(open(ctx, w, r, nil, func(ctx context.Context, k *work) (*segments.Staged, error) {
		return k.complete(ctx, all)
	}))
	if whole == nil || err != nil {
		return nil, true, err
	}
	return []segments.Staged{*whole}, false, nil
}

// complete completes the single segment from the parts that the joins made.
func (k *work) complete(ctx context.Context, parts []*joined) (*segments.Staged, error) {
	whole := &segments.Staged{UUID: k.Segment, Version: k.Version, Covers: k.Fragments}
	var all []index.Joined
	for _, p := range parts {
		all, whole.Files = append(all, p.Joined), append(whole.Files, p.Files...)
	}
	files, err := indexbuild.Stage(ctx, k.dataset, k.Segment, func(ctx context.Context, out index.Output) error {
		return k.parts.(index.Whole).Complete(ctx, all, out)
	})
	whole.Files = append(whole.Files, files...)
	return whole, err
}

// fitting returns the staged segments, reduced to fragments whose values have not changed since. It leaves out segments
// with a deleted file: the cleanup of orphans may have deleted files during a long pause. missing contains the fragments
// of the newest version that no segment covers. It is empty if nothing was lost, so that fragments added since then do not
// cause another round.
func fitting(ctx context.Context, t *engine.Table, newest *dataset.Dataset, column string, staged []segments.Staged, incomplete bool) (fit []segments.Staged, missing *roaring.Bitmap, err error) {
	missing, all, lost := fragmentsOf(newest), roaring.New(), incomplete
	for _, s := range staged {
		covered := roaring.New()
		if err := covered.UnmarshalBinary(s.Covers); err != nil {
			return nil, nil, fmt.Errorf("fragments of a segment: %w", err)
		}
		there, err := segments.HasStaged(ctx, newest, s)
		if err != nil {
			return nil, nil, err
		}
		if !there {
			lost = true
			continue
		}
		version := int64(s.Version)
		same, err := unlessGone(engine.Read(ctx, t, &version, func(_ context.Context, older *dataset.Dataset) (*roaring.Bitmap, error) {
			return newest.SameValues(older.Snapshot, column, covered)
		}))
		if err != nil {
			return nil, nil, err
		}
		if same == nil {
			same = roaring.New()
		}
		lost = lost || !same.Equals(covered)
		all.Or(same)
		// All fragments of the segment have changed.
		if same.IsEmpty() {
			continue
		}
		if s.Covers, err = same.ToBytes(); err != nil {
			return nil, nil, err
		}
		fit = append(fit, s)
	}
	if missing.AndNot(all); !lost {
		missing.Clear()
	}
	return fit, missing, nil
}

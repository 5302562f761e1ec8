package materialize

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"

	"github.com/google/uuid"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/view"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/lance/schema"
	"tiltyard/shared/protocol"
)

// A state describes the rows of a version of a view.
type state struct {
	mark    *view.Watermark // watermark of the rows; nil if they changed since the last refresh
	stamped bool            // the metadata of the version has the watermark
}

// shows reports whether the rows show a version of the source.
func (s state) shows(mark view.Watermark) bool {
	return s.mark != nil && s.mark.Source == mark.Source && s.mark.SourceTS == mark.SourceTS
}

// maxWalk bounds the number of versions since the last refresh that are examined.
const maxWalk = 512

// stateOf finds the last refresh of a view. It ignores later commits that do not change rows of the
// query: commits of indices, metadata and compactions, and fills of computed columns. After any
// other commit the view no longer shows a version of its source.
func stateOf(ctx context.Context, t *engine.Table, newest *dataset.Dataset) (state, error) {
	if w, ok := view.StampOf(newest.Schema().Metadata, newest.Version()); ok {
		return state{&w, true}, nil
	}
	computed := computedFields(newest)
	for version, walked := newest.Version(), 0; version > 0 && walked < maxWalk; version, walked = version-1, walked+1 {
		number := int64(version)
		s, ok, err := engineRead(ctx, t, &number, func(ctx context.Context, d *dataset.Dataset) (state, bool, error) {
			if w, ok := view.StampOf(d.Schema().Metadata, d.Version()); ok {
				return state{mark: &w}, true, nil
			}
			txn, err := d.Transaction(ctx)
			switch {
			case errors.Is(err, dataset.ErrNoTransaction) || snapshot.IsDamage(err):
				return state{}, true, nil // the commit's transaction is unavailable
			case err != nil:
				return state{}, true, err
			}
			if w, ok := view.WatermarkOf(txn.Properties); ok {
				return state{mark: &w}, true, nil
			}
			return state{}, !keepsRows(txn.Operation, computed), nil
		})
		if ok || err != nil {
			return s, err
		}
	}
	return state{}, nil
}

// engineRead is engine.Read for work with two results.
func engineRead(ctx context.Context, t *engine.Table, version *int64, work func(context.Context, *dataset.Dataset) (state, bool, error)) (s state, ok bool, err error) {
	err = engine.Do(ctx, t, version, func(ctx context.Context, d *dataset.Dataset) (err error) {
		s, ok, err = work(ctx, d)
		return err
	})
	if protocol.HasCode(err, protocol.TableVersionNotFound) {
		return state{}, true, nil
	}
	return s, ok, err
}

// computedFields returns the field ids of computed columns. Refreshes write them as NULL, and other jobs
// fill them.
func computedFields(d *dataset.Dataset) map[int32]bool {
	ids := map[int32]bool{}
	for _, f := range d.Schema().Fields {
		isComputed, _ := strconv.ParseBool(f.Metadata["computed_column"])
		if isVirtual, _ := strconv.ParseBool(f.Metadata["virtual_column"]); !isComputed && !isVirtual {
			continue
		}
		for each := range (&schema.Schema{Fields: []*schema.Field{f}}).All() {
			ids[each.ID] = true
		}
	}
	return ids
}

// keepsRows reports whether an operation preserves the rows of a refresh.
func keepsRows(op pb.Operation, computed map[int32]bool) bool {
	switch op := op.(type) {
	case *pb.CreateIndex, *pb.UpdateConfig, *pb.Rewrite, *pb.ReserveFragments:
		return true
	// Jobs that fill computed columns do not change the rows of the query.
	case *pb.DataReplacement:
		for _, r := range op.Replacements {
			for _, id := range r.NewFile.Fields {
				if !computed[id] {
					return false
				}
			}
		}
		return true
	case *pb.Update:
		if op.Mode != pb.RewriteColumns || len(op.NewFragments)+len(op.RemovedFragmentIDs) > 0 || len(op.FieldsModified) == 0 {
			return false
		}
		for _, id := range op.FieldsModified {
			if !computed[int32(id)] {
				return false
			}
		}
		return true
	}
	return false
}

var errStamped = errors.New("the view is stamped")

// stamp copies the watermark into the schema metadata of the newest version, unless the rows have changed
// since the refresh. It returns that version.
func stamp(ctx context.Context, t *engine.Table) (int64, error) {
	version := int64(0)
	for range maxStamps {
		var next uint64
		done, err := t.Alter(ctx, func(ctx context.Context, d *dataset.Dataset) (*dataset.Dataset, error) {
			s, err := stateOf(ctx, t, d)
			if err != nil {
				return nil, err
			}
			version, next = int64(d.Version()), d.Version()+1
			if s.mark == nil || s.stamped {
				return nil, errStamped
			}
			set := s.mark.Stamp(next)
			if set[view.IncarnationKey] = d.Schema().Metadata[view.IncarnationKey]; set[view.IncarnationKey] == "" {
				set[view.IncarnationKey] = uuid.NewString()
			}
			return d.Commit(ctx, metadataOf(set))
		})
		if errors.Is(err, errStamped) {
			return version, nil
		}
		if err != nil || uint64(done.Version) == next {
			return done.Version, err
		}
		version = done.Version // another commit has come between, so the stamp belongs to another version
	}
	return version, nil
}

// maxStamps bounds the attempts to write a stamp during concurrent commits. Without a stamp, readers must
// search the last commits.
const maxStamps = 5

// metadataOf returns the operation that sets keys of the schema metadata.
func metadataOf(set map[string]string) *pb.UpdateConfig {
	update := &pb.UpdateMap{}
	for _, key := range slices.Sorted(maps.Keys(set)) {
		value := set[key]
		update.Entries = append(update.Entries, pb.UpdateMapEntry{Key: key, Value: &value})
	}
	return &pb.UpdateConfig{SchemaMetadata: update}
}

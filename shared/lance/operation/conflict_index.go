package operation

import (
	"slices"

	"github.com/RoaringBitmap/roaring/v2"

	"tiltyard/shared/lance/pb"
)

// checkCreateIndex conflicts with changes of the same indices, and must be redone if covered rows
// moved or an indexed column changed.
func checkCreateIndex(ours *pb.CreateIndex, theirs pb.Operation) Verdict {
	switch theirs := theirs.(type) {
	case *pb.Overwrite, *pb.Restore:
		return Incompatible
	case *pb.CreateIndex:
		return redoIf(sameName(ours, theirs) || addsToDropped(ours, theirs) || addsToDropped(theirs, ours) || replaceSame(ours, theirs))
	case *pb.Rewrite:
		return redoIf(coversAny(ours.NewIndices, rewritten(theirs)))
	case *pb.DataReplacement:
		return redoIf(indexesReplaced(ours.NewIndices, theirs))
	}
	return Compatible
}

// sameName reports whether both operations add index entries with one name.
func sameName(a, b *pb.CreateIndex) bool {
	return slices.ContainsFunc(a.NewIndices, func(x *pb.IndexMetadata) bool { return named(b.NewIndices, x.Name) })
}

func named(list []*pb.IndexMetadata, name string) bool {
	return slices.ContainsFunc(list, func(x *pb.IndexMetadata) bool { return x.Name == name })
}

// addsToDropped reports whether a adds a segment to an index, without replacing one, while
// b removes segments of that index.
func addsToDropped(a, b *pb.CreateIndex) bool {
	return slices.ContainsFunc(a.NewIndices, func(x *pb.IndexMetadata) bool {
		return !named(a.RemovedIndices, x.Name) && named(b.RemovedIndices, x.Name)
	})
}

// replaceSame reports whether both operations remove the same entry and at least one of
// them replaces it. Dropping an entry twice is no conflict.
func replaceSame(a, b *pb.CreateIndex) bool {
	return slices.ContainsFunc(a.RemovedIndices, func(x *pb.IndexMetadata) bool {
		return slices.ContainsFunc(b.RemovedIndices, func(y *pb.IndexMetadata) bool {
			return x.UUID == y.UUID && (named(a.NewIndices, x.Name) || named(b.NewIndices, x.Name) ||
				named(a.NewIndices, y.Name) || named(b.NewIndices, y.Name))
		})
	})
}

// coversAny reports whether new entries cover one of the fragments. An entry that does not
// record its coverage counts as covering all.
func coversAny(entries []*pb.IndexMetadata, fragments map[uint64]bool) bool {
	return slices.ContainsFunc(entries, func(x *pb.IndexMetadata) bool {
		covered, err := bitmap(x.FragmentBitmap)
		if len(x.FragmentBitmap) == 0 || err != nil {
			return true
		}
		for id := range fragments {
			if covered.Contains(uint32(id)) {
				return true
			}
		}
		return false
	})
}

// indexesReplaced reports whether a new index depends on a field that gets new values.
func indexesReplaced(entries []*pb.IndexMetadata, op *pb.DataReplacement) bool {
	return anyReplacement(op, func(_, field uint64) bool {
		return slices.ContainsFunc(entries, func(x *pb.IndexMetadata) bool { return slices.Contains(x.Fields, int32(field)) })
	})
}

// Rebased returns our operation as it must be committed after theirs, with which it is
// compatible: fragments in which theirs has rewritten the indexed field are removed from
// the coverage of new index entries. Other operations are returned as they are.
func Rebased(ours, theirs pb.Operation) (pb.Operation, error) {
	create, ok := ours.(*pb.CreateIndex)
	update, updates := theirs.(*pb.Update)
	if !ok || !updates || len(update.FieldsModified) == 0 {
		return ours, nil
	}
	again := *create
	again.NewIndices = slices.Clone(create.NewIndices)
	for i, x := range again.NewIndices {
		if len(x.FragmentBitmap) == 0 || !dependsOn(x, update.FieldsModified) {
			continue
		}
		var err error
		again.NewIndices[i], _, err = recovered(x, func(b *roaring.Bitmap) error {
			removeAll(b, update.UpdatedFragments)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return &again, nil
}

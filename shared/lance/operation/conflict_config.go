package operation

import (
	"maps"
	"slices"

	"tiltyard/shared/lance/pb"
)

// checkUpdateConfig conflicts if both change the same key, or the same metadata.
func checkUpdateConfig(ours *pb.UpdateConfig, theirs pb.Operation) Verdict {
	switch theirs := theirs.(type) {
	case *pb.Overwrite:
		return incompatibleIf(ours.SchemaMetadata != nil || len(ours.FieldMetadata) > 0 || shareConfigKey(ours, theirs))
	case *pb.UpdateConfig:
		return incompatibleIf(shareConfigKey(ours, theirs) || shareMetadata(ours, theirs))
	}
	return Compatible
}

// shareConfigKey reports whether one operation sets a configuration key that the other sets or
// deletes.
func shareConfigKey(a, b pb.Operation) bool {
	setA, deletedA := configKeys(a)
	setB, deletedB := configKeys(b)
	return slices.ContainsFunc(setA, func(k string) bool { return slices.Contains(setB, k) || slices.Contains(deletedB, k) }) ||
		slices.ContainsFunc(setB, func(k string) bool { return slices.Contains(deletedA, k) })
}

// configKeys returns the configuration keys that an operation sets and deletes.
func configKeys(op pb.Operation) (set, deleted []string) {
	switch op := op.(type) {
	case *pb.Overwrite:
		set = slices.Collect(maps.Keys(op.ConfigUpserts))
	case *pb.UpdateConfig:
		if op.Config == nil {
			return nil, nil
		}
		for _, e := range op.Config.Entries {
			if e.Value != nil {
				set = append(set, e.Key)
			} else {
				deleted = append(deleted, e.Key)
			}
		}
	}
	return set, deleted
}

// shareMetadata reports whether both updates change the same metadata: a key of the
// table's, any key of the schema's, or any key of one field's.
func shareMetadata(a, b *pb.UpdateConfig) bool {
	for id := range a.FieldMetadata {
		if _, both := b.FieldMetadata[id]; both {
			return true
		}
	}
	return a.SchemaMetadata != nil && b.SchemaMetadata != nil || shareKeys(a.TableMetadata, b.TableMetadata)
}

// shareKeys reports whether two updates of one map touch the same key. An update that
// replaces the map touches all keys.
func shareKeys(a, b *pb.UpdateMap) bool {
	if a == nil || b == nil {
		return false
	}
	return a.Replace || b.Replace || slices.ContainsFunc(a.Entries, func(x pb.UpdateMapEntry) bool {
		return slices.ContainsFunc(b.Entries, func(y pb.UpdateMapEntry) bool { return x.Key == y.Key })
	})
}

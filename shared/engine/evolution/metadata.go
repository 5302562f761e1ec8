package evolution

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/computed"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/schemaapi"
)

// UpdateSchemaMetadata sets keys in the schema's metadata and keeps all other keys. It returns the
// resulting metadata.
func UpdateSchemaMetadata(ctx context.Context, t *engine.Table, set map[string]string) (engine.Written, map[string]string, error) {
	if _, ok := set[schemaapi.FunctionBindingsKey]; ok {
		return engine.Written{}, nil, protocol.Errorf(protocol.InvalidInput, "the metadata key %s belongs to the columns of functions; add and drop those columns instead", schemaapi.FunctionBindingsKey)
	}
	var after map[string]string
	done, err := t.Alter(ctx, func(ctx context.Context, d *dataset.Dataset) (*dataset.Dataset, error) {
		op := &pb.UpdateConfig{SchemaMetadata: &pb.UpdateMap{}}
		for _, key := range slices.Sorted(maps.Keys(set)) {
			value := set[key]
			op.SchemaMetadata.Entries = append(op.SchemaMetadata.Entries, pb.UpdateMapEntry{Key: key, Value: &value})
		}
		made, err := d.Commit(ctx, op)
		if err == nil {
			after = made.Schema().Metadata
		}
		return made, err
	})
	return done, after, err
}

// A FieldMetadata changes the metadata of a field. A nil value deletes its key. Replace deletes all
// keys that are not in Set.
type FieldMetadata struct {
	Path    string
	Set     map[string]*string
	Replace bool
}

// UpdateFieldMetadata changes the metadata of several fields together. It returns the resulting
// metadata by path.
func UpdateFieldMetadata(ctx context.Context, t *engine.Table, updates []FieldMetadata) (engine.Written, map[string]map[string]string, error) {
	after := map[string]map[string]string{}
	done, err := t.Alter(ctx, func(ctx context.Context, d *dataset.Dataset) (*dataset.Dataset, error) {
		for _, u := range updates {
			if err := computed.CheckMetadata(d.Schema(), u.Path, u.Set, u.Replace); err != nil {
				return nil, err
			}
		}
		op, err := MetadataOf(d, updates)
		if err != nil {
			return nil, err
		}
		made, err := d.Commit(ctx, op)
		if err != nil {
			return nil, err
		}
		for _, u := range updates {
			chain, err := made.Schema().Resolve(u.Path)
			if err != nil {
				return nil, fmt.Errorf("field %s after its metadata changed: %w", u.Path, err)
			}
			after[u.Path] = chain[len(chain)-1].Metadata
		}
		return made, nil
	})
	return done, after, err
}

// MetadataOf returns the operation that changes the metadata of fields in a version of a dataset.
func MetadataOf(d *dataset.Dataset, updates []FieldMetadata) (*pb.UpdateConfig, error) {
	op := &pb.UpdateConfig{FieldMetadata: map[int32]*pb.UpdateMap{}}
	for _, u := range updates {
		chain, err := d.Schema().Resolve(u.Path)
		if err != nil {
			return nil, d.NoColumn(u.Path)
		}
		id := chain[len(chain)-1].ID
		if op.FieldMetadata[id] != nil {
			return nil, protocol.Errorf(protocol.InvalidInput, "updates name field %q twice", u.Path)
		}
		change := &pb.UpdateMap{Replace: u.Replace}
		for _, key := range slices.Sorted(maps.Keys(u.Set)) {
			// Replace deletes this key together with all others.
			if u.Replace && u.Set[key] == nil {
				continue
			}
			change.Entries = append(change.Entries, pb.UpdateMapEntry{Key: key, Value: u.Set[key]})
		}
		op.FieldMetadata[id] = change
	}
	return op, nil
}

package operation

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"tiltyard/shared/lance/pb"
	"tiltyard/shared/lance/schema"
	"tiltyard/shared/storage/objectstore"
)

// Field metadata that declare the columns of a key. The format does not enforce keys;
// writers use them to detect conflicts. A key cannot be changed once it is set.
const (
	primaryKey            = "lance-schema:unenforced-primary-key"
	primaryKeyPosition    = "lance-schema:unenforced-primary-key:position"
	clusteringKeyPosition = "lance-schema:unenforced-clustering-key:position"
)

// updateConfig changes key-value pairs of the table, its schema and its fields.
func (c *change) updateConfig(op *pb.UpdateConfig) error {
	c.next.Config = updated(c.next.Config, op.Config)
	c.next.TableMetadata = updated(c.next.TableMetadata, op.TableMetadata)
	if op.SchemaMetadata == nil && len(op.FieldMetadata) == 0 {
		return nil
	}
	fields := c.base.Schema.PB()
	for id, update := range op.FieldMetadata {
		at := slices.IndexFunc(fields, func(f *pb.Field) bool { return f.ID == id })
		if at < 0 {
			return invalid("there is no field %d to change the metadata of", id)
		}
		fields[at].Metadata = updated(fields[at].Metadata, update)
		setKeys(fields[at])
	}
	s, err := schema.FromFields(fields, updated(c.base.Schema.Metadata, op.SchemaMetadata))
	if err != nil {
		return err
	}
	c.next.SetSchema(s)
	return checkKeys(c.base.Schema, s, op)
}

// updated returns the map that results from an update of m. A nil update changes nothing.
func updated(m map[string]string, update *pb.UpdateMap) map[string]string {
	if update == nil {
		return m
	}
	if m = maps.Clone(m); m == nil || update.Replace {
		m = map[string]string{}
	}
	for _, e := range update.Entries {
		if e.Value != nil {
			m[e.Key] = *e.Value
		} else {
			delete(m, e.Key)
		}
	}
	return m
}

// setKeys sets the key properties of a field from its metadata.
func setKeys(f *pb.Field) {
	position, ok := keyPosition(f.Metadata[primaryKeyPosition])
	f.PrimaryKey, f.PrimaryKeyPos = ok || truthy(f.Metadata[primaryKey]), position
	f.ClusteringKeyPos, f.ClusteringKey = keyPosition(f.Metadata[clusteringKeyPosition])
}

func keyPosition(s string) (int32, bool) {
	n, err := strconv.ParseUint(s, 10, 31)
	return int32(n), err == nil
}

func truthy(s string) bool {
	return slices.Contains([]string{"1", "true", "on", "yes", "y"}, strings.ToLower(s))
}

// checkKeys rejects an update that changes a primary key or declares one on unsuitable columns.
func checkKeys(before, after *schema.Schema, op *pb.UpdateConfig) error {
	for _, key := range []struct {
		what string
		is   func(*schema.Field) bool
		in   []string
	}{
		{"primary", func(f *schema.Field) bool { return f.PrimaryKey }, []string{primaryKey, primaryKeyPosition}},
		{"clustering", func(f *schema.Field) bool { return f.ClusteringKey }, []string{clusteringKeyPosition}},
	} {
		was, is, touched := fieldsWith(before, key.is), fieldsWith(after, key.is), touches(op, key.in)
		if len(was) > 0 && (touched || !slices.Equal(was, is)) {
			return invalid("the %s key cannot be changed once it is set", key.what)
		}
		if len(was) == 0 && touched && len(is) == 0 {
			return invalid("no field would be in the %s key", key.what)
		}
	}
	if !touches(op, []string{primaryKey, primaryKeyPosition}) {
		return nil
	}
	for _, id := range fieldsWith(after, func(f *schema.Field) bool { return f.PrimaryKey }) {
		if f := after.ByID(id); len(f.Children) > 0 {
			return invalid("field %s has members and cannot be a primary key", after.Path(id))
		}
		for f := after.ByID(id); f != nil; f = after.ByID(f.ParentID) {
			if f.Nullable || f.LogicalType == "map" || strings.Contains(f.LogicalType, "list") && len(f.Children) > 0 {
				return invalid("field %s is nullable or in a list, so it cannot be a primary key", after.Path(id))
			}
		}
	}
	return nil
}

func fieldsWith(s *schema.Schema, is func(*schema.Field) bool) []int32 {
	var ids []int32
	for f := range s.All() {
		if is(f) {
			ids = append(ids, f.ID)
		}
	}
	return ids
}

// touches reports whether an update of field metadata sets or deletes one of the keys.
func touches(op *pb.UpdateConfig, keys []string) bool {
	for _, update := range op.FieldMetadata {
		if slices.ContainsFunc(update.Entries, func(e pb.UpdateMapEntry) bool { return slices.Contains(keys, e.Key) }) {
			return true
		}
	}
	return false
}

// addBases adds base paths: roots outside of the table below which files may lie. A base
// path without an id gets the first free one.
func (c *change) addBases(op *pb.UpdateBases) error {
	bases := slices.Clone(c.next.BasePaths)
	for _, b := range op.NewBases {
		for _, have := range bases {
			sameName := b.Name != nil && have.Name != nil && *b.Name == *have.Name
			if sameName || b.Path == have.Path || b.ID != 0 && b.ID == have.ID {
				return invalid("the table already has base path %s, or another one with its name or id", objectstore.URI(b.Path))
			}
		}
		if b.ID == 0 {
			b.ID = unusedBaseID(bases, 1) // 0 requests a new id
		}
		bases = append(bases, b)
	}
	c.next.BasePaths = bases
	return nil
}

// unusedBaseID returns the first id from lowest on that no base path has.
func unusedBaseID(bases []pb.BasePath, lowest uint32) uint32 {
	id := lowest
	for slices.ContainsFunc(bases, func(b pb.BasePath) bool { return b.ID == id }) {
		id++
	}
	return id
}

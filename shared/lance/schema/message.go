package schema

import (
	"fmt"
	"maps"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/pb"
)

// FromFields returns the schema for the messages of a manifest or of a data file's
// descriptor, which are in pre-order: each field after its parent. It keeps neither
// argument. Fields that do not form a tree are [lance.ErrCorrupt]. An unknown logical type
// is [lance.ErrUnsupported], and the error names the field.
func FromFields(fields []*pb.Field, metadata map[string]string) (*Schema, error) {
	s := &Schema{Metadata: cloneMetadata(metadata)}
	if err := s.grow(fields); err != nil {
		return nil, err
	}
	for _, f := range s.Fields {
		if err := f.resolveTree(); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// grow adds each message as a child of its parent.
func (s *Schema) grow(fields []*pb.Field) error {
	type place struct {
		field *Field
		depth int
	}
	places := make(map[int32]place, len(fields))
	var last *Field
	for _, m := range fields {
		if m.ID == -1 && last != nil && last.isDescription() {
			// In the schemas of data files the members of blobs' descriptions come after
			// them and have neither an id nor a parent.
			last.Children = append(last.Children, fromMessage(m))
			continue
		}
		if _, taken := places[m.ID]; taken || m.ID < 0 {
			return fmt.Errorf("%w: field %q has id %d, which is negative or another field's", lance.ErrCorrupt, m.Name, m.ID)
		}
		f := fromMessage(m)
		last = f
		if m.ParentID == -1 {
			s.Fields = append(s.Fields, f)
			places[f.ID] = place{f, 1}
			continue
		}
		parent, ok := places[m.ParentID]
		if !ok {
			return fmt.Errorf("%w: field %q comes before its parent %d", lance.ErrCorrupt, m.Name, m.ParentID)
		}
		if parent.depth == maxDepth {
			return fmt.Errorf("%w: field %q is nested deeper than %d", lance.ErrUnsupported, m.Name, maxDepth)
		}
		parent.field.Children = append(parent.field.Children, f)
		places[f.ID] = place{f, parent.depth + 1}
	}
	return nil
}

// fromMessage converts a protobuf field without its children.
func fromMessage(m *pb.Field) *Field {
	f := &Field{
		ID:               m.ID,
		ParentID:         m.ParentID,
		Name:             m.Name,
		LogicalType:      m.LogicalType,
		Nullable:         m.Nullable,
		Metadata:         maps.Clone(m.Metadata),
		PrimaryKey:       m.PrimaryKey || m.PrimaryKeyPos > 0,
		PrimaryKeyPos:    m.PrimaryKeyPos,
		ClusteringKey:    m.ClusteringKey,
		ClusteringKeyPos: m.ClusteringKeyPos,
		Encoding:         m.Encoding,
		Unknown:          slices.Clone(m.Unknown),
	}
	if m.ExtensionName != "" {
		f.setMetadata(extensionName, m.ExtensionName)
	}
	return f
}

// PB returns the messages of the schema's fields in pre-order, the form of manifests.
func (s *Schema) PB() []*pb.Field {
	var messages []*pb.Field
	for f := range s.All() {
		messages = append(messages, &pb.Field{
			ID:               f.ID,
			ParentID:         f.ParentID,
			Name:             f.Name,
			LogicalType:      f.LogicalType,
			Nullable:         f.Nullable,
			Encoding:         f.Encoding,
			ExtensionName:    f.Metadata[extensionName],
			Metadata:         f.Metadata,
			PrimaryKey:       f.PrimaryKey,
			PrimaryKeyPos:    f.PrimaryKeyPos,
			ClusteringKey:    f.ClusteringKey,
			ClusteringKeyPos: f.ClusteringKeyPos,
			Unknown:          f.Unknown,
		})
	}
	return messages
}

// resolveTree sets the Arrow types of f and of the fields below it.
func (f *Field) resolveTree() error {
	for _, child := range f.Children {
		if err := child.resolveTree(); err != nil {
			return err
		}
	}
	return f.resolve()
}

// resolve sets the Arrow type of f; its children have theirs already.
func (f *Field) resolve() error {
	var err error
	switch f.LogicalType {
	case "struct":
		f.Type = structOf(f.Children)
	case "list", "list.struct":
		if err = f.wantChildren(1); err == nil {
			f.Type = arrow.ListOfField(f.Children[0].Arrow())
		}
	case "large_list", "large_list.struct":
		if err = f.wantChildren(1); err == nil {
			f.Type = arrow.LargeListOfField(f.Children[0].Arrow())
		}
	case "map":
		f.Type, err = f.mapType()
	default:
		f.Type, err = f.leafOrStructVector()
	}
	if err != nil {
		return fmt.Errorf("field %q (id %d): %w", f.Name, f.ID, err)
	}
	return nil
}

func structOf(members []*Field) arrow.DataType {
	fields := make([]arrow.Field, len(members))
	for i, m := range members {
		fields[i] = m.Arrow()
	}
	return arrow.StructOf(fields...)
}

// wantChildren returns an error unless the field has n children.
func (f *Field) wantChildren(n int) error {
	if len(f.Children) != n {
		return fmt.Errorf("%w: %s with %d child fields, want %d", lance.ErrCorrupt, f.LogicalType, len(f.Children), n)
	}
	return nil
}

// mapType returns the type of a map, whose child is a struct of a key and a value.
func (f *Field) mapType() (arrow.DataType, error) {
	if err := f.wantChildren(1); err != nil {
		return nil, err
	}
	entries := f.Children[0]
	if entries.LogicalType != "struct" || len(entries.Children) != 2 || entries.Children[0].Nullable {
		return nil, fmt.Errorf("%w: the entries of a map must be a struct of a key that is not null and a value", lance.ErrCorrupt)
	}
	return arrow.MapOfFields(entries.Children[0].Arrow(), entries.Children[1].Arrow()), nil
}

// leafOrStructVector returns the type of a field without children, or of a fixed-size list
// of structs ("fixed_size_list:struct:{length}"), which has one child.
func (f *Field) leafOrStructVector() (arrow.DataType, error) {
	length, ok := structVectorLength(f.LogicalType)
	if !ok {
		if err := f.wantChildren(0); err != nil {
			return nil, err
		}
		return leafType(f.LogicalType, 0)
	}
	if err := f.wantChildren(1); err != nil {
		return nil, err
	}
	if f.Children[0].LogicalType != "struct" {
		return nil, fmt.Errorf("%w: %s of %s", lance.ErrCorrupt, f.LogicalType, f.Children[0].LogicalType)
	}
	return arrow.FixedSizeListOfField(length, f.Children[0].Arrow()), nil
}

func (f *Field) setMetadata(key, value string) {
	if f.Metadata == nil {
		f.Metadata = map[string]string{}
	}
	f.Metadata[key] = value
}

func cloneMetadata(m map[string]string) map[string]string {
	if m == nil {
		return map[string]string{}
	}
	return maps.Clone(m)
}

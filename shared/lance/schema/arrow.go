package schema

import (
	"fmt"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/lance"
)

// Metadata keys of Arrow fields that become properties of a Field.
const (
	fieldIDKey            = "lance:field_id"
	primaryKeyKey         = "lance-schema:unenforced-primary-key"
	primaryKeyPosKey      = "lance-schema:unenforced-primary-key:position"
	clusteringKeyPosition = "lance-schema:unenforced-clustering-key:position"
)

// Arrow returns the field as an Arrow field.
func (f *Field) Arrow() arrow.Field {
	metadata := f.Metadata
	switch {
	case f.IsJSON() && metadata[extensionName] != jsonExtension:
		metadata = with(metadata, extensionName, jsonExtension)
	case f.LogicalType == "blob" && metadata[blobKey] == "":
		metadata = with(metadata, blobKey, "true")
	}
	return arrow.Field{Name: f.Name, Type: f.Type, Nullable: f.Nullable, Metadata: arrowMetadata(metadata)}
}

// arrowMetadata returns the zero value for empty metadata; Arrow's comparison of types
// requires it.
func arrowMetadata(m map[string]string) arrow.Metadata {
	if len(m) == 0 {
		return arrow.Metadata{}
	}
	return arrow.MetadataFrom(m)
}

func with(m map[string]string, key, value string) map[string]string {
	m = cloneMetadata(m)
	m[key] = value
	return m
}

// Arrow returns the schema as an Arrow schema. A field of an extension type has its storage
// type, and the name of the extension in its metadata.
func (s *Schema) Arrow() *arrow.Schema {
	fields := make([]arrow.Field, len(s.Fields))
	for i, f := range s.Fields {
		fields[i] = f.Arrow()
	}
	metadata := arrowMetadata(s.Metadata)
	return arrow.NewSchema(fields, &metadata)
}

// FromArrow returns the schema of a new table for an Arrow schema, with field ids assigned
// depth first from 0. String and binary views become strings and binaries, and JSON text
// (extension arrow.json) becomes JSONB; [Match.Columns] converts the values. A type that
// the format cannot store, or that is beyond the bounds, is [lance.ErrUnsupported]; the
// error names field and type.
func FromArrow(schema *arrow.Schema) (*Schema, error) {
	return FromArrowAbove(schema, -1)
}

// FromArrowAbove converts a schema like FromArrow, with field ids above highest: for columns added
// to a table, or for an overwrite, which must not reuse ids.
func FromArrowAbove(schema *arrow.Schema, highest int32) (*Schema, error) {
	if err := CheckBounds(schema.Fields()); err != nil {
		return nil, err
	}
	s := &Schema{Metadata: schema.Metadata().ToMap()}
	seen := map[string]bool{}
	for _, field := range schema.Fields() {
		if err := checkPath(field.Name); err != nil {
			return nil, fmt.Errorf("%w: a column of type %s: %w", lance.ErrUnsupported, typeName(field.Type), err)
		}
		if seen[field.Name] {
			return nil, refuse(field, "two columns have this name")
		}
		seen[field.Name] = true
		f, err := fromArrow(field, enclosure{})
		if err != nil {
			return nil, err
		}
		s.Fields = append(s.Fields, f)
	}
	if err := s.number(highest); err != nil {
		return nil, err
	}
	return s, nil
}

func refuse(field arrow.Field, why string) error {
	return fmt.Errorf("%w: field %q of type %s: %s", lance.ErrUnsupported, field.Name, typeName(field.Type), why)
}

func typeName(t arrow.DataType) string {
	if t == nil {
		return "unknown"
	}
	return t.String()
}

// number assigns ids depth first after highest.
func (s *Schema) number(highest int32) error {
	next := int64(highest) + 1
	for f := range s.All() {
		if next > 1<<31-1 {
			return fmt.Errorf("%w: no field ids are left", lance.ErrUnsupported)
		}
		f.ID = int32(next)
		next++
	}
	for f := range s.All() {
		for _, child := range f.Children {
			child.ParentID = f.ID
		}
	}
	return nil
}

// An enclosure describes the fields around a field, because some types must not be nested in
// others.
type enclosure struct {
	path     string
	list     bool // below a list or map
	vector   bool // below a fixed-size list of structs
	nullable bool // below a field that may be null
}

// fromArrow converts a field and its children, or rejects types that the format cannot store inside
// the enclosure.
func fromArrow(field arrow.Field, in enclosure) (*Field, error) {
	if field.Type == nil {
		return nil, refuse(field, "no type")
	}
	f := &Field{ParentID: -1, Name: field.Name, Nullable: field.Nullable}
	field = storageField(field)
	field.Name = join(in.path, field.Name) // for errors
	if field.Metadata.Len() > 0 {
		f.Metadata = field.Metadata.ToMap()
	}
	f.Encoding = encodingOf(field.Type)
	if err := f.setLogicalType(field, in); err != nil {
		return nil, err
	}
	if err := f.setKeys(field, in); err != nil {
		return nil, err
	}
	for _, child := range arrowChildren(field.Type) {
		c, err := fromArrow(child, in.below(field))
		if err != nil {
			return nil, err
		}
		if f.Child(c.Name) != nil {
			return nil, refuse(field, fmt.Sprintf("two members are named %q", c.Name))
		}
		f.Children = append(f.Children, c)
	}
	if err := f.resolve(); err != nil {
		return nil, refuse(field, "the format has no such type")
	}
	return f, nil
}

// below returns the enclosure of the field's children.
func (in enclosure) below(field arrow.Field) enclosure {
	in.path = field.Name
	in.nullable = in.nullable || field.Nullable
	switch field.Type.ID() {
	case arrow.LIST, arrow.LARGE_LIST, arrow.MAP:
		in.list = true
	case arrow.FIXED_SIZE_LIST:
		in.vector = true
	}
	return in
}

// storageField replaces an extension type by its storage type and metadata, and removes the
// metadata by which clients suggest ids.
func storageField(field arrow.Field) arrow.Field {
	metadata := field.Metadata.ToMap()
	delete(metadata, fieldIDKey)
	if ext, ok := field.Type.(arrow.ExtensionType); ok {
		metadata[extensionName] = ext.ExtensionName()
		metadata[extensionMeta] = ext.Serialize()
		field.Type = ext.StorageType()
	}
	if list, ok := field.Type.(*arrow.FixedSizeListType); ok && list.Elem().ID() == arrow.EXTENSION {
		field.Type = arrow.FixedSizeListOfField(list.Len(), storageField(list.ElemField()))
	}
	field.Metadata = arrowMetadata(metadata)
	return field
}

// arrowChildren returns the child fields that become Fields.
func arrowChildren(t arrow.DataType) []arrow.Field {
	switch t := t.(type) {
	case *arrow.StructType:
		return t.Fields()
	case *arrow.ListType:
		return []arrow.Field{t.ElemField()}
	case *arrow.LargeListType:
		return []arrow.Field{t.ElemField()}
	case *arrow.MapType:
		return []arrow.Field{t.ElemField()}
	case *arrow.FixedSizeListType:
		if t.Elem().ID() == arrow.STRUCT {
			return []arrow.Field{t.ElemField()}
		}
	}
	return nil
}

// setLogicalType sets the format's name of the type, or returns an error if it has none.
func (f *Field) setLogicalType(field arrow.Field, in enclosure) error {
	if isJSON(field) {
		f.LogicalType = "json"
		f.setMetadata(extensionName, jsonExtension)
		return nil
	}
	switch t := field.Type.(type) {
	case *arrow.FixedSizeListType:
		if why := refuseVector(t, in); why != "" {
			return refuse(field, why)
		}
	case *arrow.StructType:
		if t.NumFields() == 0 {
			return refuse(field, "native readers misread tables with a struct without members")
		}
	case *arrow.ListType, *arrow.LargeListType:
		if in.vector {
			return refuse(field, "a list cannot be inside a fixed-size list")
		}
	case *arrow.MapType:
		if in.vector || t.KeyField().Nullable {
			return refuse(field, "a map cannot be inside a fixed-size list or have nullable keys")
		}
	}
	if f.IsBlobV2() && (field.Type.ID() != arrow.STRUCT || !holdsBlobs(field)) {
		return refuse(field, "a "+blobV2Extension+" must be a struct of data, uri and maybe position and size")
	}
	name, ok := logicalName(field.Type)
	if !ok {
		return refuse(field, "the format has no such type")
	}
	f.LogicalType = name
	return nil
}

func isJSON(field arrow.Field) bool {
	name, _ := field.Metadata.GetValue(extensionName)
	switch field.Type.ID() {
	case arrow.STRING, arrow.LARGE_STRING:
		return name == arrowJSON
	case arrow.LARGE_BINARY:
		return name == jsonExtension
	}
	return false
}

// refuseVector returns the reason why a fixed-size list cannot be stored, or "". Native
// writers fail on the same lists, on some of them with a panic.
func refuseVector(t *arrow.FixedSizeListType, in enclosure) string {
	item := t.Elem()
	for {
		inner, ok := item.(*arrow.FixedSizeListType)
		if !ok {
			break
		}
		item = inner.Elem()
	}
	if item.ID() == arrow.STRUCT {
		if t.Elem() != item {
			return "a fixed-size list of structs cannot be inside another"
		}
		if in.list {
			return "a fixed-size list of structs cannot be inside a list"
		}
		return ""
	}
	if _, fixed := item.(arrow.FixedWidthDataType); !fixed && item.ID() != arrow.NULL || item.ID() == arrow.DICTIONARY {
		return "the items of a fixed-size list must have a fixed width"
	}
	return ""
}

// setKeys sets the key properties from the field's metadata.
func (f *Field) setKeys(field arrow.Field, in enclosure) error {
	if position, ok := f.position(primaryKeyPosKey); ok {
		f.PrimaryKey, f.PrimaryKeyPos = true, position
	} else if truthy(f.Metadata[primaryKeyKey]) {
		f.PrimaryKey = true
	}
	f.ClusteringKeyPos, _ = f.position(clusteringKeyPosition)
	if !f.PrimaryKey {
		return nil
	}
	if in.nullable || field.Nullable || in.list || len(arrowChildren(field.Type)) > 0 {
		return refuse(field, "a primary key must be a scalar that is not null and not in a list")
	}
	return nil
}

func (f *Field) position(key string) (int32, bool) {
	n, err := strconv.ParseInt(f.Metadata[key], 10, 32)
	return int32(n), err == nil && n >= 0
}

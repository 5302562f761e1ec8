package protocol

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
)

// JSONSchema is an Arrow schema as JSON.
type JSONSchema struct {
	Fields   List[JSONField]   `json:"fields"`
	Metadata map[string]string `json:"metadata,omitempty"`
}

// JSONField is a field of a schema or of a nested type.
type JSONField struct {
	Name     string            `json:"name"`
	Type     JSONType          `json:"type"`
	Nullable bool              `json:"nullable"`
	Metadata map[string]string `json:"metadata,omitempty"`
}

// JSONType is a data type: a name in one of the two vocabularies, the children of nested
// types, and the length of fixed-size ones.
//
// Precise is the type for people where the word leaves a part of it out: the unit of a time,
// the zone of a timestamp, the precision of a decimal, or that values are a dictionary. It is
// not part of the public specification, and nothing is read from it.
type JSONType struct {
	Type    string      `json:"type"`
	Fields  []JSONField `json:"fields,omitempty"`
	Length  *int64      `json:"length,omitempty"`
	Precise string      `json:"precise,omitempty"`
}

// String returns the type on one line, such as fixed_size_list<float32>[384].
func (t JSONType) String() string {
	if t.Precise != "" {
		return t.Precise
	}
	text := t.Type
	var parts []string
	for _, field := range t.Fields {
		part := field.Type.String()
		if t.Type == "struct" {
			part = field.Name + ": " + part
		}
		parts = append(parts, part)
	}
	if len(parts) > 0 {
		text += "<" + strings.Join(parts, ", ") + ">"
	}
	if t.Length != nil {
		text += fmt.Sprintf("[%d]", *t.Length)
	}
	return text
}

// EncodeSchema writes a schema in the vocabulary of the dialect: float32 and utf8 for Namespace
// clients, float and string for LanceDB clients, which refuse a schema with any other word. The
// error is Unsupported and names a field whose type the vocabulary cannot express.
func EncodeSchema(dialect Dialect, schema *arrow.Schema) (*JSONSchema, error) {
	fields, err := encodeFields(dialect, schema.Fields(), 0)
	if err != nil {
		return nil, err
	}
	if dialect != DialectLanceDB {
		addPrecise(fields, schema.Fields())
	}
	return &JSONSchema{Fields: fields, Metadata: encodeMetadata(schema.Metadata())}, nil
}

// addPrecise sets the precise types of encoded fields.
func addPrecise(encoded []JSONField, fields []arrow.Field) {
	for i, field := range fields {
		typ := field.Type
		if extension, ok := typ.(arrow.ExtensionType); ok {
			typ = extension.StorageType()
		}
		encoded[i].Type.Precise = preciseName(typ)
		addPrecise(encoded[i].Type.Fields, typeChildren(typ))
	}
}

// maxTypeNesting bounds the depth of types.
const maxTypeNesting = 32

// encodeFields writes fields, to a limited depth.
func encodeFields(dialect Dialect, fields []arrow.Field, depth int) ([]JSONField, error) {
	if depth > maxTypeNesting {
		return nil, Errorf(Unsupported, "types nested deeper than %d have no JSON form", maxTypeNesting)
	}
	encoded := make([]JSONField, len(fields))
	for i, field := range fields {
		metadata := encodeMetadata(field.Metadata)
		storage := field.Type
		if extension, ok := field.Type.(arrow.ExtensionType); ok {
			storage, metadata = unwrapExtension(extension, metadata)
		}
		typ, err := encodeType(dialect, field.Name, storage, depth)
		if err != nil {
			return nil, err
		}
		encoded[i] = JSONField{Name: field.Name, Type: typ, Nullable: field.Nullable, Metadata: metadata}
	}
	return encoded, nil
}

// encodeType writes the type of a field.
func encodeType(dialect Dialect, field string, typ arrow.DataType, depth int) (JSONType, error) {
	name := namespaceName(typ)
	if dialect == DialectLanceDB {
		name = lanceName(typ)
	}
	if name == "" {
		return JSONType{}, Errorf(Unsupported, "field %s: type %s has no JSON form", QuoteShort(field), typ)
	}
	encoded := JSONType{Type: name, Length: typeLength(dialect, typ)}
	children, err := encodeFields(dialect, typeChildren(typ), depth+1)
	if err != nil {
		return JSONType{}, err
	}
	if len(children) > 0 {
		encoded.Fields = children
	}
	return encoded, nil
}

// TypeText returns the word for a type, of the public specification where it has one.
func TypeText(typ arrow.DataType) string {
	return cmp.Or(namespaceName(typ), typ.String())
}

// namespaceName is the word for a type in JsonArrow, the vocabulary of the public
// specification, or "" where it has none. Units and time zones are not part of it.
func namespaceName(typ arrow.DataType) string {
	switch typ := typ.(type) {
	case *arrow.StringType:
		return "utf8"
	case *arrow.LargeStringType:
		return "large_utf8"
	case *arrow.Float16Type:
		return "float16"
	case *arrow.Float32Type:
		return "float32"
	case *arrow.Float64Type:
		return "float64"
	case *arrow.Date32Type:
		return "date32"
	case *arrow.Date64Type:
		return "date64"
	case *arrow.Time32Type:
		return "time32"
	case *arrow.Time64Type:
		return "time64"
	case *arrow.TimestampType:
		return "timestamp"
	case *arrow.DurationType:
		return "duration"
	case *arrow.MonthIntervalType, *arrow.DayTimeIntervalType, *arrow.MonthDayNanoIntervalType:
		return "interval"
	case *arrow.Decimal32Type:
		return "decimal32"
	case *arrow.Decimal64Type:
		return "decimal64"
	case *arrow.Decimal128Type:
		return "decimal128"
	case *arrow.Decimal256Type:
		return "decimal256"
	case *arrow.DictionaryType:
		return namespaceName(typ.ValueType)
	case *arrow.MapType:
		if typ.KeysSorted {
			return ""
		}
		return "map"
	}
	return sharedName(typ)
}

// preciseName returns the full form of a type if its word omits a part, such as timestamp[us,
// tz=Europe/Berlin] or decimal128(10,2), and "" otherwise.
func preciseName(typ arrow.DataType) string {
	switch typ := typ.(type) {
	case *arrow.TimestampType:
		if typ.TimeZone != "" {
			return fmt.Sprintf("timestamp[%s, tz=%s]", typ.Unit, typ.TimeZone)
		}
		return fmt.Sprintf("timestamp[%s]", typ.Unit)
	case *arrow.Time32Type, *arrow.Time64Type, *arrow.DurationType:
		return fmt.Sprintf("%s[%s]", typ.Name(), typ.(arrow.TemporalWithUnit).TimeUnit())
	case *arrow.MonthIntervalType, *arrow.DayTimeIntervalType, *arrow.MonthDayNanoIntervalType:
		return typ.Name()
	case arrow.DecimalType:
		return fmt.Sprintf("%s(%d,%d)", namespaceName(typ), typ.GetPrecision(), typ.GetScale())
	case *arrow.DictionaryType:
		return fmt.Sprintf("dictionary<%s, %s>", TypeText(typ.IndexType), cmp.Or(preciseName(typ.ValueType), TypeText(typ.ValueType)))
	}
	return ""
}

// lanceName is the word for a type among Lance's logical types, the vocabulary of the
// LanceDB clients, or "" where it has none.
func lanceName(typ arrow.DataType) string {
	switch typ := typ.(type) {
	case *arrow.StringType:
		return "string"
	case *arrow.LargeStringType:
		return "large_string"
	case *arrow.Float16Type:
		return "halffloat"
	case *arrow.Float32Type:
		return "float"
	case *arrow.Float64Type:
		return "double"
	case *arrow.Date32Type:
		return "date32:day"
	case *arrow.Date64Type:
		return "date64:ms"
	case *arrow.Time32Type:
		return "time32:" + typ.Unit.String()
	case *arrow.Time64Type:
		return "time64:" + typ.Unit.String()
	case *arrow.TimestampType:
		zone := typ.TimeZone
		if zone == "" {
			zone = "-"
		}
		return "timestamp:" + typ.Unit.String() + ":" + zone
	case *arrow.DurationType:
		return "duration:" + typ.Unit.String()
	case *arrow.Decimal128Type:
		return fmt.Sprintf("decimal:128:%d:%d", typ.Precision, typ.Scale)
	case *arrow.Decimal256Type:
		return fmt.Sprintf("decimal:256:%d:%d", typ.Precision, typ.Scale)
	case *arrow.DictionaryType:
		return lanceDictionaryName(typ)
	}
	return sharedName(typ)
}

// lanceDictionaryName returns Lance's name of a dictionary type.
func lanceDictionaryName(typ *arrow.DictionaryType) string {
	if len(typeChildren(typ.ValueType)) > 0 {
		return "" // the word has no room for children
	}
	value, index := lanceName(typ.ValueType), lanceName(typ.IndexType)
	if value == "" || index == "" {
		return ""
	}
	return "dict:" + value + ":" + index + ":false"
}

// sharedName is the word for the types that both vocabularies spell alike.
func sharedName(typ arrow.DataType) string {
	switch typ.ID() {
	case arrow.NULL, arrow.BOOL, arrow.BINARY, arrow.LARGE_BINARY, arrow.FIXED_SIZE_BINARY,
		arrow.INT8, arrow.INT16, arrow.INT32, arrow.INT64,
		arrow.UINT8, arrow.UINT16, arrow.UINT32, arrow.UINT64,
		arrow.LIST, arrow.LARGE_LIST, arrow.FIXED_SIZE_LIST, arrow.STRUCT:
		return typ.Name()
	}
	return ""
}

// typeLength returns the length field of a type: the size of fixed-size types, and for Namespace
// clients precision*1000 + scale of decimals.
func typeLength(dialect Dialect, typ arrow.DataType) *int64 {
	var length int64
	switch typ := typ.(type) {
	case *arrow.FixedSizeBinaryType:
		length = int64(typ.ByteWidth)
	case *arrow.FixedSizeListType:
		length = int64(typ.Len())
	case arrow.DecimalType:
		if dialect == DialectLanceDB {
			return nil
		}
		length = int64(typ.GetPrecision())*1000 + int64(typ.GetScale())
	case *arrow.DictionaryType:
		return typeLength(dialect, typ.ValueType)
	default:
		return nil
	}
	return &length
}

// typeChildren returns the child fields of a nested type.
func typeChildren(typ arrow.DataType) []arrow.Field {
	switch typ := typ.(type) {
	case *arrow.StructType:
		return typ.Fields()
	case arrow.ListLikeType:
		return []arrow.Field{typ.ElemField()}
	case *arrow.DictionaryType:
		return typeChildren(typ.ValueType)
	}
	return nil
}

// unwrapExtension returns the storage type of an extension type, and the metadata with the two keys
// by which Arrow represents an extension type in a schema.
func unwrapExtension(typ arrow.ExtensionType, metadata map[string]string) (arrow.DataType, map[string]string) {
	with := map[string]string{"ARROW:extension:name": typ.ExtensionName()}
	if text := typ.Serialize(); text != "" {
		with["ARROW:extension:metadata"] = text
	}
	for key, value := range metadata {
		with[key] = value
	}
	return typ.StorageType(), with
}

// encodeMetadata returns metadata as a map, or nil if it is empty.
func encodeMetadata(metadata arrow.Metadata) map[string]string {
	if metadata.Len() == 0 {
		return nil
	}
	return metadata.ToMap()
}

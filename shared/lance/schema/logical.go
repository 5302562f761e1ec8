package schema

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/lance"
)

// plainTypes are the logical types without parameters, by their names in the format. "blob" and
// "json" are only read; their Arrow types are written under other names.
var plainTypes = map[string]arrow.DataType{
	"null":         arrow.Null,
	"bool":         arrow.FixedWidthTypes.Boolean,
	"int8":         arrow.PrimitiveTypes.Int8,
	"uint8":        arrow.PrimitiveTypes.Uint8,
	"int16":        arrow.PrimitiveTypes.Int16,
	"uint16":       arrow.PrimitiveTypes.Uint16,
	"int32":        arrow.PrimitiveTypes.Int32,
	"uint32":       arrow.PrimitiveTypes.Uint32,
	"int64":        arrow.PrimitiveTypes.Int64,
	"uint64":       arrow.PrimitiveTypes.Uint64,
	"halffloat":    arrow.FixedWidthTypes.Float16,
	"float":        arrow.PrimitiveTypes.Float32,
	"double":       arrow.PrimitiveTypes.Float64,
	"string":       arrow.BinaryTypes.String,
	"binary":       arrow.BinaryTypes.Binary,
	"large_string": arrow.BinaryTypes.LargeString,
	"large_binary": arrow.BinaryTypes.LargeBinary,
	"blob":         arrow.BinaryTypes.LargeBinary,
	"json":         arrow.BinaryTypes.LargeBinary,
	"date32:day":   arrow.FixedWidthTypes.Date32,
	"date64:ms":    arrow.FixedWidthTypes.Date64,
	"time32:s":     arrow.FixedWidthTypes.Time32s,
	"time32:ms":    arrow.FixedWidthTypes.Time32ms,
	"time64:us":    arrow.FixedWidthTypes.Time64us,
	"time64:ns":    arrow.FixedWidthTypes.Time64ns,
	"duration:s":   arrow.FixedWidthTypes.Duration_s,
	"duration:ms":  arrow.FixedWidthTypes.Duration_ms,
	"duration:us":  arrow.FixedWidthTypes.Duration_us,
	"duration:ns":  arrow.FixedWidthTypes.Duration_ns,
}

// leafType returns the Arrow type of a logical type without child fields. Logical types
// with parameters are
//
//	fixed_size_binary:{bytes}
//	decimal:{128|256}:{precision}:{scale}
//	timestamp:{unit}:{zone, or "-" for none}    the zone may hold colons
//	dict:{values}:{indices}:{ordered}           both without parameters
//	fixed_size_list:{items}:{length}            items may hold colons: split at the last
//
// Examples: "timestamp:us:UTC", "fixed_size_list:float:128", "decimal:128:38:10",
// "dict:string:int32:false".
//
// Source: crate lance-core, src/datatypes.rs.
func leafType(logical string, depth int) (arrow.DataType, error) {
	if t, ok := plainTypes[logical]; ok {
		return t, nil
	}
	kind, params, _ := strings.Cut(logical, ":")
	switch kind {
	case "fixed_size_binary":
		if n, err := strconv.ParseInt(params, 10, 32); err == nil && n >= 0 {
			return &arrow.FixedSizeBinaryType{ByteWidth: int(n)}, nil
		}
	case "decimal":
		return decimalType(logical, params)
	case "timestamp":
		return timestampType(logical, params)
	case "dict":
		return dictionaryType(logical, params)
	case "fixed_size_list":
		return vectorType(logical, params, depth)
	}
	return nil, unknownType(logical)
}

func unknownType(logical string) error {
	return fmt.Errorf("%w: logical type %q", lance.ErrUnsupported, logical)
}

// decimalType parses decimal:128:<precision>:<scale>.
func decimalType(logical, params string) (arrow.DataType, error) {
	p := strings.Split(params, ":")
	if len(p) != 3 {
		return nil, unknownType(logical)
	}
	precision, err1 := strconv.ParseInt(p[1], 10, 32)
	scale, err2 := strconv.ParseInt(p[2], 10, 8)
	if err1 != nil || err2 != nil || precision < 1 {
		return nil, unknownType(logical)
	}
	switch {
	case p[0] == "128" && precision <= 38:
		return &arrow.Decimal128Type{Precision: int32(precision), Scale: int32(scale)}, nil
	case p[0] == "256" && precision <= 76:
		return &arrow.Decimal256Type{Precision: int32(precision), Scale: int32(scale)}, nil
	}
	return nil, unknownType(logical)
}

// timestampType parses timestamp:<unit>:<zone>, where "-" means no zone.
func timestampType(logical, params string) (arrow.DataType, error) {
	name, zone, found := strings.Cut(params, ":")
	unit, ok := units[name]
	if !found || !ok {
		return nil, unknownType(logical)
	}
	if zone == "-" {
		zone = ""
	}
	return &arrow.TimestampType{Unit: unit, TimeZone: zone}, nil
}

var units = map[string]arrow.TimeUnit{
	"s":  arrow.Second,
	"ms": arrow.Millisecond,
	"us": arrow.Microsecond,
	"ns": arrow.Nanosecond,
}

// dictionaryType parses dict:<value type>:<index type>:<ordered>.
func dictionaryType(logical, params string) (arrow.DataType, error) {
	p := strings.Split(params, ":")
	if len(p) != 3 {
		return nil, unknownType(logical)
	}
	values, index := plainTypes[p[0]], plainTypes[p[1]]
	if values == nil || index == nil || !arrow.IsInteger(index.ID()) {
		return nil, unknownType(logical)
	}
	return &arrow.DictionaryType{IndexType: index, ValueType: values}, nil
}

// vectorType parses fixed_size_list:<item type>:<length>. Only the last colon separates, because
// item types contain colons too.
func vectorType(logical, params string, depth int) (arrow.DataType, error) {
	cut := strings.LastIndexByte(params, ':')
	if cut < 0 || depth >= maxDepth {
		return nil, unknownType(logical)
	}
	length, err := strconv.ParseInt(params[cut+1:], 10, 32)
	if err != nil || length < 1 {
		return nil, unknownType(logical)
	}
	item := arrow.Field{Name: "item", Nullable: true}
	if params[:cut] == bfloat16Extension {
		item.Type = &arrow.FixedSizeBinaryType{ByteWidth: 2}
		item.Metadata = arrow.NewMetadata([]string{extensionMeta, extensionName}, []string{"", bfloat16Extension})
	} else if item.Type, err = leafType(params[:cut], depth+1); err != nil {
		return nil, unknownType(logical)
	}
	if flatLength(item.Type) > math.MaxInt32/length {
		return nil, unknownType(logical) // more items in a row than an array can count
	}
	return arrow.FixedSizeListOfField(int32(length), item), nil
}

// structVectorLength returns the length of a "fixed_size_list:struct:{length}".
func structVectorLength(logical string) (int32, bool) {
	digits, ok := strings.CutPrefix(logical, "fixed_size_list:struct:")
	if !ok {
		return 0, false
	}
	length, err := strconv.ParseInt(digits, 10, 32)
	return int32(length), err == nil && length > 0
}

// flatLength returns the number of items of one value across all levels of fixed-size lists.
func flatLength(t arrow.DataType) int64 {
	n := int64(1)
	for {
		list, ok := t.(*arrow.FixedSizeListType)
		if !ok {
			return n
		}
		n *= int64(list.Len())
		t = list.Elem()
	}
}

// logicalName returns the logical type of a field of an Arrow type, and whether the format
// has one. The caller has removed extension types.
func logicalName(t arrow.DataType) (string, bool) {
	switch t := t.(type) {
	case *arrow.Decimal128Type:
		return fmt.Sprintf("decimal:128:%d:%d", t.Precision, t.Scale), true
	case *arrow.Decimal256Type:
		return fmt.Sprintf("decimal:256:%d:%d", t.Precision, t.Scale), true
	case *arrow.FixedSizeBinaryType:
		return fmt.Sprintf("fixed_size_binary:%d", t.ByteWidth), true
	case *arrow.TimestampType:
		zone := t.TimeZone
		if zone == "" {
			zone = "-"
		}
		return fmt.Sprintf("timestamp:%s:%s", t.Unit, zone), true
	case *arrow.DictionaryType:
		return dictionaryName(t)
	case *arrow.FixedSizeListType:
		return vectorName(t)
	case *arrow.StringViewType:
		return "string", true
	case *arrow.BinaryViewType:
		return "binary", true
	case *arrow.StructType:
		return "struct", true
	case *arrow.MapType:
		return "map", !t.KeysSorted
	case *arrow.ListType:
		return "list" + structSuffix(t.Elem()), true
	case *arrow.LargeListType:
		return "large_list" + structSuffix(t.Elem()), true
	}
	name, ok := plainNames[t.ID()]
	if unit, timed := t.(arrow.TemporalWithUnit); timed && ok {
		name = fmt.Sprintf("%s:%s", name, unit.TimeUnit())
	}
	return name, ok
}

func structSuffix(item arrow.DataType) string {
	if item.ID() == arrow.STRUCT {
		return ".struct"
	}
	return ""
}

// plainNames are the logical types of Arrow types; for types with a unit, the unit is
// appended.
var plainNames = map[arrow.Type]string{
	arrow.NULL:         "null",
	arrow.BOOL:         "bool",
	arrow.INT8:         "int8",
	arrow.UINT8:        "uint8",
	arrow.INT16:        "int16",
	arrow.UINT16:       "uint16",
	arrow.INT32:        "int32",
	arrow.UINT32:       "uint32",
	arrow.INT64:        "int64",
	arrow.UINT64:       "uint64",
	arrow.FLOAT16:      "halffloat",
	arrow.FLOAT32:      "float",
	arrow.FLOAT64:      "double",
	arrow.STRING:       "string",
	arrow.BINARY:       "binary",
	arrow.LARGE_STRING: "large_string",
	arrow.LARGE_BINARY: "large_binary",
	arrow.DATE32:       "date32:day",
	arrow.DATE64:       "date64:ms",
	arrow.TIME32:       "time32",
	arrow.TIME64:       "time64",
	arrow.DURATION:     "duration",
}

// dictionaryName returns the logical type of a dictionary type. It has no room for
// parameters, so both types must be plain.
func dictionaryName(t *arrow.DictionaryType) (string, bool) {
	values, ok := logicalName(t.ValueType)
	if !ok || plainTypes[values] == nil || strings.Contains(values, ":") {
		return "", false
	}
	index, ok := logicalName(t.IndexType)
	return fmt.Sprintf("dict:%s:%s:false", values, index), ok
}

// vectorName returns the logical type of a fixed-size list, such as fixed_size_list:float:128. ok
// is false for items without a logical type.
func vectorName(t *arrow.FixedSizeListType) (string, bool) {
	item := t.ElemField()
	if name, _ := item.Metadata.GetValue(extensionName); name == bfloat16Extension &&
		arrow.TypeEqual(item.Type, &arrow.FixedSizeBinaryType{ByteWidth: 2}) {
		return fmt.Sprintf("fixed_size_list:%s:%d", bfloat16Extension, t.Len()), true
	}
	name, ok := logicalName(item.Type)
	return fmt.Sprintf("fixed_size_list:%s:%d", name, t.Len()), ok
}

// encodingOf returns the obsolete encoding that native writers record in a Field.
func encodingOf(t arrow.DataType) int32 {
	const none, plain, varBinary, dictionary = 0, 1, 2, 3
	switch t.ID() {
	case arrow.NULL, arrow.STRUCT:
		return none
	case arrow.STRING, arrow.BINARY, arrow.LARGE_STRING, arrow.LARGE_BINARY, arrow.STRING_VIEW, arrow.BINARY_VIEW:
		return varBinary
	case arrow.DICTIONARY:
		return dictionary
	default:
		return plain
	}
}

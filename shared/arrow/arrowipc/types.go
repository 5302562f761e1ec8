package arrowipc

import (
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
)

// A layout is the arrangement of a type's values in buffers. Each layout but null is
// preceded by a validity bitmap.
type layout uint8

const (
	layoutNull       layout = iota // no buffers
	layoutBool                     // a bitmap
	layoutFixed                    // width bytes per value
	layoutBinary                   // length+1 offsets of width bytes; data
	layoutView                     // views of 16 bytes; any number of data buffers
	layoutList                     // length+1 offsets of width bytes; one child
	layoutMap                      // a list whose child is a struct of key and value
	layoutFixedList                // one child of length*width values
	layoutStruct                   // children of the same length
	layoutDictionary               // indices of width bytes
)

// Members of the flatbuffer union Type, with the fields of their tables, which take the
// slots 4, 6 and 8.
const (
	typeNull          = iota + 1
	typeInt           // i32 bits, bool signed
	typeFloatingPoint // i16 precision: 0 half, 1 single, 2 double
	typeBinary
	typeUtf8
	typeBool
	typeDecimal   // i32 precision, i32 scale, i32 bits = 128
	typeDate      // i16 unit = 1: 0 days, 1 milliseconds
	typeTime      // i16 unit = 1, i32 bits = 32
	typeTimestamp // i16 unit: 0 seconds to 3 nanoseconds, string time zone
	typeInterval
	typeList
	typeStruct
	typeUnion
	typeFixedSizeBinary // i32 bytes
	typeFixedSizeList   // i32 size
	typeMap             // bool keys are sorted
	typeDuration        // i16 unit = 1
	typeLargeBinary
	typeLargeUtf8
	typeLargeList
	typeRunEndEncoded
	typeBinaryView
	typeUtf8View
	typeListView
	typeLargeListView
)

// refused names the known but unsupported types.
var refused = map[uint8]string{
	typeInterval:      "interval",
	typeUnion:         "union",
	typeRunEndEncoded: "run_end_encoded",
	typeListView:      "list_view",
	typeLargeListView: "large_list_view",
}

// setType sets the type and layout of n from the table of its field.
func (n *node) setType(t table, children []arrow.Field) error {
	kind := t.uint8(fieldTypeType)
	// Most types have no parameters, so their table may be missing: the zero table returns
	// the defaults.
	params, _ := t.table(fieldType)
	if t.f.err != nil {
		return t.f.err
	}
	if name, ok := refused[kind]; ok {
		return unsupported(n, "type %s", name)
	}
	// Nested types use their children. Other types must not have any, because the order of the arrays in a
	// batch would otherwise be ambiguous.
	switch kind {
	case typeList, typeLargeList, typeFixedSizeList, typeMap, typeStruct:
		return n.setNested(kind, params, children)
	}
	if len(children) != 0 {
		return invalid(n, "a type without children has %d", len(children))
	}
	switch kind {
	case typeNull:
		n.dtype, n.layout = arrow.Null, layoutNull
	case typeBool:
		n.dtype, n.layout = arrow.FixedWidthTypes.Boolean, layoutBool
	case typeBinary:
		n.setBinary(arrow.BinaryTypes.Binary, 4, false)
	case typeUtf8:
		n.setBinary(arrow.BinaryTypes.String, 4, true)
	case typeLargeBinary:
		n.setBinary(arrow.BinaryTypes.LargeBinary, 8, false)
	case typeLargeUtf8:
		n.setBinary(arrow.BinaryTypes.LargeString, 8, true)
	case typeBinaryView:
		n.dtype, n.layout = arrow.BinaryTypes.Binary, layoutView
	case typeUtf8View:
		n.dtype, n.layout, n.text = arrow.BinaryTypes.String, layoutView, true
	default:
		return n.setFixed(kind, params)
	}
	return nil
}

func (n *node) setBinary(dtype arrow.DataType, offsetWidth int64, text bool) {
	n.dtype, n.layout, n.width, n.text = dtype, layoutBinary, offsetWidth, text
}

// setNested sets the type and the layout of a nested field from its children.
func (n *node) setNested(kind uint8, t table, children []arrow.Field) error {
	if kind == typeStruct {
		n.dtype, n.layout = arrow.StructOf(children...), layoutStruct
		return nil
	}
	if len(children) != 1 {
		return invalid(n, "a list type has %d children, not 1", len(children))
	}
	switch kind {
	case typeList:
		n.dtype, n.layout, n.width = arrow.ListOfField(children[0]), layoutList, 4
	case typeLargeList:
		n.dtype, n.layout, n.width = arrow.LargeListOfField(children[0]), layoutList, 8
	case typeMap:
		return n.setMap(t, children[0])
	case typeFixedSizeList:
		size := t.int32(4, 0)
		if size < 0 {
			return invalid(n, "fixed_size_list of size %d", size)
		}
		if size == 0 {
			return unsupported(n, "fixed_size_list of size 0")
		}
		n.dtype, n.layout, n.width = arrow.FixedSizeListOfField(size, children[0]), layoutFixedList, int64(size)
	}
	return nil
}

// setMap makes n a map. The Arrow library identifies the parts of a map by the names
// entries, key and value, whatever names the writer used.
func (n *node) setMap(t table, entries arrow.Field) error {
	pair, ok := entries.Type.(*arrow.StructType)
	if !ok || pair.NumFields() != 2 {
		return invalid(n, "the entries of a map are %s, not a struct of two", entries.Type.Name())
	}
	key := pair.Field(0)
	key.Nullable = false // some writers declare keys nullable; null keys are refused elsewhere
	dtype := arrow.MapOfFields(key, pair.Field(1))
	dtype.KeysSorted = t.bool(4)
	n.dtype, n.layout, n.width = dtype, layoutMap, 4
	n.children[0].dtype = dtype.Elem()
	return nil
}

// setFixed gives n a fixed-width type, or refuses an unknown type.
func (n *node) setFixed(kind uint8, t table) (err error) {
	switch kind {
	case typeInt:
		n.dtype, err = intType(t, n)
	case typeFloatingPoint:
		n.dtype, err = floatType(t, n)
	case typeDecimal:
		n.dtype, err = decimalType(t, n)
	case typeDate:
		n.dtype, err = dateType(t, n)
	case typeTime:
		n.dtype, err = timeType(t, n)
	case typeTimestamp:
		n.dtype, err = timestampType(t, n)
	case typeDuration:
		unit, e := timeUnit(t, int16(arrow.Millisecond), n)
		n.dtype, err = &arrow.DurationType{Unit: unit}, e
	case typeFixedSizeBinary:
		n.dtype, err = fixedSizeBinaryType(t, n)
	default:
		return unsupported(n, "type number %d", kind)
	}
	if err != nil {
		return err
	}
	n.layout, n.width = layoutFixed, int64(n.dtype.(arrow.FixedWidthDataType).Bytes())
	return nil
}

// integers holds the unsigned and the signed type of each width in bits.
var integers = map[int32][2]arrow.DataType{
	8:  {arrow.PrimitiveTypes.Uint8, arrow.PrimitiveTypes.Int8},
	16: {arrow.PrimitiveTypes.Uint16, arrow.PrimitiveTypes.Int16},
	32: {arrow.PrimitiveTypes.Uint32, arrow.PrimitiveTypes.Int32},
	64: {arrow.PrimitiveTypes.Uint64, arrow.PrimitiveTypes.Int64},
}

func intType(t table, n *node) (arrow.DataType, error) {
	bits := t.int32(4, 0)
	pair, ok := integers[bits]
	if !ok {
		return nil, invalid(n, "integer of %d bits", bits)
	}
	if t.bool(6) {
		return pair[1], nil
	}
	return pair[0], nil
}

func floatType(t table, n *node) (arrow.DataType, error) {
	switch precision := t.int16(4, 0); precision {
	case 0:
		return arrow.FixedWidthTypes.Float16, nil
	case 1:
		return arrow.PrimitiveTypes.Float32, nil
	case 2:
		return arrow.PrimitiveTypes.Float64, nil
	default:
		return nil, invalid(n, "float of precision %d", precision)
	}
}

// decimalType returns a decimal type of 128 or 256 bits. Precision and scale must be within the tables of
// the library, which panics otherwise.
func decimalType(t table, n *node) (arrow.DataType, error) {
	precision, scale, bits := t.int32(4, 0), t.int32(6, 0), t.int32(8, 128)
	most := map[int32]int32{128: 38, 256: 76}[bits]
	switch {
	case bits == 32 || bits == 64:
		return nil, unsupported(n, "type decimal%d", bits)
	case most == 0:
		return nil, invalid(n, "decimal of %d bits", bits)
	case precision < 1 || precision > most:
		return nil, invalid(n, "decimal%d of precision %d; it may be 1 to %d", bits, precision, most)
	case scale < -most || scale > precision:
		// Other implementations allow any scale; the library has tables of powers up to most.
		return nil, invalid(n, "decimal%d(%d) of scale %d; it may be %d to %d", bits, precision, scale, -most, precision)
	case bits == 128:
		return &arrow.Decimal128Type{Precision: precision, Scale: scale}, nil
	}
	return &arrow.Decimal256Type{Precision: precision, Scale: scale}, nil
}

func dateType(t table, n *node) (arrow.DataType, error) {
	switch unit := t.int16(4, 1); unit {
	case 0:
		return arrow.FixedWidthTypes.Date32, nil
	case 1:
		return arrow.FixedWidthTypes.Date64, nil
	default:
		return nil, invalid(n, "date of unit %d", unit)
	}
}

// timeType returns a time type. The format permits 32 bits for seconds and milliseconds, and 64 bits for
// finer units.
func timeType(t table, n *node) (arrow.DataType, error) {
	unit, err := timeUnit(t, int16(arrow.Millisecond), n)
	if err != nil {
		return nil, err
	}
	bits := t.int32(6, 32)
	switch {
	case bits == 32 && unit <= arrow.Millisecond:
		return &arrow.Time32Type{Unit: unit}, nil
	case bits == 64 && unit > arrow.Millisecond:
		return &arrow.Time64Type{Unit: unit}, nil
	}
	return nil, invalid(n, "time in %v of %d bits", unit, bits)
}

// timestampType returns a timestamp type with an optional time zone.
func timestampType(t table, n *node) (arrow.DataType, error) {
	unit, err := timeUnit(t, int16(arrow.Second), n)
	if err != nil {
		return nil, err
	}
	zone := t.string(6) // readers do not check that the zone exists
	if !utf8.ValidString(zone) {
		return nil, invalid(n, "the time zone is not valid UTF-8")
	}
	return &arrow.TimestampType{Unit: unit, TimeZone: zone}, nil
}

// timeUnit reads the unit, the first field of the temporal types. The library uses the numbers of the
// format: 0 for seconds to 3 for nanoseconds.
func timeUnit(t table, otherwise int16, n *node) (arrow.TimeUnit, error) {
	unit := t.int16(4, otherwise)
	if unit < int16(arrow.Second) || unit > int16(arrow.Nanosecond) {
		return 0, invalid(n, "time unit %d", unit)
	}
	return arrow.TimeUnit(unit), nil
}

func fixedSizeBinaryType(t table, n *node) (arrow.DataType, error) {
	width := t.int32(4, 0)
	if width < 0 {
		return nil, invalid(n, "fixed_size_binary of %d bytes", width)
	}
	if width == 0 {
		return nil, unsupported(n, "fixed_size_binary of 0 bytes")
	}
	return &arrow.FixedSizeBinaryType{ByteWidth: int(width)}, nil
}

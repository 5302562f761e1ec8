package types

import (
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/sql/internal/column"
)

// arrowTypes are the types without parameters.
var arrowTypes = map[string]arrow.DataType{
	"Boolean": column.TypeBool, "Int8": arrow.PrimitiveTypes.Int8, "Int16": arrow.PrimitiveTypes.Int16,
	"Int32": arrow.PrimitiveTypes.Int32, "Int64": column.TypeInt64, "UInt8": arrow.PrimitiveTypes.Uint8,
	"UInt16": arrow.PrimitiveTypes.Uint16, "UInt32": arrow.PrimitiveTypes.Uint32, "UInt64": column.TypeUint64,
	"Float16": arrow.FixedWidthTypes.Float16, "Float32": column.TypeFloat32, "Float64": column.TypeFloat64,
	"Utf8": column.TypeString, "LargeUtf8": arrow.BinaryTypes.LargeString,
	"Binary": column.TypeBinary, "LargeBinary": arrow.BinaryTypes.LargeBinary,
	"Date32": arrow.FixedWidthTypes.Date32, "Date64": arrow.FixedWidthTypes.Date64,
}

// arrowLayouts are types that expressions hold in another layout of the same values, like dictionaries.
var arrowLayouts = map[string]arrow.DataType{"Utf8View": column.TypeString, "BinaryView": column.TypeBinary}

var arrowUnits = map[string]arrow.TimeUnit{
	"Second": arrow.Second, "Millisecond": arrow.Millisecond, "Microsecond": arrow.Microsecond, "Nanosecond": arrow.Nanosecond,
	"s": arrow.Second, "ms": arrow.Millisecond, "us": arrow.Microsecond, "µs": arrow.Microsecond, "ns": arrow.Nanosecond,
}

// maxTypeDepth bounds the nesting of types.
const maxTypeDepth = 16

// parseType parses the name of a type in the syntax of Rust's arrow crate, such as Timestamp(Second, None):
//
//	FixedSizeBinary(4)  Timestamp(ms, "UTC")  Decimal128(10, 2)  Dictionary(Int32, Utf8)
//	List(Utf8)  LargeList(Int8, field: 'x')  FixedSizeList(3 x Float32)
//	Struct("a": Int64)  Map("entries": non-null Struct("key": non-null Utf8, "value": Int8), unsorted)
//
// A dictionary is parsed as the type of its values, and a view as the type without views; layout reports
// whether that happened.
//
// Source: arrow-schema 58, datatype_parse.rs.
func parseType(name string) (t arrow.DataType, layout bool) {
	p := typeParser{rest: name}
	t = p.typ(maxTypeDepth)
	if p.word() != "" || p.rest != "" {
		return nil, false
	}
	return t, p.layout
}

// A typeParser reads the name of a type. Its methods return zero values for another text.
type typeParser struct {
	rest   string
	layout bool // expressions hold the values of the type, or of a part of it, in another layout
}

// word skips a name or a number, and returns it.
func (p *typeParser) word() string {
	p.rest = strings.TrimLeft(p.rest, " ")
	end := strings.IndexAny(p.rest, " ,:()\"'")
	if end < 0 {
		end = len(p.rest)
	}
	w := p.rest[:end]
	p.rest = strings.TrimLeft(p.rest[end:], " ")
	return w
}

// take skips a text if it comes next, and reports whether it does.
func (p *typeParser) take(text string) bool {
	p.rest = strings.TrimLeft(p.rest, " ")
	rest, ok := strings.CutPrefix(p.rest, text)
	if ok {
		p.rest = rest
	}
	return ok
}

// number reads a number of at most 31 bits.
func (p *typeParser) number() (int32, bool) {
	n, err := strconv.ParseInt(p.word(), 10, 32)
	return int32(n), err == nil
}

// quoted reads a text in quotes, which cannot hold that quote.
func (p *typeParser) quoted(quote string) (string, bool) {
	if !p.take(quote) {
		return "", false
	}
	text, rest, ok := strings.Cut(p.rest, quote)
	p.rest = rest
	return text, ok
}

// typ parses a type, nested up to depth. It returns nil for anything else.
func (p *typeParser) typ(depth int) arrow.DataType {
	name := p.word()
	if t, ok := arrowTypes[name]; ok {
		return t
	}
	if t, ok := arrowLayouts[name]; ok {
		p.layout = true
		return t
	}
	if depth == 0 || !p.take("(") {
		return nil
	}
	t := p.parameters(name, depth-1)
	if t == nil || !p.take(")") {
		return nil
	}
	return t
}

// parameters reads the text between the parentheses of a type.
func (p *typeParser) parameters(name string, depth int) arrow.DataType {
	switch name {
	case "Time32", "Time64", "Duration":
		return arrowTicks(name, p.word())
	case "Timestamp":
		return p.timestamp()
	case "Decimal128", "Decimal256":
		precision, ok1 := p.number()
		comma := p.take(",")
		scale, ok2 := p.number()
		if ok1 && comma && ok2 {
			return decimalOfName(name, precision, scale)
		}
	case "FixedSizeBinary":
		if width, ok := p.number(); ok && width > 0 {
			return &arrow.FixedSizeBinaryType{ByteWidth: int(width)}
		}
	case "Dictionary":
		if index := p.typ(depth); index != nil && column.IsInteger(index) && p.take(",") {
			p.layout = true
			return p.typ(depth)
		}
	case "List", "LargeList":
		if item, ok := p.item(depth); ok {
			if name == "List" {
				return arrow.ListOfField(item)
			}
			return arrow.LargeListOfField(item)
		}
	case "FixedSizeList":
		size, ok := p.number()
		if ok && size > 0 && (p.take("x") || p.take(",")) {
			if item, ok := p.item(depth); ok {
				return arrow.FixedSizeListOfField(size, item)
			}
		}
	case "Struct":
		if fields := p.fields(depth); len(fields) > 0 {
			return arrow.StructOf(fields...)
		}
	case "Map":
		return p.entries(depth)
	}
	return nil
}

// timestamp reads a unit, and a zone as None, "UTC" or Some("UTC").
func (p *typeParser) timestamp() arrow.DataType {
	unit, ok := arrowUnits[p.word()]
	if !ok {
		return nil
	}
	if !p.take(",") || p.take("None") {
		return column.TimestampType(unit, "")
	}
	some := p.take("Some(")
	zone, ok := p.quoted(`"`)
	if !ok || zone == "" || some && !p.take(")") {
		return nil
	}
	return column.TimestampType(unit, zone)
}

// nullable reads the word before a type.
func (p *typeParser) nullable() bool {
	if p.take("non-null ") {
		return false
	}
	p.take("nullable ")
	return true
}

// item parses the element field of a list, whose default name is item. It refuses non-nullable elements,
// which no cast produces.
func (p *typeParser) item(depth int) (f arrow.Field, ok bool) {
	f = arrow.Field{Name: "item", Nullable: p.nullable()}
	if f.Type = p.typ(depth); f.Type == nil || !f.Nullable {
		return f, false
	}
	if p.take(",") {
		if !p.take("field") || !p.take(":") {
			return f, false
		}
		f.Name, ok = p.quoted("'")
		return f, ok
	}
	return f, true
}

// fields reads the members of a struct.
func (p *typeParser) fields(depth int) []arrow.Field {
	var fields []arrow.Field
	for {
		name, ok := p.quoted(`"`)
		if !ok || !p.take(":") {
			return nil
		}
		f := arrow.Field{Name: name, Nullable: p.nullable()}
		if f.Type = p.typ(depth); f.Type == nil {
			return nil
		}
		if fields = append(fields, f); !p.take(",") {
			return fields
		}
	}
}

// entries reads the struct of the key and the value of a map, and whether its keys are sorted.
func (p *typeParser) entries(depth int) arrow.DataType {
	if _, ok := p.quoted(`"`); !ok || !p.take(":") || p.nullable() {
		return nil
	}
	entries, ok := p.typ(depth).(*arrow.StructType)
	if !ok || entries.NumFields() != 2 || entries.Field(0).Nullable || !p.take(",") {
		return nil
	}
	t := arrow.MapOfFields(entries.Field(0), entries.Field(1))
	switch p.word() {
	case "sorted":
		t.KeysSorted = true
	case "unsorted":
	default:
		return nil
	}
	return t
}

// arrowTicks returns nil unless the type supports the unit.
func arrowTicks(name, unitName string) arrow.DataType {
	unit, ok := arrowUnits[unitName]
	switch fine := unit == arrow.Microsecond || unit == arrow.Nanosecond; {
	case !ok:
		return nil
	case name == "Duration":
		return &arrow.DurationType{Unit: unit}
	case name == "Time64" && fine:
		return &arrow.Time64Type{Unit: unit}
	case name == "Time32" && !fine:
		return &arrow.Time32Type{Unit: unit}
	}
	return nil
}

// decimalOfName is nil unless the digits fit the width.
func decimalOfName(name string, p, s int32) arrow.DataType {
	most := int32(column.MaxPrecision128)
	if name == "Decimal256" {
		most = column.MaxPrecision256
	}
	if p < 1 || p > most || s < 0 || s > p {
		return nil
	}
	if name == "Decimal256" {
		return &arrow.Decimal256Type{Precision: p, Scale: s}
	}
	return &arrow.Decimal128Type{Precision: p, Scale: s}
}

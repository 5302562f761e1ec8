package plan

import (
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/sql/internal/column"
	"tiltyard/shared/sql/syntax"
)

// lanceType returns the type that a name means outside of calls, or nil.
func lanceType(name syntax.TypeName) arrow.DataType {
	if t, ok := commonTypes[name.Name]; ok {
		return t
	}
	switch name.Name {
	case "binary":
		return column.TypeBinary
	case "timestamp", "datetime":
		return timestampOf(name.Args, arrow.Microsecond)
	case "decimal":
		if len(name.Args) == 2 {
			return decimalOfArgs(name.Args, column.MaxPrecision128)
		}
	}
	return nil
}

// Type returns the type that a name means for a column: that of a CAST, in either place. It is nil for an unknown name.
func Type(name syntax.TypeName) arrow.DataType {
	if t := lanceType(name); t != nil {
		return t
	}
	return callType(name)
}

// callType returns the type that a name means inside of calls, or nil.
func callType(name syntax.TypeName) arrow.DataType {
	if t, ok := commonTypes[name.Name]; ok {
		return t
	}
	switch name.Name {
	case "bool":
		return column.TypeBool
	case "int2":
		return arrow.PrimitiveTypes.Int16
	case "int4":
		return arrow.PrimitiveTypes.Int32
	case "int8":
		return column.TypeInt64
	case "real", "float4":
		return column.TypeFloat32
	case "double precision", "float8":
		return column.TypeFloat64
	case "text", "char":
		return column.TypeString
	case "varchar":
		if len(name.Args) == 0 {
			return column.TypeString
		}
	case "bytea":
		return column.TypeBinary
	case "time":
		if len(name.Args) == 0 {
			return arrow.FixedWidthTypes.Time64ns
		}
	case "timestamp", "timestamp without time zone":
		return timestampOf(name.Args, arrow.Nanosecond)
	case "decimal", "numeric":
		switch len(name.Args) {
		case 0:
			return decimalOfArgs([]int{column.MaxPrecision128, 10}, column.MaxPrecision256)
		case 1:
			return decimalOfArgs([]int{name.Args[0], 0}, column.MaxPrecision256)
		case 2:
			return decimalOfArgs(name.Args, column.MaxPrecision256)
		}
	}
	return nil
}

// commonTypes are the names that mean the same inside and outside of calls. Numbers in
// parentheses are display widths, which are ignored.
var commonTypes = map[string]arrow.DataType{
	"boolean":           arrow.FixedWidthTypes.Boolean,
	"tinyint":           arrow.PrimitiveTypes.Int8,
	"smallint":          arrow.PrimitiveTypes.Int16,
	"int":               arrow.PrimitiveTypes.Int32,
	"integer":           arrow.PrimitiveTypes.Int32,
	"bigint":            arrow.PrimitiveTypes.Int64,
	"tinyint unsigned":  arrow.PrimitiveTypes.Uint8,
	"smallint unsigned": arrow.PrimitiveTypes.Uint16,
	"int unsigned":      arrow.PrimitiveTypes.Uint32,
	"integer unsigned":  arrow.PrimitiveTypes.Uint32,
	"bigint unsigned":   arrow.PrimitiveTypes.Uint64,
	"float":             arrow.PrimitiveTypes.Float32,
	"double":            arrow.PrimitiveTypes.Float64,
	"string":            arrow.BinaryTypes.String,
	"date":              arrow.FixedWidthTypes.Date32,
}

// timestampOf returns a timestamp type. Its unit follows from the number of fractional digits, if given.
func timestampOf(args []int, unit arrow.TimeUnit) arrow.DataType {
	if len(args) == 0 {
		return column.TimestampType(unit, "")
	}
	i := slices.Index([]int{0, 3, 6, 9}, args[0])
	if i < 0 || len(args) > 1 {
		return nil
	}
	return column.TimestampType(arrow.TimeUnit(i), "")
}

// decimalOfArgs returns nil unless precision and scale are valid together.
func decimalOfArgs(args []int, most int32) arrow.DataType {
	p, s := int32(args[0]), int32(args[1])
	switch {
	case p < 1 || p > most || s < 0 || s > p:
		return nil
	case p > column.MaxPrecision128:
		return &arrow.Decimal256Type{Precision: p, Scale: s}
	}
	return &arrow.Decimal128Type{Precision: p, Scale: s}
}

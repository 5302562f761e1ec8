package flightsql

import (
	"context"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"

	"tiltyard/shared/client"
)

// A typeInfo describes a type as ODBC and JDBC do.
type typeInfo struct {
	name   string
	number pb.XdbcDataType
	size   int32  // digits, or bytes; 0: no bound
	quote  string // before and behind a literal
	kind   typeKind
}

// A typeKind groups types by what is true of all of them.
type typeKind uint8

const (
	plain typeKind = iota
	integer
	unsigned
	fractional
	text
)

// typeInfos are the types of columns, in the order of their numbers, as the specification demands.
var typeInfos = []typeInfo{
	{"BOOLEAN", pb.XdbcDataType_XDBC_BIT, 1, "", plain},
	{"TINYINT", pb.XdbcDataType_XDBC_TINYINT, 3, "", integer},
	{"BIGINT", pb.XdbcDataType_XDBC_BIGINT, 19, "", integer},
	{"BIGINT UNSIGNED", pb.XdbcDataType_XDBC_BIGINT, 20, "", unsigned},
	{"BINARY", pb.XdbcDataType_XDBC_VARBINARY, 0, "", plain},
	{"DECIMAL", pb.XdbcDataType_XDBC_DECIMAL, 38, "", fractional},
	{"INT", pb.XdbcDataType_XDBC_INTEGER, 10, "", integer},
	{"INT UNSIGNED", pb.XdbcDataType_XDBC_INTEGER, 10, "", unsigned},
	{"SMALLINT", pb.XdbcDataType_XDBC_SMALLINT, 5, "", integer},
	{"FLOAT", pb.XdbcDataType_XDBC_REAL, 7, "", fractional},
	{"DOUBLE", pb.XdbcDataType_XDBC_DOUBLE, 15, "", fractional},
	{"VARCHAR", pb.XdbcDataType_XDBC_VARCHAR, 0, "'", text},
	{"DATE", pb.XdbcDataType_XDBC_DATE, 10, "'", plain},
	{"TIMESTAMP", pb.XdbcDataType_XDBC_TIMESTAMP, 29, "'", plain},
}

// nullable and searchable are constants of ODBC: values may be null, and all comparisons work.
const (
	nullable   = 1
	searchable = 3
)

// typesOf lists the types, or those with one number.
func typesOf(c *pb.CommandGetXdbcTypeInfo) func(context.Context, *client.Client, *listWriter) error {
	return func(_ context.Context, _ *client.Client, rows *listWriter) error {
		for _, t := range typeInfos {
			if c.DataType != nil && c.GetDataType() != int32(t.number) {
				continue
			}
			t.write(rows.builder)
			if err := rows.ended(); err != nil {
				return err
			}
		}
		return nil
	}
}

// write adds a row to the list.
func (t typeInfo) write(b *array.RecordBuilder) {
	texts := func(i int, value string) {
		if value == "" {
			b.Field(i).AppendNull()
			return
		}
		b.Field(i).(*array.StringBuilder).Append(value)
	}
	numbers := func(i int, value int32) { b.Field(i).(*array.Int32Builder).Append(value) }
	flags := func(i int, value bool) { b.Field(i).(*array.BooleanBuilder).Append(value) }
	texts(0, t.name)
	numbers(1, int32(t.number))
	if t.size == 0 {
		b.Field(2).AppendNull()
	} else {
		numbers(2, t.size)
	}
	texts(3, t.quote)
	texts(4, t.quote)
	b.Field(5).AppendNull()
	numbers(6, nullable)
	flags(7, t.kind == text)
	numbers(8, searchable)
	if t.isNumber() {
		flags(9, t.kind == unsigned)
	} else {
		b.Field(9).AppendNull()
	}
	flags(10, false)
	flags(11, false)
	texts(12, t.name)
	b.Field(13).AppendNull()
	b.Field(14).AppendNull()
	numbers(15, int32(t.number))
	b.Field(16).AppendNull()
	if t.isNumber() {
		numbers(17, 10)
	} else {
		b.Field(17).AppendNull()
	}
	b.Field(18).AppendNull()
}

func (t typeInfo) isNumber() bool {
	return t.kind == integer || t.kind == unsigned || t.kind == fractional
}

// withTypes adds the names and sizes of the types to the columns of a table, from which drivers know what they are in SQL.
func withTypes(s *arrow.Schema) *arrow.Schema {
	fields := s.Fields()
	for i, f := range fields {
		about := flightsql.NewColumnMetadataBuilder().TypeName(typeName(f.Type))
		if d, ok := f.Type.(arrow.DecimalType); ok {
			about.Precision(d.GetPrecision()).Scale(d.GetScale())
		} else if at := slices.IndexFunc(typeInfos, func(t typeInfo) bool { return t.name == typeName(f.Type) }); at >= 0 && typeInfos[at].size > 0 {
			about.Precision(typeInfos[at].size)
		}
		added := about.Metadata()
		fields[i].Metadata = arrow.NewMetadata(slices.Concat(f.Metadata.Keys(), added.Keys()), slices.Concat(f.Metadata.Values(), added.Values()))
	}
	metadata := s.Metadata()
	return arrow.NewSchema(fields, &metadata)
}

// typeName returns the name of a type in typeInfos, ARRAY for lists, and for other types that in Arrow.
func typeName(t arrow.DataType) string {
	switch t := t.(type) {
	case *arrow.DictionaryType:
		return typeName(t.ValueType)
	case arrow.ExtensionType:
		return typeName(t.StorageType())
	case *arrow.MapType:
		return "MAP"
	case arrow.ListLikeType:
		return "ARRAY"
	case arrow.DecimalType:
		return "DECIMAL"
	}
	switch t.ID() {
	case arrow.BOOL:
		return "BOOLEAN"
	case arrow.INT8:
		return "TINYINT"
	case arrow.INT16, arrow.UINT8:
		return "SMALLINT"
	case arrow.INT32, arrow.UINT16:
		return "INT"
	case arrow.UINT32:
		return "INT UNSIGNED"
	case arrow.INT64:
		return "BIGINT"
	case arrow.UINT64:
		return "BIGINT UNSIGNED"
	case arrow.FLOAT16, arrow.FLOAT32:
		return "FLOAT"
	case arrow.FLOAT64:
		return "DOUBLE"
	case arrow.STRING, arrow.LARGE_STRING:
		return "VARCHAR"
	case arrow.BINARY, arrow.LARGE_BINARY, arrow.FIXED_SIZE_BINARY:
		return "BINARY"
	case arrow.DATE32, arrow.DATE64:
		return "DATE"
	case arrow.TIMESTAMP:
		return "TIMESTAMP"
	}
	return strings.ToUpper(t.Name())
}

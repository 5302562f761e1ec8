package rowfile

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/protocol"
)

// TypeWords are the types of columns that [ParseType] takes.
const TypeWords = "bool, int8 to int64, uint8 to uint64, float16, float32, float64, utf8, large_utf8, binary, date32, timestamp, timestamp[us], timestamp[ns], vector[N] and list<TYPE>"

// moments are the words for timestamps.
var moments = map[string]arrow.TimeUnit{"timestamp": arrow.Millisecond, "timestamp[us]": arrow.Microsecond, "timestamp[ns]": arrow.Nanosecond}

// ParseType parses the type of a column: one of [TypeWords]. It is the inverse of [TypeWord].
func ParseType(text string) (arrow.DataType, error) {
	if unit, ok := moments[text]; ok {
		return &arrow.TimestampType{Unit: unit, TimeZone: "UTC"}, nil
	}
	if length, ok := strings.CutPrefix(text, "vector["); ok {
		n, err := strconv.ParseInt(strings.TrimSuffix(length, "]"), 10, 32)
		if err != nil || n < 1 || !strings.HasSuffix(length, "]") {
			return nil, fmt.Errorf("%q is no type; a vector of 768 numbers is vector[768]", text)
		}
		return arrow.FixedSizeListOf(int32(n), arrow.PrimitiveTypes.Float32), nil
	}
	typ, err := protocol.ParseFunctionType(text)
	if err != nil || text == protocol.BlobWord {
		return nil, fmt.Errorf("%q is no type; the types are %s", text, TypeWords)
	}
	return typ, nil
}

// TypeWord formats a type as [ParseType] reads it, or else as Arrow does.
func TypeWord(typ arrow.DataType) string {
	switch typ := typ.(type) {
	case *arrow.TimestampType:
		for word, unit := range moments {
			if unit == typ.Unit && typ.TimeZone == "UTC" {
				return word
			}
		}
	case *arrow.FixedSizeListType:
		if typ.Elem().ID() == arrow.FLOAT32 {
			return fmt.Sprintf("vector[%d]", typ.Len())
		}
	case *arrow.ListType:
		return "list<" + TypeWord(typ.Elem()) + ">"
	case *arrow.StructType:
		var fields []string
		for _, field := range typ.Fields() {
			fields = append(fields, field.Name+" "+TypeWord(field.Type))
		}
		return "struct<" + strings.Join(fields, ", ") + ">"
	}
	return typ.String()
}

// A ValueError is about a value that does not fit the type of its column.
type ValueError struct {
	Column, Text string // the text of the value in the file
	Type         arrow.DataType
}

// Error returns the column and the reason.
func (e *ValueError) Error() string {
	return fmt.Sprintf("column %s: %.60s is not %s", e.Column, e.Text, TypeWord(e.Type))
}

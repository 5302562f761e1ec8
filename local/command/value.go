package command

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/process/float16"
)

// valueText formats a value for users. The console writes the same texts (values.js).
//
//	numbers              exact, as in JSON; NaN, +Inf, -Inf
//	decimals             with all digits of their scale
//	dates, times         ISO 8601, in the zone of the column
//	durations, intervals numbers and their units
//	binary               the number of bytes
//	fixed-size binary    hexadecimal
//	lists, structs, maps JSON, with texts, dates and decimals in quotes; bytes are base64
func valueText(column arrow.Array, i int) string {
	if column.IsNull(i) {
		return "null"
	}
	switch column := column.(type) {
	case *array.Null:
		return "null"
	case *array.Dictionary:
		return valueText(column.Dictionary(), column.GetValueIndex(i))
	case array.ExtensionArray:
		return valueText(column.Storage(), i)
	case *array.Float16:
		return floatText(float64(float16.Widen(column.Value(i).Uint16())), 32)
	case *array.Float32:
		return floatText(float64(column.Value(i)), 32)
	case *array.Float64:
		return floatText(column.Value(i), 64)
	case *array.Decimal128:
		return column.Value(i).ToString(column.DataType().(arrow.DecimalType).GetScale())
	case *array.Decimal256:
		return column.Value(i).ToString(column.DataType().(arrow.DecimalType).GetScale())
	case *array.MonthInterval:
		return fmt.Sprintf("%d months", column.Value(i))
	case *array.DayTimeInterval:
		return fmt.Sprintf("%d days %d ms", column.Value(i).Days, column.Value(i).Milliseconds)
	case *array.MonthDayNanoInterval:
		return fmt.Sprintf("%d months %d days %d ns", column.Value(i).Months, column.Value(i).Days, column.Value(i).Nanoseconds)
	case *array.FixedSizeBinary:
		return hex.EncodeToString(column.Value(i))
	case array.BinaryLike:
		if _, isText := column.(array.StringLike); !isText {
			return sizeText(column.ValueLen(i))
		}
	case array.ListLike:
		from, end := column.ValueOffsets(i)
		return "[" + elements(column.ListValues(), from, end) + "]"
	case *array.Struct:
		fields := make([]string, column.NumField())
		for j := range fields {
			name := column.DataType().(*arrow.StructType).Field(j).Name
			fields[j] = quoted(name) + ": " + elementText(column.Field(j), i)
		}
		return "{" + strings.Join(fields, ", ") + "}"
	}
	return column.ValueStr(i)
}

// elements joins the values [from, end) of a list.
func elements(values arrow.Array, from, end int64) string {
	texts := make([]string, 0, end-from)
	for i := from; i < end; i++ {
		texts = append(texts, elementText(values, int(i)))
	}
	return strings.Join(texts, ", ")
}

// elementText formats a value inside another one.
func elementText(column arrow.Array, i int) string {
	if column.IsNull(i) {
		return "null"
	}
	switch column := column.(type) {
	case *array.Dictionary:
		return elementText(column.Dictionary(), column.GetValueIndex(i))
	case array.ExtensionArray:
		return elementText(column.Storage(), i)
	case array.StringLike:
		return quoted(column.Value(i))
	case *array.Binary:
		return quoted(base64.StdEncoding.EncodeToString(column.Value(i)))
	case *array.LargeBinary:
		return quoted(base64.StdEncoding.EncodeToString(column.Value(i)))
	}
	text := valueText(column, i)
	id := column.DataType().ID()
	switch {
	case arrow.IsFloating(id) && strings.Trim(text, "+-0123456789.e") == "", arrow.IsInteger(id), id == arrow.BOOL, id == arrow.STRUCT, arrow.IsListLike(id):
		return text
	}
	return quoted(text) // including NaN and the infinities
}

// floatText returns the shortest number that parses to the same float, in the notation of JSON.
func floatText(f float64, bits int) string {
	size := math.Abs(f)
	if size != 0 && (size < 1e-6 || size >= 1e21) {
		text := strconv.FormatFloat(f, 'e', -1, bits)
		mantissa, exponent, hasExponent := strings.Cut(text, "e")
		if !hasExponent {
			return text // an infinity or NaN
		}
		return mantissa + "e" + exponent[:1] + strings.TrimLeft(exponent[1:], "0")
	}
	return strconv.FormatFloat(f, 'f', -1, bits)
}

func sizeText(bytes int) string {
	if bytes == 1 {
		return "1 byte"
	}
	return fmt.Sprintf("%d bytes", bytes)
}

// quoted returns a text as a JSON string.
func quoted(text string) string {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(text) // cannot fail for a string
	return strings.TrimSuffix(b.String(), "\n")
}

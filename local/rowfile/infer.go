package rowfile

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/arrow/rowjson"
)

// The types of columns of CSV and JSON are chosen by the first rows. The rules are those of the console (infer.js), which
// stores JSON objects as text because its library cannot read them into structs:
//
//	bool        true and false
//	int64       integers in its range, without leading zeros
//	float64     other numbers, NaN and infinities
//	date32      2024-02-29
//	timestamp   2024-02-29T01:02:03Z; in UTC, also without a zone
//	vector[N]   lists of the same number of numbers, at least two, as float32
//	list        other lists of numbers as float64, and lists of texts
//	struct      JSON objects, by their fields
//	utf8        everything else
//
// Values may be texts, also in JSON. Nulls do not count. All columns are nullable.

const (
	sampleRows  = 2000
	sampleBytes = 16 << 20
)

// A sampled column has the values of the first rows: texts of CSV, or values of [jsonValue].
type sampled struct {
	name   string
	values []any
}

// Infer returns columns for the rows of a file of CSV or JSON, and a reader of the whole file. types has the types of some
// columns. The error is [*rowjson.UnknownColumnError] if one of these is none of CSV.
func Infer(in io.Reader, format Format, types map[string]arrow.DataType) (*arrow.Schema, io.Reader, error) {
	start, err := io.ReadAll(io.LimitReader(in, sampleBytes))
	if err != nil {
		return nil, nil, err
	}
	read := sampleJSON
	if format == CSV {
		read = sampleCSV
	}
	columns, err := read(start)
	if err != nil {
		return nil, nil, err
	}
	var fields []arrow.Field
	for _, column := range columns {
		typ := types[column.name]
		if typ == nil {
			typ = inferType(column.values)
		}
		fields = append(fields, arrow.Field{Name: column.name, Type: typ, Nullable: true})
	}
	for _, name := range slices.Sorted(maps.Keys(types)) {
		switch {
		case slices.ContainsFunc(columns, func(c sampled) bool { return c.name == name }):
		case format == CSV:
			return nil, nil, &rowjson.UnknownColumnError{Column: name}
		default: // a later object may have it
			fields = append(fields, arrow.Field{Name: name, Type: types[name], Nullable: true})
		}
	}
	if len(fields) == 0 {
		return nil, nil, errors.New("it has no columns")
	}
	return arrow.NewSchema(fields, nil), io.MultiReader(bytes.NewReader(start), in), nil
}

// sampleCSV reads the first rows of CSV. It ends silently at a faulty row, which the reader of all rows reports.
func sampleCSV(start []byte) ([]sampled, error) {
	reader := newCSVReader(bytes.NewReader(start))
	names, err := headerOf(reader)
	if err != nil {
		return nil, err
	}
	columns := make([]sampled, len(names))
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return nil, fmt.Errorf("the header has %q twice", name)
		}
		columns[i].name = name
	}
	for range sampleRows {
		record, err := reader.Read()
		if err != nil || isCut(start, reader) {
			break
		}
		for i, text := range record {
			if text != "" {
				columns[i].values = append(columns[i].values, text)
			}
		}
	}
	return columns, nil //nolint:nilerr // a faulty row ends the sample; the reader of all rows reports it
}

// isCut reports whether the last row of a reader may continue behind the sample.
func isCut(start []byte, reader *csv.Reader) bool {
	return len(start) == sampleBytes && reader.InputOffset() == int64(len(start))
}

// sampleJSON reads the first objects, like [sampleCSV]. Columns are in the order in which they occur.
func sampleJSON(start []byte) ([]sampled, error) {
	decoder := json.NewDecoder(bytes.NewReader(start))
	decoder.UseNumber()
	if bytes.HasPrefix(bytes.TrimLeft(start, " \t\r\n"), []byte("[")) {
		_, _ = decoder.Token() // the opening bracket
	}
	var columns []sampled
	for row := 0; row < sampleRows && decoder.More(); row++ {
		value, err := jsonValue(decoder)
		object, ok := value.([]member)
		if err != nil || !ok {
			break
		}
		columns = collect(columns, object)
	}
	return columns, nil //nolint:nilerr // as in sampleCSV
}

// collect adds the values of an object to columns.
func collect(columns []sampled, object []member) []sampled {
	for _, m := range object {
		at := slices.IndexFunc(columns, func(c sampled) bool { return c.name == m.name })
		if at < 0 {
			at = len(columns)
			columns = append(columns, sampled{name: m.name})
		}
		if m.value != nil {
			columns[at].values = append(columns[at].values, m.value)
		}
	}
	return columns
}

// A member is a field of a JSON object.
type member struct {
	name  string
	value any
}

// jsonValue decodes the next value: an object as []member in the order of the text, a list as []any, or a token.
func jsonValue(decoder *json.Decoder) (any, error) {
	token, err := decoder.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('{'):
		object := []member{}
		for decoder.More() {
			name, err := decoder.Token()
			if err != nil {
				return nil, err
			}
			value, err := jsonValue(decoder)
			if err != nil {
				return nil, err
			}
			object = append(object, member{fmt.Sprint(name), value})
		}
		_, err := decoder.Token()
		return object, err
	case json.Delim('['):
		list := []any{}
		for decoder.More() {
			value, err := jsonValue(decoder)
			if err != nil {
				return nil, err
			}
			list = append(list, value)
		}
		_, err := decoder.Token()
		return list, err
	}
	return token, nil
}

var (
	integerText = regexp.MustCompile(`^[+-]?(0|[1-9]\d*)$`)
	numberText  = regexp.MustCompile(`^[+-]?((0|[1-9]\d*)(\.\d*)?|\.\d+)([eE][+-]?\d+)?$`)
	specialText = regexp.MustCompile(`^(?i)[+-]?(nan|inf|infinity)$`)
	boolText    = regexp.MustCompile(`^(true|false|True|False|TRUE|FALSE)$`)
	dateText    = regexp.MustCompile(`^\d{4}-\d\d-\d\d$`)
	momentText  = regexp.MustCompile(`^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:?\d\d)?$`)
)

// inferType returns the type of values that are not null.
func inferType(values []any) arrow.DataType {
	every := func(test func(any) bool) bool {
		return len(values) > 0 && !slices.ContainsFunc(values, func(v any) bool { return !test(v) })
	}
	texts := func(pattern *regexp.Regexp) func(any) bool {
		return func(v any) bool {
			text, ok := v.(string)
			return ok && pattern.MatchString(strings.TrimSpace(text))
		}
	}
	switch {
	case every(isBool):
		return arrow.FixedWidthTypes.Boolean
	case every(isInteger):
		return arrow.PrimitiveTypes.Int64
	case every(isNumber):
		return arrow.PrimitiveTypes.Float64
	case every(texts(dateText)):
		return arrow.FixedWidthTypes.Date32
	case every(texts(momentText)):
		return momentType(values)
	case every(func(v any) bool { object, ok := v.([]member); return ok && len(object) > 0 }):
		return structType(values)
	}
	if typ := listType(values); typ != nil {
		return typ
	}
	return arrow.BinaryTypes.String
}

func isBool(v any) bool {
	if text, ok := v.(string); ok {
		return boolText.MatchString(strings.TrimSpace(text))
	}
	_, ok := v.(bool)
	return ok
}

func isInteger(v any) bool {
	text, ok := numeral(v)
	if !ok || !integerText.MatchString(text) {
		return false
	}
	_, err := strconv.ParseInt(text, 10, 64)
	return err == nil
}

func isNumber(v any) bool {
	text, ok := numeral(v)
	return ok && (numberText.MatchString(text) || specialText.MatchString(text))
}

// numeral returns the text of a value that may be a number.
func numeral(v any) (string, bool) {
	switch v := v.(type) {
	case json.Number:
		return v.String(), true
	case string:
		return strings.TrimSpace(v), true
	}
	return "", false
}

// momentType returns timestamps in UTC of the unit that the texts need: milliseconds, or a smaller one.
func momentType(values []any) arrow.DataType {
	digits := 0
	for _, v := range values {
		if _, fraction, ok := strings.Cut(v.(string), "."); ok {
			digits = max(digits, len(fraction)-len(strings.TrimLeft(fraction, "0123456789")))
		}
	}
	unit := arrow.Millisecond
	if digits > 6 {
		unit = arrow.Nanosecond
	} else if digits > 3 {
		unit = arrow.Microsecond
	}
	return &arrow.TimestampType{Unit: unit, TimeZone: "UTC"}
}

func structType(values []any) arrow.DataType {
	var columns []sampled
	for _, v := range values {
		columns = collect(columns, v.([]member))
	}
	var fields []arrow.Field
	for _, column := range columns {
		fields = append(fields, arrow.Field{Name: column.name, Type: inferType(column.values), Nullable: true})
	}
	return arrow.StructOf(fields...)
}

// listType returns the type of lists, or nil if a value is none or the lists have mixed elements.
func listType(values []any) arrow.DataType {
	numbers, texts, length, equal := 0, 0, -1, true
	all := 0
	for _, v := range values {
		list, ok := asList(v)
		if !ok {
			return nil
		}
		equal = equal && (length < 0 || length == len(list))
		length = len(list)
		all += len(list)
		for _, element := range list {
			switch element.(type) {
			case json.Number:
				numbers++
			case string:
				texts++
			}
		}
	}
	switch {
	case len(values) == 0:
		return nil
	case all > 0 && numbers == all && equal && length > 1:
		return arrow.FixedSizeListOf(int32(length), arrow.PrimitiveTypes.Float32)
	case all > 0 && numbers == all:
		return arrow.ListOf(arrow.PrimitiveTypes.Float64)
	case texts == all:
		return arrow.ListOf(arrow.BinaryTypes.String)
	}
	return nil
}

// asList returns the elements of a list, or of a text that is a list in JSON.
func asList(v any) ([]any, bool) {
	if text, ok := v.(string); ok && strings.HasPrefix(strings.TrimSpace(text), "[") {
		decoder := json.NewDecoder(strings.NewReader(text))
		decoder.UseNumber()
		var err error
		if v, err = jsonValue(decoder); err != nil || decoder.More() {
			return nil, false
		}
	}
	list, ok := v.([]any)
	return list, ok
}

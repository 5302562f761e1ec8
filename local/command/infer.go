package command

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
	"github.com/spf13/cobra"

	"tiltyard/shared/arrow/rowjson"
	"tiltyard/shared/protocol"
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

// infer returns columns for the rows of a file, and a reader of the whole file. types has the types of some columns.
func infer(in io.Reader, format string, types map[string]arrow.DataType) (*arrow.Schema, io.Reader, error) {
	start, err := io.ReadAll(io.LimitReader(in, sampleBytes))
	if err != nil {
		return nil, nil, err
	}
	read := sampleJSON
	if format == formatCSV {
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
		case format == formatCSV:
			return nil, nil, usagef("--type names %q, which is no column of the file", name)
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

// columnTypes parses the values of --type.
func columnTypes(texts []string) (map[string]arrow.DataType, error) {
	types := map[string]arrow.DataType{}
	for _, text := range texts {
		name, word, err := assignment(text)
		if err != nil {
			return nil, usagef("--type: %w", err)
		}
		if types[name] != nil {
			return nil, usagef("--type names column %q twice", name)
		}
		if types[name], err = parseType(word); err != nil {
			return nil, err
		}
	}
	return types, nil
}

// typeWords are the types of --type in words of the command line.
const typeWords = "bool, int8 to int64, uint8 to uint64, float16, float32, float64, utf8, large_utf8, binary, date32, timestamp, timestamp[us], timestamp[ns], vector[N] and list<TYPE>"

// moments are the words for timestamps.
var moments = map[string]arrow.TimeUnit{"timestamp": arrow.Millisecond, "timestamp[us]": arrow.Microsecond, "timestamp[ns]": arrow.Nanosecond}

// parseType parses the type of a column. It is the inverse of [typeWord].
func parseType(text string) (arrow.DataType, error) {
	if unit, ok := moments[text]; ok {
		return &arrow.TimestampType{Unit: unit, TimeZone: "UTC"}, nil
	}
	if length, ok := strings.CutPrefix(text, "vector["); ok {
		n, err := strconv.ParseInt(strings.TrimSuffix(length, "]"), 10, 32)
		if err != nil || n < 1 || !strings.HasSuffix(length, "]") {
			return nil, usagef("--type has %q; a vector of 768 numbers is vector[768]", text)
		}
		return arrow.FixedSizeListOf(int32(n), arrow.PrimitiveTypes.Float32), nil
	}
	typ, err := protocol.ParseFunctionType(text)
	if err != nil || text == protocol.BlobWord {
		return nil, usagef("--type has %q; the types are %s", text, typeWords)
	}
	return typ, nil
}

// typeWord formats a type in the syntax of --type, or as Arrow does.
func typeWord(typ arrow.DataType) string {
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
		return "list<" + typeWord(typ.Elem()) + ">"
	case *arrow.StructType:
		var fields []string
		for _, field := range typ.Fields() {
			fields = append(fields, field.Name+" "+typeWord(field.Type))
		}
		return "struct<" + strings.Join(fields, ", ") + ">"
	}
	return typ.String()
}

// saySchema writes the columns that are created.
func saySchema(cmd *cobra.Command, schema *arrow.Schema) {
	var columns []string
	for _, field := range schema.Fields() {
		columns = append(columns, printable(field.Name+" "+typeWord(field.Type), false))
	}
	say(cmd, "columns: %s", strings.Join(columns, ", "))
}

// A valueError is a value that does not fit the type of its column.
type valueError struct {
	column, text string
	typ          arrow.DataType
}

// Error returns the column and the reason.
func (e *valueError) Error() string {
	return fmt.Sprintf("column %s: %s is not %s", e.column, shorten(e.text), typeWord(e.typ))
}

// advisedType adds the flag that changes an inferred type to an error, which may be nil.
func advisedType(err error) error {
	var value *valueError
	if errors.As(err, &value) {
		return &advice{err, fmt.Sprintf("the column is %s, by the first rows or by --type; --type '%s=TYPE' sets another type, and utf8 takes every text", typeWord(value.typ), value.column)}
	}
	var unknown *rowjson.UnknownColumnError
	if errors.As(err, &unknown) {
		return &advice{err, fmt.Sprintf("the first rows have no %s; --type '%s=TYPE' adds it", unknown.Column, unknown.Column)}
	}
	return err
}

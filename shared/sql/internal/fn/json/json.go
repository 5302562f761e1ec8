// Package json implements the functions on JSON documents. They read the binary encoding of the table
// format (value.go).
package json

import (
	"math"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/sql"
	"tiltyard/shared/sql/internal/column"
	"tiltyard/shared/sql/internal/expr"
	"tiltyard/shared/sql/internal/fn/text"
	"tiltyard/shared/sql/internal/meter"
)

// Tables are the functions of JSON.
var Tables = []map[string]*expr.Function{jsonFunctions}

// jsonFunctions are the functions on binary JSON; see value.go.
var jsonFunctions = map[string]*expr.Function{
	"json_get":        {MinArgs: 2, MaxArgs: 2, Bind: bindJSON(arrow.BinaryTypes.LargeBinary), Eval: evalJSONGet},
	"json_get_string": {MinArgs: 2, MaxArgs: 2, Bind: bindJSON(column.TypeString), Eval: evalJSONGetString},
	"json_get_int":    {MinArgs: 2, MaxArgs: 2, Bind: bindJSON(column.TypeInt64), Eval: evalJSONGetInt},
	"json_get_float":  {MinArgs: 2, MaxArgs: 2, Bind: bindJSON(column.TypeFloat64), Eval: evalJSONGetFloat},
	"json_get_bool":   {MinArgs: 2, MaxArgs: 2, Bind: bindJSON(column.TypeBool), Eval: evalJSONGetBool},

	"json_exists":            {MinArgs: 2, MaxArgs: 2, Bind: bindJSON(column.TypeBool), Eval: evalJSONExists},
	"json_extract":           {MinArgs: 2, MaxArgs: 2, Bind: bindJSON(column.TypeString), Eval: evalJSONExtract},
	"json_array_contains":    {MinArgs: 3, MaxArgs: 3, Bind: bindJSON(column.TypeBool), Eval: evalJSONArrayContains},
	"json_extract_with_type": {MinArgs: 2, MaxArgs: 2, Bind: bindJSON(typedJSON), Eval: evalJSONWithType},
	"json_array_length":      {MinArgs: 2, MaxArgs: 2, Bind: bindJSON(column.TypeInt64), Eval: evalJSONArrayLength},
}

// bindJSON accepts a document and a string.
func bindJSON(result arrow.DataType) func(n *expr.Node) (*expr.Node, error) {
	return expr.Signature(expr.Gives(result), func(t arrow.DataType) arrow.DataType {
		if column.IsVarBinary(t) || t.ID() == arrow.NULL {
			return arrow.BinaryTypes.LargeBinary
		}
		return expr.AsText(t)
	})
}

// jsonRows computes f for the value that find returns in each document. The result is NULL
// if there is no value, or if f returns false.
func jsonRows(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset, find func(doc jsonValue, by string) (jsonValue, bool, error),
	f func(i int, v jsonValue) (ok bool, err error),
) (column.Vec, error) {
	if !column.IsVarBinary(args[0].Type) {
		return column.Vec{}, sql.Errorf(sql.ErrType, sql.NoPos, "%s of %s", n.Func.Name, args[0].Type)
	}
	out, live := expr.CallRows(n, args, rows)
	docs, by := args[0].Texts(), args[1].Texts()
	found := column.NewBitset(out.N)
	work := 16 * column.RowWork(args[:2])
	var err error
	live.Each(out.N, func(i int) bool {
		if err = m.Step(work); err != nil {
			return false
		}
		var doc, v jsonValue
		var ok bool
		reading := keyBytes * len(docs(i))
		if err = m.Take(reading); err != nil {
			return false
		}
		defer m.Give(reading)
		if doc, err = readJSON(docs(i)); err == nil {
			v, ok, err = find(doc, string(by(i)))
		}
		if ok && err == nil {
			ok, err = f(i, v)
		}
		if ok {
			found.Set(i)
		}
		return err == nil
	})
	out.Valid = found
	return out, err
}

// keyBytes bounds the memory for reading a document, as a multiple of its size; the keys of
// an object take it.
const keyBytes = 4

// jsonTexts is jsonRows for texts.
func jsonTexts(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset, find func(doc jsonValue, by string) (jsonValue, bool, error),
	f func(dst []byte, v jsonValue) (_ []byte, ok bool, err error),
) (column.Vec, error) {
	size, _ := column.Width(args...)
	b := column.NewTextBuilder(m, size)
	out, err := jsonRows(m, n, args, rows, find, func(i int, v jsonValue) (ok bool, err error) {
		for len(b.Off) <= i {
			b.Done()
		}
		if err := b.Reserve(len(v.data)); err != nil {
			return false, err
		}
		data, ok, err := f(b.Data, v)
		if !ok || err != nil {
			return ok, err
		}
		b.Data = data
		return true, b.Account()
	})
	if err != nil {
		return column.Vec{}, err
	}
	for len(b.Off) <= size {
		b.Done()
	}
	out.Data = b.Text()
	return out, nil
}

// byKey returns the member of an object, or the element of an array if the key is a number.
func byKey(doc jsonValue, key string) (jsonValue, bool, error) {
	if doc.isObject() {
		return doc.member(key)
	}
	if index, err := strconv.ParseUint(key, 10, 31); err == nil && doc.isArray() {
		return doc.element(int(index))
	}
	return jsonValue{}, false, nil
}

func evalJSONGet(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	return jsonTexts(m, n, args, rows, byKey, func(dst []byte, v jsonValue) ([]byte, bool, error) {
		return v.appendDocument(dst), true, nil
	})
}

// evalJSONGetString returns bools and numbers as text. null becomes NULL, and arrays and
// objects are errors.
func evalJSONGetString(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	return jsonTexts(m, n, args, rows, byKey, func(dst []byte, v jsonValue) ([]byte, bool, error) {
		switch v.kind() {
		case jsonNull:
			return nil, false, nil
		case jsonString:
			return append(dst, v.data...), true, nil
		case jsonNested:
			return nil, false, sql.Errorf(sql.ErrValue, sql.NoPos, "a json array or object cannot be read as a string")
		}
		dst, err := v.appendText(dst, 0)
		return dst, true, err
	})
}

func evalJSONGetInt(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	size, _ := column.Width(args...)
	values := make([]int64, size)
	out, err := jsonRows(m, n, args, rows, byKey, func(i int, v jsonValue) (ok bool, err error) {
		values[i], ok, err = v.integer()
		return ok, err
	})
	out.Data = values
	return out, err
}

func evalJSONGetFloat(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	size, _ := column.Width(args...)
	values := make([]float64, size)
	out, err := jsonRows(m, n, args, rows, byKey, func(i int, v jsonValue) (ok bool, err error) {
		values[i], ok, err = v.float()
		return ok, err
	})
	out.Data = values
	return out, err
}

// evalJSONGetBool accepts bools, and words such as "true".
func evalJSONGetBool(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	size, _ := column.Width(args...)
	bits := column.NewBitset(size)
	out, err := jsonRows(m, n, args, rows, byKey, func(i int, v jsonValue) (bool, error) {
		word := strings.ToLower(string(v.data))
		switch kind := v.kind(); {
		case kind == jsonNull:
			return false, nil
		case kind == jsonTrue, kind == jsonString && (word == "true" || word == "yes"):
			bits.Set(i)
			return true, nil
		case kind == jsonFalse, kind == jsonString && (word == "false" || word == "no"):
			return true, nil
		}
		return false, sql.Errorf(sql.ErrValue, sql.NoPos, "a json value cannot be read as a bool")
	})
	out.Data = bits
	return out, err
}

// evalJSONExists is NULL only if the document is NULL.
func evalJSONExists(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	bits, err := jsonRows(m, n, args, rows, byPath, func(int, jsonValue) (bool, error) { return true, nil })
	out, _ := expr.CallRows(n, args, rows)
	out.Data = bits.Valid
	return out, err
}

// evalJSONExtract returns the value at the path as JSON, with strings in quotes.
func evalJSONExtract(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	return jsonTexts(m, n, args, rows, byPath, func(dst []byte, v jsonValue) ([]byte, bool, error) {
		dst, err := v.appendText(dst, 0)
		return dst, true, err
	})
}

// evalJSONArrayLength returns 0 for a value that is not an array.
func evalJSONArrayLength(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	size, _ := column.Width(args...)
	values := make([]int64, size)
	out, err := jsonRows(m, n, args, rows, byPath, func(i int, v jsonValue) (bool, error) {
		if v.isArray() {
			values[i] = int64(v.count())
		}
		return true, nil
	})
	out.Data = values
	return out, err
}

// evalJSONArrayContains searches for an element whose text is the value, with or without
// quotes.
func evalJSONArrayContains(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	out, _ := expr.CallRows(n, args, rows)
	bits, value := column.NewBitset(out.N), args[2].Texts()
	_, err := jsonRows(m, n, args, rows, byPath, func(i int, v jsonValue) (bool, error) {
		if !v.isArray() {
			return false, nil
		}
		var bad error
		err := v.each(func(_ int, _ string, item jsonValue) bool {
			var text []byte
			if text, bad = item.appendText(nil, 0); bad != nil {
				return false
			}
			if string(text) == string(value(i)) || string(text) == `"`+string(value(i))+`"` {
				bits.Set(i)
				return false
			}
			return true
		})
		if err == nil {
			err = bad
		}
		return true, err
	})
	out.Data = bits
	return out, err
}

// typedJSON is a value in binary form with the number of its kind: 0 null, 1 bool, 2
// integer, 3 float, 4 string, 5 array, 6 object.
var typedJSON = arrow.StructOf(
	arrow.Field{Name: "value", Type: arrow.BinaryTypes.LargeBinary, Nullable: true},
	arrow.Field{Name: "type_tag", Type: arrow.PrimitiveTypes.Uint8},
)

// evalJSONWithType returns a value of kind 0, rather than NULL, if the path does not exist.
func evalJSONWithType(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	size, konst := column.Width(args...)
	kinds := make([]uint8, size)
	values, err := jsonRows(m, n, args, rows, byPath, func(i int, v jsonValue) (bool, error) {
		var err error
		kinds[i], err = v.typeTag()
		return true, err
	})
	if err != nil {
		return column.Vec{}, err
	}
	docs, err := evalJSONDocuments(m, n, args, rows)
	if err != nil {
		return column.Vec{}, err
	}
	docs.Type, docs.Valid = arrow.BinaryTypes.LargeBinary, values.Valid
	return column.StructOf(m, n.Type, []column.Vec{docs, {Type: arrow.PrimitiveTypes.Uint8, N: size, Const: konst, Data: kinds}}, size, konst)
}

func evalJSONDocuments(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	return jsonTexts(m, n, args, rows, byPath, func(dst []byte, v jsonValue) ([]byte, bool, error) {
		return v.appendDocument(dst), true, nil
	})
}

// typeTag returns the number of the kind for typedJSON.
func (v jsonValue) typeTag() (uint8, error) {
	switch v.kind() {
	case jsonNull:
		return 0, nil
	case jsonTrue, jsonFalse:
		return 1, nil
	case jsonString:
		return 4, nil
	case jsonNumber:
		bits, negative, isInt, _, err := v.number()
		if isInt && (negative || bits <= math.MaxInt64) {
			return 2, err
		}
		return 3, err
	}
	if v.isArray() {
		return 5, nil
	}
	return 6, nil
}

// byPath follows a path such as $.a["b c"][0]; the $ may be missing. It supports only steps
// to members and elements.
func byPath(doc jsonValue, path string) (jsonValue, bool, error) {
	rest, rooted := strings.CutPrefix(path, "$")
	if !rooted && rest != "" && rest[0] != '[' {
		rest = "." + rest
	}
	v, ok := doc, true
	for rest != "" {
		key, index, after, err := pathStep(rest)
		if err != nil {
			return jsonValue{}, false, err
		}
		rest = after
		switch {
		case !ok: // the rest of the path must be valid, too
		case index >= 0 && v.isArray():
			v, ok, err = v.element(index)
		case index < 0 && v.isObject():
			v, ok, err = v.member(key)
		default:
			ok = false
		}
		if err != nil {
			return jsonValue{}, false, err
		}
	}
	return v, ok, nil
}

// pathStep reads one step: a key, or an index that is not negative.
func pathStep(rest string) (key string, index int, after string, err error) {
	bad := sql.Errorf(sql.ErrUnsupported, sql.NoPos, "json path with other steps than .name, ['name'] and [number]")
	if name, ok := strings.CutPrefix(rest, "."); ok {
		end := strings.IndexAny(name, ".[")
		if end < 0 {
			end = len(name)
		}
		for _, r := range name[:end] {
			if r != '_' && !text.IsAlphanumeric(r) {
				return "", 0, "", bad
			}
		}
		if end == 0 {
			return "", 0, "", bad
		}
		return name[:end], -1, name[end:], nil
	}
	inner, after, ok := strings.Cut(strings.TrimPrefix(rest, "["), "]")
	if !ok || rest[0] != '[' || inner == "" {
		return "", 0, "", bad
	}
	if q := inner[0]; q == '"' || q == '\'' {
		if len(inner) < 2 || inner[len(inner)-1] != q || strings.ContainsAny(inner[1:len(inner)-1], `"'\`) {
			return "", 0, "", bad
		}
		return inner[1 : len(inner)-1], -1, after, nil
	}
	i, convErr := strconv.ParseUint(inner, 10, 31)
	if convErr != nil {
		return "", 0, "", bad
	}
	return "", int(i), after, nil
}

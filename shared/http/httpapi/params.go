package httpapi

import (
	"encoding"
	"net/url"
	"reflect"
	"strconv"
	"time"

	"tiltyard/shared/protocol"
)

// decodeQuery fills the fields of a request that are tagged query. It ignores unknown parameters. A
// parameter overrides the same field of the body.
func decodeQuery(values url.Values, into any) error {
	if len(values) == 0 {
		return nil
	}
	return eachField(reflect.ValueOf(into).Elem(), func(field reflect.StructField, v reflect.Value) error {
		name := field.Tag.Get("query")
		given := values[name]
		if name == "" || len(given) == 0 {
			return nil
		}
		if list, ok := v.Addr().Interface().(*[]string); ok {
			*list = given
			return nil
		}
		if len(given) > 1 {
			return protocol.Errorf(protocol.InvalidInput, "query parameter %s is given %d times; give it once", name, len(given))
		}
		return decodeParameter(name, given[0], v)
	})
}

// decodePathNames fills the fields of a request that are tagged path. It refuses a body with
// another value.
func decodePathNames(params map[string]string, into any) error {
	if _, id := params["id"]; len(params) == 0 || id && len(params) == 1 { // no field has the id
		return nil
	}
	return eachField(reflect.ValueOf(into).Elem(), func(field reflect.StructField, v reflect.Value) error {
		name := field.Tag.Get("path")
		raw, ok := params[name]
		if name == "" || !ok {
			return nil
		}
		decoded, err := decodeName(name, raw)
		if err != nil {
			return err
		}
		if v.String() != "" && v.String() != decoded {
			return protocol.Errorf(protocol.InvalidInput, "%s is %.80q in the path and %.80q in the body", name, decoded, v.String())
		}
		v.SetString(decoded)
		return nil
	})
}

// eachField visits the fields of a struct and of its embedded structs.
func eachField(v reflect.Value, visit func(reflect.StructField, reflect.Value) error) error {
	for i := range v.NumField() {
		field := v.Type().Field(i)
		var err error
		if field.Anonymous {
			err = eachField(v.Field(i), visit)
		} else {
			err = visit(field, v.Field(i))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// decodeParameter parses the text of a parameter into a field.
func decodeParameter(name, text string, v reflect.Value) error {
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	switch target := v.Addr().Interface().(type) {
	case encoding.TextUnmarshaler:
		return target.UnmarshalText([]byte(text))
	case *string:
		*target = text
	case *bool:
		if text != "true" && text != "false" {
			return protocol.Errorf(protocol.InvalidInput, "query parameter %s is %.80q; accepted values: true, false", name, text)
		}
		*target = text == "true"
	case *int64:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return protocol.Errorf(protocol.InvalidInput, "query parameter %s is %.80q; it must be a 64-bit integer", name, text)
		}
		*target = n
	case *time.Duration:
		d, err := time.ParseDuration(text)
		if err != nil || d < 0 {
			return protocol.Errorf(protocol.InvalidInput, "query parameter %s is %.80q; it must be a duration such as 30s or 5m", name, text)
		}
		*target = d
	case *map[string]string:
		if err := unmarshal([]byte(text), target); err != nil {
			return protocol.Errorf(protocol.InvalidInput, "query parameter %s must be a JSON object of strings: %w", name, err)
		}
	default:
		panic("httpapi: query parameter " + name + " has the unsupported type " + v.Type().String())
	}
	return nil
}

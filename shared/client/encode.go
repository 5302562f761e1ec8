package client

import (
	"encoding"
	"encoding/json"
	"fmt"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"time"

	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/secretapi"
)

// encodePath fills the parameters in the path of an operation. It percent-encodes everything but
// letters, digits and a few marks. A space becomes %20, because some servers do not decode + as a
// space.
func encodePath(op protocol.Operation, req protocol.Request) (string, error) {
	values := map[string]string{}
	if id := req.RequestCommon().ID; strings.Contains(op.Path, "{id}") {
		if err := protocol.CheckID(id); err != nil {
			return "", err
		}
		values["id"] = protocol.JoinID(id, protocol.DefaultDelimiter)
	}
	eachField(reflect.ValueOf(req).Elem(), func(field reflect.StructField, v reflect.Value) {
		if name := field.Tag.Get("path"); name != "" {
			values[name] = v.String()
		}
	})
	segments := strings.Split(op.Path, "/")
	for i, segment := range segments {
		name, isParameter := strings.CutPrefix(strings.TrimSuffix(segment, "}"), "{")
		if !isParameter {
			continue
		}
		if values[name] == "" {
			return "", protocol.Errorf(protocol.InvalidInput, "%s is required and must not be empty", name)
		}
		segments[i] = strings.ReplaceAll(url.QueryEscape(values[name]), "+", "%20")
	}
	return strings.Join(segments, "/"), nil
}

// encodeQuery returns the query parameters of a request: its fields that are tagged query and not
// zero.
func encodeQuery(req protocol.Request) (url.Values, error) {
	values := url.Values{}
	var failed error
	eachField(reflect.ValueOf(req).Elem(), func(field reflect.StructField, v reflect.Value) {
		name := field.Tag.Get("query")
		if name == "" || v.IsZero() {
			return
		}
		texts, err := parameter(v)
		if err != nil {
			failed = fmt.Errorf("%s: %w", name, err)
		}
		if len(texts) > 0 {
			values[name] = texts
		}
	})
	return values, failed
}

// parameter returns the texts of a query parameter, one for each occurrence.
func parameter(v reflect.Value) ([]string, error) {
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	switch value := v.Interface().(type) {
	case encoding.TextMarshaler:
		text, err := value.MarshalText()
		return []string{string(text)}, err
	case time.Duration:
		return []string{value.String()}, nil
	case string:
		return []string{value}, nil
	case []string:
		return value, nil
	case bool:
		return []string{strconv.FormatBool(value)}, nil
	case int64:
		return []string{strconv.FormatInt(value, 10)}, nil
	// A map is sent as a JSON object in one parameter.
	case map[string]string:
		text, err := json.Marshal(value)
		return []string{string(text)}, err
	}
	panic("client: a query parameter has the unsupported type " + v.Type().String())
}

// eachField visits the exported fields of a struct and of its embedded structs.
func eachField(v reflect.Value, visit func(reflect.StructField, reflect.Value)) {
	for i := range v.NumField() {
		if field := v.Type().Field(i); field.Anonymous {
			eachField(v.Field(i), visit)
		} else if field.IsExported() {
			visit(field, v.Field(i))
		}
	}
}

// encodeBody encodes a request as a JSON object without zero fields, at any depth. Some servers
// treat a null or an empty text differently from a missing field.
func encodeBody(req protocol.Request) ([]byte, error) {
	return json.Marshal(plain(reflect.ValueOf(req).Elem()))
}

var (
	jsonMarshaler = reflect.TypeFor[json.Marshaler]()
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
)

// plain converts a value to maps, slices and values that marshal themselves, without zero fields.
func plain(v reflect.Value) any {
	// Secrets marshal to a placeholder; only this request may contain the value.
	if secret, ok := v.Interface().(secretapi.Concealed); ok {
		return string(secret)
	}
	if v.Type().Implements(jsonMarshaler) || v.Type().Implements(textMarshaler) {
		return v.Interface()
	}
	switch v.Kind() {
	case reflect.Pointer:
		return plain(v.Elem())
	case reflect.Struct:
		object := map[string]any{}
		eachField(v, func(field reflect.StructField, v reflect.Value) {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if name != "" && name != "-" && !v.IsZero() {
				object[name] = plain(v)
			}
		})
		return object
	case reflect.Slice:
		// Bytes are encoded in base64 by the JSON package.
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return v.Interface()
		}
		list := make([]any, v.Len())
		for i := range list {
			list[i] = plain(v.Index(i))
		}
		return list
	}
	return v.Interface()
}

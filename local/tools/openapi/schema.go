package main

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"tiltyard/shared/protocol"
)

// schemas converts Go types to JSON schemas. Structs become components, to which other schemas
// refer.
type schemas struct {
	comments *comments
	made     map[string]object // components by name
	kinds    map[string]reflect.Type
	asked    bool // visiting a request, not a response
}

// of returns the schema of a type.
func (s *schemas) of(t reflect.Type) object {
	if form := formOf(t); form != nil {
		return form(s)
	}
	switch t {
	case reflect.TypeFor[json.RawMessage](), reflect.TypeFor[any]():
		return object{}
	case reflect.TypeFor[time.Time]():
		return object{{"type", "string"}, {"format", "date-time"}}
	case reflect.TypeFor[time.Duration]():
		return object{{"type", "string"}, {"examples", []string{"30s"}}}
	case reflect.TypeFor[*struct{}]():
		return object{{"type", "null"}}
	}
	if t.Kind() == reflect.Uint8 && t.Implements(textMarshaler) {
		return s.component(t, s.enumeration)
	}
	if t.Kind() != reflect.Slice && t.Kind() != reflect.Map && t.Kind() != reflect.Pointer {
		refuseOwnForm(t)
	}
	return s.ofKind(t)
}

// ofKind returns the schema of a type without a form of its own.
func (s *schemas) ofKind(t reflect.Type) object {
	switch t.Kind() {
	case reflect.Pointer:
		return s.of(t.Elem())
	case reflect.Bool:
		return object{{"type", "boolean"}}
	case reflect.String:
		if len(s.comments.constants[nameOf(t)]) > 0 {
			return s.component(t, s.texts)
		}
		return object{{"type", "string"}}
	case reflect.Int, reflect.Int64:
		return object{{"type", "integer"}, {"format", "int64"}}
	case reflect.Int32:
		return object{{"type", "integer"}, {"format", "int32"}}
	case reflect.Uint32, reflect.Uint64:
		return object{{"type", "integer"}, {"minimum", 0}}
	case reflect.Float64:
		return object{{"type", "number"}}
	case reflect.Slice:
		return object{{"type", "array"}, {"items", s.of(t.Elem())}}
	case reflect.Map:
		values := s.of(t.Elem())
		if t.Elem().Kind() == reflect.Pointer {
			values = orNull(values)
		}
		return object{{"type", "object"}, {"additionalProperties", values}}
	case reflect.Struct:
		if t.Name() == "" {
			return s.structure(t)
		}
		return s.component(t, s.structure)
	}
	panic(fmt.Sprintf("no schema for the type %s", t))
}

var (
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
	jsonMarshaler = reflect.TypeFor[json.Marshaler]()
	jsonReader    = reflect.TypeFor[json.Unmarshaler]()
)

// refuseOwnForm panics for a type that encodes itself, because its fields do not show its form.
func refuseOwnForm(t reflect.Type) {
	pointer := reflect.PointerTo(t)
	if t.Implements(jsonMarshaler) || pointer.Implements(jsonReader) || t.Implements(textMarshaler) {
		panic(fmt.Sprintf("the type %s encodes itself; formOf needs its form", t))
	}
}

// component creates the schema of a named type once, and returns a reference to it.
func (s *schemas) component(t reflect.Type, schema func(reflect.Type) object) object {
	name := strings.ToUpper(nameOf(t)[:1]) + nameOf(t)[1:]
	if known, ok := s.kinds[name]; ok && known != t {
		panic(fmt.Sprintf("two types are named %s; names.go has names for the wire", name))
	}
	if _, ok := s.kinds[name]; !ok {
		s.kinds[name] = t
		s.made[name] = schema(t)
	}
	return refer("schemas", name)
}

func refer(kind, name string) object { return object{{"$ref", "#/components/" + kind + "/" + name}} }

// orNull returns the schema that also allows null.
func orNull(schema object) object {
	if kind, ok := schema.get("type").(string); ok {
		return append(object{{"type", []string{kind, "null"}}}, schema[1:]...)
	}
	return object{{"anyOf", []object{schema, {{"type", "null"}}}}}
}

// enumeration returns the schema of an integer type whose values, from 0 on, encode as texts.
func (s *schemas) enumeration(t reflect.Type) object {
	var values []string
	standard := ""
	for i := range uint64(256) {
		value := reflect.New(t).Elem()
		value.SetUint(i)
		marshaler, _ := value.Interface().(encoding.TextMarshaler)
		text, err := marshaler.MarshalText()
		if err != nil {
			break
		}
		if i == 0 {
			standard = string(text)
		}
		if len(text) > 0 {
			values = append(values, string(text))
		}
	}
	schema := object{{"type", "string"}, {"enum", values}}
	if standard != "" {
		schema = schema.with("default", standard)
	}
	return schema.with("description", s.comments.describe(nameOf(t), nil)+" Upper and lower case are the same.")
}

// texts returns the schema of a string type whose values are constants.
func (s *schemas) texts(t reflect.Type) object {
	return object{{"type", "string"}, {"enum", s.comments.constants[nameOf(t)]}, {"description", s.comments.describe(nameOf(t), nil)}}
}

// A field is a field of a struct on the wire.
type field struct {
	name     string // in JSON; "" for a parameter
	owner    string // the type that declares it
	optional bool   // omitted from JSON if it is zero
	reflect.StructField
}

// fieldsOf returns the fields of a struct and of its embedded structs, the common fields of
// requests last. It returns none for other types.
func fieldsOf(t reflect.Type) []field {
	if t.Kind() != reflect.Struct {
		return nil
	}
	var own, common []field
	for i := range t.NumField() {
		f := t.Field(i)
		switch {
		case f.Type == reflect.TypeFor[protocol.Common]():
			common = fieldsOf(f.Type)
		case f.Anonymous:
			embedded := fieldsOf(f.Type)
			at := slices.IndexFunc(embedded, func(f field) bool { return f.owner == "Common" })
			if at < 0 {
				at = len(embedded)
			}
			own, common = append(own, embedded[:at]...), append(common, embedded[at:]...)
		case f.IsExported():
			name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name == "-" {
				name = ""
			}
			own = append(own, field{name: name, owner: nameOf(t), optional: options == "omitempty", StructField: f})
		}
	}
	return append(own, common...)
}

// structure returns the schema of a struct.
func (s *schemas) structure(t reflect.Type) object {
	all := fieldsOf(t)
	names := wireNames(all)
	properties := object{}
	var always []string
	for _, f := range all {
		if f.name == "" {
			continue
		}
		schema := s.of(f.Type)
		isNull := f.Type.Kind() == reflect.Pointer && !f.optional && !s.asked
		if isNull && f.Type != reflect.TypeFor[*struct{}]() {
			schema = orNull(schema)
		}
		if !f.optional {
			always = append(always, f.name)
		}
		properties = properties.with(f.name, s.described(schema, f, names))
	}
	schema := object{{"type", "object"}}
	if text := s.comments.describe(nameOf(t), names); text != "" {
		schema = schema.with("description", text)
	}
	schema = schema.with("properties", properties)
	if s.asked {
		always = required[nameOf(t)]
	}
	if len(always) > 0 {
		schema = schema.with("required", always)
	}
	return schema
}

// described adds the comment of a field to its schema.
func (s *schemas) described(schema object, f field, names map[string]string) object {
	text := s.comments.describe(f.owner+"."+f.Name, names)
	if text == "" {
		return schema
	}
	return schema.with("description", text)
}

// wireNames maps the names of Go fields to their names on the wire.
func wireNames(all []field) map[string]string {
	names := map[string]string{}
	for _, f := range all {
		for _, name := range []string{f.name, f.Tag.Get("query"), f.Tag.Get("path")} {
			if name != "" {
				names[f.Name] = name
			}
		}
	}
	return names
}

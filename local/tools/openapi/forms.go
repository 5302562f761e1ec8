package main

import (
	"reflect"

	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/dataapi"
	"tiltyard/shared/protocol/indexapi"
	"tiltyard/shared/protocol/queryapi"
	"tiltyard/shared/protocol/refapi"
	"tiltyard/shared/protocol/schemaapi"
	"tiltyard/shared/protocol/secretapi"
	"tiltyard/shared/protocol/transactionapi"
)

// formOf returns the schema of a type that encodes itself, or nil for other types.
func formOf(t reflect.Type) func(*schemas) object {
	switch t {
	case reflect.TypeFor[secretapi.Concealed]():
		return func(*schemas) object { return object{{"type", "string"}, {"writeOnly", true}} }
	case reflect.TypeFor[queryapi.Vector]():
		return queryVector
	case reflect.TypeFor[queryapi.Projection]():
		return projection
	case reflect.TypeFor[queryapi.FullTextQuery]():
		return fullTextQuery
	case reflect.TypeFor[protocol.TypeName]():
		return typeName
	case reflect.TypeFor[queryapi.OptionalInt]():
		return func(*schemas) object {
			return object{{"anyOf", []object{{{"type", []string{"integer", "null"}}}, {{"const", "auto"}}}}, {"default", 0}}
		}
	case reflect.TypeFor[indexapi.OptionalMaximum]():
		return func(*schemas) object { return object{{"type", []string{"integer", "null"}}} }
	case reflect.TypeFor[queryapi.CountRowsResponse]():
		return func(s *schemas) object {
			return s.alone(t, object{{"type", "integer"}, {"format", "int64"}})
		}
	case reflect.TypeFor[refapi.ListTagsResponse]():
		return listedTags
	case reflect.TypeFor[schemaapi.UpdateMetadataRequest]():
		return func(s *schemas) object { return s.alone(t, mapOf(object{{"type", "string"}})) }
	case reflect.TypeFor[queryapi.Rerank](), reflect.TypeFor[queryapi.RerankWeights]():
		return func(s *schemas) object {
			return s.component(t, func(t reflect.Type) object { return s.structure(t).with("additionalProperties", false) })
		}
	case reflect.TypeFor[transactionapi.Action](), reflect.TypeFor[dataapi.UpdateResponse]():
		return func(s *schemas) object { return s.component(t, s.structure) }
	}
	return nil
}

func arrayOf(items object) object { return object{{"type", "array"}, {"items", items}} }

func mapOf(values object) object { return object{{"type", "object"}, {"additionalProperties", values}} }

// record returns the schema of an object with only these members.
func record(needed []string, properties object) object {
	schema := object{{"type", "object"}, {"properties", properties}, {"additionalProperties", false}}
	if needed != nil {
		schema = schema.with("required", needed)
	}
	return schema
}

// alone adds a component whose schema is not derived from fields. Its description omits sentences
// about the fields of the Go type, because they are not on the wire.
func (s *schemas) alone(t reflect.Type, schema object) object {
	return s.component(t, func(t reflect.Type) object {
		var hidden []string
		for _, f := range fieldsOf(t) {
			if f.name == "" {
				hidden = append(hidden, f.Name)
			}
		}
		return schema.with("description", without(s.comments.describe(nameOf(t), nil), hidden))
	})
}

// named adds a component with several alternative forms.
func (s *schemas) named(t reflect.Type, forms ...object) object {
	return s.alone(t, object{{"anyOf", forms}})
}

func queryVector(s *schemas) object {
	vector := arrayOf(object{{"type", "number"}})
	return s.named(
		reflect.TypeFor[queryapi.Vector](),
		record(nil, object{{"single_vector", vector}, {"multi_vector", arrayOf(vector)}}), vector, arrayOf(vector), object{{"type", "null"}},
	)
}

func projection(s *schemas) object {
	names, aliases := arrayOf(object{{"type", "string"}}), mapOf(object{{"type", "string"}})
	pairs := arrayOf(names)
	return s.named(
		reflect.TypeFor[queryapi.Projection](),
		record(nil, object{{"column_names", names}, {"column_aliases", aliases}}), names, aliases, pairs,
	)
}

// fullTextQuery returns the four forms of a full text query: a string or a structured query, nested or
// not.
func fullTextQuery(s *schemas) object {
	columns := arrayOf(object{{"type", "string"}})
	text := object{{"query", object{{"type", "string"}}}, {"columns", columns}}
	node := object{{"query", s.of(reflect.TypeFor[queryapi.TextQuery]())}, {"columns", columns}}
	needed := []string{"query"}
	return s.named(
		reflect.TypeFor[queryapi.FullTextQuery](),
		record([]string{"string_query"}, object{{"string_query", record(needed, text)}}),
		record([]string{"structured_query"}, object{{"structured_query", record(needed, node)}}),
		record(needed, text), record(needed, node),
	)
}

func typeName(s *schemas) object {
	return s.named(reflect.TypeFor[protocol.TypeName](), s.of(reflect.TypeFor[protocol.JSONType]()), object{{"type", "string"}}, object{{"type", "null"}})
}

// listedTags returns the form for clients of the Lance Namespace protocol.
func listedTags(s *schemas) object {
	tags := mapOf(s.of(reflect.TypeFor[refapi.TagContents]()))
	return s.alone(reflect.TypeFor[refapi.ListTagsResponse](), object{
		{"type", "object"},
		{"properties", object{{"tags", tags}, {"page_token", object{{"type", "string"}}}}},
		{"required", []string{"tags"}},
	})
}

package selection

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/sql/plan"
)

// outputField returns the field of a column of the answer.
func outputField(name string, bound *plan.Bound, source *arrow.Schema) arrow.Field {
	path, ok := bound.Path()
	if !ok {
		return arrow.Field{Name: name, Type: bound.Type(), Nullable: true}
	}
	f, _ := fieldAt(source.Fields(), path)
	f.Name = name
	f.Nullable = f.Nullable || len(path) > 1
	return described(f)
}

// fieldAt returns the field at a path through struct members.
func fieldAt(fields []arrow.Field, path []string) (arrow.Field, bool) {
	i := slices.IndexFunc(fields, func(f arrow.Field) bool { return f.Name == path[0] })
	if i < 0 || len(path) == 1 {
		return fields[max(i, 0)], i >= 0
	}
	st, ok := fields[i].Type.(*arrow.StructType)
	if !ok {
		return arrow.Field{}, false
	}
	return fieldAt(st.Fields(), path[1:])
}

// described returns a field with only the metadata that describes its values, such as blob or JSON. It
// drops the metadata on storage and computation.
func described(f arrow.Field) arrow.Field {
	f.Metadata = withoutDeclarations(f.Metadata)
	switch t := f.Type.(type) {
	case *arrow.StructType:
		members := slices.Clone(t.Fields())
		for i := range members {
			members[i] = described(members[i])
		}
		f.Type = arrow.StructOf(members...)
	case *arrow.ListType:
		f.Type = arrow.ListOfField(described(t.ElemField()))
	case *arrow.LargeListType:
		f.Type = arrow.LargeListOfField(described(t.ElemField()))
	case *arrow.FixedSizeListType:
		f.Type = arrow.FixedSizeListOfField(t.Len(), described(t.ElemField()))
	case *arrow.MapType:
		m := arrow.MapOfFields(described(t.KeyField()), described(t.ItemField()))
		m.KeysSorted = t.KeysSorted
		f.Type = m
	}
	return f
}

// withoutDeclarations removes the metadata on storage and computation.
func withoutDeclarations(m arrow.Metadata) arrow.Metadata {
	var keys, values []string
	for i, key := range m.Keys() {
		if !isDeclaration(key) {
			keys, values = append(keys, key), append(values, m.Values()[i])
		}
	}
	return arrow.NewMetadata(keys, values)
}

// isDeclaration reports whether a key of field metadata concerns the storage or computation of the field.
func isDeclaration(key string) bool {
	return key == "lance:field_id" || key == "computed_column" || strings.HasPrefix(key, "lance-schema:") ||
		strings.HasPrefix(key, "computed_column.") || strings.HasPrefix(key, "computed_refresh.")
}

// lineage has the names that columns of the source have in the answer.
type lineage map[string][]string

// add records that the answer has a source column under a name.
func (l lineage) add(bound *plan.Bound, name string) {
	if column, ok := bound.Column(); ok {
		l[column] = append(l[column], name)
	}
}

// embeddingFunctions is the schema metadata key in which LanceDB's clients record the source column of each
// embedding column, as a JSON list of objects.
const embeddingFunctions = "embedding_functions"

// columnDefinitions is the key of schema metadata under which LanceDB itself stores the definitions: a JSON
// list with an object for each column, in their order.
const columnDefinitions = "lancedb::column_definitions"

// metadata returns the schema metadata for a result with the given fields. It records the embedding
// columns and their sources.
func (l lineage) metadata(source *arrow.Schema, fields []arrow.Field) arrow.Metadata {
	var keys, values []string
	add := func(key, text string) {
		if text != "" {
			keys, values = append(keys, key), append(values, text)
		}
	}
	if raw, ok := source.Metadata().GetValue(embeddingFunctions); ok {
		add(embeddingFunctions, embeddings(raw, l))
	}
	if raw, ok := source.Metadata().GetValue(columnDefinitions); ok {
		add(columnDefinitions, l.definitions(raw, source, fields))
	}
	return arrow.NewMetadata(keys, values)
}

// A definition describes a column, which is an embedding or else "Physical".
type definition struct {
	Kind json.RawMessage `json:"kind"`
}

// embeddingKind is the JSON form of a definition's kind for embeddings.
type embeddingKind struct {
	Embedding embedding `json:"Embedding"`
}

// An embedding is LanceDB's record of the source of an embedding column.
type embedding struct {
	Source string  `json:"source_column"`
	Dest   *string `json:"dest_column"`
	Name   string  `json:"embedding_name"`
}

var physical = definition{Kind: json.RawMessage(`"Physical"`)}

// definitions returns the column definitions of the result, and "" if no column is an embedding of another.
// If the result has several columns of one source, the first is named as the source of an embedding.
//
// Source: lancedb 0.40, materialized_view.rs, column_definitions_for_view.
func (l lineage) definitions(raw string, source *arrow.Schema, fields []arrow.Field) string {
	var all []definition
	if json.Unmarshal([]byte(raw), &all) != nil {
		return ""
	}
	made := make([]definition, len(fields))
	for i := range made {
		made[i] = physical
	}
	// The definitions are in the order of the source's columns.
	found := false
	for i, f := range source.Fields()[:min(len(all), len(source.Fields()))] {
		var kind embeddingKind
		if json.Unmarshal(all[i].Kind, &kind) != nil || len(l[kind.Embedding.Source]) == 0 {
			continue
		}
		for _, name := range l[f.Name] {
			at := slices.IndexFunc(fields, func(f arrow.Field) bool { return f.Name == name })
			renamed := embedding{Source: l[kind.Embedding.Source][0], Dest: &name, Name: kind.Embedding.Name}
			made[at].Kind, _ = json.Marshal(embeddingKind{renamed})
			found = true
		}
	}
	if !found {
		return ""
	}
	text, _ := json.Marshal(made)
	return string(text)
}

// AddPhysical adds a physical column to the column definitions in schema metadata, if there are any.
func AddPhysical(metadata map[string]string) {
	var all []definition
	if json.Unmarshal([]byte(metadata[columnDefinitions]), &all) != nil {
		return
	}
	text, _ := json.Marshal(append(all, physical))
	metadata[columnDefinitions] = string(text)
}

// embeddings returns the entries whose two columns are in the result, under their names there, or
// "" if there are none.
func embeddings(raw string, l lineage) string {
	var entries []map[string]json.RawMessage
	if json.Unmarshal([]byte(raw), &entries) != nil {
		return ""
	}
	var kept []map[string]json.RawMessage
	for _, e := range entries {
		from, sources := l.named(e, "source_column", "sourceColumn")
		to, targets := l.named(e, "vector_column", "dest_column", "vectorColumn", "destColumn")
		// A column may occur several times in the result, so each pair of names is an entry.
		for _, s := range sources {
			for _, t := range targets {
				renamed := map[string]json.RawMessage{}
				for k, v := range e {
					renamed[k] = v
				}
				renamed[from], _ = json.Marshal(s)
				renamed[to], _ = json.Marshal(t)
				kept = append(kept, renamed)
			}
		}
	}
	if kept == nil {
		return ""
	}
	text, _ := json.Marshal(kept)
	return string(text)
}

// named finds the first of the keys that an entry has; its value is a source column. It returns the
// key, and the names of the column in the answer.
func (l lineage) named(entry map[string]json.RawMessage, keys ...string) (string, []string) {
	for _, key := range keys {
		if raw, ok := entry[key]; ok {
			var column string
			if json.Unmarshal(raw, &column) != nil {
				return key, nil
			}
			return key, l[column]
		}
	}
	return "", nil
}

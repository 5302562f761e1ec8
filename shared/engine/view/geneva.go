package view

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/engine/selection"
	"tiltyard/shared/protocol"
	"tiltyard/shared/sql/syntax"
)

// Keys of Geneva's layout. The first column, an int64, has the id of the source row, and the second is
// true.
const (
	genevaPrefix    = "geneva::view::"
	genevaQueryKey  = genevaPrefix + "query"
	genevaTable     = genevaPrefix + "base_table"
	genevaDatabase  = genevaPrefix + "base_table_db_uri"
	genevaVersion   = genevaPrefix + "base_table_version"
	genevaNamespace = genevaPrefix + "namespace_path"
	genevaKind      = genevaPrefix + "version"

	// IsSet is Geneva's column that marks computed rows.
	IsSet = "__is_set"
)

// genevaQuery is the part of a query in Geneva's form that this service can run.
type genevaQuery struct {
	Base        map[string]json.RawMessage `json:"base"`
	Shuffle     json.RawMessage            `json:"shuffle"`
	Seed        json.RawMessage            `json:"shuffle_seed"`
	FragmentIDs json.RawMessage            `json:"fragment_ids"`
	ColumnUDFs  json.RawMessage            `json:"column_udfs"`
	Table       string                     `json:"source_table"`
	Database    string                     `json:"source_db_uri"`
}

// readGeneva reads a definition in Geneva's layout.
func readGeneva(metadata map[string]string) (*Definition, error) {
	for _, kind := range []Kind{KindUDTF, KindChunker, KindQuery} { // KindQuery last, because views of functions also have a query
		if _, ok := metadata[genevaPrefix+string(kind)]; !ok {
			continue
		}
		text := metadata[genevaQueryKey]
		var namespace []string
		if path := metadata[genevaNamespace]; path != "" {
			if err := json.Unmarshal([]byte(path), &namespace); err != nil {
				return nil, protocol.Errorf(protocol.InvalidInput, "the namespace of the view's source is not a JSON array of names")
			}
		}
		d := Geneva(kind, text, metadata[genevaPrefix+string(kind)], namespace)
		d.Auto = isAutoRefreshed(metadata)
		if d.Source == nil {
			d.Source = sourceOf(namespace, metadata[genevaTable])
		}
		return d, nil
	}
	return nil, ErrNone
}

// Geneva returns the definition of a view in Geneva's layout. text is its source_query, namespace the
// namespace of its source table, and function the JSON of the view's function.
func Geneva(kind Kind, text, function string, namespace []string) *Definition {
	d := &Definition{Kind: kind, Text: text, geneva: true}
	if kind != KindQuery {
		d.Function = function
	}
	var q genevaQuery
	if err := json.Unmarshal([]byte(text), &q); err != nil {
		// A plain query may be SQL instead of Geneva's JSON.
		if kind == KindQuery {
			d.run(text)
			return d
		}
		d.Missing = "its source_query is not a JSON object"
		return d
	}
	d.Source = sourceOf(namespace, q.Table)
	query, missing := q.query()
	if missing == "" && kind != KindQuery {
		missing = d.calls(query)
	}
	if missing == "" && d.Source == nil {
		missing = "its source_query has no source_table"
		if q.Table != "" {
			missing = "no table can have the name of its source_table"
		}
	}
	if missing != "" {
		d.Missing = missing
		return d
	}
	query.Source = d.Source
	d.Query = query
	return d
}

// sourceOf returns the id of a table in a namespace, nil for a name that no table can have.
func sourceOf(namespace []string, table string) []string {
	if id := append(slices.Clone(namespace), table); table != "" && protocol.CheckID(id) == nil {
		return id
	}
	return nil
}

// IsGeneva reports whether the view has Geneva's layout.
func (d *Definition) IsGeneva() bool { return d.geneva }

// metadata returns the stored form of the definition. version is the version of the source; 0 is unknown.
func (d *Definition) metadata(namespace []string, version uint64) map[string]string {
	m := map[string]string{genevaQueryKey: d.Text, genevaKind: "2"} // by stable row ids
	if d.Kind != KindQuery {
		m[genevaPrefix+string(d.Kind)], m[genevaKind] = d.Function, string(d.Kind)
	}
	if len(d.Source) > 0 {
		m[genevaTable] = d.Source[len(d.Source)-1]
	}
	path, _ := json.Marshal(append([]string{}, namespace...))
	m[genevaNamespace] = string(path)
	var q genevaQuery
	if json.Unmarshal([]byte(d.Text), &q) == nil && q.Database != "" {
		m[genevaDatabase] = q.Database
	}
	if version > 0 {
		m[genevaVersion] = fmt.Sprint(version)
	}
	return m
}

// settings are stored by this service in addition to Geneva's layout.
type settings struct {
	AutoRefresh bool `json:"auto_refresh"`
}

const settingsKey = "tiltyard.mv"

func (s settings) String() string {
	text, _ := json.Marshal(s)
	return string(text)
}

// isAutoRefreshed reports whether the view is refreshed automatically after changes of its source.
func isAutoRefreshed(metadata map[string]string) bool {
	var s settings
	return json.Unmarshal([]byte(metadata[settingsKey]), &s) == nil && s.AutoRefresh
}

// GenevaSchema returns the schema of a new view in Geneva's layout. The client chose the columns.
func GenevaSchema(d *Definition, columns *arrow.Schema, namespace []string, version uint64) *arrow.Schema {
	var fields []arrow.Field
	if d.Kind != KindUDTF && !columns.HasField(selection.SourceRowID) {
		fields = append(fields, arrow.Field{Name: selection.SourceRowID, Type: arrow.PrimitiveTypes.Int64, Nullable: true})
		switch {
		case d.Kind == KindChunker:
			fields = append(fields, arrow.Field{Name: selection.ChildIndex, Type: arrow.PrimitiveTypes.Int32, Nullable: true})
		case !columns.HasField(IsSet):
			fields = append(fields, arrow.Field{Name: IsSet, Type: arrow.FixedWidthTypes.Boolean, Nullable: true})
		}
	}
	metadata := columns.Metadata().ToMap()
	maps.Copy(metadata, d.metadata(namespace, version))
	metadata[settingsKey] = settings{d.Auto}.String()
	all := arrow.MetadataFrom(metadata)
	return arrow.NewSchema(append(fields, columns.Fields()...), &all)
}

// isUnset reports whether a field of the query is absent or empty.
func isUnset(raw json.RawMessage) bool {
	switch string(raw) {
	case "", "null", "false", "[]", "{}", `""`:
		return true
	}
	return false
}

// query returns the parsed query, or the reason why it cannot be computed.
func (q *genevaQuery) query() (query *selection.Query, missing string) {
	// A part that this service cannot run makes the view unsupported, because ignoring it would give wrong
	// rows.
	for _, other := range []struct {
		name string
		raw  json.RawMessage
	}{{"shuffle", q.Shuffle}, {"shuffle_seed", q.Seed}, {"fragment_ids", q.FragmentIDs}, {"column_udfs", q.ColumnUDFs}} {
		if !isUnset(other.raw) {
			return nil, "its source_query has " + other.name
		}
	}
	query = new(selection.Query)
	for key, raw := range q.Base {
		if isUnset(raw) || key == "offset" && string(raw) == "0" {
			continue
		}
		var err error
		switch key {
		case "filter":
			err = json.Unmarshal(raw, &query.Filter)
		case "limit":
			err = json.Unmarshal(raw, &query.Limit)
		case "columns":
			query.Columns, err = genevaColumns(raw)
		default:
			return nil, fmt.Sprintf("its source_query has base.%.80s", key)
		}
		if err != nil {
			return nil, fmt.Sprintf("base.%s of its source_query cannot be read", key)
		}
	}
	return query, ""
}

// genevaColumns reads columns: a list of names, or an object of expressions by name.
func genevaColumns(raw json.RawMessage) ([]selection.Column, error) {
	var names []string
	if json.Unmarshal(raw, &names) == nil {
		columns := make([]selection.Column, len(names))
		for i, name := range names {
			columns[i] = selection.Column{Name: name, Expr: syntax.Identifier(name)}
		}
		return columns, nil
	}
	var columns []selection.Column
	in := json.NewDecoder(bytes.NewReader(raw))
	if t, err := in.Token(); err != nil || t != json.Delim('{') {
		return nil, fmt.Errorf("columns are neither a list nor an object: %w", err)
	}
	for in.More() {
		name, err := in.Token()
		if err != nil {
			return nil, err
		}
		column := selection.Column{Name: name.(string)} // the decoder returns no other type here
		if err := in.Decode(&column.Expr); err != nil {
			return nil, err
		}
		columns = append(columns, column)
	}
	return columns, nil
}

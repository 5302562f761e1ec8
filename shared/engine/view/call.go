package view

import (
	"encoding/json"
	"fmt"
	"strings"

	"tiltyard/shared/engine/computed"
	"tiltyard/shared/engine/selection"
	"tiltyard/shared/lance/schema"
	"tiltyard/shared/protocol/viewapi"
	"tiltyard/shared/sql/syntax"
)

// maxInline is the maximum size of a function in the schema metadata, which is read whenever the
// table is opened.
const maxInline = 64 << 10

// A Spec is the description of a view's function in the metadata.
type Spec struct {
	viewapi.UDTFSpec
	// Backend is set if the envelope is in a file; UDTF is then the key of the file.
	Backend string `json:"backend,omitempty"`
}

// Describe returns the description of a function for the metadata. file is the key of the file for
// the envelope, in the folder of the table; it is "" if the description contains the envelope.
func Describe(u *viewapi.UDTFSpec) (function, file string, err error) {
	kept := Spec{UDTFSpec: *u}
	if len(u.UDTF) > maxInline {
		e, _ := readEnvelope(u.UDTF)
		file = computed.EnvelopeFolder + u.SHA
		kept.UDTF, kept.Backend = file, e.Backend
	}
	text, err := json.Marshal(kept)
	return string(text), file, err
}

// A Call is a function that an executor runs for a view. A chunker makes any number of rows from each
// source row. A function of kind udtf makes any number of rows from all source rows, or from each partition
// of rows with one value in a column.
type Call struct {
	Name, Version, Backend string
	Envelope               string           // base64, or the key of its file in the folder of the table
	Inputs                 *selection.Query // the query for the function's input
	PartitionBy            string           // path of a column of the source; "" is none
	Batch                  bool             // the function takes several rows at once
	Skips                  *Skips           // of partitions; nil: a failure ends the refresh
}

// Skips bounds the number of partitions that may fail.
type Skips struct {
	Most     int64   // 0 is no bound
	Fraction float64 // of the partitions; 0 is no bound
}

// calls reads the function of a view whose kind is not KindQuery. missing is the reason if it
// cannot be called.
func (d *Definition) calls(query *selection.Query) (missing string) {
	e, spec, missing := envelopeOf(d.Function)
	switch {
	case missing != "":
		return missing
	case e.Backend == builtin && d.Kind == KindChunker:
		return chunks(query, e, spec)
	case e.Backend == builtin:
		return "there are no built-in functions of kind udtf"
	case spec.PartitionByIndexedColumn != "":
		return "its udtf_spec has partition_by_indexed_column; only columns with few values (partition_by) divide the rows here"
	case d.Kind == KindChunker && query.Limit != nil:
		return "its source_query has base.limit, and its function makes several rows of one"
	case d.Kind == KindChunker && spec.PartitionBy != "":
		return "its udtf_spec has partition_by, which is for views of kind udtf"
	}
	query.Source = d.Source
	call := &Call{
		Name: spec.Name, Version: spec.Version, Backend: e.Backend, Envelope: spec.UDTF, PartitionBy: spec.PartitionBy,
		Batch: spec.Batch != nil && *spec.Batch, Inputs: query, Skips: skipsOf(spec.ErrorHandling),
	}
	// The inputs of the function replace the columns of the query.
	if spec.InputColumns != nil {
		call.Inputs = &selection.Query{Source: d.Source, Filter: query.Filter, Limit: query.Limit, Columns: []selection.Column{}}
		for _, path := range spec.InputColumns {
			expr, ok := Expression(path)
			if !ok {
				return fmt.Sprintf("its input column %.80q is not a path", path)
			}
			call.Inputs.Columns = append(call.Inputs.Columns, selection.Column{Name: path, Expr: expr})
		}
	}
	d.Call = call
	return ""
}

// Expression returns a path of Lance, such as a.`b.c`, in SQL.
func Expression(path string) (string, bool) {
	names, err := schema.ParsePath(path)
	if err != nil || len(names) == 0 {
		return "", false
	}
	for i, name := range names {
		names[i] = syntax.Identifier(name)
	}
	return strings.Join(names, "."), true
}

// skipsOf parses the known fields of error_handling: a text that contains skip skips failing partitions,
// within max_skip_count and max_skip_fraction. The executor implements retries.
func skipsOf(raw json.RawMessage) *Skips {
	var fields map[string]any
	if json.Unmarshal(raw, &fields) != nil {
		return nil
	}
	var s Skips
	found := false
	for _, value := range fields {
		text, ok := value.(string)
		found = found || ok && strings.Contains(strings.ToLower(text), "skip")
	}
	if n, ok := fields["max_skip_count"].(float64); ok && n > 0 {
		s.Most, found = int64(min(n, 1<<53)), true
	}
	if f, ok := fields["max_skip_fraction"].(float64); ok && f > 0 {
		s.Fraction, found = f, true
	}
	if !found {
		return nil
	}
	return &s
}

// Package view reads and writes the definitions of materialized views, which are stored in their
// schema metadata. A materialized view is a table whose rows are written by refreshes only.
//
// There are two layouts. LanceDB itself can also refresh views in the layout of native LanceDB
// 0.40:
//
//	mv.definition         {"format":1,"kind":"query","query":"SELECT …"}
//	mv.incarnation        a UUID for each physical creation
//	mv.source_version …   the source version that the rows show: see [Watermark]
//	__source_row_id       the last column, uint64: the id of the source row of each row
//
// Views created through the Lance Namespace protocol have Geneva's layout (geneva.go).
//
// Anyone who can write a table can write its metadata, so a definition is untrusted. [Read] checks
// its form, and callers check that the reader may read the named source.
//
// Source: lancedb 0.40, materialized_view.rs; Geneva's layout as written by its client.
package view

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/engine/selection"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/protocol"
	"tiltyard/shared/sql"
)

// Keys of the metadata of a view's schema.
const (
	definitionKey  = "mv.definition"
	IncarnationKey = "mv.incarnation"
	stagingKey     = "mv.staging"
)

// Defines reports whether a schema metadata key belongs to the definition or the watermark of a view. Only
// refreshes write these keys.
func Defines(key string) bool {
	return strings.HasPrefix(key, "mv.") || strings.HasPrefix(key, genevaPrefix) || key == settingsKey
}

// A Kind is the way in which the rows of a view are computed.
type Kind string

// These are the kinds of views.
const (
	KindQuery   Kind = "query"   // a query; each row comes from one source row
	KindUDTF    Kind = "udtf"    // a function from all source rows to any rows
	KindChunker Kind = "chunker" // a function from one source row to several rows
)

// A Definition defines the rows of a view.
type Definition struct {
	Kind   Kind
	Text   string   // the stored text
	Source []string // id of the source table; nil if unknown
	// Query computes the rows. It is nil if this service cannot compute them; Missing is then the reason.
	Query   *selection.Query
	Missing string
	// Function describes the function of a view of a kind other than KindQuery, in JSON.
	Function string
	// Call is the function if an executor runs it, else nil.
	Call *Call
	// Auto is the metadata's setting for automatic refreshes. The catalog record of the view overrides it.
	Auto bool

	geneva bool
}

// stored is the form of a definition in LanceDB's layout, with the fields in the order of native writers.
type stored struct {
	Format int64  `json:"format"`
	Kind   Kind   `json:"kind"`
	Query  string `json:"query"`
}

// These are the formats of definitions by queries. Formats 3 and 4 are of queries that compare the vectors
// of rows.
const (
	formatOfQueries = 1
	formatOfGroups  = 2 // with GROUP BY
)

// Parse parses the SQL of a request as the query of a view. Invalid and unsupported SQL are both
// InvalidInput, because a view that cannot be refreshed must not be created.
func Parse(text string) (*selection.Query, error) {
	query, err := selection.Parse(text)
	if err != nil {
		return nil, invalid(err)
	}
	return query, protocol.CheckID(query.Source)
}

// invalid converts an SQL error in a view's query to InvalidInput.
func invalid(err error) error {
	var bad *sql.Error
	if !errors.As(err, &bad) {
		return err
	}
	return protocol.Errorf(protocol.InvalidInput, "query: %w", err)
}

// New returns the definition of a view with a query, in LanceDB's layout, and the schema of its table.
// source is the table that the query reads; auto enables automatic refreshes.
func New(ctx context.Context, query *selection.Query, source *dataset.Dataset, incarnation string, auto bool) (*Definition, *arrow.Schema, error) {
	plan, err := query.Plan(ctx, source.Schema().BlobValues())
	if err != nil {
		return nil, nil, invalid(err)
	}
	d, err := define(plan.Query)
	if err != nil {
		return nil, nil, err
	}
	d.Auto = auto
	return d, d.schema(plan.Schema, incarnation), nil
}

// define returns the definition by a query that was planned.
func define(query *selection.Query) (*Definition, error) {
	format := int64(formatOfQueries)
	if query.GroupBy != nil {
		format = formatOfGroups
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false) // as native writers
	if err := encoder.Encode(stored{format, KindQuery, query.String()}); err != nil {
		return nil, fmt.Errorf("encode the definition of a view: %w", err)
	}
	return &Definition{Kind: KindQuery, Text: strings.TrimSpace(text.String()), Source: query.Source, Query: query}, nil
}

// ErrNone is the error for metadata without a definition.
var ErrNone = protocol.Errorf(protocol.InvalidInput, "the table is not a materialized view: its metadata holds no definition")

// Read returns the definition in the metadata of a schema, or ErrNone. A definition of an unknown
// form has no Query.
func Read(metadata map[string]string) (*Definition, error) {
	text, ok := metadata[definitionKey]
	if !ok {
		return readGeneva(metadata)
	}
	d := &Definition{Kind: KindQuery, Text: text, Auto: isAutoRefreshed(metadata)}
	var form stored
	if err := json.Unmarshal([]byte(text), &form); err != nil {
		d.Missing = "its definition is not JSON"
		return d, nil //nolint:nilerr // such a view is described and dropped as any other
	}
	switch {
	case form.Kind != KindQuery || form.Format < formatOfQueries || form.Format > formatOfGroups:
		d.Missing = fmt.Sprintf("its definition has format %d of kind %.40q, and formats %d and %d of %q are supported", form.Format, form.Kind, formatOfQueries, formatOfGroups, KindQuery)
		return d, nil
	case metadata[stagingKey] != "":
		d.Missing = "its query calls a function in FROM"
		return d, nil
	}
	d.run(form.Query)
	return d, nil
}

// ReadFrom reads the definition of a version of a view, and restricts its query to the columns of the view.
func ReadFrom(table *dataset.Dataset) (*Definition, error) {
	d, err := Read(table.Schema().Metadata)
	if err == nil && d.Kind == KindChunker && d.Query != nil {
		d.Query.Only = []string{}
		for _, f := range table.Schema().Fields {
			d.Query.Only = append(d.Query.Only, f.Name)
		}
	}
	return d, err
}

// run sets the query that computes the rows, or the reason why it cannot be parsed.
func (d *Definition) run(text string) {
	query, err := selection.Parse(text)
	if err != nil {
		d.Missing = "its query cannot be run: " + err.Error()
		return
	}
	if err := protocol.CheckID(query.Source); err != nil {
		d.Missing = "its query names no table: " + err.Error()
		return
	}
	d.Source = query.Source
	if query.Each != nil && !query.Each.IsKnown() {
		d.Missing = fmt.Sprintf("its query calls the function %.80s in FROM", query.Each.Function)
		return
	}
	d.Query = query
}

// Digest returns the SHA-256 of the definition and its source id, in hexadecimal.
func (d *Definition) Digest() string {
	h := sha256.New()
	for _, part := range append([]string{string(d.Kind), d.Text, d.Function}, d.Source...) {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Check returns an error if this service cannot compute the rows of the view.
func (d *Definition) Check() error {
	if d.Query != nil {
		return nil
	}
	return protocol.Errorf(protocol.Unsupported, "the view cannot be refreshed here: %s", d.Missing)
}

// schema returns the schema of a new view in LanceDB's layout: the columns of its query, and the
// column of source rows.
func (d *Definition) schema(answer *arrow.Schema, incarnation string) *arrow.Schema {
	fields := append(answer.Fields(), arrow.Field{Name: selection.SourceRowID, Type: arrow.PrimitiveTypes.Uint64})
	metadata := answer.Metadata().ToMap()
	selection.AddPhysical(metadata)
	metadata[definitionKey], metadata[IncarnationKey] = d.Text, incarnation
	if d.Auto { // if false, the metadata is the same as from native writers
		metadata[settingsKey] = settings{d.Auto}.String()
	}
	all := arrow.MetadataFrom(metadata)
	return arrow.NewSchema(fields, &all)
}

// Package view reads and writes the definitions of materialized views, which lie in the metadata of
// their schemas. A materialized view is a table whose rows only refreshes write.
//
// There are two layouts. LanceDB's is that of the native LanceDB 0.40, whose readers can refresh views
// that have it:
//
//	mv.definition         {"format":1,"kind":"query","query":"SELECT …"}
//	mv.incarnation        a UUID for each physical creation
//	mv.source_version …   what the rows show: see [Watermark]
//	__source_row_id       the last column, uint64: the id of the source row of each row
//
// Geneva's is the one that views made through the Lance Namespace protocol have. It is in geneva.go.
//
// Writers of a table can write its metadata, so a definition is not to be trusted: [Read] checks its
// form, and callers check that the reader may read what it names.
//
// Source: lancedb 0.40, materialized_view.rs; the layout of Geneva as its client writes it.
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

	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/protocol"
	"tiltyard/shared/sql"
	"tiltyard/shared/sql/selection"
)

// Keys of the metadata of a view's schema.
const (
	definitionKey  = "mv.definition"
	IncarnationKey = "mv.incarnation"
	stagingKey     = "mv.staging"
)

// Defines reports whether a key of the metadata of a schema belongs to the definition of a view, or to what its rows
// show. Only refreshes write these keys.
func Defines(key string) bool {
	return strings.HasPrefix(key, "mv.") || strings.HasPrefix(key, genevaPrefix) || key == settingsKey
}

// A Kind is how the rows of a view are computed.
type Kind string

// These are the kinds of views.
const (
	KindQuery   Kind = "query"   // a query, whose rows are each of one row of the source
	KindUDTF    Kind = "udtf"    // a function from the rows of the source to others
	KindChunker Kind = "chunker" // a function from one row to several
)

// A Definition defines the rows of a view.
type Definition struct {
	Kind   Kind
	Text   string   // as it is stored
	Source []string // id of the table that the view reads; nil when that is not known
	// Query computes the rows. It is nil when this service cannot do so; Missing is then why.
	Query   *selection.Query
	Missing string
	// Function is what a view of another kind than KindQuery calls, in JSON.
	Function string
	// Call is the function if an executor runs it, else nil.
	Call *Call
	// Auto is whether the metadata asks for refreshes without requests. The record of the view decides.
	Auto bool

	geneva bool
}

// stored is the form of a definition in LanceDB's layout. Its fields are in the order in which native
// writers store them.
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

// Parse reads SQL that a request sends as the query of a view. Its errors are InvalidInput, also for
// SQL that is not supported: a view that no refresh can fill must not be created.
func Parse(text string) (*selection.Query, error) {
	query, err := selection.Parse(text)
	if err != nil {
		return nil, invalid(err)
	}
	return query, protocol.CheckID(query.Source)
}

func invalid(err error) error {
	var bad *sql.Error
	if !errors.As(err, &bad) {
		return err
	}
	return protocol.Errorf(protocol.InvalidInput, "query: %w", err)
}

// New returns the definition of a view by a query, in LanceDB's layout, and the schema of its table.
// source is the table that the query reads, and auto asks for refreshes without requests.
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

// Read returns the definition that the metadata of a schema holds, or ErrNone. A definition that is
// of an unknown form has no Query.
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

// ReadFrom is [Read] for a version of a view. The query then computes the columns that the view has.
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

// run makes a query the one that computes the rows, if it can be read.
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

// Digest returns the SHA-256 of the definition and of the id of its source, in hexadecimal.
func (d *Definition) Digest() string {
	h := sha256.New()
	for _, part := range append([]string{string(d.Kind), d.Text, d.Function}, d.Source...) {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Check returns the error for a view whose rows this service cannot compute.
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
	if d.Auto { // else the metadata is that of native writers
		metadata[settingsKey] = settings{d.Auto}.String()
	}
	all := arrow.MetadataFrom(metadata)
	return arrow.NewSchema(fields, &all)
}
